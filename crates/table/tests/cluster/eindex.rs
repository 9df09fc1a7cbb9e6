//! The plain index with Eindex's example and its exact answers, and each thing that Eindex got wrong.

use std::collections::BTreeMap;
use std::thread;

use keyloom_cassandra::CassandraStore;
use keyloom_key::Value;
use keyloom_store::Wait;
use keyloom_table::{Index, Keys};

use crate::{ALL, database, open, shared, split_into, url};

type Plain = Index<CassandraStore>;
type Pairs = Vec<(Value<'static>, Vec<Value<'static>>)>;

fn numbers(url: &str, name: &str) -> Plain {
    database(url).open_index(name, "i64", "i64").wait().unwrap()
}

fn add(index: &Plain, pairs: impl IntoIterator<Item = (i64, i64)>) {
    index.add_all(pairs.into_iter().map(|(key, value)| (key.into(), value.into()))).wait().unwrap();
}

fn found(index: &Plain, asked: &Keys) -> Pairs {
    index.keys(asked).wait().unwrap()
}

fn pairs(found: impl IntoIterator<Item = (i64, Vec<i64>)>) -> Pairs {
    found
        .into_iter()
        .map(|(key, values)| (key.into(), values.into_iter().map(Value::from).collect()))
        .collect()
}

/// As many pairs, one value a key.
fn single(keys: impl IntoIterator<Item = i64>) -> Pairs {
    pairs(keys.into_iter().map(|key| (key, vec![1000 + key])))
}

/// The evens to 100 and 19, each with the value 1000 + key.
#[test]
fn the_example_has_its_exact_answers() {
    let Some(url) = shared(10) else { return };
    let index = numbers(&url, "my_index");
    add(&index, (2_i64..=100).step_by(2).chain([19]).map(|key| (key, 1000 + key)));
    assert_eq!(found(&index, &Keys::from(17_i64).limit(5)), single([18, 19, 20, 22, 24]));
    assert_eq!(found(&index, &Keys::down_from(17_i64).limit(5)), single([16, 14, 12, 10, 8]));
    for boundary in [20_i64, 40, 60, 80, 100] {
        let around = (boundary - 2..=boundary + 2).filter(|key| (*key <= 100 && key % 2 == 0) || *key == 19);
        assert_eq!(found(&index, &Keys::between(boundary - 2, boundary + 2)), single(around));
    }
    assert_eq!(found(&index, &Keys::from(17_i64).limit(100)).len(), 43);
    add(&index, [(19, 1000)]);
    assert_eq!(index.values(19_i64).wait().unwrap(), [1000_i64.into(), 1019_i64.into()]);
    let two = pairs([(19, vec![1000, 1019]), (18, vec![1018])]);
    assert_eq!(found(&index, &Keys::down_from(19_i64).limit(2)), two);
}

/// Splitting threw, keys above the last boundary shared one unbounded shard, and a range looked at one more shard only.
#[test]
fn shards_split_by_themselves_and_a_range_runs_over_all_of_them() {
    let Some(url) = url("split", "split_rows=30") else { return };
    let index = numbers(&url, "grows");
    for start in (0_i64..600).step_by(20) {
        add(&index, (start..start + 20).map(|key| (key, 1000 + key)));
    }
    let store = open(&url);
    let split = split_into(&store, &ALL, 8);
    assert_eq!(found(&index, &Keys::all()), single(0..600), "of {split} shards");
    assert_eq!(found(&index, &Keys::all().backward()), single((0..600).rev()));
    assert_eq!(found(&index, &Keys::between(50_i64, 500_i64)), single(50..=500));
    assert_eq!(found(&index, &Keys::from(50_i64).limit(400)), single(50..450));
    assert_eq!(found(&index, &Keys::down_from(550_i64).limit(400)), single((151..=550).rev()));
    // A client that has never seen the shards as they were, and one that remembers two of them.
    let small = numbers(&format!("{url}&cache=2"), "grows");
    assert_eq!(found(&small, &Keys::all()), single(0..600));
    assert_eq!(found(&small, &Keys::down_from(550_i64).limit(400)), single((151..=550).rev()));
}

/// Two initialisers overwrote each other's boundaries, and two first inserts of a key lost a value.
#[test]
fn first_inserts_at_the_same_time_lose_nothing() {
    let Some(url) = shared(10_000) else { return };
    let clients: Vec<_> = (0..4).map(|_| open(&url)).collect();
    thread::scope(|scope| {
        for (number, store) in (0_i64..).zip(&clients) {
            scope.spawn(move || {
                let database = keyloom_table::Database::open(store.clone()).wait().unwrap();
                let index = database.open_index("first", "i64", "i64").wait().unwrap();
                (0..15_i64).for_each(|key| add(&index, [(key, number)]));
            });
        }
    });
    let index = numbers(&url, "first");
    assert_eq!(found(&index, &Keys::all()), pairs((0..15).map(|key| (key, vec![0, 1, 2, 3]))));
}

