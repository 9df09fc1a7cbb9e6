//! What is measured and advised of tables that are known.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use keyloom_advise::{Advice, Measured, SMALL, Served, advise, measure};
use keyloom_key::{Timestamp, Value};
use keyloom_plan::{Class, Query};
use keyloom_schema::{Document, field};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::{Database, Table};

const ORDERS: &str = "CREATE TABLE orders (
    user TEXT, at TIMESTAMP, number INTEGER, status TEXT, city TEXT, tags TEXT[], PRIMARY KEY (user, at DESC, number)
) WITH (shards = 8)";

/// 6,000 orders: U0 has 3,000 of them, U1 to U30 have 100 each; the newest are U7's. Two states, 100 cities.
fn orders(sql: &str) -> Table<MemoryStore> {
    let database = Database::open(MemoryStore::new()).wait().unwrap();
    database.define(sql).wait().unwrap();
    let table = database.table("orders").wait().unwrap();
    let order = |number: i64| {
        let user = if number < 3_000 { 0 } else { 1 + number % 30 };
        let at = if user == 7 { 2_000_000_000 + number } else { number };
        Document::new()
            .with("user", format!("U{user}"))
            .with("at", Timestamp::from_micros(at))
            .with("number", number)
            .with("status", if number % 2 == 0 { "open" } else { "paid" })
            .with("city", format!("C{}", number % 100))
            .with("tags", Value::List(vec!["x".into(), format!("t{}", number % 7).into()]))
    };
    table.load((0..6_000).map(order), |_| ()).wait().unwrap();
    table
}

fn measured(table: &Table<MemoryStore>) -> Measured {
    measure(table, |_| ()).wait().unwrap()
}

fn advice(table: &Table<MemoryStore>, queries: &[Query]) -> Advice {
    let statistics = table.database().statistics();
    advise(&table.definition().unwrap(), &measured(table), &statistics, queries).unwrap()
}

fn created(advice: &Advice) -> Vec<&str> {
    advice.create.iter().map(|proposal| proposal.sql.as_str()).collect()
}

#[test]
fn one_pass_counts_rows_bytes_values_places_and_partitions() {
    let table = orders(&format!("{ORDERS}; CREATE INDEX ON orders (tags)"));
    let mut told = Vec::new();
    let measured = measure(&table, |keys| told.push(keys)).wait().unwrap();
    assert_eq!(told.last(), Some(&18_000));
    assert!(told.is_sorted());
    assert_eq!(measured.rows(), 6_000);
    let distinct: Vec<u64> = measured.columns.iter().map(|column| column.distinct).collect();
    assert_eq!(&distinct[..1], [31]);
    assert_eq!(&distinct[3..], [2, 100, 8]);
    // More than are kept, so it is an estimate.
    assert!(!measured.columns[2].exact && distinct[2].abs_diff(6_000) < 300, "{distinct:?}");
    let primary = &measured.trees[0];
    assert_eq!(primary.statistics.distinct, [31, 6_000, 6_000]);
    assert_eq!(
        (primary.places.len(), primary.places.iter().map(|place| place.rows).sum::<u64>()),
        (8, 6_000)
    );
    let bytes: u64 = primary.places.iter().map(|place| place.bytes).sum();
    assert_eq!(bytes, primary.key_bytes + primary.value_bytes);
    // One shard holds U0, so it has more than half of the records.
    assert!(primary.places.iter().any(|place| place.rows >= 3_000));
    assert_eq!(measured.trees[1].statistics.rows, 12_000);
    assert!(measured.sample.len() > 200 && measured.sample.len() <= 512);

    let partitions = measured.partitions.unwrap();
    assert_eq!((partitions.field.as_str(), partitions.count), ("user", 31));
    assert_eq!((&partitions.largest[0].value, partitions.largest[0].rows), (&"U0".into(), 3_000));
    assert_eq!(partitions.largest.len(), 10);
    // 30 of 64 to 127 rows, one of 2,048 to 4,095.
    assert_eq!(partitions.sizes, [0, 0, 0, 0, 0, 0, 30, 0, 0, 0, 0, 1]);
    let newest = partitions.newest.unwrap();
    assert_eq!((newest.by.as_str(), newest.rows), ("at", 600));
    assert_eq!(newest.partitions[0], ("U7".into(), 100));
    assert_eq!(newest.partitions.iter().map(|(_, rows)| rows).max(), Some(&100));
}

