//! The plan of the plainest queries, in one step: values for the first parts of one tree, perhaps a range behind them,
//! in the order of its keys.
//!
//! It is the plan that the planner would come to, for a tenth of the work: no other tree has a condition on its first
//! part, so each of them would be read whole, and this one answers everything.

use std::ops::Bound;

use keyloom_key::{Direction, Span, Type, Value, prefix_end};
use keyloom_schema::{Column, Format, Index, Part, Placement, Predicate, State, Table, Tree};
use smallvec::SmallVec;

use crate::constraint::{compare, is_unordered};
use crate::plan::{Access, Class, Order, Plan, Stretch};
use crate::query::Query;
use crate::statistics::Statistics;

/// The plan of a query that one tree answers directly; `None` if it takes the planner to see.
pub(super) fn direct(table: &Table, statistics: &Statistics, query: &Query) -> Option<Plan> {
    if query.after.is_some() || query.select.is_some() || table.expiry().is_some() {
        return None;
    }
    let wanted = Wanted::of(table, &query.filter)?;
    let (index, tree) = only_tree(table, &wanted)?;
    let points = wanted.points(tree);
    if points.is_empty() && tree.placement() != Placement::Ordered {
        return None;
    }
    let backward = wanted.backward(table, tree, points.len(), query)?;
    let span = wanted.span(tree, &points)?;
    let fixed = |part: &Part| tree.parts().iter().take(points.len()).any(|one| one.column == part.column);
    let is_row = table.primary().parts().iter().all(fixed);
    let (class, bound) = if is_row {
        (Class::Constant, Some(1))
    } else {
        (Class::Output, query.limit.map(|limit| limit.saturating_add(1)))
    };
    let known = statistics.0.get(&tree.id());
    Some(Plan {
        table: table.name().to_owned(),
        index: index.map(|index| index.name().to_owned()),
        tree: tree.id(),
        key: String::new(),
        estimate: known.map(|known| known.rows_in(&span).min(bound.unwrap_or(u64::MAX))),
        access: Access::InTurn(vec![Stretch { span, shared: 0, text: String::new() }]),
        backward,
        fetch: index.is_some(),
        filter: None,
        once: None,
        order: Order::Free,
        limit: query.limit,
        select: None,
        class,
        bound,
        rejected: Vec::new(),
        advice: None,
        notes: Vec::new(),
    })
}

/// The one tree with a condition on its first part, if it can be read for that alone.
fn only_tree<'t>(table: &'t Table, wanted: &Wanted<'_>) -> Option<(Option<&'t Index>, &'t Tree)> {
    let begins = |tree: &Tree| tree.parts().first().is_some_and(|part| wanted.has(part));
    let mut found = begins(table.primary()).then(|| (None, table.primary()));
    for index in table.indexes().iter().filter(|index| index.state() == State::Ready) {
        // What these hold, and how often, takes a closer look.
        if index.only().is_some() || index.is_multi_valued() {
            return None;
        }
        if begins(index.tree()) {
            if found.is_some() || index.is_unique() {
                return None;
            }
            found = Some((Some(index), index.tree()));
        }
    }
    found.filter(|(_, tree)| *tree.format() == Format::Native)
}

/// What is asked: fields that equal a value, and perhaps one within a range.
struct Wanted<'q> {
    equal: SmallVec<[(u16, Value<'q>); 4]>,
    range: Option<Range<'q>>,
}

/// A field within bounds, one of which there is at least.
struct Range<'q> {
    column: u16,
    lower: Bound<Value<'q>>,
    upper: Bound<Value<'q>>,
}

