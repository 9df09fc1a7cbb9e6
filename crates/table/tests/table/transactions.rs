//! Transactions: serializable, with their own writes in sight, and nothing lost between threads.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use keyloom_schema::{Document, Index, Table as Definition, field};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::{Change, Database, Error, Query, Table, Update, When};

fn database() -> Database<MemoryStore> {
    Database::open(MemoryStore::new()).wait().unwrap()
}

fn doctors(database: &Database<MemoryStore>) -> Table<MemoryStore> {
    let table = Definition::named("doctors")
        .column("shift", "i64")
        .column("name", "str")
        .column("on_call", "bool")
        .key(["shift", "name"])
        .index(Index::on(["on_call", "shift"]));
    let table = database.create_table(table).wait().unwrap();
    for name in ["Ada", "Grace"] {
        table.put(doctor(name, true)).wait().unwrap();
    }
    table
}

fn doctor(name: &str, on_call: bool) -> Document {
    Document::new().with("shift", 1_i64).with("name", name.to_owned()).with("on_call", on_call)
}

fn on_call() -> Query {
    Query::new().filter(field("on_call").eq(true).and(field("shift").eq(1_i64)))
}

/// Two doctors go off call at once, each because the other is there. One of them must not.
#[test]
fn write_skew_is_a_conflict() {
    let database = database();
    let doctors = doctors(&database);
    let mut first = database.begin().wait().unwrap();
    let mut second = database.begin().wait().unwrap();
    for (transaction, name) in [(&mut first, "Ada"), (&mut second, "Grace")] {
        assert_eq!(transaction.query("doctors", &on_call()).wait().unwrap().records.len(), 2);
        transaction.put("doctors", doctor(name, false)).wait().unwrap();
    }
    first.commit().wait().unwrap();
    assert!(matches!(second.commit().wait(), Err(Error::Conflict(_))));
    assert_eq!(doctors.count(&on_call()).wait().unwrap(), 1);
}

/// A row that comes into a span that was read, though none of the rows that were read has changed.
#[test]
fn a_phantom_is_a_conflict() {
    let database = database();
    let doctors = doctors(&database);
    for backward in [false, true] {
        let mut transaction = database.begin().wait().unwrap();
        let query = if backward { on_call().order_by_desc("name") } else { on_call() };
        let count = transaction.query("doctors", &query).wait().unwrap().records.len();
        let summary =
            Document::new().with("shift", 2_i64).with("name", format!("{count}")).with("on_call", false);
        transaction.put("doctors", summary).wait().unwrap();
        doctors.put(doctor(if backward { "Alan" } else { "Edsger" }, true)).wait().unwrap();
        assert!(matches!(transaction.commit().wait(), Err(Error::Conflict(_))), "backward: {backward}");
    }
}

/// What lies beyond the part of a span that was read may change.
#[test]
fn only_what_was_read_can_conflict() {
    let database = database();
    let doctors = doctors(&database);
    let mut transaction = database.begin().wait().unwrap();
    let first = transaction.query("doctors", &on_call().order_by("name").limit(1)).wait().unwrap();
    assert_eq!(first.records[0].key, [1_i64.into(), "Ada".into()]);
    transaction.put("doctors", doctor("Ada", false)).wait().unwrap();
    doctors.put(doctor("Zuse", true)).wait().unwrap();
    transaction.commit().wait().unwrap();

    let mut transaction = database.begin().wait().unwrap();
    let last = transaction.query("doctors", &on_call().order_by_desc("name").limit(1)).wait().unwrap();
    assert_eq!(last.records[0].key, [1_i64.into(), "Zuse".into()]);
    transaction.put("doctors", doctor("Zuse", false)).wait().unwrap();
    doctors.put(doctor("Alan", true)).wait().unwrap();
    transaction.commit().wait().unwrap();
}

/// A key that was read as absent, and was there when the transaction committed.
#[test]
fn an_absent_key_that_appears_is_a_conflict() {
    let database = database();
    let doctors = doctors(&database);
    let mut transaction = database.begin().wait().unwrap();
    let key = || [keyloom_key::Value::from(1_i64), "Alan".into()];
    assert_eq!(transaction.get("doctors", key()).wait().unwrap(), None);
    transaction.put("doctors", doctor("Alan", true)).wait().unwrap();
    doctors.put(doctor("Alan", false)).wait().unwrap();
    assert!(matches!(transaction.commit().wait(), Err(Error::Conflict(_))));
}

