//! Questions, and what they should be answered with.

use std::cmp::Ordering;
use std::ops::Bound;

use keyloom_key::{Direction, Field, Nulls, Value};
use keyloom_plan::{OrderBy, Query};
use keyloom_schema::{Comparison, Index, Part, Predicate, Table, field, row};
use proptest::prelude::*;

use crate::world::{Row, value_of};

const NAMES: [&str; 10] = ["a", "b", "c", "d", "tags", "s", "x", "n", "id", "extra"];

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

/// A row of these fields, compared with values.
fn row_of(names: Vec<&'static str>) -> BoxedStrategy<Predicate> {
    let comparison = proptest::sample::select(
        &[Comparison::Less, Comparison::LessOrEqual, Comparison::Greater, Comparison::GreaterOrEqual][..],
    );
    let value = |name: &&'static str| prop_oneof![4 => value_of(name), 1 => Just(Value::Null)].boxed();
    let values = names.iter().map(value).collect::<Vec<_>>();
    (comparison, values)
        .prop_map(move |(comparison, values)| row(names.iter().copied()).compare(comparison, values))
        .boxed()
}

fn condition() -> impl Strategy<Value = Predicate> {
    let simple = || proptest::sample::select(&NAMES[..]).prop_flat_map(on);
    prop_oneof![
        8 => simple(),
        1 => proptest::sample::subsequence(vec!["d", "b", "a", "id"], 1..4).prop_shuffle().prop_flat_map(row_of),
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
    proptest::collection::vec(by, 0..4)
}

/// Conditions on the first parts of a key, and an order that it may give.
fn about(parts: Vec<Part>) -> BoxedStrategy<(Vec<Predicate>, Vec<OrderBy>)> {
    let names: Vec<&'static str> =
        parts.iter().filter_map(|part| NAMES.into_iter().find(|name| *name == part.name)).collect();
    let conditions = (0..=names.len(), 0..names.len() + 3).prop_flat_map(move |(count, run)| {
        let some = |name: &&'static str| prop_oneof![4 => on(name), 1 => Just(Predicate::all())].boxed();
        let mut conditions: Vec<_> = names[..count].iter().map(some).collect();
        // Behind them perhaps a row of the next parts.
        let row = names[count..].iter().copied().take(run).take_while(|name| *name != "tags");
        let row: Vec<&'static str> = row.collect();
        if !row.is_empty() {
            conditions.push(prop_oneof![row_of(row), Just(Predicate::all())].boxed());
        }
        conditions
    });
    let run = (0..parts.len(), 0..=parts.len(), any::<bool>(), 0..8_u8);
    let order = run.prop_map(move |(from, count, backward, odd)| {
        let order =
            parts.iter().filter(|part| !part.many).skip(from).take(count).enumerate().map(|(at, part)| {
                // Now and then one field runs against the others.
                let down =
                    (part.field.direction == Direction::Descending) != (backward != (usize::from(odd) == at));
                let usual = if down { Nulls::Last } else { Nulls::First };
                let nulls = match (part.field.nulls, backward) {
                    (Some(Nulls::First), true) => Nulls::Last,
                    (Some(Nulls::Last), true) => Nulls::First,
                    (nulls, _) => nulls.unwrap_or(usual),
                };
                let direction = if down { Direction::Descending } else { Direction::Ascending };
                OrderBy { field: part.name.clone(), direction, nulls }
            });
        order.collect()
    });
    (conditions, order).boxed()
}

/// Queries of which most have to do with a key of the table.
pub fn queries(table: &Table) -> impl Strategy<Value = Query> + use<> {
    let trees = std::iter::once(table.primary()).chain(table.indexes().iter().map(Index::tree));
    let trees: Vec<Vec<Part>> = trees.map(|tree| tree.parts().to_vec()).collect();
    let about = proptest::sample::select(trees).prop_flat_map(about);
    let same =
        proptest::sample::select(&NAMES[..]).prop_flat_map(|name| proptest::collection::vec(on(name), 2..4));
    let more = prop_oneof![
        3 => Just(Vec::new()),
        2 => proptest::collection::vec(condition(), 1..3),
        // Several on one field, which are merged into one.
        2 => same,
    ];
    let order = prop_oneof![2 => Just(Vec::new()), 1 => order()];
    let select = proptest::option::of(proptest::sample::subsequence(NAMES.to_vec(), 0..3));
    (about, more, order, proptest::option::of(1..9_u64), select).prop_map(
        |((filter, given), more, other, limit, select)| {
            let mut query = filter.into_iter().chain(more).fold(Query::new(), Query::filter);
            // What is unique needs no further order, and only that.
            query.order = given.into_iter().chain(other).collect();
            query.limit = limit;
            match select {
                Some(names) => query.select(names),
                None => query,
            }
        },
    )
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
