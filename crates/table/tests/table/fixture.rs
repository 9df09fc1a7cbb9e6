//! Files of earlier versions open, with every type of value and every kind of index: `tests/fixtures` at the root.
//!
//! `KEYLOOM_REWRITE=1 cargo test -p keyloom-table --test table fixture` writes the file of this version anew.

// LMDB writes numbers as the machine has them: a file moves between machines of one kind.
#![cfg(all(target_endian = "little", target_pointer_width = "64"))]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use keyloom_key::{Date, Duration, Span, Timestamp, Uuid, Value};
use keyloom_lmdb::LmdbStore;
use keyloom_schema::{Document, Index, Placement, State, Table as Definition, TableBuilder, field};
use keyloom_store::{Direction, Limits, Read, Wait};
use keyloom_table::{Database, Keys, Query};

/// Every type of a column, with three values each.
fn types() -> Vec<(&'static str, [Value<'static>; 3])> {
    let decimal = |text: &str| Value::Decimal(text.parse().unwrap());
    let bytes = |bytes: &[u8]| Value::from(bytes.to_vec());
    let tuple = |name: &'static str, number: i64| Value::Tuple(vec![name.into(), number.into()]);
    vec![
        ("bool", [false.into(), true.into(), false.into()]),
        ("i8", [i8::MIN.into(), 0_i8.into(), i8::MAX.into()]),
        ("i16", [i16::MIN.into(), (-1_i16).into(), i16::MAX.into()]),
        ("i32", [i32::MIN.into(), 1_i32.into(), i32::MAX.into()]),
        ("i64", [i64::MIN.into(), 255_i64.into(), i64::MAX.into()]),
        ("u8", [0_u8.into(), 1_u8.into(), u8::MAX.into()]),
        ("u16", [0_u16.into(), 256_u16.into(), u16::MAX.into()]),
        ("u32", [0_u32.into(), 65_536_u32.into(), u32::MAX.into()]),
        ("u64", [0_u64.into(), (1_u64 << 32).into(), u64::MAX.into()]),
        ("f32", [(-1.5_f32).into(), 0.25_f32.into(), f32::INFINITY.into()]),
        ("f64", [f64::NEG_INFINITY.into(), 0.1_f64.into(), 1e300_f64.into()]),
        ("decimal", [decimal("-1234567.891"), decimal("0.001"), decimal("9e30")]),
        ("decimal(10,2)", [decimal("-0.25"), decimal("100"), decimal("99999999.99")]),
        ("str", ["".into(), "a\0b".into(), "ü€😀".into()]),
        ("str:nocase", ["Straße".into(), "ADA".into(), "zoë".into()]),
        ("bytes", [bytes(b""), bytes(b"\0\xFF"), bytes(b"\xFF\xFF")]),
        ("uuid", [0_u128, 0x0123_4567_89AB_CDEF, u128::MAX].map(|id| Uuid::from_u128(id).into())),
        ("timestamp(3)", [-1, 0, 1_700_000_000_123].map(|count| Timestamp::from_millis(count).into())),
        ("timestamp", [-1, 0, 1_700_000_000_123_456].map(|count| Timestamp::from_micros(count).into())),
        ("timestamp(9)", [-1, 0, 1_700_000_000_123_456_789].map(|count| Timestamp::from_nanos(count).into())),
        ("date", [-719_162, 0, 20_000].map(|days| Date::from_days(days).into())),
        ("duration", [-1, 0, i64::MAX].map(|nanos| Duration::from_nanos(nanos).into())),
        ("tuple(str,i64)", [tuple("", -1), tuple("a", 1), tuple("a\0", 0)]),
    ]
}

/// A table with a column of every type, and an index on each.
fn everything() -> TableBuilder {
    let mut table = Definition::named("everything").column("id", "i64").key(["id"]);
    for (number, (kind, _)) in types().iter().enumerate() {
        let part = if number % 2 == 0 { (*kind).to_owned() } else { format!("{kind} desc") };
        table = table.nullable(*kind, *kind).index(Index::on([part.as_str()]).named(*kind));
    }
    table
}

