//! What is made once and used often: writers by columns, and queries whose values are given later.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use keyloom_key::Value;
use keyloom_schema::{Document, Index, Table as Definition};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::{Database, Error, Given, Query, Table};

fn orders(store: &MemoryStore) -> Table<MemoryStore> {
    let table = Definition::named("orders")
        .column("user", "str")
        .column("number", "i64")
        .nullable("status", "str")
        .key(["user", "number"])
        .index(Index::on(["status"]));
    Database::open(store.clone()).wait().unwrap().open_table(table).wait().unwrap()
}

fn row(number: i64, status: &str) -> [Value<'_>; 3] {
    ["U1".into(), number.into(), status.into()]
}

/// Two clients try the same record at the same moment, again and again: they set off together.
#[test]
fn of_writers_who_insert_one_record_one_does() {
    const RECORDS: i64 = 20_000;
    let orders = orders(&MemoryStore::new());
    let writer = orders.writer(["user", "number", "status"]).unwrap();
    let (inserted, ready) = (AtomicI64::new(0), AtomicI64::new(0));
    thread::scope(|scope| {
        for client in ["a", "b"] {
            scope.spawn(|| {
                for number in 0..RECORDS {
                    ready.fetch_add(1, Ordering::SeqCst);
                    while ready.load(Ordering::SeqCst) < 2 * (number + 1) {
                        thread::yield_now();
                    }
                    match writer.insert(row(number, client)).wait() {
                        Ok(_) => {
                            inserted.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(Error::Condition { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(inserted.into_inner(), RECORDS);
    let verified = orders.database().verify("orders").wait().unwrap();
    assert_eq!((verified.records, verified.differences.len()), (RECORDS.unsigned_abs(), 0));
}

#[test]
fn a_put_takes_away_the_entries_of_what_was() {
    let orders = orders(&MemoryStore::new());
    let writer = orders.writer(["user", "number", "status"]).unwrap();
    thread::scope(|scope| {
        for client in ["a", "b", "c"] {
            let writer = &writer;
            scope.spawn(move || {
                for number in 0..900 {
                    writer.put(row(number % 7, client)).wait().unwrap();
                }
            });
        }
    });
    let verified = orders.database().verify("orders").wait().unwrap();
    assert_eq!((verified.records, verified.differences.len()), (7, 0));
}

/// A writer and a query that were made before the schema changed, by this program or another, go by the new one.
#[test]
fn what_was_made_before_the_schema_changed_goes_by_the_new_one() {
    let store = MemoryStore::new();
    let (orders, elsewhere) = (orders(&store), orders(&store));
    let writer = orders.writer(["user", "number", "status"]).unwrap();
    let of_status = orders.prepare(Query::new(), [Given::equal("status")]);
    writer.insert(row(1, "open")).wait().unwrap();
    let found = |number: usize| {
        let found = of_status.query(["open".into()]).wait().unwrap();
        assert_eq!(found.records.len(), number);
    };
    found(1);

    // Another process takes the index away: the query is refused, and does not find that there is nothing.
    let database = elsewhere.database();
    database.drop_index("orders", "orders_by_status").wait().unwrap();
    let refused = of_status.query(["open".into()]).wait().unwrap_err();
    assert!(refused.to_string().contains("refused: no index bounds"), "{refused}");
    writer.insert(row(2, "open")).wait().unwrap();
    database.create_index("orders", Index::on(["status", "number desc"])).wait().unwrap();
    writer.insert(row(3, "open")).wait().unwrap();
    found(3);
    assert!(database.verify("orders").wait().unwrap().differences.is_empty());

    // It makes another table of the name, with other columns.
    database.drop_table("orders").wait().unwrap();
    let other = Definition::named("orders").column("number", "str").column("user", "str").key(["number"]);
    let other = database.create_table(other).wait().unwrap();
    let refused = writer.insert(row(4, "open")).wait().unwrap_err();
    assert!(refused.to_string().contains("status: no column of the table"), "{refused}");
    other.put(Document::new().with("number", "7").with("user", "U1")).wait().unwrap();
    let writer = orders.writer(["user", "number"]).unwrap();
    assert!(matches!(writer.insert(["U2".into(), "7".into()]).wait(), Err(Error::Condition { .. })));
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let orders = orders(&MemoryStore::new());
    let refused = |columns: &[&str]| orders.writer(columns.iter().copied()).unwrap_err().to_string();
    assert!(refused(&["user", "number", "total"]).contains("total: no column of the table"));
    assert!(refused(&["user", "number", "user"]).contains("user: given twice"));
    assert!(refused(&["user", "status"]).contains("number: missing"));
    let writer = orders.writer(["user", "number"]).unwrap();
    let refused = |row: Vec<Value<'_>>| writer.insert(row).wait().unwrap_err().to_string();
    assert!(refused(vec!["U1".into()]).contains("number: a record has no value for it"));
    assert!(refused(row(1, "open").to_vec()).contains("more values than the 2 columns"));
    assert!(refused(vec!["U1".into(), "x".into()]).contains("number: `x` is no i64"));
    assert!(refused(vec![Value::Null, 1_i64.into()]).contains("user: null"));

    let of_user = orders.prepare(Query::new(), [Given::equal("user"), Given::less("number")]);
    let refused = of_user.query(["U1".into()]).wait().unwrap_err().to_string();
    assert!(refused.contains("1 values for the conditions on (user, number)"), "{refused}");
    // What nothing is like is no error.
    assert!(of_user.query(["U1".into(), Value::Null]).wait().unwrap().records.is_empty());
    let wrong = of_user.query(["U1".into(), "x".into()]).wait().unwrap_err().to_string();
    assert!(wrong.contains("number"), "{wrong}");
}