#[test]
fn partitions_are_found_in_every_format() {
    for format in ["native", "lexkey", "rowkey", "keystone", "composite"] {
        let database = Database::open(MemoryStore::new()).wait().unwrap();
        let sql = format!("CREATE TABLE t (a TEXT, b TEXT, PRIMARY KEY (a, b)) WITH (format = '{format}')");
        database.define(&sql).wait().unwrap();
        let table = database.table("t").wait().unwrap();
        // One partition's name begins another's.
        for (a, b) in [("U1", "a"), ("U1", "b"), ("U10", "a"), ("U2", "a")] {
            table.put(Document::new().with("a", a).with("b", b)).wait().unwrap();
        }
        let partitions = measured(&table).partitions.unwrap();
        assert_eq!((partitions.count, partitions.sizes), (3, vec![2, 1]), "{format}");
        assert_eq!(partitions.largest[0].value, "U1".into(), "{format}");
        assert_eq!(partitions.newest, None);
    }
}

#[test]
fn a_table_whose_key_is_one_field_has_no_partitions() {
    let table = orders("CREATE TABLE orders (number INTEGER PRIMARY KEY, user TEXT)");
    assert_eq!(measured(&table).partitions, None);
}

#[test]
fn queries_that_one_key_serves_share_it() {
    let table = orders(ORDERS);
    let city = || Query::new().filter(field("city").eq("C1"));
    let advice = advice(
        &table,
        &[
            city(),
            city().filter(field("status").eq("open")),
            city().filter(field("status").eq("open")).order_by_desc("at").limit(5),
            Query::new().filter(field("user").eq("U1")),
        ],
    );
    assert_eq!(created(&advice), ["CREATE INDEX orders_by_city_status_at ON orders (city, status, at DESC)"]);
    let proposal = &advice.create[0];
    assert_eq!(proposal.serves, [0, 1, 2]);
    assert_eq!(
        proposal.reasons,
        [
            "city, status first: compared with = or IN",
            "city before status: another query has only city",
            "at gives the order, so nothing is sorted",
        ]
    );
    assert_eq!(proposal.entries, 6_000);
    assert!(advice.queries[0].0.is_refused() && !advice.queries[0].1.is_refused());
    assert!(matches!(&advice.queries[3].1, Served::By { tree, .. } if tree == "primary"));
}

#[test]
fn the_column_with_most_values_comes_first_and_a_range_last() {
    let table = orders(ORDERS);
    let query = Query::new()
        .filter(field("number").gt(5_i64))
        .filter(field("status").eq("open"))
        .filter(field("city").eq("C1"));
    let advice = advice(&table, &[query]);
    assert_eq!(
        created(&advice),
        ["CREATE INDEX orders_by_city_status_number ON orders (city, status, number)"]
    );
    let reasons = &advice.create[0].reasons;
    assert!(
        reasons.contains(&"city before status: 100 different values narrow more than 2".to_owned()),
        "{reasons:?}"
    );
    assert!(reasons.contains(&"number last: behind a range nothing bounds a read".to_owned()), "{reasons:?}");
}

#[test]
fn it_is_the_values_that_count_and_not_the_names() {
    let table = orders(ORDERS);
    let query = Query::new().filter(field("city").eq("C1")).filter(field("number").eq(5_i64));
    assert_eq!(
        created(&advice(&table, &[query])),
        ["CREATE INDEX orders_by_number_city ON orders (number, city)"]
    );
}

#[test]
fn what_is_said_of_a_merged_key_is_true_of_it() {
    let table = orders(ORDERS);
    let of = |city, status, number| {
        let mut query = Query::new();
        if city {
            query = query.filter(field("city").eq("C1"));
        }
        if status {
            query = query.filter(field("status").eq("open"));
        }
        if number { query.filter(field("number").gt(5_i64)) } else { query }
    };
    let fixed = of(true, true, false).filter(field("number").eq(5_i64)).filter(field("tags").eq("x"));
    let advice =
        advice(&table, &[of(false, true, false), of(true, true, false), of(true, true, true), fixed]);
    let key = advice.create.iter().find(|proposal| proposal.index.tree().declared() == 3).unwrap();
    assert_eq!(key.sql, "CREATE INDEX orders_by_status_city_number ON orders (status, city, number)");
    assert_eq!(
        key.reasons,
        [
            "status, city first: compared with = or IN",
            "status before city: another query has only status",
            "number last: behind a range nothing bounds a read",
        ]
    );
    let longest = advice.create.iter().find(|proposal| proposal.index.tree().declared() == 4).unwrap();
    assert_eq!(
        longest.reasons.last().unwrap(),
        "number before status: 6,000 different values narrow more than 2"
    );
}

