//! Bugs that others shipped, as tests: those of plans and tables. Those of keys are with the keys, and the longer ones
//! about indexes in `indexes.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::ops::Bound::{self, Excluded, Included, Unbounded};

use keyloom_key::Value;
use keyloom_schema::{Document, Index, Table as Definition, TableBuilder, field};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::{Database, Query, Table};

fn database() -> Database<MemoryStore> {
    Database::open(MemoryStore::new()).wait().unwrap()
}

fn people() -> TableBuilder {
    Definition::named("people")
        .column("id", "i64")
        .column("user", "str")
        .nullable("city", "str")
        .nullable("age", "i64")
        .key(["user", "id"])
}

fn person(user: &str, id: i64, city: Option<&str>, age: Option<i64>) -> Document {
    let mut person = Document::new().with("user", user.to_owned()).with("id", id);
    if let Some(city) = city {
        person.set("city", city.to_owned());
    }
    if let Some(age) = age {
        person.set("age", age);
    }
    person
}

fn ids(table: &Table<MemoryStore>, query: &Query) -> Vec<i64> {
    let found = table.query(query).wait().unwrap();
    let id = |value: &Value<'_>| if let Value::Int(id) = value { *id } else { panic!("{value:?}") };
    found.records.iter().map(|record| id(record.document.get("id").unwrap())).collect()
}

/// fdb-record-layer#2650, and the composite-key specification as written: a prefix met longer values.
#[test]
fn u1_is_not_u10_and_equality_ends_where_the_value_does() {
    for table in [people(), people().shards(16), people().stripes(256)] {
        let table = database().create_table(table).wait().unwrap();
        for (id, user) in (0..).zip(["U1", "U10", "U1\0", "U", "U2"]) {
            table.put(person(user, id, None, None)).wait().unwrap();
        }
        assert_eq!(ids(&table, &Query::new().filter(field("user").eq("U1"))), [0]);
        let begin = Query::new().filter(field("user").begins_with("U1"));
        let mut found = ids(&table, &begin);
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2]);
    }
}

/// phoenix PR#2109: the last shard was left out, with statistics and without.
#[test]
fn the_last_shard_is_read_too() {
    for shards in [1, 2, 3, 7, 16] {
        let database = database();
        let table = database.create_table(people().shards(shards)).wait().unwrap();
        for id in 0..200 {
            table.put(person(&format!("U{id}"), id, None, None)).wait().unwrap();
        }
        for round in ["without statistics", "with them"] {
            let all = Query::new().order_by("user").limit(1_000);
            assert_eq!(ids(&table, &all).len(), 200, "{shards} shards, {round}");
            let range = Query::new().filter(field("user").between("U0", "Uz"));
            assert_eq!(ids(&table, &range).len(), 200, "{shards} shards, {round}");
            for id in 0..200 {
                let point = Query::new().filter(field("user").eq(format!("U{id}")));
                assert_eq!(ids(&table, &point), [id], "{shards} shards, {round}");
            }
            database.analyze("people").wait().unwrap();
        }
    }
}

/// surrealdb PR#7018: a scan backward over a unique index did not end.
#[test]
fn a_reverse_scan_over_a_unique_range_ends() {
    let table = database().create_table(people().index(Index::on(["age"]).unique())).wait().unwrap();
    for id in 0..10 {
        table.put(person("U", id, None, Some(id * 10))).wait().unwrap();
    }
    let query = Query::new().filter(field("age").between(20_i64, 50_i64)).order_by_desc("age");
    assert_eq!(ids(&table, &query), [5, 4, 3, 2]);
}

/// surrealdb#5943: an index on two fields, ORDER BY another one, LIMIT 1: the wrong row.
#[test]
fn an_order_by_another_field_is_sorted_before_the_limit() {
    let table = database().create_table(people().index(Index::on(["city", "user"]))).wait().unwrap();
    for (id, age) in [(1, 30), (2, 10), (3, 20)] {
        table.put(person(&format!("U{id}"), id, Some("Rome"), Some(age))).wait().unwrap();
    }
    let rome = Query::new().filter(field("city").eq("Rome"));
    assert_eq!(ids(&table, &rome.clone().order_by("age").limit(1)), [2]);
    assert_eq!(ids(&table, &rome.order_by_desc("age").limit(2)), [1, 3]);
}