/// Removing from a single-valued key ignored the value; removing the last of several left a ghost that used up the limit.
#[test]
fn what_is_removed_is_that_value_and_leaves_no_ghost() {
    let Some(url) = shared(10_000) else { return };
    let index = numbers(&url, "removed");
    add(&index, [(1, 1), (2, 1), (2, 2), (3, 1), (4, 1)]);
    index.remove(1_i64, 7_i64).wait().unwrap();
    assert_eq!(index.values(1_i64).wait().unwrap(), [1_i64.into()], "another value was removed");
    for value in [1_i64, 2] {
        index.remove(2_i64, value).wait().unwrap();
    }
    assert_eq!(index.values(2_i64).wait().unwrap(), []);
    assert_eq!(found(&index, &Keys::all().limit(2)), pairs([(1, vec![1]), (3, vec![1])]));
    add(&index, [(2, 9)]);
    assert_eq!(found(&index, &Keys::all().limit(2)), pairs([(1, vec![1]), (2, vec![9])]));
}

/// Each multi-valued key cost one more query and was cut at a limit: a limit counts keys.
#[test]
fn a_limit_counts_keys_and_their_values_come_together_sorted() {
    let Some(url) = url("values", "split_rows=30") else { return };
    let index = numbers(&url, "many");
    let mut expected = BTreeMap::new();
    for key in 0..20_i64 {
        let values: Vec<i64> = (0..=key).map(|value| value * 37 % 41).collect();
        add(&index, values.iter().map(|value| (key, *value)));
        expected.insert(key, values);
    }
    expected.values_mut().for_each(|values| values.sort_unstable());
    split_into(&open(&url), &ALL, 4);
    let first = expected.iter().take(15).map(|(key, values)| (*key, values.clone()));
    assert_eq!(found(&index, &Keys::all().limit(15)), pairs(first));
    let last = expected.iter().rev().take(15).map(|(key, values)| (*key, values.clone()));
    assert_eq!(found(&index, &Keys::all().backward().limit(15)), pairs(last));
}

/// A key whose values lie in many shards and come in many pages.
#[test]
fn a_key_may_have_very_many_values() {
    let Some(url) = url("long", "split_rows=4000") else { return };
    let index = numbers(&url, "long");
    add(&index, [(1, 0), (3, 0)]);
    for start in (0_i64..20_000).step_by(2_000) {
        add(&index, (start..start + 2_000).map(|value| (2, value)));
    }
    split_into(&open(&url), &ALL, 4);
    let all: Vec<Value<'_>> = (0..20_000_i64).map(Value::from).collect();
    assert_eq!(index.values(2_i64).wait().unwrap(), all);
    let three = found(&index, &Keys::all().limit(3));
    assert_eq!(three.iter().map(|(_, values)| values.len()).collect::<Vec<_>>(), [1, 20_000, 1]);
    let backward = found(&index, &Keys::down_from(2_i64).limit(1));
    assert_eq!(backward, [(2_i64.into(), all)]);
}

/// Its keys were numbers: here keys and values are of any types, several indexes in one keyspace.
#[test]
fn keys_and_values_of_different_types_lie_beside_one_another() {
    let Some(url) = shared(10_000) else { return };
    let database = database(&url);
    let places = database.open_index("places", "tuple(f64,str)", "uuid").wait().unwrap();
    let words = database.open_index("words", "str:nocase", "timestamp:desc").wait().unwrap();
    let place = |x: f64, name: &'static str| Value::Tuple(vec![x.into(), name.into()]);
    let id = |number: u128| Value::Uuid(keyloom_key::Uuid::from_u128(number));
    let at = |second: i64| Value::from(keyloom_key::Timestamp::from_millis(second * 1000));
    for (number, x) in (0_u128..).zip([2.5, -1.0, 2.5, -0.5]) {
        places.add(place(x, "a"), id(number)).wait().unwrap();
        words.add(["B", "a", "b", "A"][number as usize], at(number as i64)).wait().unwrap();
    }
    let expected = [(place(-1.0, "a"), vec![id(1)]), (place(-0.5, "a"), vec![id(3)])];
    assert_eq!(places.keys(&Keys::all().limit(2)).wait().unwrap(), expected);
    assert_eq!(places.values(place(2.5, "a")).wait().unwrap(), [id(0), id(2)]);
    assert_eq!(words.values("a").wait().unwrap(), [at(3), at(1)]);
    assert!(database.open_index("places", "i64", "uuid").wait().is_err());
}