impl<'q> Wanted<'q> {
    /// The conditions of a filter, each on a field of its own; `None` if there are others, or nothing is like them.
    fn of(table: &Table, filter: &'q Predicate) -> Option<Self> {
        let conditions = match filter {
            Predicate::And(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut wanted = Self { equal: SmallVec::new(), range: None };
        for condition in conditions {
            let (Predicate::In { field, .. } | Predicate::Range { field, .. }) = condition else {
                return None;
            };
            let column = table.column(field).filter(|column| is_plain(column))?;
            if wanted.knows(column.id) {
                return None;
            }
            match condition {
                Predicate::In { values, .. } => {
                    let [value] = values.as_slice() else { return None };
                    wanted.equal.push((column.id, comparable(column, value)?));
                }
                Predicate::Range { lower, upper, .. } if wanted.range.is_none() => {
                    wanted.range = Some(Range::of(column, lower, upper)?);
                }
                _ => return None,
            }
        }
        (!conditions.is_empty()).then_some(wanted)
    }

    fn knows(&self, column: u16) -> bool {
        self.equal(column).is_some() || self.range.as_ref().is_some_and(|range| range.column == column)
    }

    fn has(&self, part: &Part) -> bool {
        self.knows(part.column)
    }

    fn equal(&self, column: u16) -> Option<&Value<'q>> {
        self.equal.iter().find(|(one, _)| *one == column).map(|(_, value)| value)
    }

    /// The values of the first parts of a tree.
    fn points(&self, tree: &Tree) -> SmallVec<[Value<'_>; 4]> {
        tree.parts().iter().map_while(|part| self.equal(part.column)).map(Value::borrowed).collect()
    }

    /// The keys of a tree with these first values, and what bounds the part behind them; `None` if that is not all that
    /// is asked, or a value has no place in the key.
    fn span(&self, tree: &Tree, points: &[Value<'_>]) -> Option<Span> {
        if points.len() != self.equal.len() {
            return None;
        }
        let start = key(tree, points, None)?;
        let span = match &self.range {
            None => Span { end: behind(tree, points.len(), start.clone()), start },
            Some(Range { column, lower, upper }) => {
                let part = tree.parts().get(points.len()).filter(|part| part.column == *column)?;
                let (first, last) = match part.field.direction {
                    Direction::Ascending => (lower, upper),
                    Direction::Descending => (upper, lower),
                };
                // Nulls stand at one of the ends, and are in no range: where values begin or end, the planner knows.
                let nulls = part.field.nulls.is_some();
                let end = match last {
                    Bound::Unbounded if nulls => return None,
                    Bound::Unbounded => prefix_end(start.as_slice()),
                    Bound::Included(value) => behind(tree, points.len() + 1, key(tree, points, Some(value))?),
                    Bound::Excluded(value) => Some(key(tree, points, Some(value))?),
                };
                let start = match first {
                    Bound::Unbounded if nulls => return None,
                    Bound::Unbounded => start,
                    Bound::Included(value) => key(tree, points, Some(value))?,
                    Bound::Excluded(value) => {
                        behind(tree, points.len() + 1, key(tree, points, Some(value))?)?
                    }
                };
                Span { start, end }
            }
        };
        (!span.is_empty()).then_some(span)
    }

    /// Whether the keys behind the points, read from their end, come in the order; `None` if in neither direction.
    fn backward(&self, table: &Table, tree: &Tree, points: usize, query: &Query) -> Option<bool> {
        let mut parts = tree.parts().iter().skip(points);
        let mut backward = None;
        for by in &query.order {
            let column = table.column(&by.field)?;
            if self.equal(column.id).is_some() {
                continue;
            }
            let part = parts.next().filter(|part| part.column == column.id)?;
            let reversed = part.field.direction != by.direction;
            if *backward.get_or_insert(reversed) != reversed {
                return None;
            }
            // A range leaves nulls out; else they must be where they are wanted.
            let nulls = part.field.nulls.filter(|_| !self.has(part));
            if nulls.is_some_and(|nulls| (nulls == by.nulls) == reversed) {
                return None;
            }
        }
        Some(backward.unwrap_or(false))
    }
}

impl<'q> Range<'q> {
    fn of(
        column: &Column,
        lower: &'q Bound<Value<'static>>,
        upper: &'q Bound<Value<'static>>,
    ) -> Option<Self> {
        let bound = |bound: &'q Bound<Value<'static>>| {
            Some(match bound {
                Bound::Unbounded => Bound::Unbounded,
                Bound::Included(value) => Bound::Included(comparable(column, value)?),
                Bound::Excluded(value) => Bound::Excluded(comparable(column, value)?),
            })
        };
        let range = Self { column: column.id, lower: bound(lower)?, upper: bound(upper)? };
        match (&range.lower, &range.upper) {
            (Bound::Unbounded, Bound::Unbounded) => None,
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => Some(range),
            (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => {
                compare(column.kind.element(), from, to).is_lt().then_some(range)
            }
        }
    }
}

/// The bytes that keys with these first values start with; `None` if one has no place in the key.
fn key(tree: &Tree, points: &[Value<'_>], next: Option<&Value<'_>>) -> Option<Vec<u8>> {
    let mut key = Vec::with_capacity(64);
    let encoded = match next {
        None => tree.key(points, &mut key),
        Some(next) => {
            let values = points.iter().chain([next]).map(Value::borrowed);
            tree.key(&values.collect::<SmallVec<[_; 4]>>(), &mut key)
        }
    };
    encoded.ok().map(|()| key)
}

/// The first key behind those that start with the bytes of so many parts.
fn behind(tree: &Tree, parts: usize, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    if parts < tree.parts().len() {
        return prefix_end(bytes);
    }
    // A whole key is the only one that starts so.
    bytes.push(0);
    Some(bytes)
}

/// Whether a column has one value, which a filter compares as keys do.
fn is_plain(column: &Column) -> bool {
    !column.kind.is_many() && !matches!(column.kind.element(), Type::Tuple(_))
}

/// A value as one of the column's type, if it equals or precedes anything.
fn comparable<'q>(column: &Column, value: &'q Value<'static>) -> Option<Value<'q>> {
    let value = column.coerce_element(value.borrowed()).ok()?;
    (!is_unordered(&value)).then_some(value)
}
