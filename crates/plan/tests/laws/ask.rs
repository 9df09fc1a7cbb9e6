//! Questions, and what they should be answered with.

use std::cmp::Ordering;
use std::ops::Bound;

use keyloom_key::{Direction, Field, Nulls, Value};
use keyloom_plan::{OrderBy, Query};
use keyloom_schema::{Comparison, Predicate, Table, field, row};
use proptest::prelude::*;

use crate::world::{COLUMNS, Row, value_of};

fn column() -> impl Strategy<Value = &'static str> {
    // Fields that keys start with are asked for more often.
    prop_oneof![
        4 => proptest::sample::select(&["a", "b", "c", "d", "tags", "s"][..]),
        1 => proptest::sample::select(&["x", "n", "id", "extra"][..]),
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
    let text = matches!(name, "a" | "s" | "d");
    let start = proptest::sample::select(&["", "U", "U1", "a", "A", "s", "x", "b"][..]);
    prop_oneof![
        5 => value().prop_map(move |value| field(name).eq(value)),
        3 => proptest::collection::vec(value(), 0..4).prop_map(move |values| field(name).is_in(values)),
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
        &["s", "a"],
        &["id"],
    ];
    let comparison = proptest::sample::select(
        &[Comparison::Less, Comparison::LessOrEqual, Comparison::Greater, Comparison::GreaterOrEqual][..],
    );
    (proptest::sample::select(&RUNS[..]), comparison)
        .prop_flat_map(|(names, comparison)| {
            let value =
                |name: &&'static str| prop_oneof![9 => value_of(name), 1 => Just(Value::Null)].boxed();
            names
                .iter()
                .map(value)
                .collect::<Vec<_>>()
                .prop_map(move |values| row(names.iter().copied()).compare(comparison, values))
        })
        .boxed()
}

fn condition() -> impl Strategy<Value = Predicate> {
    let simple = || column().prop_flat_map(on);
    prop_oneof![
        8 => simple(),
        2 => rows(),
        1 => (simple(), simple()).prop_map(|(a, b)| a.or(b)),
        1 => simple().prop_map(Predicate::negate),
    ]
}

fn order() -> impl Strategy<Value = Vec<OrderBy>> {
    let name = proptest::sample::select(&["a", "b", "c", "d", "s", "id", "x"][..]);
    let by = (name, any::<bool>(), prop_oneof![6 => Just(None), 1 => any::<bool>().prop_map(Some)]);
    let by = by.prop_map(|(name, down, nulls)| {
        let (direction, usual) =
            if down { (Direction::Descending, Nulls::Last) } else { (Direction::Ascending, Nulls::First) };
        let nulls = nulls.map_or(usual, |first| if first { Nulls::First } else { Nulls::Last });
        OrderBy { field: name.to_owned(), direction, nulls }
    });
    // The orders of keys, both ways, come more often than chance would have it.
    const RUNS: [&[&str]; 8] =
        [&["a", "id"], &["b", "d", "id"], &["b", "a"], &["d", "c"], &["c", "b"], &["c"], &["b"], &["id"]];
    let run = (proptest::sample::select(&RUNS[..]), proptest::collection::vec(any::<bool>(), 3)).prop_map(
        |(names, down)| {
            let query = names.iter().zip(down).fold(Query::new(), |query, (name, down)| {
                if down { query.order_by_desc(*name) } else { query.order_by(*name) }
            });
            query.order
        },
    );
    prop_oneof![2 => Just(Vec::new()), 2 => proptest::collection::vec(by, 1..4), 4 => run]
}

pub fn queries() -> impl Strategy<Value = Query> {
    let filter = proptest::collection::vec(condition(), 0..4);
    let select =
        proptest::option::of(proptest::sample::subsequence(COLUMNS.map(|(name, ..)| name).to_vec(), 0..3));
    (filter, order(), proptest::option::of(1..9_u64), select).prop_map(|(filter, order, limit, select)| {
        let mut query = filter.into_iter().fold(Query::new(), Query::filter);
        query.order = order;
        query.limit = limit;
        match select {
            Some(names) => query.select(names),
            None => query,
        }
    })
}

/// Whether the numbers of two rows stand in the order that is asked for, or it says nothing of them.
pub fn in_order(table: &Table, order: &[OrderBy], a: &Row, b: &Row) -> bool {
    let compared = order.iter().map(|by| {
        let kind = table.column(&by.field).unwrap().kind.element().clone();
        let field = Field { kind, direction: by.direction, nulls: Some(by.nulls) };
        field.compare(&a.get(&by.field), &b.get(&by.field))
    });
    compared.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal).is_le()
}
