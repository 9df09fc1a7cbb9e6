//! What once went wrong. Each test tells what was lost and why.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use keyloom_key::{Timestamp, Value};
use keyloom_schema::{Document, Format, Index, Predicate, Table, TableBuilder, field};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::{Change, Clock, Database, Error, Query};

fn items() -> TableBuilder {
    Table::named("items")
        .column("id", "u64")
        .nullable("name", "str")
        .nullable("size", "i64")
        .nullable("tags", "list(i64)")
        .nullable("ends", "timestamp")
        .key(["id"])
}

fn item(id: u64) -> Document {
    Document::new().with("id", id)
}

fn open(store: &MemoryStore) -> Database<MemoryStore> {
    Database::open(store.clone()).wait().unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

/// A database whose clock stands where the number says.
fn timed() -> (Database<MemoryStore>, Arc<AtomicI64>) {
    let now = Arc::new(AtomicI64::new(0));
    let clock: Clock = {
        let now = Arc::clone(&now);
        Arc::new(move || at(now.load(Ordering::SeqCst)))
    };
    (Database::open_with_clock(MemoryStore::new(), clock).wait().unwrap(), now)
}

fn ids(found: &keyloom_table::Found) -> Vec<Value<'static>> {
    found.records.iter().flat_map(|record| record.key.clone()).collect()
}

/// The limit was looked at behind each row, so the first came whatever the limit was.
#[test]
fn a_limit_of_zero_gives_nothing() {
    let table = open(&MemoryStore::new()).create_table(items()).wait().unwrap();
    table.put(item(1)).wait().unwrap();
    let found = table.query(&Query::new().limit(0)).wait().unwrap();
    assert_eq!((found.records.len(), found.examined.rows, found.cursor), (0, 0, None));
    let sorted = table.query(&Query::new().order_by("size").limit(0).allow_scan()).wait().unwrap();
    assert_eq!(sorted.records.len(), 0);
}

/// An index on (size, tags) served `tags = 2` by reading all its entries, and gave every record whose elements were
/// not like that: only smaller elements were asked, never the entry's own. It also passed for no scan.
#[test]
fn an_element_behind_a_free_field_is_asked_too() {
    let indexed = items().index(Index::on(["size", "tags"]));
    let table = open(&MemoryStore::new()).create_table(indexed).wait().unwrap();
    for (id, tags) in [(1, vec![1]), (2, vec![3, 2, 2]), (3, vec![])] {
        table
            .put(item(id).with("size", 7_i64).with("tags", Value::list(tags.into_iter().map(i64::from))))
            .wait()
            .unwrap();
    }
    let query = Query::new().filter(field("tags").eq(2_i64));
    assert!(matches!(table.query(&query).wait(), Err(Error::Plan(keyloom_plan::Error::Refused(_)))));
    assert_eq!(ids(&table.query(&query.allow_scan()).wait().unwrap()), [Value::Uint(2)]);
}

/// `7 BETWEEN NULL AND 5` was unknown. It is false, so its negation is true, as in SQL.
#[test]
fn one_bound_decides_where_the_other_is_null() {
    let table = open(&MemoryStore::new()).create_table(items()).wait().unwrap();
    table.put(item(1).with("size", 7_i64)).wait().unwrap();
    table.put(item(2).with("size", 3_i64)).wait().unwrap();
    let outside = |lower, upper| {
        let between = field("size").range(lower, upper);
        ids(&table.query(&Query::new().filter(between.negate()).allow_scan()).wait().unwrap())
    };
    let null = || Bound::Included(Value::Null);
    assert_eq!(outside(null(), Bound::Included(Value::Int(5))), [Value::Uint(1)]);
    assert_eq!(outside(Bound::Included(Value::Int(5)), null()), [Value::Uint(2)]);
    assert_eq!(outside(null(), null()), []);
    let nan = Predicate::Range {
        field: "extra".to_owned(),
        lower: Bound::Included(Value::Float(f64::NAN)),
        upper: Bound::Included(Value::Int(5)),
    };
    table.put(item(3).with("extra", 6_i64)).wait().unwrap();
    let found = table.query(&Query::new().filter(nan.negate()).allow_scan()).wait().unwrap();
    assert_eq!(ids(&found), [Value::Uint(3)]);
}

/// A program that had not heard of a dropped index still refused what only that index forbade.
#[test]
fn an_index_that_another_dropped_refuses_nothing() {
    let store = MemoryStore::new();
    let one = open(&store);
    one.create_table(items().index(Index::on(["name"]).named("names").unique())).wait().unwrap();
    let late = open(&store);
    late.table("items").wait().unwrap().put(item(1).with("name", "a")).wait().unwrap();
    one.drop_index("items", "names").wait().unwrap();
    late.table("items").wait().unwrap().put(item(2).with("name", "a")).wait().unwrap();
    one.create_index("items", Index::on(["size"]).named("sizes").unique()).wait().unwrap();
    // And what a new one forbids is refused for that reason, not for what comes later in the batch.
    let changes = [
        ("items", Change::put(item(3).with("size", 1_i64))),
        ("items", Change::put(item(4).with("size", 1_i64))),
        ("items", Change::put(item(1)).when(keyloom_table::When::Absent)),
    ];
    assert!(matches!(late.apply(changes).wait(), Err(Error::Unique { .. })));
}

