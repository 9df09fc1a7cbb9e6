//! Shards and stripes: where records go, how evenly, and that reading finds them wherever they are.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;

use keyloom_key::{Timestamp, Uuid, Value};
use keyloom_schema::{Document, Index, Placement, Table as Definition, TableBuilder, field};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::{Database, Error, Existing, Loader, Query, Table};

fn users() -> TableBuilder {
    Definition::named("users").column("user", "str").column("number", "i64").key(["user", "number"])
}

fn filled(table: TableBuilder, count: i64) -> (Database<MemoryStore>, Table<MemoryStore>) {
    let database = Database::open(MemoryStore::new()).wait().unwrap();
    let table = database.create_table(table).wait().unwrap();
    let rows = (0..count).map(|number| {
        Document::new().with("user", format!("user#{}", number % 10_000)).with("number", number)
    });
    table.load(rows, |_| {}).wait().unwrap();
    (database, table)
}

/// The bytes behind the number of the tree.
fn key(table: &Table<MemoryStore>, values: &[Value<'_>]) -> Vec<u8> {
    let mut key = Vec::new();
    table.definition().unwrap().primary().key(values, &mut key).unwrap();
    key.split_off(4)
}

/// The composite-key specification's order: shard 00 10, and 61 bytes in all.
#[test]
fn the_shard_of_usr_12345_is_16() {
    let database = Database::open(MemoryStore::new()).wait().unwrap();
    let orders = Definition::named("orders")
        .column("user_id", "str")
        .column("order_date", "timestamp(3)")
        .column("order_id", "uuid")
        .key(["user_id", "order_date", "order_id"]);
    let composite = orders.clone().format("composite pad=1:32".parse().unwrap()).shards(256);
    let composite = database.create_table(composite).wait().unwrap();
    let id = Uuid::from_u128(0x550e8400_e29b_41d4_a716_446655440001);
    let values = ["USR_12345".into(), Timestamp::from_millis(1_737_100_800_000).into(), id.into()];
    let bytes = key(&composite, &values);
    assert_eq!(bytes.len(), 61);
    assert!(bytes.starts_with(b"\x00\x10\x1FUSR_12345\x00"), "{}", bytes.escape_ascii());

    let native = database
        .create_table(Definition::named("native").column("user_id", "str").key(["user_id"]).shards(256));
    assert_eq!(key(&native.wait().unwrap(), &["USR_12345".into()]), b"\x00\x10USR_12345\x00\x01");
}

/// KeystoneDB's own stripes, as its code gives them.
#[test]
fn the_stripes_of_users_1_to_3_are_154_32_and_182() {
    let (_, table) = filled(users().stripes(256), 1);
    let stripes = ["user#1", "user#2", "user#3"].map(|user| key(&table, &[user.into(), 1_i64.into()])[0]);
    assert_eq!(stripes, [154, 32, 182]);
}

#[test]
fn ten_thousand_users_are_spread_within_a_fifth() {
    for (table, places, width) in [(users().stripes(256), 256, 1), (users().shards(16), 16, 2)] {
        let (_, table) = filled(table, 10_000);
        let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        for user in 0..10_000 {
            let place = key(&table, &[format!("user#{user}").into(), 1_i64.into()])[..width].to_vec();
            *counts.entry(place).or_default() += 1;
        }
        assert_eq!(counts.len(), places);
        for (place, count) in counts {
            assert!((count * places).abs_diff(10_000) * 5 <= 10_000, "{place:?} of {places} has {count}");
        }
    }
}

/// A query with the first field reads one place, any other reads all of them, the last one too, merged in order.
#[test]
fn every_place_is_read_in_order_with_the_limit_pushed_down() {
    let index = Index::on(["number"]).placement(Placement::Shards(
        keyloom_key::placement::Shards::new(8, keyloom_key::placement::Hash::XxHash).unwrap(),
    ));
    for table in [users().shards(16), users().stripes(256), users()] {
        let (_, table) = filled(table.index(index.clone()), 5_000);
        let one = Query::new().filter(field("user").eq("user#77"));
        assert_eq!(table.query(&one).wait().unwrap().examined.seeks, 1);
        let places = u64::from(table.definition().unwrap().primary().placement().count());
        let first = table.query(&Query::new().order_by("user").order_by("number").limit(10)).wait().unwrap();
        let users: Vec<_> = first.records.iter().map(|record| record.key[0].clone()).collect();
        let expected = ["0", "1", "10", "100", "1000", "1001", "1002", "1003", "1004", "1005"];
        assert_eq!(users, expected.map(|number| Value::from(format!("user#{number}"))));
        assert!(first.examined.rows <= 10 + places, "{:?}", first.examined);
        let last = table.query(&Query::new().order_by_desc("user").limit(1)).wait().unwrap();
        assert_eq!(last.records[0].key[0], "user#999".into());
        // An index shards by its own first field.
        let range = Query::new().filter(field("number").between(100_i64, 199_i64)).order_by("number");
        let found = table.query(&range).wait().unwrap();
        assert_eq!(found.records.len(), 100);
        assert!(
            found
                .records
                .iter()
                .map(|record| &record.key[1])
                .is_sorted_by(|a, b| a.compare(b).unwrap().is_lt())
        );
        let point = table.query(&Query::new().filter(field("number").eq(4_999_i64))).wait().unwrap();
        assert_eq!((point.records.len(), point.examined.rows), (1, 1));
    }
}

/// Segments hold every record once, whoever reads them, and any number of threads may.
#[test]
fn segments_read_side_by_side_are_the_whole_table() {
    for table in [users().shards(16), users().stripes(7), users()] {
        let (database, table) = filled(table, 5_000);
        database.analyze("users").wait().unwrap();
        for count in [1, 3, 4, 100] {
            let segments = table.segments(count).unwrap();
            assert!(
                segments.len() <= count && (count == 1 || segments.len() > 1),
                "{} of {count}",
                segments.len()
            );
            let seen = Mutex::new(Vec::new());
            std::thread::scope(|scope| {
                for segment in &segments {
                    let (table, seen) = (&table, &seen);
                    scope.spawn(move || {
                        let mut numbers = Vec::new();
                        let visit = |row: &keyloom_table::Row<'_>| {
                            numbers.push(row.get("number")?.into_owned());
                            Ok(ControlFlow::Continue(()))
                        };
                        let examined = table.scan(segment, visit).wait().unwrap();
                        assert_eq!(examined.returned, numbers.len() as u64);
                        seen.lock().unwrap().extend(numbers);
                    });
                }
            });
            let mut seen = seen.into_inner().unwrap();
            seen.sort_by(|a, b| a.compare(b).unwrap());
            assert_eq!(seen, (0..5_000_i64).map(Value::from).collect::<Vec<_>>());
        }
    }
}

