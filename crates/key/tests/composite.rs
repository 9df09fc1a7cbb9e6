//! Composite keys: the specification's example, its order schema, and the laws on any fields and settings.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::borrow::Cow;
use std::ops::Bound;

use keyloom_key::composite::{Composite, CompositeSchema, Delimiter, Text};
use keyloom_key::placement::{Hash, Shards, hashed_bytes};
use keyloom_key::{Decimal, Error, Field, Fields, KeyFormat, Timestamp, Uuid, Value};
use keyloom_testkit::{laws, random};
use proptest::prelude::*;
use proptest::sample::select;

const DELIMITERS: [Delimiter; 4] = [Delimiter::Null, Delimiter::Unit, Delimiter::High, Delimiter::Double];

fn fields(text: &str) -> Fields {
    text.parse().unwrap()
}

fn encode(format: &Composite, kinds: &str, values: &[Value<'_>]) -> Result<Vec<u8>, Error> {
    encode_fields(format, &fields(kinds), values)
}

fn encode_fields(format: &Composite, fields: &Fields, values: &[Value<'_>]) -> Result<Vec<u8>, Error> {
    let mut out = b"before".to_vec();
    let result = format.encode(fields, values, &mut out);
    let key = out.split_off(6);
    assert_eq!(out, b"before");
    assert!(result.is_ok() || key.is_empty(), "an error left {key:?} behind");
    result.map(|()| key)
}

fn refused(format: &Composite, kinds: &str, values: &[Value<'_>]) -> String {
    encode(format, kinds, values).unwrap_err().to_string()
}

fn shards(count: u32) -> Shards {
    Shards::new(count, Hash::Md5).unwrap()
}

fn decimal(text: &str) -> Value<'static> {
    text.parse::<Decimal>().unwrap().into()
}

fn unhex(text: &str) -> Vec<u8> {
    hex::decode(text.replace(' ', "")).unwrap()
}

const ORDER: &str = "str,timestamp(3),uuid";

fn order_format() -> Composite {
    Composite::new().pad(1, 32).shards(shards(256))
}

fn order_values() -> [Value<'static>; 3] {
    [
        "USR_12345".into(),
        Timestamp::from_millis(1_737_100_800_000).into(),
        Uuid::from_u128(0x550e_8400_e29b_41d4_a716_4466_5544_0001).into(),
    ]
}

fn order_key() -> Vec<u8> {
    let user = format!("{}{}", hex::encode("USR_12345"), "00".repeat(23));
    unhex(&format!("0010 1f {user} 1f 000001947346b000 1f 550e8400e29b41d4a716446655440001"))
}

#[test]
fn the_specifications_example() {
    let key = encode(&order_format(), ORDER, &order_values()).unwrap();
    assert_eq!(key.len(), 61);
    assert_eq!(key, order_key());
    assert_eq!(order_format().decode(&fields(ORDER), &key).unwrap(), order_values());
}

#[test]
fn the_specifications_queries() {
    let (format, fields) = (order_format(), fields(ORDER));
    let user = &order_values()[..1];
    let span = format.prefix(&fields, user).unwrap();
    assert_eq!(span.start, order_key()[..36]);
    assert!(span.contains(&order_key()));
    let at = |millis| Value::from(Timestamp::from_millis(millis));
    let (from, to) = (at(1_737_100_800_000), at(1_737_200_000_000));
    let range = |lower, upper| format.range(&fields, user, lower, upper).unwrap();
    assert!(range(Bound::Included(&from), Bound::Included(&to)).contains(&order_key()));
    assert!(!range(Bound::Excluded(&from), Bound::Included(&to)).contains(&order_key()));
    assert!(!range(Bound::Included(&to), Bound::Unbounded).contains(&order_key()));
    // Over all users the keys lie in 256 shards.
    assert!(format.range(&fields, &[], Bound::Unbounded, Bound::Unbounded).is_err());
}

#[test]
fn every_type_has_its_bytes() {
    let plain = Composite::new();
    let scaled = Composite::new().scale(1, 2);
    for (format, kind, value, bytes) in [
        (&plain, "str", "ab".into(), "6162"),
        (&plain, "str", "".into(), ""),
        (&plain, "i8", (-1_i8).into(), "7fffffffffffffff"),
        (&plain, "i64", i64::MIN.into(), "0000000000000000"),
        (&plain, "i64", i64::MAX.into(), "ffffffffffffffff"),
        (&plain, "u16", 7_u16.into(), "8000000000000007"),
        (&plain, "u64", (u64::MAX >> 1).into(), "ffffffffffffffff"),
        (&plain, "timestamp", Timestamp::from_micros(1_000).into(), "0000000000000001"),
        (&plain, "timestamp(9)", Timestamp::from_millis(0).into(), "0000000000000000"),
        (&plain, "timestamp(3)", Timestamp::from_millis(i64::MAX).into(), "7fffffffffffffff"),
        (&plain, "decimal(10,2)", decimal("19.99"), "80000000000007cf"),
        (&scaled, "decimal", decimal("-0.01"), "7fffffffffffffff"),
        (&scaled, "decimal", decimal("92233720368547758.07"), "ffffffffffffffff"),
        // The scale that is set goes before the type's.
        (&scaled, "decimal(10,1)", decimal("1.5"), "8000000000000096"),
    ] {
        assert_eq!(hex::encode(encode(format, kind, std::slice::from_ref(&value)).unwrap()), bytes, "{kind}");
        assert_eq!(format.decode(&fields(kind), &unhex(bytes)).unwrap(), [value], "{kind}");
    }
}

#[test]
fn text_is_escaped_by_the_delimiter() {
    let all = "\0\u{1}\u{2}\u{1e}\u{1f} !";
    for (delimiter, bytes) in [
        (Delimiter::Null, "0100 0101 02 1e 1f 20 21 00"),
        (Delimiter::Unit, "2000 2001 2002 201e 201f 2020 21 1f"),
        (Delimiter::High, "00 01 02 1e 1f 20 21 ff"),
        (Delimiter::Double, "00ff 01 02 1e 1f 20 21 0001"),
    ] {
        let format = Composite::new().delimiter(delimiter).escape();
        assert_eq!(encode(&format, "str,str", &[all.into()]).unwrap(), unhex(bytes), "{delimiter:?}");
        let key = [unhex(bytes), b"z".to_vec()].concat();
        assert_eq!(format.decode(&fields("str,str"), &key).unwrap(), [all.into(), Value::from("z")]);
    }
}

#[test]
fn text_that_meets_the_delimiter_is_refused_by_name() {
    for (delimiter, text, reason) in [
        (Delimiter::Unit, "a\u{1f}b", "the byte 1f, which is taken for the delimiter 1f"),
        (Delimiter::Unit, "a\tb", "the byte 09, which sorts before the delimiter 1f"),
        (Delimiter::Unit, "a\0", "the byte 00, which sorts before the delimiter 1f"),
        (Delimiter::Null, "a\0b", "the byte 00, which is taken for the delimiter 00"),
        (Delimiter::Double, "a\0b", "the byte 00, which is taken for the delimiter 0001"),
    ] {
        let format = Composite::new().delimiter(delimiter);
        let error = format!("field 2: text with {reason}: escape, pad, or use another delimiter");
        assert_eq!(refused(&format, "i64,str,i64", &[1_i64.into(), text.into()]), error);
        // Each of the three remedies.
        let high = Composite::new().delimiter(Delimiter::High);
        for remedy in [format.clone().escape(), high] {
            assert!(encode(&remedy, "i64,str,i64", &[1_i64.into(), text.into()]).is_ok());
        }
        let padded = encode(&format.pad(2, 8), "i64,str,i64", &[1_i64.into(), text.into()]);
        assert_eq!(padded.is_ok(), !text.ends_with('\0'));
    }
    assert!(encode(&Composite::new(), "str", &[" ".into()]).is_ok());
    assert!(encode(&Composite::new().delimiter(Delimiter::Null), "str", &["\u{1}".into()]).is_ok());
}

#[test]
fn padding_never_cuts_and_never_collides() {
    let format = Composite::new().pad(1, 3);
    assert_eq!(encode(&format, "str", &["abc".into()]).unwrap(), b"abc");
    assert_eq!(encode(&format, "str", &["a\0b".into()]).unwrap(), b"a\0b");
    assert_eq!(encode(&format, "str", &["".into()]).unwrap(), [0; 3]);
    assert_eq!(
        refused(&format, "str", &["abcd".into()]),
        "field 1: text of 4 bytes where 3 are kept: pad wider, or escape"
    );
    assert_eq!(
        refused(&format, "str", &["a\0".into()]),
        "field 1: text that ends with 00 is not told from its padding: escape instead"
    );
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let plain = Composite::new();
    let scaled = Composite::new().scale(1, 2);
    let sharded = Composite::new().shards(shards(16));
    for (format, kind, value, reason) in [
        (&plain, "i8", Value::from(128_i64), "128 does not fit i8"),
        (&plain, "u8", 256_u64.into(), "256 does not fit u8"),
        (
            &plain,
            "u64",
            (1_u64 << 63).into(),
            "9223372036854775808 is above 9223372036854775807, the highest here: use the native format",
        ),
        (
            &plain,
            "timestamp(9)",
            Timestamp::from_nanos(1).into(),
            "timestamp 1970-01-01T00:00:00.000000001Z is finer than a millisecond: round it first, or use the \
             native format",
        ),
        (
            &sharded,
            "timestamp",
            Timestamp::from_nanos(1).into(),
            "timestamp 1970-01-01T00:00:00.000000001Z is finer than a millisecond: round it first, or use the \
             native format",
        ),
        (
            &plain,
            "timestamp",
            Timestamp::from_millis(-1).into(),
            "timestamp 1969-12-31T23:59:59.999Z is before 1970, where the count starts: use the native format",
        ),
        (
            &plain,
            "timestamp(9)",
            Timestamp::from_millis(253_370_764_800_000).into(),
            "timestamp 9999-01-01T00:00:00Z is out of the range of a timestamp with 9 digits: declare timestamp(6) or (3)",
        ),
        (
            &scaled,
            "decimal",
            decimal("0.001"),
            "0.001 with 2 digits after the point is no i64: set another scale, or round it first",
        ),
        (
            &scaled,
            "decimal",
            decimal("92233720368547758.08"),
            "92233720368547758.08 with 2 digits after the point is no i64: set another scale, or round it first",
        ),
        (&plain, "decimal(3,2)", decimal("10"), "10 does not fit decimal(3,2)"),
        (&plain, "str", Value::Null, "null, but the field is not nullable"),
        (&plain, "str", 1_i64.into(), "a value of type i64 in a field of type str"),
        (&sharded, "uuid", 1_u64.into(), "a value of type u64 in a field of type uuid"),
    ] {
        assert_eq!(refused(format, kind, std::slice::from_ref(&value)), format!("field 1: {reason}"));
        // The same behind a field that was already written.
        let before = format!("str,{kind}");
        let format = if format == &scaled { Composite::new().scale(2, 2) } else { format.clone() };
        let error = refused(&format, &before, &["a".into(), value.clone()]);
        assert!(error.starts_with("field 2: "), "{error}");
    }
    let error = refused(&plain, "str,i64", &["a".into(), 1_i64.into(), 2_i64.into()]);
    assert_eq!(error, "composite keys: 3 values for 2 fields (str,i64)");
}

#[test]
fn fields_that_cannot_be_written_are_refused() {
    let native =
        "the types are str, i8 to i64, u8 to u64, timestamp, uuid and decimal: use one, or the native format";
    let kinds = ["bytes", "bool", "f64", "f32", "date", "duration", "tuple(str)", "varint", "end", "null"];
    let others = kinds.map(|kind| (kind, native));
    for (kind, reason) in others.into_iter().chain([
        ("str:nulls-first", "there are no nulls: make it not null, or use the native format"),
        ("i64:desc", "nothing runs downwards: leave out desc, or use the native format"),
        ("str:nocase", "text is kept as it is: fold it first and declare str"),
        ("i24", "this width is RowKey's: declare the next wider of 8, 16, 32 or 64 bits"),
        ("u56", "this width is RowKey's: declare the next wider of 8, 16, 32 or 64 bits"),
        ("decimal", "its scale is not known: declare decimal(p,s), or set a scale"),
    ]) {
        let fields = fields(&format!("str,{kind}"));
        let error = Composite::new().promises(&fields).unwrap_err();
        assert!(matches!(error, Error::Layout { .. }));
        assert_eq!(error.to_string(), format!("composite keys: field 2 is {kind}: {reason}"));
        // Also where the field has no value yet.
        assert_eq!(Composite::new().encode(&fields, &["a".into()], &mut Vec::new()).unwrap_err(), error);
        assert_eq!(Composite::new().decode(&fields, b"a\x1f").unwrap_err(), error);
        assert_eq!(Composite::new().sorts_after(&fields, 1).unwrap_err(), error);
    }
}

#[test]
fn a_setting_for_a_field_that_is_not_there_is_refused() {
    for (format, what) in [
        (Composite::new().pad(0, 8), "a text rule for field 0 of (str,i64), which is no str"),
        (Composite::new().pad(3, 8), "a text rule for field 3 of (str,i64), which is no str"),
        (Composite::new().text(2, Text::Escape), "a text rule for field 2 of (str,i64), which is no str"),
        (Composite::new().scale(1, 2), "a scale for field 1 of (str,i64), which is no decimal"),
        (Composite::new().scale(9, 2), "a scale for field 9 of (str,i64), which is no decimal"),
    ] {
        let error = format.promises(&fields("str,i64")).unwrap_err().to_string();
        assert_eq!(error, format!("composite keys: {what}: fields are numbered from 1"));
    }
}

#[test]
fn the_last_setting_counts() {
    let format = Composite::new().pad(1, 8).pad(1, 2);
    assert_eq!(encode(&format, "str", &["a".into()]).unwrap(), b"a\0");
    let format = Composite::new().escape().text(1, Text::Refuse);
    assert!(encode(&format, "str,str", &["\t".into()]).is_err());
    assert!(encode(&format, "str,str", &["a".into(), "\t".into()]).is_ok());
}

#[test]
fn a_prefix_ends_with_the_delimiter() {
    let format = Composite::new();
    assert_eq!(encode(&format, "str,str", &[]).unwrap(), Vec::<u8>::new());
    assert_eq!(encode(&order_format(), ORDER, &[]).unwrap(), Vec::<u8>::new());
    assert_eq!(encode(&format, "str,str", &["U1".into()]).unwrap(), b"U1\x1f");
}

#[test]
fn a_prefix_of_high_bytes_has_no_end_where_the_specification_cuts_keys_off() {
    // i64::MAX is eight FF and the delimiter one more: IncrementLastByte would end the scan at FF…FF 00.
    let format = Composite::new().delimiter(Delimiter::High);
    let span = format.prefix(&fields("i64,i64"), &[i64::MAX.into()]).unwrap();
    assert_eq!(span.end, None);
    assert!(span.contains(&encode(&format, "i64,i64", &[i64::MAX.into(), i64::MAX.into()]).unwrap()));
}

#[test]
fn equal_beginnings_sort_where_all_keys_do_not() {
    let after = |format: &Composite, equal| format.sorts_after(&fields("str,str,str"), equal).unwrap();
    let sharded = Composite::new().shards(shards(2));
    assert_eq!([0, 1, 2].map(|equal| after(&sharded, equal)), [false, true, true]);
    let high = Composite::new().delimiter(Delimiter::High);
    assert_eq!([0, 1, 2].map(|equal| after(&high, equal)), [false, false, true]);
}

#[test]
fn the_shard_is_of_the_text_as_it_is() {
    let format = Composite::new().shards(shards(65_536));
    let expected = shards(65_536).prefix(b"\ta");
    for format in [format.clone().escape(), format.pad(1, 9)] {
        assert_eq!(
            encode(&format, "str,i64", &["\ta".into()]).unwrap()[..3],
            [&expected[..], &[0x1f]].concat()
        );
    }
}

#[test]
fn bytes_that_are_no_key_say_where() {
    let mut wrong_shard = order_key();
    wrong_shard[1] = 0x11;
    let mut no_delimiter = order_key();
    no_delimiter[35] = 0x20;
    let mut long = order_key();
    long.push(0);
    for (key, error) in [
        (wrong_shard, "byte 0: the shard 0011 where its first field belongs to 0010"),
        (no_delimiter, "byte 35: no delimiter 1f"),
        (long, "byte 61: 1 bytes follow the last field"),
        (order_key()[..60].to_vec(), "byte 60: the key ends within a field of 16 bytes"),
        (order_key()[..20].to_vec(), "byte 20: the key ends within text of 32 bytes"),
        (vec![], "byte 0: the key ends within a field of 2 bytes"),
    ] {
        assert_eq!(order_format().decode(&fields(ORDER), &key).unwrap_err().to_string(), error);
    }
    let (plain, escape) = (Composite::new(), Composite::new().escape());
    let double = escape.clone().delimiter(Delimiter::Double);
    let scaled = Composite::new().scale(1, 200);
    for (format, kinds, key, error) in [
        (&plain, "str,str", "6162", "byte 2: the key ends within text"),
        (&plain, "str", "611f62", "byte 1: a byte that stands in no text here"),
        (&plain, "str", "6109", "byte 1: a byte that stands in no text here"),
        (&plain, "str", "61ff", "byte 0: text that is not UTF-8"),
        (&escape, "str,str", "612061 1f", "byte 1: a byte that stands in no text here"),
        (&escape, "str,str", "6120", "byte 1: a byte that stands in no text here"),
        (&escape, "str,str", "6109 1f", "byte 1: a byte that stands in no text here"),
        (&escape, "str", "61201f1f", "byte 3: a byte that stands in no text here"),
        (&escape, "str", "2009ff", "byte 0: text that is not UTF-8"),
        (&double, "str,str", "610002", "byte 1: a byte that stands in no text here"),
        (&double, "str", "610001", "byte 1: a byte that stands in no text here"),
        (&plain, "i8", "8000000000000080", "byte 0: 128 does not fit i8"),
        (&plain, "u8", "7fffffffffffffff", "byte 0: -1 does not fit u8"),
        (
            &plain,
            "timestamp(3)",
            "8000000000000000",
            "byte 0: 9223372036854775808 ms are beyond timestamp(3)",
        ),
        (&plain, "timestamp", "7fffffffffffffff", "byte 0: 9223372036854775807 ms are beyond timestamp"),
        (&plain, "decimal(3,2)", "80000000000003e8", "byte 0: 1000 at the scale 2 is no decimal(3,2)"),
        (&scaled, "decimal", "8000000000000001", "byte 0: 1 at the scale 200 is no decimal"),
        (&plain, "", "00", "byte 0: 1 bytes follow the last field"),
    ] {
        let found = format.decode(&fields(kinds), &unhex(key)).unwrap_err();
        assert_eq!(found.to_string(), error, "{kinds} {key}");
    }
}

#[test]
fn fixed_fields_may_hold_the_delimiter() {
    let value = Value::from(0x1f1f_1f1f_1f1f_1f1f_u64);
    let values = ["a".into(), value.clone(), "b".into(), value];
    let key = encode(&Composite::new(), "str,u64,str,u64", &values).unwrap();
    assert_eq!(Composite::new().decode(&fields("str,u64,str,u64"), &key).unwrap(), values);
}

#[test]
fn text_is_borrowed_where_it_stands_as_it_is() {
    let format = Composite::new().escape().pad(3, 8);
    let key = encode(&format, "str,str,str", &["ab".into(), "a\tb".into(), "é".into()]).unwrap();
    let read = format.decode(&fields("str,str,str"), &key).unwrap();
    let borrowed = |value: &Value<'_>| matches!(value, Value::Str(Cow::Borrowed(_)));
    assert_eq!(read.iter().map(borrowed).collect::<Vec<_>>(), [true, false, true]);
}

const NAMES: [&str; 3] = ["user_id", "order_date", "order_id"];

fn order_schema() -> CompositeSchema {
    let kinds = fields(ORDER);
    CompositeSchema::new(order_format(), NAMES.into_iter().zip(kinds.iter().cloned())).unwrap()
}

fn order_named() -> Vec<(&'static str, Value<'static>)> {
    NAMES.into_iter().zip(order_values()).collect()
}

#[test]
fn a_schema_takes_its_fields_in_their_order() {
    let (schema, mut named) = (order_schema(), order_named());
    let mut key = Vec::new();
    schema.create_key(&named, &mut key).unwrap();
    assert_eq!(key, order_key());
    assert_eq!((schema.names(), schema.fields()), (&NAMES.map(String::from)[..], &fields(ORDER)));
    assert_eq!(schema.composite(), &order_format());

    let mut prefix = Vec::new();
    schema.create_key(&named[..1], &mut prefix).unwrap();
    assert_eq!(prefix, order_key()[..36]);

    let refused = |named: &[(&str, Value<'_>)]| {
        let mut out = b"before".to_vec();
        let error = schema.create_key(named, &mut out).unwrap_err();
        assert_eq!(out, b"before");
        error.to_string()
    };
    let order = "give the values in the order user_id, order_date, order_id";
    named.push(("status", "open".into()));
    assert_eq!(
        refused(&named),
        "composite keys: field 4 is `status` where the schema has only 3 fields: user_id, order_date, order_id"
    );
    named.truncate(3);
    named.swap(1, 2);
    assert_eq!(
        refused(&named),
        format!("composite keys: field 2 is `order_id` where the schema has `order_date`: {order}")
    );
    assert_eq!(
        refused(&named[1..]),
        format!("composite keys: field 1 is `order_id` where the schema has `user_id`: {order}")
    );
    assert_eq!(
        refused(&[("user_id", "u".into()), ("order_date", 7_u64.into())]),
        "field 2: a value of type u64 in a field of type timestamp(3)"
    );
}

#[test]
fn a_schema_that_cannot_be_is_refused() {
    let field = |text: &str| text.parse::<Field>().unwrap();
    let twice = [("a", field("str")), ("b", field("i64")), ("a", field("str"))];
    let error = CompositeSchema::new(Composite::new(), twice).unwrap_err();
    assert_eq!(error.to_string(), "composite keys: fields 1 and 3 are both `a`: rename one");
    assert!(CompositeSchema::new(Composite::new(), [("a", field("bool"))]).is_err());
}

/// Characters around every delimiter and escape byte, and a few that are plain.
fn any_text() -> impl Strategy<Value = String> {
    let chars = ['\0', '\u{1}', '\u{2}', '\t', '\u{1e}', '\u{1f}', ' ', '!', 'a', 'b', 'ÿ', '\u{10ffff}'];
    proptest::collection::vec(select(chars.to_vec()), 0..5).prop_map(String::from_iter)
}

fn any_value(kind: &str) -> BoxedStrategy<Value<'static>> {
    match kind {
        "str" => any_text().prop_map(Value::from).boxed(),
        "timestamp" => (0..=i64::MAX / 1_000).prop_map(|ms| Timestamp::from_millis(ms).into()).boxed(),
        _ => random::value(&kind.parse().unwrap()),
    }
}

const KINDS: [&str; 7] = ["str", "i8", "i64", "u64", "timestamp", "uuid", "decimal(18,2)"];

/// Any settings, fields, and some rows of values, with text twice as likely as anything else.
fn any_case() -> impl Strategy<Value = (Composite, Fields, Vec<Vec<Value<'static>>>)> {
    let kind = prop_oneof![Just("str"), select(KINDS.to_vec())];
    let kinds = proptest::collection::vec(kind, 1..4);
    let settings = (select(DELIMITERS.to_vec()), any::<bool>(), any::<[bool; 3]>(), select(vec![0, 1, 16]));
    (kinds, settings).prop_flat_map(|(kinds, (delimiter, escape, pads, count))| {
        let mut format = Composite::new().delimiter(delimiter);
        if escape {
            format = format.escape();
        }
        for (index, kind) in kinds.iter().enumerate() {
            if *kind == "str" && pads[index] {
                format = format.pad(index + 1, 12);
            }
        }
        if let Some(shards) = Shards::new(count, Hash::XxHash) {
            format = format.shards(shards);
        }
        let row: Vec<_> = kinds.iter().map(|kind| any_value(kind)).collect();
        let rows = (row.clone(), row).prop_map(|(a, b)| {
            // Neighbours that share their first values meet the delimiter where it matters.
            let mut rows = vec![];
            for shared in 0..a.len() {
                rows.push([&a[..shared], &b[shared..]].concat());
            }
            rows.push(a);
            rows
        });
        (Just(format), Just(fields(&kinds.join(","))), rows)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn the_laws_hold((format, fields, rows) in any_case()) {
        laws::check(&format, &fields, &rows)?;
    }

    #[test]
    fn escaped_text_is_never_refused(delimiter in select(DELIMITERS.to_vec()), text: String, next: i64) {
        let format = Composite::new().delimiter(delimiter).escape();
        let values = [Value::from(&text[..]), next.into()];
        let key = encode(&format, "str,i64", &values).unwrap();
        prop_assert_eq!(format.decode(&fields("str,i64"), &key).unwrap(), values);
    }

    #[test]
    fn what_is_read_is_what_was_written(
        (format, fields, rows) in any_case(),
        change: proptest::sample::Index,
        byte in select(vec![0x00, 0x01, 0x02, 0x1f, 0x20, 0x21, 0x61, 0x80, 0xff]),
        how in 0..4,
    ) {
        for row in &rows {
            let Ok(mut key) = encode_fields(&format, &fields, row) else { continue };
            let at = change.index(key.len() + 1);
            match how {
                0 => key.insert(at, byte),
                1 => key.truncate(at),
                _ if at < key.len() && how == 2 => key[at] = byte,
                _ if at < key.len() => drop(key.remove(at)),
                _ => {}
            }
            if let Ok(values) = format.decode(&fields, &key) {
                prop_assert_eq!(encode_fields(&format, &fields, &values).unwrap(), key);
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic((format, fields, _) in any_case(), key: Vec<u8>) {
        if let Ok(values) = format.decode(&fields, &key) {
            prop_assert_eq!(encode_fields(&format, &fields, &values).unwrap(), key);
        }
    }

    #[test]
    fn keys_of_one_first_value_share_a_shard(text: String, a: i64, b: i64) {
        let format = Composite::new().escape().shards(shards(256));
        let key = |n: i64| encode(&format, "str,i64", &[Value::from(&text[..]), n.into()]).unwrap();
        prop_assert_eq!(key(a)[..3].to_vec(), key(b)[..3].to_vec());
        let field: Field = "str".parse().unwrap();
        let value = Value::from(&text[..]);
        prop_assert_eq!(key(a)[..2].to_vec(), shards(256).prefix(&hashed_bytes(&field, &value).unwrap()));
    }
}
