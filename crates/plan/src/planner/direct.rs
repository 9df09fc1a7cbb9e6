//! The plan of the plainest queries, in one step: values for the first parts of one tree, perhaps a range behind them,
//! in the order of its keys.
//!
//! It is the plan that the planner would come to, for a tenth of the work: no other tree has a condition on its first
//! part, so each of them would be read whole, and this one answers everything. But for the bytes of its span it is the
//! same whatever the values are, so a [`Template`] has it made once.

use std::ops::Bound;

use keyloom_key::{Direction, Native, Span, Type, Value, prefix_end};
use keyloom_schema::{Column, Format, Index, Part, Placement, Predicate, State, Table, Tree};
use smallvec::SmallVec;

use crate::constraint::{compare, is_unordered};
use crate::plan::{Access, Class, Order, Plan, Stretch};
use crate::query::Query;
use crate::statistics::Statistics;
#[cfg(doc)]
use crate::template::Template;

/// The plan of a query that one tree answers directly; `None` if it takes the planner to see.
pub(super) fn direct(table: &Table, statistics: &Statistics, query: &Query) -> Option<Plan> {
    let wanted = Wanted::of(table, &query.filter, |value| value)?;
    let way = Way::of(table, query, &wanted)?;
    let span = way.span(table, &wanted, |value| Some(value.borrowed()))?;
    let plan = way.plan(table, query);
    let known = statistics.0.get(&plan.tree);
    let estimate = known.map(|known| known.rows_in(&span).min(plan.bound.unwrap_or(u64::MAX)));
    Some(Plan { access: in_one(span), estimate, ..plan })
}

/// The keys of one span.
pub(crate) fn in_one(span: Span) -> Access {
    Access::InTurn(vec![Stretch { span, shared: 0, text: String::new() }])
}

/// How what is wanted is found, whatever the values are.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    /// The number of the index; `None` is the primary key.
    index: Option<usize>,
    /// How many of the first parts equal a value.
    points: usize,
    backward: bool,
    /// Whether there is at most one such record.
    is_row: bool,
}

impl Way {
    /// The way to what is wanted; `None` if it takes the planner to see.
    pub(crate) fn of<V>(table: &Table, query: &Query, wanted: &Wanted<V>) -> Option<Self> {
        if query.after.is_some() || query.select.is_some() || table.expiry().is_some() {
            return None;
        }
        let index = only_tree(table, wanted)?;
        let tree = tree(table, index)?;
        let points = tree.parts().iter().take_while(|part| wanted.equal(part.column).is_some()).count();
        let all = points == wanted.equal.len()
            && wanted.range.as_ref().is_none_or(|range| range.bounds(tree.parts().get(points)));
        if !all || (points == 0 && tree.placement() != Placement::Ordered) {
            return None;
        }
        let backward = wanted.backward(table, tree, points, query)?;
        let fixed = |part: &Part| tree.parts().iter().take(points).any(|one| one.column == part.column);
        let is_row = table.primary().parts().iter().all(fixed);
        Some(Self { index, points, backward, is_row })
    }

    /// The plan without the keys that are read.
    pub(crate) fn plan(&self, table: &Table, query: &Query) -> Plan {
        let index = self.index.and_then(|index| table.indexes().get(index));
        let (class, bound) = if self.is_row {
            (Class::Constant, Some(1))
        } else {
            (Class::Output, query.limit.map(|limit| limit.saturating_add(1)))
        };
        Plan {
            table: table.name().to_owned(),
            index: index.map(|index| index.name().to_owned()),
            tree: index.map_or(table.primary(), Index::tree).id(),
            key: String::new(),
            access: Access::InTurn(Vec::new()),
            backward: self.backward,
            fetch: index.is_some(),
            filter: None,
            once: None,
            order: Order::Free,
            limit: query.limit,
            select: None,
            class,
            bound,
            estimate: None,
            rejected: Vec::new(),
            advice: None,
            notes: Vec::new(),
        }
    }

