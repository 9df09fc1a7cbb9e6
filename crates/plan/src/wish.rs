//! What an index must be like to serve a query, before one is made.

use keyloom_key::{Direction, Nulls};
use keyloom_schema::{Predicate, Table};

use crate::error::Error;
use crate::planner::Asked;
use crate::query::{OrderBy, Query};

/// What an index must be like to serve a query: columns in any order, and behind them one of several tails.
///
/// ```
/// use keyloom_plan::{Query, Wish};
/// use keyloom_schema::{Table, field};
/// let orders = Table::named("orders")
///     .column("id", "u64")
///     .column("status", "str")
///     .column("day", "date")
///     .key(["id"])
///     .build()?;
/// let open = Query::new().filter(field("status").eq("open")).order_by_desc("day").limit(10);
/// let wish = Wish::of(&orders, &open)?;
/// assert_eq!(wish.fixed, ["status"]);
/// assert_eq!(wish.tails[0][0].field, "day");
/// # Ok::<(), keyloom_plan::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wish {
    /// The columns that are fixed to values. They come first, in any order and direction.
    pub fixed: Vec<String>,
    /// What may stand behind them: the order that is asked for, or one range, or nothing. A fixed column that a tail
    /// names stands there instead: with several values its place matters for the order.
    pub tails: Vec<Vec<Wanted>>,
}

/// A column that must stand where it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub field: String,
    /// How it must run so that the rows come in order; any way if only a range of it is asked for.
    pub order: Option<(Direction, Nulls)>,
}

impl Wish {
    /// What a query wishes for. Not every index like this can be made, nor is it better than what is there.
    pub fn of(table: &Table, query: &Query) -> Result<Self, Error> {
        Ok(Self::new(&Asked::of(table, query, None, false)?))
    }

    pub(crate) fn new(asked: &Asked<'_>) -> Self {
        let column = |name: &str| asked.table.column(name);
        let (mut fixed, mut ranges, mut listed) = (Vec::new(), Vec::new(), false);
        for condition in &asked.conditions.all {
            let (Predicate::In { field, .. }
            | Predicate::IsNull { field }
            | Predicate::Range { field, .. }
            | Predicate::BeginsWith { field, .. }) = condition
            else {
                continue;
            };
            let Some(column) = column(field) else { continue };
            // An index has one list at most.
            if column.kind.is_many() && (listed || matches!(condition, Predicate::IsNull { .. })) {
                continue;
            }
            listed |= column.kind.is_many();
            let group = match condition {
                Predicate::In { .. } | Predicate::IsNull { .. } => &mut fixed,
                _ => &mut ranges,
            };
            if !group.contains(field) {
                group.push(field.clone());
            }
        }
        for condition in &asked.conditions.all {
            if let Predicate::Row { fields, .. } = condition
                && ranges.is_empty()
            {
                ranges.extend(fields.first().filter(|name| column(name).is_some()).cloned());
            }
        }
        ranges.retain(|name| !fixed.contains(name));
        let has_one_value = |field: &String| {
            let one = |condition: &Predicate| match condition {
                Predicate::In { field: named, values } => named == field && values.len() == 1,
                Predicate::IsNull { field: named } => named == field,
                _ => false,
            };
            asked.conditions.all.iter().any(one)
        };
        let ordered = |stands_before: &dyn Fn(&String) -> bool| {
            let behind = asked.order.iter().filter(|one| !stands_before(&one.field));
            let wanted =
                |one: &OrderBy| Wanted { field: one.field.clone(), order: Some((one.direction, one.nulls)) };
            behind.map(wanted).collect::<Vec<_>>()
        };
        let mut tails = vec![ordered(&|field| fixed.contains(field)), ordered(&has_one_value)];
        tails.extend(ranges.into_iter().map(|field| vec![Wanted { field, order: None }]));
        tails.push(Vec::new());
        Self { fixed, tails }
    }

    /// The fixed columns that stand before a tail.
    pub fn before<'a>(&'a self, tail: &'a [Wanted]) -> impl Iterator<Item = &'a String> {
        self.fixed.iter().filter(|name| tail.iter().all(|wanted| wanted.field != **name))
    }
}
