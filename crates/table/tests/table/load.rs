//! A load of more records than one thread takes at once ends as puts do, or leaves the table as it was.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::ops::ControlFlow;

use keyloom_key::{Span, Value};
use keyloom_schema::Document;
use keyloom_store::{Direction, Limits, MemoryStore, Read, Wait};
use keyloom_table::{Database, Error, Table};

#[path = "../../src/load/tests/records.rs"]
mod records;
use records::{record, table};

const RECORDS: i64 = 5_000;

/// Every key and value of the store.
fn bytes(table: &Table<MemoryStore>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut all, mut left) = (Vec::new(), Some(Span { start: Vec::new(), end: None }));
    while let Some(span) = left.take() {
        let look = |key: &[u8], value: &[u8]| {
            all.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        let store = table.database().store();
        left = store.scan(&span, Direction::Forward, Limits::rows(10_000), look).wait().unwrap().rest;
    }
    all
}

fn load(table: &Table<MemoryStore>, records: impl IntoIterator<Item = Document>) -> Result<u64, Error> {
    table.load(records, |_| ()).wait().map(|loaded| loaded.records)
}

#[test]
fn many_records_end_as_puts_do() {
    for before in [0, 1_000] {
        let (one, other) = (table(), table());
        for number in 0..RECORDS {
            one.put(record(number)).wait().unwrap();
        }
        for number in 0..before {
            other.put(record(number)).wait().unwrap();
        }
        assert_eq!(load(&other, (before..RECORDS).map(record)).unwrap(), RECORDS.abs_diff(before));
        assert_eq!(bytes(&one), bytes(&other), "{before}");
    }
}

#[test]
fn what_cannot_be_loaded_leaves_the_table_as_it_was() {
    let same_key = |number: i64| record(if number == RECORDS - 1 { 3 } else { number });
    let same_value = |number: i64| match number {
        4_321 => record(number).with("u", 7_i64),
        number => record(number),
    };
    let no_key = |number: i64| match number {
        4_321 => Document::new().with("b", number),
        number => record(number),
    };
    for before in [0, 1] {
        let table = table();
        for number in 0..before {
            table.put(record(-1 - number)).wait().unwrap();
        }
        let was = bytes(&table);
        let error = load(&table, (0..RECORDS).map(same_key)).unwrap_err();
        assert!(matches!(&error, Error::Exists(what) if what.contains("b = 3")), "{error}");
        let error = load(&table, (0..RECORDS).map(same_value)).unwrap_err();
        assert!(matches!(&error, Error::Unique { values, .. } if values.contains('7')), "{error}");
        let error = load(&table, (0..RECORDS).map(no_key)).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
        assert_eq!(bytes(&table), was);
    }
    // What is there already is in the way of a record, or of its unique value.
    for in_the_way in [record(4_000), record(RECORDS).with("u", 4_001_i64)] {
        let table = table();
        table.put(in_the_way).wait().unwrap();
        let was = bytes(&table);
        assert!(matches!(load(&table, (0..RECORDS).map(record)), Err(Error::Conflict(_))));
        assert_eq!(bytes(&table), was);
    }
}

/// A record as values of these columns, and as a document of the same fields.
const COLUMNS: [&str; 4] = ["tags", "b", "a", "u"];

fn row(document: &Document) -> Vec<Value<'_>> {
    COLUMNS.iter().filter_map(|name| document.get(name)).map(Value::borrowed).collect()
}

#[test]
fn rows_end_as_documents_do() {
    let (one, other) = (table(), table());
    let records: Vec<Document> = (0..RECORDS)
        .map(|number| {
            let mut record = record(number);
            record.remove("note");
            // Another kind of number becomes one of the column, in a document and in a row.
            if number % 3 == 0 {
                record.set("b", number.unsigned_abs());
            }
            record
        })
        .collect();
    load(&one, records.clone()).unwrap();
    let rows = records.iter().map(row);
    assert_eq!(other.load_rows(&COLUMNS, rows, |_| ()).wait().unwrap().records, RECORDS.unsigned_abs());
    assert_eq!(bytes(&one), bytes(&other));
}

#[test]
fn rows_that_do_not_fit_their_columns_are_refused() {
    let table = table();
    let empty = bytes(&table);
    let whole = record(1);
    let refused = |columns: &[&str], row: Vec<Value<'_>>| {
        table.load_rows(columns, [row], |_| ()).wait().unwrap_err().to_string()
    };
    let mut long = row(&whole);
    long.push(Value::Null);
    assert!(refused(&COLUMNS, long).contains("more values than the 4 columns"));
    assert!(refused(&COLUMNS, row(&whole).drain(..3).collect()).contains("no value for it"));
    assert!(refused(&["tags", "b", "a", "x"], row(&whole)).contains("no column of the table"));
    assert!(
        refused(&["tags", "b", "b"], row(&whole).drain(..2).chain([1_i64.into()]).collect())
            .contains("twice")
    );
    assert!(refused(&["tags", "b"], row(&whole).drain(..2).collect()).contains("a: missing"));
    let mut wrong = row(&whole);
    wrong[1] = "x".into();
    assert!(refused(&COLUMNS, wrong).contains("b: "));
    assert_eq!(bytes(&table), empty);
}