/// A load gives an empty table new trees. A segment from before it was read to its end, and nothing was found in it.
#[test]
fn segments_of_what_a_table_was_before_are_refused() {
    let store = MemoryStore::new();
    let here = Database::open(store.clone()).wait().unwrap();
    let table = here.create_table(users()).wait().unwrap();
    let other = Definition::named("others").column("user", "str").key(["user"]);
    let other = here.create_table(other).wait().unwrap();
    let there = Database::open(store).wait().unwrap().table("users").wait().unwrap();
    let before = there.segments(1).unwrap();
    // Little memory is more than one commit of it.
    let mut loader = Loader::new(&table, 8_000).unwrap();
    for number in 0..1_000_i64 {
        loader.push(Document::new().with("user", "U1").with("number", number)).unwrap();
    }
    loader.finish(&table, Existing::Refuse, |_| {}).wait().unwrap();
    let refused = |table: &Table<MemoryStore>, segment| {
        let read = table.scan(segment, |_| Ok(ControlFlow::Continue(()))).wait();
        let error = read.unwrap_err();
        assert!(matches!(error, Error::Conflict(_)), "{error}");
        assert!(error.to_string().contains("ask the table for its segments again"), "{error}");
    };
    // Who has loaded knows at once, and who has not when the segment is read.
    refused(&table, &before[0]);
    refused(&there, &before[0]);
    refused(&table, &other.segments(1).unwrap()[0]);
    let now = there.segments(1).unwrap();
    let examined = there.scan(&now[0], |_| Ok(ControlFlow::Continue(()))).wait().unwrap();
    assert_eq!(examined.returned, 1_000);
}

/// The fan-out of IN times shards has a cap: beyond it the IN is asked of each row instead.
#[test]
fn the_fan_out_of_in_has_a_cap() {
    let (_, table) = filled(users().shards(64), 5_000);
    let users = (0..5_000).map(|number| Value::from(format!("user#{number}")));
    let few = Query::new().filter(field("user").is_in(users.clone().take(100)));
    assert_eq!(table.query(&few).wait().unwrap().examined.seeks, 100);
    let many = Query::new().filter(field("user").is_in(users));
    let found = table.query(&many).wait().unwrap();
    assert_eq!(found.records.len(), 5_000);
    assert!(found.examined.seeks <= 4_096, "{:?}", found.examined);
}
