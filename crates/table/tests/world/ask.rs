//! Questions.

use std::ops::Bound;

use keyloom_key::{Direction, Nulls, Value};
use keyloom_schema::{Comparison, Index, Predicate, Table, Tree, field, row};
use keyloom_table::Query;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{COLUMNS, value_of};

fn columns() -> impl Strategy<Value = &'static str> {
    // Fields that keys start with are asked for more often.
    prop_oneof![
        4 => select(&["a", "b", "c", "d", "tags", "s"][..]),
        1 => select(&["x", "n", "id", "extra", "words", "ends", "raw", "flag"][..]),
    ]
}

fn bound(value: Value<'static>, kind: u8) -> Bound<Value<'static>> {
    match kind {
        0 => Bound::Unbounded,
        1 => Bound::Included(value),
        _ => Bound::Excluded(value),
    }
}

fn on(name: &'static str) -> BoxedStrategy<Predicate> {
    let value = || prop_oneof![12 => value_of(name), 1 => Just(Value::Null)];
    let text = matches!(name, "a" | "s" | "d" | "words" | "raw");
    let start = select(&["", "U", "U1", "a", "A", "s", "x", "b"][..]).prop_map(Value::from);
    let start = if name == "raw" { value_of(name) } else { start.boxed() };
    prop_oneof![
        5 => value().prop_map(move |value| field(name).eq(value)),
        3 => vec(value(), 0..4).prop_map(move |values| field(name).is_in(values)),
        4 => (value(), value(), 0..3_u8, 0..3_u8)
            .prop_map(move |(a, b, low, high)| field(name).range(bound(a, low), bound(b, high))),
        1 => Just(field(name).is_null()),
        1 => Just(field(name).is_not_null()),
        1 => value().prop_map(move |value| field(name).ne(value)),
        1 => (value(), value()).prop_map(move |(a, b)| field(name).eq(a).or(field(name).eq(b))),
        2 => start.prop_map(move |start| if text { field(name).begins_with(start) } else { Predicate::all() }),
    ]
    .boxed()
}

fn rows() -> BoxedStrategy<Predicate> {
    const RUNS: [&[&str]; 9] = [
        &["a", "id"],
        &["a", "s", "c"],
        &["b", "d"],
        &["b", "d", "id"],
        &["c", "b", "id"],
        &["d", "c"],
        &["b", "a"],
        &["n", "x"],
        &["id"],
    ];
    let comparison = select(
        &[Comparison::Less, Comparison::LessOrEqual, Comparison::Greater, Comparison::GreaterOrEqual][..],
    );
    (select(&RUNS[..]), comparison)
        .prop_flat_map(|(names, comparison)| {
            let value =
                |name: &&'static str| prop_oneof![9 => value_of(name), 1 => Just(Value::Null)].boxed();
            let values: Vec<_> = names.iter().map(value).collect();
            values.prop_map(move |values| row(names.iter().copied()).compare(comparison, values))
        })
        .boxed()
}

pub fn predicates() -> impl Strategy<Value = Predicate> {
    let simple = || columns().prop_flat_map(on);
    let both = || prop_oneof![5 => simple().boxed(), 1 => rows()];
    prop_oneof![
        8 => simple(),
        2 => rows(),
        1 => (both(), both()).prop_map(|(a, b)| a.or(b)),
        1 => both().prop_map(Predicate::negate),
        1 => (both(), both(), both()).prop_map(|(a, b, c)| a.and(b).or(c.negate()).negate()),
    ]
}

fn orders() -> impl Strategy<Value = Query> {
    let name = select(&["a", "b", "c", "d", "s", "id", "x", "n", "ends", "raw", "flag"][..]);
    let by = (name, any::<bool>(), prop_oneof![6 => Just(None), 1 => any::<bool>().prop_map(Some)]);
    let by = by.prop_map(|(name, down, nulls)| {
        let mut by = if down { Query::new().order_by_desc(name) } else { Query::new().order_by(name) }.order;
        if let Some(first) = nulls {
            by[0].nulls = if first { Nulls::First } else { Nulls::Last };
        }
        by.swap_remove(0)
    });
    // The orders of keys, both ways, come more often than chance would have it.
    const RUNS: [&[&str]; 10] = [
        &["a", "id"],
        &["b", "d", "id"],
        &["b", "a"],
        &["d", "c"],
        &["c", "b"],
        &["a", "s", "c"],
        &["c"],
        &["b"],
        &["id"],
        &["c", "b", "id"],
    ];
    let run = (select(&RUNS[..]), vec(any::<bool>(), 3)).prop_map(|(names, down)| {
        names.iter().zip(down).fold(Query::new(), |query, (name, down)| {
            if down { query.order_by_desc(*name) } else { query.order_by(*name) }
        })
    });
    prop_oneof![
        2 => Just(Query::new()),
        2 => vec(by, 1..4).prop_map(|order| order.into_iter().fold(Query::new(), Query::ordered)),
        4 => run,
    ]
}

/// A question: any, or one that follows a key of the table.
#[derive(Debug, Clone)]
pub enum Question {
    Any(Query),
    Keyed(Keyed),
}

/// A question that follows a key: its first fields fixed, the next one perhaps bounded, in the order of what follows.
#[derive(Debug, Clone)]
pub struct Keyed {
    /// The number of the key, counted around.
    tree: usize,
    fixed: usize,
    /// Whether each fixed field has two values to choose from.
    list: bool,
    range: u8,
    ordered: usize,
    backward: bool,
    /// Whether only fields are shown that the key itself has.
    covered: bool,
    limit: Option<u64>,
    more: Option<Predicate>,
    /// Two values of each column.
    values: Vec<(Value<'static>, Value<'static>)>,
}

impl Question {
    /// The question to this table.
    pub fn query(&self, table: &Table) -> Query {
        match self {
            Self::Any(query) => query.clone(),
            Self::Keyed(keyed) => keyed.query(table),
        }
    }
}

impl Keyed {
    fn query(&self, table: &Table) -> Query {
        let trees: Vec<&Tree> =
            std::iter::once(table.primary()).chain(table.indexes().iter().map(Index::tree)).collect();
        let parts = trees[self.tree % trees.len()].parts();
        let mut query = Query::new();
        for part in parts.iter().take(self.fixed) {
            let (a, b) = self.values[usize::from(part.column) - 1].clone();
            let same = if self.list { field(&part.name).is_in([a, b]) } else { field(&part.name).eq(a) };
            query = query.filter(same);
        }
        if let Some(part) = parts.get(self.fixed) {
            let (a, b) = self.values[usize::from(part.column) - 1].clone();
            query = match self.range {
                0 => query.filter(field(&part.name).ge(a)),
                1 => query.filter(field(&part.name).between(a, b)),
                2 => query.filter(field(&part.name).lt(a)),
                _ => query,
            };
        }
        for part in parts.iter().skip(self.fixed).filter(|part| !part.many).take(self.ordered) {
            let down = (part.field.direction == Direction::Descending) != self.backward;
            query = if down { query.order_by_desc(&part.name) } else { query.order_by(&part.name) };
        }
        if self.covered {
            let declared = trees[self.tree % trees.len()].declared();
            let names = parts.iter().take(declared).filter(|part| !part.many).map(|part| part.name.as_str());
            query = query.select(names);
        }
        query.limit = self.limit;
        self.more.iter().cloned().fold(query, Query::filter)
    }
}

fn keyed() -> impl Strategy<Value = Keyed> {
    let values: Vec<_> = COLUMNS.iter().map(|(name, ..)| (value_of(name), value_of(name))).collect();
    let key = (0..8_usize, 0..3_usize, any::<bool>(), 0..5_u8);
    let shown = (0..3_usize, any::<bool>(), any::<bool>(), proptest::option::of(0..7_u64));
    (key, shown, proptest::option::weighted(0.2, predicates()), values).prop_map(
        |((tree, fixed, list, range), (ordered, backward, covered, limit), more, values)| Keyed {
            tree,
            fixed,
            list,
            range,
            ordered,
            backward,
            covered,
            limit,
            more,
            values,
        },
    )
}

pub fn questions() -> impl Strategy<Value = Question> {
    prop_oneof![queries().prop_map(Question::Any), keyed().prop_map(Question::Keyed)]
}

fn queries() -> impl Strategy<Value = Query> {
    let names =
        vec!["a", "s", "b", "c", "d", "x", "n", "tags", "words", "ends", "raw", "flag", "id", "extra"];
    let shown = proptest::option::of(proptest::sample::subsequence(names, 0..4));
    let limit = proptest::option::of(0..7_u64);
    // Many conditions together are mostly like nothing.
    let filters =
        prop_oneof![1 => vec(predicates(), 0), 4 => vec(predicates(), 1), 3 => vec(predicates(), 2..4)];
    (filters, orders(), limit, shown).prop_map(|(filters, order, limit, shown)| {
        let mut query = filters.into_iter().fold(order, Query::filter);
        query.limit = limit;
        match shown {
            Some(names) => query.select(names),
            None => query,
        }
    })
}