    /// The keys that are read, with what stands for the values; `None` if one has no place in the key, or nothing is like
    /// them.
    pub(crate) fn span<'v, V>(
        &self,
        table: &Table,
        wanted: &'v Wanted<V>,
        value: impl Fn(&'v V) -> Option<Value<'v>>,
    ) -> Option<Span> {
        let tree = tree(table, self.index)?;
        let typed = |column: u16, given: &'v V| comparable(table.column_by_id(column)?, value(given)?);
        let mut start = Vec::with_capacity(ROOM);
        if self.points == 0 {
            tree.head(0, &mut start);
        }
        for (number, part) in tree.parts().iter().take(self.points).enumerate() {
            let value = typed(part.column, wanted.equal(part.column)?)?;
            if number == 0 {
                tree.head(tree.place(&value).ok()?, &mut start);
            }
            Native.append(&part.field, &value, &mut start).ok()?;
        }
        let Some(Range { column, lower, upper }) = &wanted.range else {
            return Some(Span { end: behind(tree, self.points, start.clone()), start });
        };
        let typed = |bound: &'v Bound<V>| {
            Some(match bound {
                Bound::Unbounded => Bound::Unbounded,
                Bound::Included(value) => Bound::Included(typed(*column, value)?),
                Bound::Excluded(value) => Bound::Excluded(typed(*column, value)?),
            })
        };
        let (lower, upper) = (typed(lower)?, typed(upper)?);
        if let (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) =
            (&lower, &upper)
            && !compare(table.column_by_id(*column)?.kind.element(), from, to).is_lt()
        {
            return None;
        }
        let Part { field, .. } = tree.parts().get(self.points)?;
        let (first, last) = match field.direction {
            Direction::Ascending => (lower, upper),
            Direction::Descending => (upper, lower),
        };
        let at = |value: &Value<'_>| {
            let mut key = Vec::with_capacity(ROOM);
            key.extend_from_slice(&start);
            Native.append(field, value, &mut key).ok().map(|()| key)
        };
        let end = match &last {
            Bound::Unbounded => prefix_end(start.as_slice()),
            Bound::Included(value) => behind(tree, self.points + 1, at(value)?),
            Bound::Excluded(value) => Some(at(value)?),
        };
        let start = match &first {
            Bound::Unbounded => start,
            Bound::Included(value) => at(value)?,
            Bound::Excluded(value) => behind(tree, self.points + 1, at(value)?)?,
        };
        Some(Span { start, end }).filter(|span| !span.is_empty())
    }
}

/// Most keys have fewer bytes.
const ROOM: usize = 64;

/// The tree of an index by its number, or the primary key's.
fn tree(table: &Table, index: Option<usize>) -> Option<&Tree> {
    match index {
        None => Some(table.primary()),
        Some(index) => table.indexes().get(index).map(Index::tree),
    }
}

/// The one tree with a condition on its first part, if it can be read for that alone: the number of its index.
fn only_tree<V>(table: &Table, wanted: &Wanted<V>) -> Option<Option<usize>> {
    let begins = |tree: &Tree| tree.parts().first().is_some_and(|part| wanted.has(part));
    let mut found = begins(table.primary()).then_some(None);
    for (number, index) in table.indexes().iter().enumerate() {
        if index.state() != State::Ready {
            continue;
        }
        // What these hold, and how often, takes a closer look.
        if index.only().is_some() || index.is_multi_valued() {
            return None;
        }
        if begins(index.tree()) {
            if found.is_some() || index.is_unique() {
                return None;
            }
            found = Some(Some(number));
        }
    }
    found.filter(|index| tree(table, *index).is_some_and(|tree| *tree.format() == Format::Native))
}

/// What is asked: fields that equal a value, and perhaps one within a range. A `V` stands for a value.
#[derive(Debug, Clone)]
pub(crate) struct Wanted<V> {
    equal: SmallVec<[(u16, V); 4]>,
    range: Option<Range<V>>,
}