/// Where a record had a value that the new index's keys cannot hold, the index stayed half made for ever, and from then
/// on refused every such record.
#[test]
fn an_index_that_cannot_hold_a_record_is_dropped_again() {
    let database = open(&MemoryStore::new());
    let builder = Table::named("items").column("id", "u64").column("text", "str").key(["id"]);
    let table = database.create_table(builder).wait().unwrap();
    let hurtful = || item(1).with("text", "a\0b");
    table.put(hurtful()).wait().unwrap();
    let index = Index::on(["text"]).format(Format::LexKey);
    assert!(matches!(database.create_index("items", index).wait(), Err(Error::Schema(_))));
    assert_eq!(table.definition().unwrap().indexes(), []);
    table.put(hurtful().with("more", 1_i64)).wait().unwrap();
}

/// A unique index could not be created beside a record that had ended and that nobody could see.
#[test]
fn an_ended_record_is_not_in_the_way_of_a_unique_index() {
    let (database, now) = timed();
    let table = database.create_table(items().expires_by("ends")).wait().unwrap();
    for (id, ends) in [(1, 100), (2, 5), (3, 5)] {
        table.put(item(id).with("name", "a").with("ends", at(ends))).wait().unwrap();
    }
    now.store(10, Ordering::SeqCst);
    database.create_index("items", Index::on(["name"]).unique()).wait().unwrap();
    let found = table.query(&Query::new().filter(field("name").eq("a"))).wait().unwrap();
    assert_eq!(ids(&found), [Value::Uint(1)]);
    let verified = database.verify("items").wait().unwrap();
    assert_eq!((verified.records, verified.entries, verified.differences.len()), (1, 1, 0));
}

/// An ended record made room twice, once for each unique entry that it had; the second time took away what the first
/// had just written, and the record was not found by it any more.
#[test]
fn a_record_that_takes_two_places_of_an_ended_one_keeps_both() {
    let (database, now) = timed();
    let indexed = items().expires_by("ends").index(Index::on(["tags"]).unique());
    let table = database.create_table(indexed).wait().unwrap();
    let tags = || Value::list([1_i64, 2]);
    table.put(item(1).with("tags", tags()).with("ends", at(5))).wait().unwrap();
    now.store(10, Ordering::SeqCst);
    table.put(item(2).with("tags", tags())).wait().unwrap();
    for tag in [1_i64, 2] {
        let found = table.query(&Query::new().filter(field("tags").eq(tag))).wait().unwrap();
        assert_eq!(ids(&found), [Value::Uint(2)]);
    }
    assert_eq!(database.verify("items").wait().unwrap().differences, []);
}

/// Ended records were looked for through an index that another program had dropped, and none was found.
#[test]
fn ended_records_are_found_without_an_index_that_is_gone() {
    let store = MemoryStore::new();
    let one = open(&store);
    let indexed = items().expires_by("ends").index(Index::on(["ends"]).named("by_end"));
    one.create_table(indexed).wait().unwrap().put(item(1).with("ends", at(5))).wait().unwrap();
    let late = open(&store);
    one.drop_index("items", "by_end").wait().unwrap();
    assert_eq!(late.table("items").wait().unwrap().delete_expired().wait().unwrap(), 1);
}

/// Within a transaction, records that it had written came before all others, whatever the order asked for: the rows
/// were taken in the order in which the store gave the records back.
#[test]
fn a_transaction_keeps_the_order_of_an_index() {
    let database = open(&MemoryStore::new());
    let indexed = items().index(Index::on(["size"]));
    database.create_table(indexed).wait().unwrap().put(item(1).with("size", 1_i64)).wait().unwrap();
    let mut transaction = database.begin().wait().unwrap();
    transaction.put("items", item(2).with("size", 2_i64)).wait().unwrap();
    let query = Query::new().filter(field("size").between(0_i64, 9_i64)).order_by("size");
    let found = transaction.query("items", &query).wait().unwrap();
    assert_eq!(ids(&found), [Value::Uint(1), Value::Uint(2)]);
}

/// Rows that a merge had read ahead were not counted among those that were examined.
#[test]
fn a_merge_counts_what_it_reads_ahead() {
    let table =
        open(&MemoryStore::new()).create_table(items().index(Index::on(["name", "size"]))).wait().unwrap();
    for (id, name) in [(1, "a"), (2, "a"), (3, "b"), (4, "b")] {
        table.put(item(id).with("name", name).with("size", 1_i64)).wait().unwrap();
    }
    let query = Query::new().filter(field("name").is_in(["a", "b"])).order_by("size").limit(1);
    let found = table.query(&query).wait().unwrap();
    assert_eq!((found.examined.rows, found.examined.returned), (2, 1));
}
