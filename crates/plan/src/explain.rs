//! A plan in words: what is read, from which byte to which, and what is done with it.

use std::fmt;

use keyloom_key::Span;
use keyloom_schema::Predicate;

use crate::plan::{Access, Class, Order, Plan, Stretch};
use crate::refuse::by;

/// How many spans are shown.
const SHOWN: usize = 8;

impl Plan {
    /// The plan in words. The same as its [`Display`](fmt::Display).
    pub fn explain(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.index.as_deref().unwrap_or("primary");
        let way = if self.backward { ", backward" } else { "" };
        writeln!(f, "read      {}: {name} {}{way}", self.table, self.key)?;
        self.write_access(f)?;
        if let Some(once) = &self.once {
            writeln!(f, "once      each record at its smallest element with {}", short(once))?;
        }
        if let Some(filter) = &self.filter {
            writeln!(f, "filter    {}", short(filter))?;
        }
        self.write_order(f)?;
        if let Some(limit) = self.limit {
            writeln!(f, "limit     {limit}")?;
        }
        let class = match self.class {
            Class::Constant => "constant: at most one row for each span",
            Class::Output => "output: no more rows than are returned, and one for each span",
            Class::Partition => "partition: a part of the keys, within the budget",
            Class::Scan => "scan: every key",
        };
        write!(f, "class     {class}")?;
        match self.bound {
            Some(1) => writeln!(f, "; 1 row at most")?,
            Some(bound) => writeln!(f, "; {bound} rows at most")?,
            None => writeln!(f)?,
        }
        if let Some(estimate) = self.estimate {
            writeln!(f, "estimate  {estimate} rows")?;
        }
        if self.index.is_some() {
            let records =
                if self.fetch { "read for each entry" } else { "not read: the index covers the query" };
            writeln!(f, "records   {records}")?;
        }
        for note in &self.notes {
            writeln!(f, "note      {note}")?;
        }
        for tree in &self.rejected {
            writeln!(f, "rejected  {} {}: {}", tree.index, tree.key, tree.reason)?;
        }
        match &self.advice {
            Some(advice) => writeln!(f, "better    {advice}"),
            None => Ok(()),
        }
    }
}

impl Plan {
    fn write_access(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.access {
            Access::InTurn(stretches) if stretches.is_empty() => writeln!(f, "spans     none"),
            Access::InTurn(stretches) | Access::Merged(stretches) => write_stretches(f, stretches, ""),
            Access::Skip { places, parts, inner, values } => {
                let skipped: Vec<&str> = self.key.trim_matches(['(', ')']).split(", ").take(*parts).collect();
                writeln!(f, "skip      from value to value of {}, about {values}", skipped.join(", "))?;
                if places.len() > 1 {
                    writeln!(f, "          in each of {} places", places.len())?;
                }
                // What stands before is another value each time.
                write_stretches(f, inner, "…")
            }
        }
    }

    fn write_order(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.order, &self.access, self.limit) {
            (Order::Free, Access::Merged(stretches), _) => {
                writeln!(f, "order     merged from {} spans", stretches.len())
            }
            (Order::Free, _, _) => writeln!(f, "order     as the keys are"),
            (Order::Sort(order), _, limit) => {
                let fields = order.iter().map(by).collect::<Vec<_>>().join(", ");
                write!(f, "order     sorted in memory by {fields}")?;
                match limit {
                    Some(limit) => writeln!(f, ", the first {limit} kept"),
                    None => writeln!(f),
                }
            }
        }
    }
}

fn write_stretches(f: &mut fmt::Formatter<'_>, stretches: &[Stretch], before: &str) -> fmt::Result {
    for (number, stretch) in stretches.iter().take(SHOWN).enumerate() {
        let word = if number == 0 { "spans" } else { "" };
        writeln!(f, "{word:<10}{}", stretch.text)?;
        writeln!(f, "            {}", Bytes(before, &stretch.span))?;
    }
    match stretches.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(f, "          … and {more} more"),
    }
}

/// A predicate as text that fits a few lines, however many values it has.
pub(crate) fn short(predicate: &Predicate) -> String {
    const MOST: usize = 300;
    let text = predicate.to_string();
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

/// A span as hexadecimal bytes, behind what they follow.
struct Bytes<'a>(&'a str, &'a Span);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(before, span) = self;
        write!(f, "{before}{} → ", hex::encode(&span.start))?;
        match &span.end {
            Some(end) => write!(f, "{before}{}", hex::encode(end)),
            None => f.write_str("the end"),
        }
    }
}
