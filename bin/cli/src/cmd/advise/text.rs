//! Advice for people, and as statements.

use std::fmt::Write as _;

use keyloom::advise::{Proposal, Served};
use keyloom::plan::Class;

use super::Advised;
use crate::cmd::stats::figures::{self, bytes, heading, number};

pub(super) fn of(tables: &[Advised]) -> String {
    tables.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(advised: &Advised) -> String {
    let Advised { counted, asked, advice, new } = advised;
    let measured = &counted.measured;
    let rows = figures::counted(measured.rows(), "row", "rows");
    let mut text = heading(&format!("{}: {rows}, {}", counted.table.name(), bytes(measured.bytes())));
    if let Some(why) = new {
        text += "create\n";
        counted.table.to_sql().lines().for_each(|line| text += &format!("  {line}\n"));
        let _ = writeln!(text, "  why      {why}\n");
    }
    for proposal in &advice.create {
        let _ = write!(text, "create\n  {};\n{}\n", proposal.sql, described(proposal));
    }
    for redundant in &advice.redundant {
        let _ = write!(
            text,
            "drop\n  {};\n  why      {}\n  frees    {}, and its part of every write\n\n",
            redundant.sql,
            redundant.reason,
            bytes(redundant.bytes)
        );
    }
    if advice.create.is_empty() && advice.redundant.is_empty() && new.is_none() {
        text += "nothing to create, nothing to drop\n\n";
    }
    text += "queries\n";
    let width = number(u64::try_from(asked.len()).unwrap_or(u64::MAX)).len();
    for (number, (asked, (before, after))) in (1..).zip(asked.iter().zip(&advice.queries)) {
        let _ = writeln!(text, "  {number:>width$}  {}", asked.text);
        let _ = writeln!(text, "  {:width$}  {}", "", changed(before, after));
    }
    text
}

/// What speaks for an index and what it costs.
fn described(proposal: &Proposal) -> String {
    let mut text = format!("  serves   {}\n", queries(&proposal.serves));
    for (at, reason) in proposal.reasons.iter().enumerate() {
        let _ = writeln!(text, "  {:<7}  {reason}", if at == 0 { "why" } else { "" });
    }
    let _ =
        writeln!(text, "  costs    {} in about {} entries", bytes(proposal.bytes), number(proposal.entries));
    let _ = writeln!(text, "           {}", writes(proposal));
    text
}

/// Queries by their numbers, counted from 1: `queries 1, 2`.
pub(crate) fn queries(numbers: &[usize]) -> String {
    let texts: Vec<String> = numbers.iter().map(|number| (number + 1).to_string()).collect();
    let word = if texts.len() == 1 { "query" } else { "queries" };
    format!("{word} {}", texts.join(", "))
}

/// What an index costs whoever writes.
pub(crate) fn writes(proposal: &Proposal) -> String {
    if proposal.index.is_of_key() {
        return "one more write when a record is put or deleted".to_owned();
    }
    let tree = proposal.index.tree();
    let columns: Vec<&str> =
        tree.parts().iter().take(tree.declared()).map(|part| part.name.as_str()).collect();
    let columns = match columns.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        all => all.join(", "),
    };
    let one =
        if proposal.index.is_multi_valued() { "one more write for each element" } else { "one more write" };
    format!("{one} when a record comes or goes, two when {columns} changes")
}

fn changed(before: &Served, after: &Served) -> String {
    match (before, after) {
        (before, after) if before == after => said(after),
        (before, after) => format!("{} → {}", said(before), said(after)),
    }
}

/// How a query is answered, in a few words.
pub(crate) fn said(served: &Served) -> String {
    match served {
        Served::By { tree, class, sorted, rows, .. } => {
            let class = match class {
                Class::Constant => "one row for each key",
                Class::Output => "only rows that are returned",
                Class::Partition => "a part of the rows, filtered",
                Class::Scan => "every row",
            };
            let rows = rows.map(|rows| format!(", about {}", number(rows))).unwrap_or_default();
            let sorted = if *sorted { ", sorted" } else { "" };
            format!("{tree}: {class}{rows}{sorted}")
        }
        Served::Refused { hint: Some(hint) } => format!("refused: {hint}"),
        _ => "refused".to_owned(),
    }
}

/// The statements that create what is advised. What can go is a remark: nobody drops an index by a pipe.
pub(super) fn statements(tables: &[Advised]) -> String {
    let mut text = String::new();
    for Advised { counted, advice, new, .. } in tables {
        if new.is_some() {
            text += &counted.table.to_sql();
        }
        for proposal in &advice.create {
            let _ = writeln!(text, "{};", proposal.sql);
        }
        for redundant in &advice.redundant {
            let _ = writeln!(text, "-- {}; -- {}", redundant.sql, redundant.reason);
        }
    }
    text
}