#[test]
fn a_transaction_sees_its_own_writes_and_others_do_not() {
    let database = database();
    let doctors = doctors(&database);
    let mut transaction = database.begin().wait().unwrap();
    transaction.put("doctors", doctor("Alan", true)).wait().unwrap();
    transaction.delete("doctors", [keyloom_key::Value::from(1_i64), "Ada".into()]).wait().unwrap();
    let names = |found: keyloom_table::Found| -> Vec<String> {
        found.records.iter().map(|record| format!("{:?}", record.document.get("name").unwrap())).collect()
    };
    let by_name = on_call().order_by("name");
    let seen = names(transaction.query("doctors", &by_name).wait().unwrap());
    assert_eq!(seen.len(), 2);
    assert!(seen[0].contains("Alan") && seen[1].contains("Grace"), "{seen:?}");
    let others = names(doctors.query(&by_name).wait().unwrap());
    assert!(others[0].contains("Ada") && others[1].contains("Grace"), "{others:?}");
    transaction.commit().wait().unwrap();
    assert_eq!(names(doctors.query(&by_name).wait().unwrap()), seen);
    assert_eq!(database.verify("doctors").wait().unwrap().differences, []);
}

/// A snapshot does not move under a transaction that only reads.
#[test]
fn a_transaction_reads_one_state() {
    let database = database();
    let doctors = doctors(&database);
    let transaction = database.begin().wait().unwrap();
    doctors.put(doctor("Alan", true)).wait().unwrap();
    assert_eq!(transaction.query("doctors", &on_call()).wait().unwrap().records.len(), 2);
    assert_eq!(transaction.commit().wait().unwrap(), None);
}

#[test]
fn sixteen_threads_that_count_lose_nothing() {
    let database = database();
    let counters = Definition::named("counters").column("id", "i64").column("count", "i64").key(["id"]);
    let counters = database.create_table(counters.index(Index::on(["count"]))).wait().unwrap();
    counters.put(Document::new().with("id", 1_i64).with("count", 0_i64)).wait().unwrap();
    let start = Document::new().with("id", 2_i64).with("count", 0_i64);
    counters.put(start).wait().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..50 {
                    counters.update([1_i64], Update::new().add("count", 1_i64)).wait().unwrap().unwrap();
                    let increment = async |transaction: &mut keyloom_table::Transaction<MemoryStore>| {
                        let record = transaction.get("counters", [2_i64]).await?.unwrap_or_default();
                        let Some(keyloom_key::Value::Int(count)) = record.get("count").cloned() else {
                            return Err(Error::Missing("the count".into()));
                        };
                        transaction.put("counters", record.with("count", count + 1)).await
                    };
                    database.transact(increment).wait().unwrap();
                }
            });
        }
    });
    for id in [1_i64, 2] {
        let record = counters.get([id]).wait().unwrap().unwrap();
        assert_eq!(record.get("count"), Some(&800_i64.into()), "counter {id}");
    }
    assert_eq!(database.verify("counters").wait().unwrap().differences, []);
}

/// Two tables change together, or neither does.
#[test]
fn a_batch_over_tables_is_one() {
    let database = database();
    let doctors = doctors(&database);
    let log = Definition::named("log").column("id", "i64").key(["id"]);
    let log = database.create_table(log).wait().unwrap();
    let entry = || Change::put(Document::new().with("id", 1_i64)).when(When::Absent);
    let leave = || Change::put(doctor("Ada", false)).when(When::Is(field("on_call").eq(true)));
    database.apply([("log", entry()), ("doctors", leave())]).wait().unwrap();
    let again =
        database.apply([("log", Change::put(Document::new().with("id", 2_i64))), ("doctors", leave())]);
    assert!(matches!(again.wait(), Err(Error::Condition { .. })));
    assert_eq!(log.get([2_i64]).wait().unwrap(), None);
    assert_eq!(doctors.count(&on_call()).wait().unwrap(), 1);
}

#[test]
fn commits_have_a_sequence_that_can_be_read() {
    let database = database();
    let doctors = doctors(&database);
    let before = database.sequence().wait().unwrap();
    let written = doctors.put(doctor("Alan", true)).wait().unwrap();
    assert!(written > before);
    assert_eq!(database.sequence().wait().unwrap(), written);
}
