//! A query that is refused, and the index that would serve it.
//!
//! ```text
//! refused: no index bounds `status = 'open'` on orders
//!   primary (user_id, order_date desc, order_id)   needs user_id
//!   orders_by_day (day)                            needs day
//! add:  CREATE INDEX orders_by_status ON orders (status)
//! or allow the scan
//! ```

use std::fmt;

use keyloom_key::{Direction, Nulls};
use keyloom_schema::{Index, Predicate, State, Table, quoted};

use crate::error::Error;
use crate::explain::short;
use crate::plan::{Class, Order, Rejected};
use crate::planner::Asked;
use crate::query::OrderBy;
use crate::wish::{Wanted, Wish};

/// Why a query is refused, and what would serve it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The table.
    pub table: String,
    /// What the records must be like: `status = 'open'`; empty if all are asked for.
    pub filter: String,
    /// Their order: `amount desc, day`; empty if there is none.
    pub order: String,
    /// Every tree, each with what it lacks.
    pub trees: Vec<Rejected>,
    /// The smallest index that would serve, as SQL; none if no index would.
    pub index: Option<String>,
    /// What else would help: `set a limit`.
    pub hint: Option<String>,
}

impl Refusal {
    pub(crate) fn new(asked: &Asked<'_>, trees: Vec<Rejected>, index: Option<String>) -> Result<Self, Error> {
        let filter = asked.conditions.all.iter().cloned().reduce(Predicate::and);
        Ok(Self {
            table: asked.table.name().to_owned(),
            filter: filter.as_ref().map(short).unwrap_or_default(),
            order: asked.order.iter().map(by).collect::<Vec<_>>().join(", "),
            trees,
            index,
            hint: hint(asked)?,
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, filter, order, trees, index, hint } = self;
        match (filter.as_str(), order.as_str()) {
            ("", "") => writeln!(f, "refused: all of {table} would be read")?,
            ("", order) => writeln!(f, "refused: all of {table} would be read for the order `{order}`")?,
            (filter, _) => writeln!(f, "refused: no index bounds `{filter}` on {table}")?,
        }
        let named = trees.iter().map(|tree| format!("{} {}", tree.index, tree.key));
        let width = named.clone().map(|name| name.chars().count()).max().unwrap_or_default();
        for (name, tree) in named.zip(trees) {
            writeln!(f, "  {name:width$}   {}", tree.reason)?;
        }
        match (index, hint) {
            (Some(index), _) => write!(f, "add:  {index}\nor allow the scan"),
            (None, Some(hint)) => write!(f, "{hint}, or allow the scan"),
            (None, None) => f.write_str("no index would bound it: allow the scan"),
        }
    }
}

/// What helps where no index does.
fn hint(asked: &Asked<'_>) -> Result<Option<String>, Error> {
    if asked.conditions.all.is_empty() && asked.limit.is_none() {
        return Ok(Some("set a limit".to_owned()));
    }
    let coming = |index: &&Index| matches!(index.state(), State::Starting | State::Building);
    for index in asked.table.indexes().iter().filter(coming) {
        if asked.candidate(Some(index), index.tree(), None)?.class < Class::Scan {
            return Ok(Some(format!("wait until {} is filled", index.name())));
        }
    }
    let mut names = asked.conditions.all.iter().flat_map(Predicate::fields);
    let undeclared = names.find(|name| asked.table.column(name).is_none());
    Ok(undeclared.map(|name| format!("declare {name} and index it")))
}

/// One field of an order, as a key says it.
pub(crate) fn by(by: &OrderBy) -> String {
    let (word, nulls) = match by.direction {
        Direction::Ascending => ("", Nulls::First),
        Direction::Descending => (" desc", Nulls::Last),
    };
    let nulls = match by.nulls {
        same if same == nulls => "",
        Nulls::First => " nulls first",
        Nulls::Last => " nulls last",
    };
    format!("{}{word}{nulls}", by.field)
}

/// The smallest index that serves the query better than `class`, as SQL.
///
/// Fields that are fixed come first, then the order or one range. Each idea is tried on a table that has the index.
pub(crate) fn advice(asked: &Asked<'_>, class: Class) -> Result<Option<String>, Error> {
    let mut best: Option<((Class, bool, usize), String)> = None;
    for columns in ideas(asked) {
        let name = free_name(asked.table, &columns);
        let texts: Vec<String> =
            columns.iter().map(|(name, how)| format!("{name}{}", how.replace("nulls ", "nulls-"))).collect();
        let index = Index::on(texts.iter().map(String::as_str)).named(&name);
        // A key that cannot be made is no idea.
        let Ok((table, index)) = asked.table.with_index(index) else { continue };
        let table = table.with_index_state(&name, State::Ready);
        let found = asked.with_table(&table).candidate(Some(&index), index.tree(), None)?;
        let rank = (found.class, found.order != Order::Free, columns.len());
        if found.class >= class || best.as_ref().is_some_and(|(best, _)| *best <= rank) {
            continue;
        }
        let same = |filling: &Index| filling.only().is_none() && filling.tree().text() == index.tree().text();
        if asked.table.indexes().iter().any(same) {
            // It is there and being filled, or it would have been taken.
            return Ok(None);
        }
        let columns: Vec<String> = columns.iter().map(|(name, how)| quoted(name) + how).collect();
        let (name, table) = (quoted(&name), quoted(asked.table.name()));
        let sql = format!("CREATE INDEX {name} ON {table} ({})", columns.join(", "));
        best = Some((rank, sql));
    }
    Ok(best.map(|(_, sql)| sql))
}

/// The columns of indexes that may serve, each with how it runs.
fn ideas(asked: &Asked<'_>) -> Vec<Vec<(String, String)>> {
    let wish = Wish::new(asked);
    let how = |wanted: &Wanted| match &wanted.order {
        None => String::new(),
        Some((direction, nulls)) => {
            by(&OrderBy { field: String::new(), direction: *direction, nulls: *nulls })
        }
    };
    let idea = |tail: &Vec<Wanted>| {
        let fixed = wish.before(tail).map(|name| (name.clone(), String::new()));
        let tail = tail.iter().map(|wanted| (wanted.field.clone(), how(wanted)));
        fixed.chain(tail).collect::<Vec<_>>()
    };
    wish.tails.iter().map(idea).filter(|columns| !columns.is_empty()).collect()
}

/// A name for an index on these columns that no index has.
fn free_name(table: &Table, columns: &[(String, String)]) -> String {
    let names = columns.iter().map(|(name, _)| name.as_str());
    let name = format!("{}_by_{}", table.name(), names.collect::<Vec<_>>().join("_"));
    let mut numbered = (2..).map(|number| format!("{name}_{number}"));
    let taken = |name: &String| table.index(name).is_some();
    if !taken(&name) { name } else { numbered.find(|name| !taken(name)).unwrap_or_default() }
}
