//! Random tables for property tests: any columns, keys, indexes, formats and placements that can be together.

use std::collections::BTreeSet;
use std::ops::Bound;

use keyloom_key::placement::{Hash, Shards, Stripes};
use keyloom_key::{Date, Type, Value};
use keyloom_schema::{
    Comparison, Format, Index, IndexBuilder, Kind, Placement, Predicate, State, Table, field, row,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index as Pick, select};

use crate::random;

/// Names that are plain, and some that must be quoted.
const NAMES: [&str; 12] = [
    "a",
    "b",
    "user_id",
    "order date",
    "Straße",
    "select",
    "say \"so\"",
    "1st",
    "UPPER",
    "primary",
    "it's",
    "key",
];

type Columns = Vec<(String, Kind, bool)>;

/// Any table that can be: with its numbers, and its indexes ready or not.
///
/// Values in its predicates are such that SQL can say them: finite, and within the calendar.
pub fn table() -> impl Strategy<Value = Table> {
    columns().prop_flat_map(|columns| {
        let indexes = vec((index(&columns), any::<bool>()), 0..4);
        let key = vec((any::<Pick>(), modifiers()), 1..5);
        let expiry = option::of(any::<Pick>());
        (Just(columns), key, indexes, format(), placement(), expiry, select(NAMES.to_vec()), 1_u32..1000)
            .prop_filter_map(
                "a table that cannot be",
                |(columns, key, indexes, format, placement, expiry, name, id)| {
                    let table = |format: Format| {
                        let mut table = Table::named(name).placement(placement).format(format);
                        for (name, kind, nullable) in &columns {
                            table = match nullable {
                                true => table.nullable(name, kind.to_string()),
                                false => table.column(name, kind.to_string()),
                            };
                        }
                        let times: Vec<_> = columns
                            .iter()
                            .filter(|(_, kind, _)| matches!(kind, Kind::One(Type::Timestamp(_))))
                            .collect();
                        if let Some(pick) = expiry.filter(|_| !times.is_empty()) {
                            table = table.expires_by(pick.get(&times).0.clone());
                        }
                        let one: Vec<_> = columns.iter().filter(|(_, kind, _)| !kind.is_many()).collect();
                        let names: Vec<&str> = one.iter().map(|(name, ..)| name.as_str()).collect();
                        table.key(parts(&names, &key).iter().map(String::as_str)).build().ok()
                    };
                    // Few keys go into a format other than the native one.
                    let mut table = table(format).or_else(|| table(Format::Native))?;
                    for (index, ready) in indexes {
                        // Two may have the same name, and a format may refuse the columns: such an index is left out.
                        if let Ok((next, index)) = table.with_index(index) {
                            let state = if ready { State::Ready } else { State::Building };
                            table = next.with_index_state(index.name(), state);
                        }
                    }
                    table.number_trees(id);
                    Some(table)
                },
            )
    })
}

fn columns() -> impl Strategy<Value = Columns> {
    let kind =
        prop_oneof![4 => random::kind(2).prop_map(Kind::One), 1 => random::kind(1).prop_map(Kind::Many)];
    // The first is never a list, so that there is something to be a key.
    let first = (random::kind(0).prop_map(Kind::One), any::<bool>());
    (first, vec((kind, any::<bool>()), 0..7), Just(NAMES.to_vec()).prop_shuffle()).prop_map(
        |(first, rest, names)| {
            let kinds = std::iter::once(first).chain(rest);
            names
                .into_iter()
                .zip(kinds)
                .map(|(name, (kind, nullable))| (name.to_owned(), kind, nullable))
                .collect()
        },
    )
}

fn modifiers() -> impl Strategy<Value = String> {
    (select(vec!["", " desc", " asc"]), select(vec!["", " nulls-first", " nulls-last"]))
        .prop_map(|(direction, nulls)| format!("{direction}{nulls}"))
}

/// The picked names, each once, with what stands behind them.
fn parts(names: &[&str], picks: &[(Pick, String)]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let picks = picks.iter().map(|(pick, modifiers)| (pick.get(names), modifiers));
    picks
        .filter(|(name, _)| seen.insert(**name))
        .map(|(name, modifiers)| format!("{name}{modifiers}"))
        .collect()
}

