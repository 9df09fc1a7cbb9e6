//! Which of several plans is taken, and what is said of the others.

use std::cmp::Reverse;

use keyloom_schema::Index;

use crate::plan::{Access, Class, Order, Plan, Rejected};
use crate::planner::candidate::Candidate;
use crate::planner::{Asked, tree_of};

/// A record behind an index entry costs about so many rows read in a row.
const FETCH: u64 = 4;

/// The best plan, and the others with the reasons why not.
///
/// What bounds the rows comes first; then what statistics expect, if they know all that are left; then what each fixes.
pub(super) fn best(asked: &Asked<'_>, candidates: Vec<Candidate>) -> Option<(Plan, Vec<Rejected>)> {
    let (skips, mut others): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|candidate| matches!(candidate.plan.access, Access::Skip { .. }));
    let plain = first(&others)?;
    let skip = first(&skips);
    let instead = skip.and_then(|at| skips.get(at)).zip(others.get(plain)).is_some_and(|(skip, plain)| {
        let cheaper = cost(skip).zip(cost(plain)).is_some_and(|(skip, plain)| skip < plain);
        plain.plan.class == Class::Scan || plain.plan.class == Class::Partition && cheaper
    });
    let winner = match skip.filter(|_| instead) {
        Some(at) => skips.into_iter().nth(at)?,
        None => others.remove(plain),
    };
    let reject = |loser: Candidate| {
        let reason = why_not(asked, &loser, &winner);
        Rejected { reason, ..tree_of(&loser.plan) }
    };
    // A tree that is skipped through is taken, not rejected.
    let losers = others.into_iter().filter(|loser| loser.plan.tree != winner.plan.tree).map(reject).collect();
    Some((winner.plan, losers))
}

/// Where the best of these stands.
fn first(candidates: &[Candidate]) -> Option<usize> {
    let class = candidates.iter().map(|candidate| candidate.plan.class).min()?;
    let of_class = || candidates.iter().enumerate().filter(move |(_, one)| one.plan.class == class);
    let known = of_class().all(|(_, candidate)| candidate.plan.estimate.is_some());
    let rank = |one: &Candidate| {
        let rows = cost(one).filter(|_| known);
        let (sort, fetch) = (one.plan.order != Order::Free, one.plan.fetch);
        (rows, Reverse(one.points), Reverse(one.edge), sort, fetch, spans(one), one.parts, one.plan.tree)
    };
    of_class().min_by_key(|(_, candidate)| rank(candidate)).map(|(at, _)| at)
}

fn spans(candidate: &Candidate) -> usize {
    match &candidate.plan.access {
        Access::InTurn(stretches) | Access::Merged(stretches) => stretches.len(),
        Access::Skip { places, inner, .. } => places.len().saturating_mul(inner.len()),
    }
}

fn cost(candidate: &Candidate) -> Option<u64> {
    let factor = if candidate.plan.fetch { FETCH } else { 1 };
    candidate.plan.estimate.map(|rows| rows.saturating_mul(factor))
}

/// Why the one is not taken and the other is: the first thing that they differ in.
fn why_not(asked: &Asked<'_>, loser: &Candidate, winner: &Candidate) -> String {
    let (this, that) = (&loser.plan, &winner.plan);
    if this.class == Class::Scan {
        return needs(asked, this);
    }
    if this.class > that.class {
        return match this.class {
            Class::Constant | Class::Output => "may read more than one row for each span".to_owned(),
            Class::Partition | Class::Scan => "reads more than it returns".to_owned(),
        };
    }
    if let (Some(rows), Some(other)) = (cost(loser), cost(winner))
        && rows != other
    {
        let expected = this.estimate.unwrap_or(rows);
        let fetched = if this.fetch && !that.fetch { ", each with its record" } else { "" };
        return format!("reads about {expected} rows{fetched}");
    }
    let reasons = [
        (loser.points < winner.points, "fixes fewer fields"),
        (loser.edge < winner.edge, "bounds less"),
        (this.order != Order::Free && that.order == Order::Free, "needs a sort"),
        (this.fetch && !that.fetch, "needs the records too"),
        (spans(loser) > spans(winner), "has more spans"),
        (loser.parts > winner.parts, "has longer keys"),
    ];
    let found = reasons.into_iter().find(|(differs, _)| *differs);
    found.map_or("does the same and is newer", |(_, reason)| reason).to_owned()
}

/// What the tree of a scan lacks.
pub(super) fn needs(asked: &Asked<'_>, plan: &Plan) -> String {
    let index = plan.index.as_deref().and_then(|name| asked.table.index(name));
    let tree = index.map_or(asked.table.primary(), Index::tree);
    let first = tree.parts().first().map(|part| part.name.as_str()).unwrap_or_default();
    match &plan.order {
        Order::Sort(_) if asked.conditions.all.is_empty() => "has another order".to_owned(),
        Order::Free if asked.conditions.all.is_empty() => "would be read whole".to_owned(),
        _ if asked.conditions.excludes_null(first) => format!("needs {first} bounded on both sides"),
        _ => format!("needs {first}"),
    }
}
