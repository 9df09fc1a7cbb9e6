//! A struct becomes a table, and its values documents and back.

use keyloom_derive::Record;
use keyloom_key::{Date, Decimal, Duration, Timestamp, Uuid, Value};
use keyloom_schema::{Document, Format, Index, Record as _, Table, field};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

#[derive(Debug, Clone, PartialEq, Record)]
#[record(crate = "keyloom_schema", table = "orders", key(user_id, order_date desc, order_id), shards = 16)]
#[record(expires = expires_at)]
#[record(index(status, order_date desc nulls_last), covering(amount, kind), only = "status <> 'done'")]
#[record(index(tags, r#type), name = "by_tag", unique, stripes = 4)]
struct Order {
    user_id: String,
    order_date: Timestamp,
    order_id: Uuid,
    #[record(kind = "decimal(10,2)")]
    amount: Decimal,
    status: Option<String>,
    tags: Vec<String>,
    #[record(rename = "kind of order")]
    kind: u8,
    r#type: i64,
    expires_at: Option<Timestamp>,
}

#[test]
fn the_table_is_the_one_described_by_hand() {
    let by_hand = Table::named("orders")
        .column("user_id", "str")
        .column("order_date", "timestamp")
        .column("order_id", "uuid")
        .column("amount", "decimal(10,2)")
        .nullable("status", "str")
        .column("tags", "list(str)")
        .column("kind of order", "u8")
        .column("type", "i64")
        .nullable("expires_at", "timestamp")
        .key(["user_id", "order_date desc", "order_id"])
        .shards(16)
        .expires_by("expires_at")
        .index(
            Index::on(["status", "order_date desc nulls-last"])
                .covering(["amount", "kind of order"])
                .only(field("status").ne("done")),
        )
        .index(Index::on(["tags", "type"]).named("by_tag").unique().stripes(4));
    assert_eq!(Order::table().build().unwrap(), by_hand.build().unwrap());
}

#[derive(Debug, Clone, PartialEq, Record)]
#[record(crate = "keyloom_schema", table = "everything", key(u64))]
struct Everything {
    flag: bool,
    i8: i8,
    i16: i16,
    i32: i32,
    i64: i64,
    u8: u8,
    u16: u16,
    u32: u32,
    u64: u64,
    f32: f32,
    f64: f64,
    text: String,
    bytes: Vec<u8>,
    decimal: Decimal,
    uuid: Uuid,
    instant: Timestamp,
    day: Date,
    duration: Duration,
    numbers: Vec<i32>,
    blobs: Vec<Vec<u8>>,
    maybe: Option<u32>,
    maybe_many: Option<Vec<f64>>,
}

fn everything() -> impl Strategy<Value = Everything> {
    let small = (any::<bool>(), any::<i8>(), any::<i16>(), any::<i32>(), any::<i64>());
    let unsigned = (any::<u8>(), any::<u16>(), any::<u32>(), any::<u64>(), any::<f32>(), any::<f64>());
    let other =
        (any::<String>(), vec(any::<u8>(), 0..5), any::<i64>(), any::<u128>(), any::<i64>(), any::<i32>());
    let lists =
        (vec(any::<i32>(), 0..4), vec(vec(any::<u8>(), 0..3), 0..3), option::of(any::<u32>()), any::<i64>());
    (small, unsigned, other, lists, option::of(vec(any::<f64>(), 0..3))).prop_map(
        |(small, unsigned, other, lists, maybe_many)| {
            let (flag, i8, i16, i32, i64) = small;
            let (u8, u16, u32, u64, f32, f64) = unsigned;
            let (text, bytes, decimal, uuid, instant, day) = other;
            let (numbers, blobs, maybe, duration) = lists;
            Everything {
                flag,
                i8,
                i16,
                i32,
                i64,
                u8,
                u16,
                u32,
                u64,
                f32,
                f64,
                text,
                bytes,
                decimal: decimal.into(),
                uuid: Uuid::from_u128(uuid),
                instant: Timestamp::from_micros(instant),
                day: Date::from_days(day),
                duration: Duration::from_nanos(duration),
                numbers,
                blobs,
                maybe,
                maybe_many,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_record_comes_back(record in everything()) {
        let table = Everything::table().build().unwrap();
        let document = record.to_document();
        prop_assert_eq!(Everything::from_document(document.clone()), Ok(record.clone()));
        // What the table keeps is the same document, and the same record.
        let checked = table.check(document.clone()).unwrap();
        prop_assert_eq!(&checked, &document);
        prop_assert_eq!(Everything::from_document(checked), Ok(record));
    }
}

#[derive(Debug, PartialEq, Record)]
#[record(crate = "keyloom_schema", table = "small", key(id), format = "rowkey")]
#[record(index(id), format = "lexkey")]
struct Small {
    id: u8,
    name: Option<String>,
    sizes: Vec<u16>,
}

#[test]
fn keys_have_the_format_they_say() {
    let table = Small::table().build().unwrap();
    assert_eq!(table.primary().format(), &Format::RowKey);
    assert_eq!(table.indexes()[0].tree().format(), &Format::LexKey);
}

#[test]
fn none_is_left_out_and_what_is_unknown_dropped() {
    let small = Small { id: 7, name: None, sizes: vec![1] };
    let document = small.to_document();
    assert_eq!(document.get("name"), None);
    let read = Small::from_document(document.clone().with("name", Value::Null).with("more", true));
    assert_eq!(read, Ok(small));
}

#[test]
fn what_does_not_fit_is_said_of_its_field() {
    let good = || Document::new().with("id", 7_u8).with("sizes", Value::list([1_u16]));
    let cases = [
        (good().with("id", 300_u16), "field id: a value of type u64 in a field of type u8"),
        (good().with("id", Value::Null), "field id: missing or null, and the field is no Option"),
        (Document::new().with("id", 7_u8), "field sizes: missing or null, and the field is no Option"),
        (good().with("name", 1_i64), "field name: a value of type i64 in a field of type str"),
        (
            good().with("sizes", Value::list([Value::from(1_u16), "x".into()])),
            "field sizes: element 2: a value of type str in a field of type u16",
        ),
    ];
    for (document, said) in cases {
        assert_eq!(Small::from_document(document).unwrap_err().to_string(), said);
    }
}

#[derive(Record)]
#[record(crate = "keyloom_schema", table = "wrong", key(id), format = "jsonb")]
#[allow(dead_code)]
struct WrongFormat {
    id: u8,
}

#[derive(Record)]
#[record(crate = "keyloom_schema", table = "wrong", key(id))]
#[record(index(id), only = "id =")]
#[allow(dead_code)]
struct WrongCondition {
    id: u8,
}

#[test]
fn a_wrong_text_is_said_when_the_table_is_built() {
    let error = WrongFormat::table().build().unwrap_err().to_string();
    assert!(error.contains("format `jsonb`: the formats are native"), "{error}");
    let error = WrongCondition::table().build().unwrap_err().to_string();
    assert!(error.contains("condition `id =`"), "{error}");
}

#[test]
fn mistakes_are_pointed_at() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