fn placement() -> impl Strategy<Value = Placement> {
    prop_oneof![
        2 => Just(Placement::Ordered),
        1 => (1..=Shards::MAX, select(Hash::ALL.to_vec()))
            .prop_map(|(count, hash)| Shards::new(count, hash).map(Placement::Shards).unwrap_or_default()),
        1 => (1..=Stripes::MAX).prop_map(|count| Stripes::new(count).map(Placement::Stripes).unwrap_or_default()),
    ]
}

fn format() -> impl Strategy<Value = Format> {
    let texts = [
        "native",
        "lexkey",
        "lexkey-legacy",
        "rowkey",
        "keystone",
        "composite",
        "composite escape",
        "composite escape delimiter=0001",
        "composite delimiter=00 pad=1:32 pad=2:8",
    ];
    select(texts.to_vec()).prop_map(|text| text.parse().unwrap_or_default())
}

fn index(columns: &Columns) -> impl Strategy<Value = IndexBuilder> + use<> {
    let names: Vec<String> = columns.iter().map(|(name, ..)| name.clone()).collect();
    let picks = vec((any::<Pick>(), modifiers()), 1..4);
    let name = option::of(select(NAMES.to_vec()));
    let only = option::weighted(0.4, predicate(columns, 3));
    let flags = (any::<bool>(), any::<bool>());
    (picks, name, flags, vec(any::<Pick>(), 0..3), only, format(), placement()).prop_map(
        move |(picks, name, (unique, native), covering, only, format, placement)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut index = Index::on(parts(&names, &picks).iter().map(String::as_str))
                .covering(covering.iter().map(|pick| *pick.get(&names)))
                .placement(placement);
            if !native {
                index = index.format(format);
            }
            if unique {
                index = index.unique();
            }
            if let Some(name) = name {
                index = index.named(name);
            }
            match only {
                Some(only) => index.only(only),
                None => index,
            }
        },
    )
}

/// What a record of these columns may have to be like.
fn predicate(columns: &Columns, depth: u32) -> BoxedStrategy<Predicate> {
    let columns_too = columns.clone();
    let one = select(columns.clone()).prop_flat_map(|(name, kind, _)| {
        let value = literal(kind.element());
        let name = move || field(name.clone());
        let text = matches!(kind.element(), Type::Str(_) | Type::Bytes);
        (vec(value, 3), 0..7).prop_map(move |(values, shape)| {
            let [a, b, c] = values.try_into().unwrap_or([Value::Null, Value::Null, Value::Null]);
            match shape {
                0 => name().eq(a),
                1 => name().is_in([a, b, Value::Null, c]),
                2 => name().range(Bound::Excluded(a), Bound::Included(b)),
                3 => name().between(a, b),
                4 => name().is_null(),
                5 if text => name().begins_with(a),
                _ => name().le(a),
            }
        })
    });
    let singles: Vec<_> = columns_too.into_iter().filter(|(_, kind, _)| !kind.is_many()).collect();
    let rows = vec(select(singles), 2..4).prop_flat_map(|columns| {
        let values: Vec<_> = columns.iter().map(|(_, kind, _)| literal(kind.element())).collect();
        let names: Vec<String> = columns.into_iter().map(|(name, ..)| name).collect();
        let comparison = select(vec![
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ]);
        (Just(names), comparison, values).prop_map(|(names, how, values)| row(names).compare(how, values))
    });
    let leaf = prop_oneof![5 => one, 1 => rows];
    leaf.prop_recursive(depth, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(Predicate::And),
            vec(inner.clone(), 2..4).prop_map(Predicate::Or),
            inner.prop_map(Predicate::negate),
            Just(Predicate::all()),
            Just(Predicate::none()),
        ]
    })
    .boxed()
}

/// A value of this type that SQL can say.
fn literal(kind: &Type) -> BoxedStrategy<Value<'static>> {
    random::value(kind).prop_filter("no literal says it", sayable).boxed()
}

fn sayable(value: &Value<'static>) -> bool {
    match value {
        Value::Float(number) => number.is_finite(),
        Value::Timestamp(instant) => instant.to_rfc3339().is_some(),
        Value::Date(day) => day.to_string().parse::<Date>().is_ok(),
        Value::Tuple(values) => values.iter().all(sayable),
        _ => true,
    }
}
