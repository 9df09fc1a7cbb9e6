//! A plain index does what Eindex does, with its own example and its exact answers.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::ops::Bound;

use keyloom_key::Value;
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::{Database, Error, Index, Keys};

/// The evens to 100 and 19, each with the value 1000 + key.
fn evens(database: &Database<MemoryStore>) -> Index<MemoryStore> {
    let index = database.open_index("my_index", "i64", "i64").wait().unwrap();
    let keys = (2_i64..=100).step_by(2).chain([19]);
    index.add_all(keys.map(|key| (key.into(), (1000 + key).into()))).wait().unwrap();
    index
}

fn database() -> Database<MemoryStore> {
    Database::open(MemoryStore::new()).wait().unwrap()
}

fn pairs(found: &[(i64, &[i64])]) -> Vec<(Value<'static>, Vec<Value<'static>>)> {
    found
        .iter()
        .map(|(key, values)| ((*key).into(), values.iter().map(|value| (*value).into()).collect()))
        .collect()
}

#[test]
fn the_next_five_from_17() {
    let index = evens(&database());
    let found = index.keys(&Keys::from(17_i64).limit(5)).wait().unwrap();
    assert_eq!(found, pairs(&[(18, &[1018]), (19, &[1019]), (20, &[1020]), (22, &[1022]), (24, &[1024])]));
}

#[test]
fn the_five_before_17() {
    let index = evens(&database());
    let found = index.keys(&Keys::down_from(17_i64).limit(5)).wait().unwrap();
    assert_eq!(found, pairs(&[(16, &[1016]), (14, &[1014]), (12, &[1012]), (10, &[1010]), (8, &[1008])]));
}

/// Its boundaries 20, 40, 60, 80 and 100 are where Eindex's shards end: a range runs over as many as it must.
#[test]
fn ranges_run_over_every_boundary() {
    let index = evens(&database());
    for boundary in [20_i64, 40, 60, 80, 100] {
        let around = index.keys(&Keys::between(boundary - 2, boundary + 2)).wait().unwrap();
        let keys = (boundary - 2..=boundary + 2).filter(|key| (*key <= 100 && key % 2 == 0) || *key == 19);
        let expected: Vec<(i64, Vec<i64>)> = keys.map(|key| (key, vec![1000 + key])).collect();
        let expected: Vec<(i64, &[i64])> =
            expected.iter().map(|(key, values)| (*key, values.as_slice())).collect();
        assert_eq!(around, pairs(&expected), "around {boundary}");
    }
    assert_eq!(index.keys(&Keys::from(17_i64).limit(100)).wait().unwrap().len(), 43);
    assert_eq!(index.keys(&Keys::all()).wait().unwrap().len(), 51);
}

#[test]
fn a_key_with_two_values_has_them_sorted() {
    let index = evens(&database());
    index.add(19_i64, 1000_i64).wait().unwrap();
    assert_eq!(index.values(19_i64).wait().unwrap(), [1000_i64.into(), 1019_i64.into()]);
    let found = index.keys(&Keys::from(17_i64).limit(5)).wait().unwrap();
    let expected = pairs(&[(18, &[1018]), (19, &[1000, 1019]), (20, &[1020]), (22, &[1022]), (24, &[1024])]);
    assert_eq!(found, expected);
    let backward = index.keys(&Keys::down_from(19_i64).limit(2)).wait().unwrap();
    assert_eq!(backward, pairs(&[(19, &[1000, 1019]), (18, &[1018])]));
    index.remove(19_i64, 1019_i64).wait().unwrap();
    index.remove(19_i64, 1019_i64).wait().unwrap();
    assert_eq!(index.values(19_i64).wait().unwrap(), [1000_i64.into()]);
    assert_eq!(index.values(21_i64).wait().unwrap(), []);
}

/// Keys and values of different types, in one database, and a limit of pages in between.
#[test]
fn keys_and_values_of_any_types() {
    let database = database();
    let index = database.open_index("places", "tuple(f64,f64)", "uuid").wait().unwrap();
    let place = |x: f64| Value::Tuple(vec![x.into(), 1.5.into()]);
    let id = |number: u128| Value::Uuid(keyloom_key::Uuid::from_u128(number));
    for number in 0..25_000_u128 {
        let x = f64::from(u16::try_from(number % 5_000).unwrap());
        index.add(place(x), id(number)).wait().unwrap();
    }
    assert_eq!(index.values(place(7.0)).wait().unwrap(), [7, 5_007, 10_007, 15_007, 20_007].map(id));
    let found = index.keys(&Keys::all().backward()).wait().unwrap();
    assert_eq!(found.len(), 5_000);
    assert!(
        found.iter().all(|(_, ids)| ids.len() == 5 && ids.is_sorted_by(|a, b| a.compare(b).unwrap().is_lt()))
    );
    assert_eq!(found[0].0, place(4_999.0));
}

#[test]
fn bounds_that_leave_nothing_are_no_error() {
    let index = evens(&database());
    let empty = Keys::range(Bound::Excluded(20_i64.into()), Bound::Excluded(22_i64.into()));
    assert_eq!(index.keys(&empty).wait().unwrap(), []);
    assert_eq!(index.keys(&Keys::between(50_i64, 40_i64)).wait().unwrap(), []);
    assert_eq!(index.keys(&Keys::all().limit(0)).wait().unwrap(), []);
}

#[test]
fn other_types_are_refused_with_both_sides() {
    let database = database();
    evens(&database);
    let error = database.open_index("my_index", "i64", "str").wait().unwrap_err().to_string();
    assert!(error.contains("stored    i64,i64") && error.contains("declared  i64,str"), "{error}");
    let index = database.open_index("my_index", "i64", "i64").wait().unwrap();
    assert!(matches!(index.add("x", 1_i64).wait(), Err(Error::Schema(_))));
}