#[test]
fn each_record_is_counted_in_its_shard() {
    let table = orders("CREATE TABLE orders (number INTEGER PRIMARY KEY) WITH (shards = 1000)");
    let measured = measured(&table);
    let definition = table.definition().unwrap();
    let mut expected = vec![0; 1_000];
    for number in 0..6_000_i64 {
        expected[usize::try_from(definition.primary().place(&number.into()).unwrap()).unwrap()] += 1;
    }
    let found: Vec<u64> = measured.trees[0].places.iter().map(|place| place.rows).collect();
    assert_eq!(found, expected);
}

#[test]
fn an_order_and_its_reverse_share_an_index() {
    let table = orders(ORDERS);
    let open = || Query::new().filter(field("status").eq("open"));
    let up = open().order_by("at").limit(3);
    let down = open().order_by_desc("at").limit(3);
    assert_eq!(created(&advice(&table, &[up, down])).len(), 1);
}

#[test]
fn a_list_is_not_put_behind_what_serves_a_query_without_it() {
    let table = orders(ORDERS);
    let city = || Query::new().filter(field("city").eq("C1"));
    let advice = advice(&table, &[city(), city().filter(field("tags").eq("x"))]);
    // An index on the list has an entry for each element, and would give a record several times.
    assert_eq!(advice.queries.iter().filter(|(_, after)| after.is_refused()).count(), 0);
    for number in [0, 1] {
        assert!(advice.create.iter().any(|proposal| proposal.serves.contains(&number)), "{advice:?}");
    }
}

#[test]
fn a_small_part_needs_no_index_and_a_large_one_does() {
    let table = orders(ORDERS);
    let of = |user: &'static str| Query::new().filter(field("user").eq(user)).filter(field("city").eq("C1"));
    let small = advice(&table, &[of("U3")]);
    assert_eq!(created(&small), [""; 0]);
    let Served::By { class, rows, .. } = &small.queries[0].0 else { unreachable!() };
    assert!(*class == Class::Partition && rows.unwrap() <= SMALL);
    let large = advice(&table, &[of("U0")]);
    assert_eq!(created(&large), ["CREATE INDEX orders_by_city_user ON orders (city, user)"]);
}

#[test]
fn columns_with_several_values_stand_as_the_order_has_them() {
    let table = orders(ORDERS);
    let several = field("city").is_in(["C1", "C2"]).and(field("status").is_in(["open", "paid"]));
    let query = Query::new().filter(several).order_by("status").order_by_desc("city").limit(5);
    let advice = advice(&table, &[query]);
    assert_eq!(created(&advice), ["CREATE INDEX orders_by_status_city ON orders (status, city DESC)"]);
    assert!(matches!(advice.queries[0].1, Served::By { class: Class::Output, sorted: false, .. }));
}

#[test]
fn what_no_query_misses_is_redundant_but_not_what_keeps_values_unique() {
    let table = orders(&format!(
        "{ORDERS}; CREATE INDEX short ON orders (city); CREATE INDEX long ON orders (city, status);
         CREATE INDEX unused ON orders (tags); CREATE UNIQUE INDEX alone ON orders (number)"
    ));
    let query = Query::new().filter(field("city").eq("C1")).filter(field("status").eq("open"));
    let advice = advice(&table, &[query]);
    let told: Vec<(&str, &str, &str)> = advice
        .redundant
        .iter()
        .map(|one| (one.index.as_str(), one.reason.as_str(), one.sql.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("short", "long begins with the same columns", "DROP INDEX short ON orders"),
            ("unused", "no query needs it", "DROP INDEX unused ON orders"),
        ]
    );
    assert!(advice.redundant[0].bytes > 100_000);
}

#[test]
fn names_that_must_be_quoted_are() {
    let database = Database::open(MemoryStore::new()).wait().unwrap();
    database.define("CREATE TABLE \"a b\" (id INTEGER PRIMARY KEY, \"select\" TEXT)").wait().unwrap();
    let table = database.table("a b").wait().unwrap();
    let advice = advice(&table, &[Query::new().filter(field("select").eq("x"))]);
    assert_eq!(created(&advice), ["CREATE INDEX \"a b_by_select\" ON \"a b\" (\"select\")"]);
    database.define(&advice.create[0].sql).wait().unwrap();
}