fn every_value(id: i64) -> Document {
    let mut record = Document::new().with("id", id);
    if let Ok(row) = usize::try_from(id) {
        types().into_iter().for_each(|(kind, values)| drop(record.set(kind, values[row % 3].clone())));
    }
    // Fields that no column declares.
    let list = Value::list([Value::Null, 1_i64.into(), "two".into()]);
    let map = Value::map([("inner", Value::map([("deep", true)])), ("list", list.clone())]);
    record.with("a list", list).with("a map", map).with("nothing", Value::Null)
}

/// A table with every kind of index.
fn orders() -> TableBuilder {
    Definition::named("orders")
        .column("user", "str")
        .column("number", "i64")
        .nullable("status", "str")
        .nullable("email", "str")
        .nullable("tags", "list(str)")
        .nullable("ends", "timestamp")
        .key(["user", "number desc"])
        .expires_by("ends")
        .index(Index::on(["email"]).named("unique").unique())
        .index(Index::on(["tags"]).named("multi"))
        .index(Index::on(["status", "number desc"]).named("covering").covering(["email"]))
        .index(Index::on(["number"]).named("partial").only(field("status").eq("open")))
        .index(Index::on(["number"]).named("sharded").placement("shards 4".parse::<Placement>().unwrap()))
        .index(Index::on(["number"]).named("striped").placement("stripes 4".parse::<Placement>().unwrap()))
        .index(Index::on(["status nulls-last"]).named("nulls"))
}

fn order(number: i64) -> Document {
    let order = Document::new().with("user", format!("U{}", number % 3)).with("number", number);
    let order = order.with("status", ["open", "paid"][usize::try_from(number % 2).unwrap()]);
    match number % 4 {
        // It has ended long ago.
        0 => order.with("ends", Timestamp::from_micros(1)),
        1 => order,
        _ => order.with("email", format!("u{number}@example.org")).with("tags", Value::list(["red", "blue"])),
    }
}

const ORDERS: i64 = 12;

