//! Which of several plans is taken, and what is said of the others.

use std::cmp::Reverse;

use crate::plan::{Access, Class, Order, Rejected};
use crate::planner::Asked;
use crate::planner::candidate::Candidate;

/// A record behind an index entry costs about so many rows read in a row.
const FETCH: u64 = 4;

/// The best plan, and the others with the reasons why not.
///
/// What bounds the rows comes first; then what statistics expect, if they know all that are left; then what each fixes.
pub(super) fn best<'a>(
    asked: &Asked<'_>,
    candidates: Vec<Candidate<'a>>,
    words: bool,
) -> Option<(Candidate<'a>, Vec<Rejected>)> {
    let (skips, mut others): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|candidate| matches!(candidate.access, Access::Skip { .. }));
    let plain = first(&others)?;
    let skip = first(&skips);
    let instead = skip.and_then(|at| skips.get(at)).zip(others.get(plain)).is_some_and(|(skip, plain)| {
        let cheaper = cost(skip).zip(cost(plain)).is_some_and(|(skip, plain)| skip < plain);
        plain.class == Class::Scan || plain.class == Class::Partition && cheaper
    });
    let winner = match skip.filter(|_| instead) {
        Some(at) => skips.into_iter().nth(at)?,
        None => others.remove(plain),
    };
    // A tree that is skipped through is taken, not rejected.
    let losers = others.iter().filter(|loser| words && loser.tree.id() != winner.tree.id());
    let rejected = losers.map(|loser| loser.rejected(why_not(asked, loser, &winner))).collect();
    Some((winner, rejected))
}

/// Where the best of these stands.
fn first(candidates: &[Candidate<'_>]) -> Option<usize> {
    let class = candidates.iter().map(|candidate| candidate.class).min()?;
    let of_class = || candidates.iter().enumerate().filter(move |(_, one)| one.class == class);
    let known = of_class().all(|(_, candidate)| candidate.estimate.is_some());
    let rank = |one: &Candidate<'_>| {
        let rows = cost(one).filter(|_| known);
        let (sort, fetch) = (one.order != Order::Free, one.fetch);
        (rows, Reverse(one.points), Reverse(one.edge), sort, fetch, spans(one), parts(one), one.tree.id())
    };
    of_class().min_by_key(|(_, candidate)| rank(candidate)).map(|(at, _)| at)
}

fn parts(candidate: &Candidate<'_>) -> usize {
    candidate.tree.parts().len()
}

fn spans(candidate: &Candidate<'_>) -> usize {
    match &candidate.access {
        Access::InTurn(stretches) | Access::Merged(stretches) => stretches.len(),
        Access::Skip { places, inner, .. } => places.len().saturating_mul(inner.len()),
    }
}

fn cost(candidate: &Candidate<'_>) -> Option<u64> {
    let factor = if candidate.fetch { FETCH } else { 1 };
    candidate.estimate.map(|rows| rows.saturating_mul(factor))
}

/// Why the one is not taken and the other is: the first thing that they differ in.
fn why_not(asked: &Asked<'_>, loser: &Candidate<'_>, winner: &Candidate<'_>) -> String {
    if loser.class == Class::Scan {
        return needs(asked, loser);
    }
    if loser.class > winner.class {
        return match loser.class {
            Class::Constant | Class::Output => "may read more than one row for each span".to_owned(),
            Class::Partition | Class::Scan => "reads more than it returns".to_owned(),
        };
    }
    if let (Some(rows), Some(other)) = (cost(loser), cost(winner))
        && rows != other
    {
        let expected = loser.estimate.unwrap_or(rows);
        let fetched = if loser.fetch && !winner.fetch { ", each with its record" } else { "" };
        return format!("reads about {expected} rows{fetched}");
    }
    let reasons = [
        (loser.points < winner.points, "fixes fewer fields"),
        (loser.edge < winner.edge, "bounds less"),
        (loser.order != Order::Free && winner.order == Order::Free, "needs a sort"),
        (loser.fetch && !winner.fetch, "needs the records too"),
        (spans(loser) > spans(winner), "has more spans"),
        (parts(loser) > parts(winner), "has longer keys"),
    ];
    let found = reasons.into_iter().find(|(differs, _)| *differs);
    found.map_or("does the same and is newer", |(_, reason)| reason).to_owned()
}

/// What the tree of a scan lacks.
pub(super) fn needs(asked: &Asked<'_>, scan: &Candidate<'_>) -> String {
    let first = scan.tree.parts().first().map(|part| part.name.as_str()).unwrap_or_default();
    match &scan.order {
        Order::Sort(_) if asked.conditions.all.is_empty() => "has another order".to_owned(),
        Order::Free if asked.conditions.all.is_empty() => "would be read whole".to_owned(),
        _ if asked.conditions.excludes_null(first) => format!("needs {first} bounded on both sides"),
        _ => format!("needs {first}"),
    }
}