/// A field within bounds.
#[derive(Debug, Clone)]
struct Range<V> {
    column: u16,
    lower: Bound<V>,
    upper: Bound<V>,
}

impl<V> Default for Wanted<V> {
    fn default() -> Self {
        Self { equal: SmallVec::new(), range: None }
    }
}

impl<V> Wanted<V> {
    /// The conditions of a filter, with what stands for their values; `None` if there are others than it can have.
    pub(crate) fn of<'q>(
        table: &Table,
        filter: &'q Predicate,
        stands: impl Fn(&'q Value<'static>) -> V,
    ) -> Option<Self> {
        let conditions = match filter {
            Predicate::And(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut wanted = Self::default();
        for condition in conditions {
            match condition {
                Predicate::In { field, values } => {
                    let [value] = values.as_slice() else { return None };
                    wanted.equals(table, field, stands(value))?;
                }
                Predicate::Range { field, lower, upper } => {
                    let (lower, upper) = (lower.as_ref().map(&stands), upper.as_ref().map(&stands));
                    wanted.lies_within(table, field, lower, upper)?;
                }
                _ => return None,
            }
        }
        Some(wanted)
    }

    /// Also, a field equals a value; `None` if that is not all that is asked of it.
    pub(crate) fn equals(&mut self, table: &Table, field: &str, value: V) -> Option<()> {
        let column = plain(table, field)?;
        (!self.knows(column.id)).then(|| self.equal.push((column.id, value)))
    }

    /// Also, a field lies within bounds; `None` if another does already, or more is asked of it than its two bounds.
    pub(crate) fn lies_within(
        &mut self,
        table: &Table,
        field: &str,
        lower: Bound<V>,
        upper: Bound<V>,
    ) -> Option<()> {
        let column = plain(table, field)?.id;
        if self.equal(column).is_some() {
            return None;
        }
        match (&mut self.range, lower, upper) {
            (none @ None, lower, upper) => *none = Some(Range { column, lower, upper }),
            (Some(range), ..) if range.column != column => return None,
            (Some(Range { upper: free @ Bound::Unbounded, .. }), Bound::Unbounded, upper) => *free = upper,
            (Some(Range { lower: free @ Bound::Unbounded, .. }), lower, Bound::Unbounded) => *free = lower,
            _ => return None,
        }
        Some(())
    }

    fn knows(&self, column: u16) -> bool {
        self.equal(column).is_some() || self.range.as_ref().is_some_and(|range| range.column == column)
    }

    fn has(&self, part: &Part) -> bool {
        self.knows(part.column)
    }

    fn equal(&self, column: u16) -> Option<&V> {
        self.equal.iter().find(|(one, _)| *one == column).map(|(_, value)| value)
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

impl<V> Range<V> {
    /// Whether it is a range of this part, and its ends are known.
    ///
    /// Nulls stand at one of the ends, and are in no range: where values begin or end, the planner knows.
    fn bounds(&self, part: Option<&Part>) -> bool {
        let open = |bound: &Bound<V>| matches!(bound, Bound::Unbounded);
        let (lower, upper) = (open(&self.lower), open(&self.upper));
        part.is_some_and(|part| {
            let whole = if part.field.nulls.is_some() { lower || upper } else { lower && upper };
            part.column == self.column && !whole
        })
    }
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

/// The column of a field that has one value, which a filter compares as keys do.
fn plain<'t>(table: &'t Table, field: &str) -> Option<&'t Column> {
    let plain = |column: &&Column| !column.kind.is_many() && !matches!(column.kind.element(), Type::Tuple(_));
    table.column(field).filter(plain)
}

/// A value as one of the column's type, if it equals or precedes anything.
fn comparable<'v>(column: &Column, value: Value<'v>) -> Option<Value<'v>> {
    let value = if column.holds(&value) { value } else { column.coerce_element(value).ok()? };
    (!is_unordered(&value)).then_some(value)
}