/// Tables that are placed or written in another way, each with the columns `pk` and `sk`.
fn others() -> Vec<(TableBuilder, [Value<'static>; 2])> {
    let table = |name, pk, sk| Definition::named(name).column("pk", pk).column("sk", sk).key(["pk", "sk"]);
    let format = |name: &str| name.parse().unwrap();
    let bytes = || [b"pk".to_vec().into(), b"sk\0".to_vec().into()];
    vec![
        (table("in_shards", "str", "i64").shards(16), ["A#".into(), (-1_i64).into()]),
        (
            table("in_shards_by_xxhash", "str", "i64").placement("shards 16 xxhash".parse().unwrap()),
            ["A#".into(), 1_i64.into()],
        ),
        (table("in_stripes", "bytes", "bytes").stripes(256), bytes()),
        (table("as_lexkey", "str", "i64").format(format("lexkey")), ["A".into(), (-1_i64).into()]),
        (table("as_rowkey", "str", "u64").format(format("rowkey")), ["A".into(), 1_u64.into()]),
        (table("as_composite", "str", "str").format(format("composite escape")), ["A#".into(), "B".into()]),
        (table("as_keystone", "bytes", "bytes").format(format("keystone")), bytes()),
    ]
}

fn make(database: &Database<LmdbStore>) {
    // The large ones last: every commit writes pages anew, and the file stays small.
    for (table, [pk, sk]) in others() {
        let table = database.create_table(table).wait().unwrap();
        table.put(Document::new().with("pk", pk).with("sk", sk).with("note", "kept")).wait().unwrap();
    }
    let words = database.open_index("words", "str:nocase", "i64:desc").wait().unwrap();
    words
        .add_all([("one", 1_i64), ("two", 2), ("two", 22)].map(|(key, value)| (key.into(), value.into())))
        .wait()
        .unwrap();
    let records = database.create_table(everything()).wait().unwrap();
    records.load((-1..3).map(every_value), |_| {}).wait().unwrap();
    let table = database.create_table(orders()).wait().unwrap();
    table.load((0..ORDERS).map(order), |_| {}).wait().unwrap();
    database.analyze("orders").wait().unwrap();
}

fn check(database: &Database<LmdbStore>) {
    let records = database.open_table(everything()).wait().unwrap();
    for id in -1..3 {
        assert_eq!(records.get([id]).wait().unwrap(), Some(every_value(id)));
        for (kind, values) in types() {
            let Ok(row) = usize::try_from(id) else { continue };
            let query = Query::new().filter(field(kind).eq(values[row].clone()));
            assert_eq!(records.explain(&query).wait().unwrap().index.as_deref(), Some(kind));
            let found = records.query(&query).wait().unwrap().records;
            assert!(found.iter().any(|found| found.document == every_value(id)), "{kind}: {found:?}");
        }
    }
    let table = database.open_table(orders()).wait().unwrap();
    let left: Vec<i64> = (0..ORDERS).filter(|number| number % 4 != 0).collect();
    for number in 0..ORDERS {
        let key = [Value::from(format!("U{}", number % 3)), number.into()];
        let expected = left.contains(&number).then(|| order(number));
        assert_eq!(table.get(key).wait().unwrap(), expected);
    }
    let count = |query| table.count(&query).wait().unwrap();
    assert_eq!(count(Query::new().filter(field("email").eq("u7@example.org"))), 1);
    assert_eq!(count(Query::new().filter(field("tags").eq("red"))), 6);
    assert_eq!(count(Query::new().filter(field("status").eq("open"))), 3);
    assert_eq!(count(Query::new().filter(field("number").ge(10_i64).and(field("status").eq("open")))), 1);
    assert_eq!(count(Query::new().filter(field("number").eq(7_i64))), 1);
    assert_eq!(table.definition().unwrap().indexes().len(), 7);
    assert!(table.definition().unwrap().indexes().iter().all(|index| index.state() == State::Ready));
    for (declared, [pk, sk]) in others() {
        let table = database.open_table(declared).wait().unwrap();
        let found = table.get([pk.clone(), sk.clone()]).wait().unwrap();
        assert_eq!(found, Some(Document::new().with("pk", pk).with("sk", sk).with("note", "kept")));
    }
    let words = database.open_index("words", "str:nocase", "i64:desc").wait().unwrap();
    assert_eq!(words.values("TWO").wait().unwrap(), [22_i64.into(), 2_i64.into()]);
    assert_eq!(words.keys(&Keys::all()).wait().unwrap().len(), 2);
    // The statistics of a tree begin with how many keys it has.
    let statistics = |tree: u32| {
        let key = [[0; 4].as_slice(), b"s", &tree.to_be_bytes()].concat();
        let rows = |value: &[u8]| u64::from_be_bytes(*value.first_chunk().unwrap());
        database.store().get(&key, rows).wait().unwrap()
    };
    let definition = table.definition().unwrap();
    assert_eq!(statistics(definition.primary().id()), Some(12));
    assert_eq!(statistics(definition.index("multi").unwrap().tree().id()), Some(12));
    for table in database.tables() {
        assert_eq!(database.verify(&table).wait().unwrap().differences, [], "{table}");
    }
}

/// All that lies in a store, as it lies there.
fn rows(database: &Database<LmdbStore>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    let all = Limits { rows: usize::MAX, bytes: usize::MAX, ..Limits::default() };
    let look = |key: &[u8], value: &[u8]| {
        rows.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    database.store().scan(&Span::prefix(Vec::new()), Direction::Forward, all, look).wait().unwrap();
    rows
}

fn open(path: &Path) -> Database<LmdbStore> {
    Database::open(LmdbStore::open(path).unwrap()).wait().unwrap()
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

#[test]
fn the_files_of_earlier_versions_are_what_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new.klm");
    make(&open(&new));
    check(&open(&new));
    let kept = fixtures().join("v0.klm");
    if std::env::var_os("KEYLOOM_REWRITE").is_some() {
        fs::copy(&new, &kept).unwrap();
    }
    // Opening a file puts others beside it.
    let copy = folder.path().join("v0.klm");
    fs::copy(&kept, &copy).unwrap();
    let database = open(&copy);
    check(&database);
    assert!(rows(&database) == rows(&open(&new)), "this version writes other bytes than v0 did");
    // It goes on as a file of this version.
    let table = database.table("orders").wait().unwrap();
    table.put(order(ORDERS + 1)).wait().unwrap();
    database.create_index("orders", Index::on(["user", "status"])).wait().unwrap();
    assert_eq!(database.verify("orders").wait().unwrap().differences, []);
}