/// surrealdb#7129: a null in a compound unique index made its row vanish from an order.
#[test]
fn a_null_in_a_unique_index_drops_no_row() {
    let index = Index::on(["city", "age"]).unique();
    let table = database().create_table(people().index(index)).wait().unwrap();
    let rows = [
        (1, Some("Rome"), None),
        (2, None, Some(5)),
        (3, None, None),
        (4, Some("Rome"), None),
        (5, Some("Bern"), Some(1)),
    ];
    for (id, city, age) in rows {
        table.put(person("U", id, city, age)).wait().unwrap();
    }
    let ordered = Query::new().order_by("city").order_by("age").limit(10);
    assert_eq!(ids(&table, &ordered), [3, 2, 5, 1, 4]);
    assert_eq!(ids(&table, &Query::new().filter(field("city").is_null()).order_by("age")), [3, 2]);
}

/// khora PR#1581: the plan went to whichever index came first by its name.
#[test]
fn renaming_an_index_changes_no_plan() {
    let plans: Vec<_> = [("a", "b"), ("b", "a")]
        .into_iter()
        .map(|(first, second)| {
            let table = people()
                .index(Index::on(["city", "age"]).named(first))
                .index(Index::on(["city", "user"]).named(second));
            let table = database().create_table(table).wait().unwrap();
            let query = Query::new().filter(field("city").eq("Rome"));
            table.explain(&query).wait().unwrap().tree
        })
        .collect();
    assert_eq!(plans[0], plans[1]);
}

/// ferrosa PR#404: with the permission to scan, a scan was chosen over a key.
#[test]
fn permission_to_scan_displaces_nothing() {
    let table = database().create_table(people().index(Index::on(["city"]))).wait().unwrap();
    let queries =
        [field("user").eq("U").and(field("id").eq(1_i64)), field("user").eq("U"), field("city").eq("Rome")];
    for filter in queries {
        let query = Query::new().filter(filter);
        let without = table.explain(&query).wait().unwrap();
        assert_eq!(table.explain(&query.allow_scan()).wait().unwrap(), without);
    }
    let scan = Query::new().filter(field("age").eq(1_i64));
    assert!(table.query(&scan).wait().is_err());
    assert!(ids(&table, &scan.allow_scan()).is_empty());
}

/// `TemporalStore` PR#128: with another shard count everything was a miss, and nothing an error.
#[test]
fn another_shard_count_is_refused() {
    let database = database();
    database.open_table(people().shards(16)).wait().unwrap();
    database.open_table(people().shards(16)).wait().unwrap();
    let error = database.open_table(people().shards(32)).wait().unwrap_err().to_string();
    assert!(error.contains("shards 16") && error.contains("shards 32"), "{error}");
}

/// rocksdb-js PR#778: counts over ranges that are open or turned round, and the empty text is the smallest key.
#[test]
fn counts_over_open_and_inverted_ranges() {
    let table = database().create_table(people().index(Index::on(["city"]))).wait().unwrap();
    for (id, city) in (0..).zip(["", "Bern", "Rome"]) {
        table.put(person("U", id, Some(city), None)).wait().unwrap();
    }
    table.put(person("U", 9, None, None)).wait().unwrap();
    let count = |lower: Bound<&'static str>, upper: Bound<&'static str>| {
        let filter = field("city").range(lower.map(Value::from), upper.map(Value::from));
        table.count(&Query::new().filter(filter)).wait().unwrap()
    };
    assert_eq!(count(Unbounded, Unbounded), 3);
    assert_eq!(count(Included(""), Unbounded), 3);
    assert_eq!(count(Excluded(""), Unbounded), 2);
    assert_eq!(count(Unbounded, Excluded("")), 0);
    assert_eq!(count(Unbounded, Included("")), 1);
    assert_eq!(count(Included("Rome"), Included("Bern")), 0);
    assert_eq!(count(Excluded("Bern"), Excluded("Bern")), 0);
}

/// A NaN in a declared field could be neither indexed nor sorted: it is refused where it is written.
#[test]
fn nan_is_refused_where_a_number_is_declared() {
    let table = Definition::named("t").column("id", "i64").nullable("x", "f64").key(["id"]);
    let table = database().create_table(table).wait().unwrap();
    let error =
        table.put(Document::new().with("id", 1_i64).with("x", f64::NAN)).wait().unwrap_err().to_string();
    assert!(error.contains("field x") && error.contains("NaN"), "{error}");
    table.put(Document::new().with("id", 1_i64).with("undeclared", f64::NAN)).wait().unwrap();
}
