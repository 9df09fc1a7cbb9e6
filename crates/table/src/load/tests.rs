//! An empty table that is loaded with more than a group gets all of it, or nothing.

use std::ops::ControlFlow;

use keyloom_key::{Span, Value};
use keyloom_schema::{Document, Index};
use keyloom_store::{Direction, Limits, MemoryStore, Read, Wait};

use super::Group;
use crate::{Database, Error, Table};

mod records;
use records::{record, table};

const RECORDS: i64 = 3_000;
/// So few that it takes many groups.
const BYTES: usize = 40_000;

fn load(table: &Table<MemoryStore>, records: impl Iterator<Item = Document>) -> Result<u64, Error> {
    let add = |group: &mut Group<'_>, document| group.add(document);
    table.load_groups(records.fuse(), &add, BYTES, |_| ()).wait().map(|loaded| loaded.records)
}

/// Every row of the store that is not the catalog's, the number of its tree and of its record's as the place among those
/// of the table.
fn rows(table: &Table<MemoryStore>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let definition = table.definition().unwrap();
    let place = |bytes: &mut [u8]| {
        let tree = definition.trees().position(|tree| bytes.starts_with(&tree.id().to_be_bytes()));
        let place = u32::try_from(tree.expect("a row of a tree that the table does not have")).unwrap();
        bytes[..4].copy_from_slice(&place.to_be_bytes());
    };
    let mut all = Vec::new();
    let look = |key: &[u8], value: &[u8]| {
        let (mut key, mut value) = (key.to_vec(), value.to_vec());
        place(&mut key);
        if key[..4] != [0; 4] {
            place(&mut value[3..]);
        }
        all.push((key, value));
        ControlFlow::Continue(())
    };
    let span = Span { start: vec![0, 0, 0, 1], end: None };
    let page =
        table.database().store().scan(&span, Direction::Forward, Limits::rows(usize::MAX), look).wait();
    assert!(page.unwrap().rest.is_none());
    all
}

#[test]
fn many_groups_end_as_one_does() {
    let (one, other) = (table(), table());
    one.load((0..RECORDS).map(record), |_| ()).wait().unwrap();
    assert_eq!(load(&other, (0..RECORDS).map(record)).unwrap(), RECORDS.unsigned_abs());
    assert_eq!(rows(&one), rows(&other));
    // It has the trees, and writes to them.
    for table in [&one, &other] {
        table.put(record(RECORDS)).wait().unwrap();
        assert!(table.insert(record(7)).wait().is_err());
        let verified = table.database().verify("t").wait().unwrap();
        assert!(verified.differences.is_empty(), "{verified:?}");
    }
    assert_eq!(rows(&one), rows(&other));
}

#[test]
fn what_two_groups_cannot_both_have_leaves_nothing() {
    let same_key = |number: i64| record(if number == RECORDS - 1 { 3 } else { number });
    let same_value = |number: i64| match number {
        2_987 => record(number).with("u", 7_i64),
        number => record(number),
    };
    let table = table();
    let error = load(&table, (0..RECORDS).map(same_key)).unwrap_err();
    assert!(matches!(&error, Error::Exists(what) if what.contains("b = 3")), "{error}");
    assert_eq!(rows(&table), []);
    let error = load(&table, (0..RECORDS).map(same_value)).unwrap_err();
    assert!(matches!(&error, Error::Unique { values, .. } if values == "u = 7"), "{error}");
    assert_eq!(rows(&table), []);
    assert_eq!(load(&table, (0..RECORDS).map(record)).unwrap(), RECORDS.unsigned_abs());
}

/// What others write while records come is not lost.
#[test]
fn a_table_that_changes_is_left_as_it_is() {
    let table = table();
    let first = |number| {
        if number == RECORDS / 2 {
            table.put(record(-1)).wait().unwrap();
        }
        record(number)
    };
    let error = load(&table, (0..RECORDS).map(first)).unwrap_err();
    assert!(matches!(&error, Error::Conflict(what) if what.contains("other records")), "{error}");
    assert_eq!(table.get(["a-41".into(), Value::from(-1_i64)]).wait().unwrap().unwrap(), record(-1));
    table.delete(["a-41".into(), Value::from(-1_i64)]).wait().unwrap();
    let second = |number| {
        if number == RECORDS / 2 {
            table.database().create_index("t", Index::on(["b"])).wait().unwrap();
        }
        record(number)
    };
    let error = load(&table, (0..RECORDS).map(second)).unwrap_err();
    assert!(matches!(&error, Error::Conflict(what) if what.contains("has changed")), "{error}");
    assert_eq!(rows(&table), []);
    load(&table, (0..RECORDS).map(record)).unwrap();
    assert!(table.database().verify("t").wait().unwrap().differences.is_empty());
}
