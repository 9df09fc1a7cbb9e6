//! LexKey against every vector that the reference printed and the specification's own, and what it refuses.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use keyloom_key::lexkey::{self, LexKey};
use keyloom_key::{
    Duration, Error, Field, Fields, KeyFormat, Nulls, Precision, Span, Timestamp, Type, Value, Width,
};
use keyloom_testkit::hurtful;
use proptest::prelude::*;
use serde_json::Value as Json;

const VECTORS: &str = include_str!("../../../vectors/lexkey.json");

// Where the reference is wrong the specification decides.
//
// It writes 7FF8000000000001 (or 7FC00001) for NaN; the specification has no bytes for it.
const NAN: [u64; 12] = [21, 22, 549, 550, 553, 554, 587, 588, 591, 592, 593, 594];
// Its nanoseconds wrap outside 1677–2262: a time of the year 9999 sorts before 1970. Here an error.
const WRAPPED: [u64; 6] = [614, 617, 618, 620, 621, 622];
// It panics: 866 on no parts (here an error), and on an empty partition or row, which are given back here.
const PANICS: [u64; 4] = [866, 1169, 1186, 1190];
// Its `Last` is 255 as an int64, 80000000000000FF, where the specification has FF: so is its full range.
const FULL: [u64; 4] = [1215, 1216, 1217, 1218];

fn vectors() -> Vec<Json> {
    let file: Json = serde_json::from_str(VECTORS).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

/// The bytes of a hex text; a missing one is empty.
fn bytes(json: &Json) -> Vec<u8> {
    hex::decode(json.as_str().unwrap_or_default()).unwrap()
}

fn key(format: LexKey, fields: &Fields, values: &[Value<'_>]) -> Result<Vec<u8>, Error> {
    let mut out = b"before".to_vec();
    match format.encode(fields, values, &mut out) {
        Ok(()) => Ok(out.strip_prefix(b"before").unwrap().to_vec()),
        Err(error) => {
            assert_eq!(out, b"before", "an error leaves the buffer alone");
            Err(error)
        }
    }
}

/// A vector's part as a type and a value.
fn part(part: &Json) -> (Type, Value<'static>) {
    let text = part["v"].as_str().unwrap_or_default();
    let float = |bits: &str| u64::from_str_radix(bits, 16).unwrap();
    match part["t"].as_str().unwrap() {
        "nil" => (Type::Null, Value::Null),
        "end" => (Type::End, Value::Null),
        "bool" => (Type::Bool, (text == "true").into()),
        "int" => (Type::Int(Width::W64), text.parse::<i64>().unwrap().into()),
        "dur" => (Type::Duration, Duration::from_nanos(text.parse().unwrap()).into()),
        "uuid" => (Type::Uuid, text.parse::<keyloom_key::Uuid>().unwrap().into()),
        "bytes" | "lexkey" => (Type::Bytes, bytes(&part["hex"]).into()),
        "str" => match String::from_utf8(bytes(&part["hex"])) {
            Ok(text) => (Type::Str(Default::default()), text.into()),
            Err(error) => (Type::Bytes, error.into_bytes().into()),
        },
        "f64" => (Type::F64, f64::from_bits(float(part["bits"].as_str().unwrap())).into()),
        "f32" => {
            let bits = float(part["bits"].as_str().unwrap());
            (Type::F32, f32::from_bits(u32::try_from(bits).unwrap()).into())
        }
        "time" => {
            // Seconds, rounded down, and the nanoseconds from there: -1.999999999 is one before 1970.
            let (seconds, nanos) = text.split_once('.').unwrap();
            let total = seconds.parse::<i128>().unwrap() * 1_000_000_000 + nanos.parse::<i128>().unwrap();
            let precision = if i64::try_from(total).is_ok() { Precision::Nanos } else { Precision::Micros };
            (Type::Timestamp(precision), Timestamp::from_total_nanos(total).unwrap().into())
        }
        // What Go calls these we do not have; each stands for a type that LexKey refuses.
        "unsupported:complex128" => (Type::Decimal(None), Value::Null),
        "unsupported:[16]byte" => (Type::Tuple(Fields::default()), Value::Null),
        "unsupported:map" => (Type::Date, Value::Null),
        "unsupported:uint" => (Type::Varint, 7_u64.into()),
        number => (
            number.parse().unwrap(),
            match number.starts_with('i') {
                true => text.parse::<i64>().unwrap().into(),
                false => text.parse::<u64>().unwrap().into(),
            },
        ),
    }
}

fn parts(vector: &Json) -> (Fields, Vec<Value<'static>>) {
    let parts: Vec<_> = vector["parts"].as_array().into_iter().flatten().map(part).collect();
    (parts.iter().map(|(kind, _)| kind.clone()).collect(), parts.into_iter().map(|(_, v)| v).collect())
}

fn is_negative_zero(value: &Value<'_>) -> bool {
    matches!(value, Value::Float(v) if *v == 0.0 && v.is_sign_negative())
}

#[test]
fn all_vectors_of_the_reference() {
    let (mut run, mut refused, mut strict) = (0, Vec::new(), 0);
    for vector in vectors() {
        run += 1;
        let id = vector["id"].as_u64().unwrap();
        let (given, outs) = (&vector["in"], &vector["outs"]);
        match vector["op"].as_str().unwrap() {
            "encode" => {
                let (fields, values) = parts(&vector);
                let legacy = vector["mode"] == "legacy";
                let format = if legacy { LexKey::legacy() } else { LexKey::canonical() };
                let raw = key(format.raw(), &fields, &values);
                if vector["err"].is_string() {
                    assert!(matches!(raw, Err(Error::Layout { .. })), "{id}: {raw:?}");
                    continue;
                }
                let Ok(raw) = raw else {
                    assert!(matches!(raw, Err(Error::Value { .. })), "{id}: {raw:?}");
                    refused.push(id);
                    continue;
                };
                assert_eq!(hex::encode(&raw), vector["out"], "{id}");
                assert_eq!(format.raw().encode_size(&fields, &values), Ok(raw.len()), "{id}");
                if format.raw().promises(&fields).unwrap().decodable {
                    let back = format.raw().decode(&fields, &raw).unwrap();
                    assert_eq!(back, values, "{id}");
                    assert_eq!(key(format.raw(), &fields, &back), Ok(raw.clone()), "{id}");
                }
                if let Ok(key) = key(format, &fields, &values) {
                    strict += 1;
                    assert_eq!(key == raw, !values.iter().any(is_negative_zero), "{id}");
                    assert_eq!(format.decode(&fields, &key).unwrap(), values, "{id}");
                }
            }
            "encode_first" | "encode_last" => {
                let (fields, values) = parts(&vector);
                let format = LexKey::canonical().raw();
                let mut out = Vec::new();
                let result = match vector["op"] == "encode_first" {
                    true => format.encode_first(&fields, &values, &mut out),
                    false => format.encode_last(&fields, &values, &mut out),
                };
                if PANICS.contains(&id) {
                    assert!(matches!(result, Err(Error::Layout { .. })), "{id}");
                } else {
                    assert_eq!((result, hex::encode(out).into()), (Ok(()), vector["out"].clone()), "{id}");
                }
            }
            "encode_size" => {
                let (fields, values) = parts(&vector);
                let size = LexKey::canonical().raw().encode_size(&fields, &values).unwrap();
                assert_eq!(outs["size"], size, "{id}");
            }
            "primary_key" => {
                let (partition, row) = (bytes(&given["partition"]), bytes(&given["row"]));
                let mut out = Vec::new();
                lexkey::primary_key(&partition, &row, &mut out);
                assert_eq!(hex::encode(&out), outs["encoded"], "{id}");
                let (back_partition, back_row) = lexkey::decode_primary_key(&out).unwrap();
                if PANICS.contains(&id) {
                    assert_eq!((back_partition, back_row), (&*partition, &*row), "{id}");
                } else {
                    assert_eq!(hex::encode(back_partition), outs["decoded_partition"], "{id}");
                    assert_eq!(hex::encode(back_row), outs["decoded_row"], "{id}");
                    assert_eq!(outs["roundtrip"], (back_partition, back_row) == (&*partition, &*row), "{id}");
                }
            }
            "decode_primary_key" => {
                let raw = bytes(&given["raw"]);
                let split = lexkey::decode_primary_key(&raw);
                assert!(vector["err"].is_string());
                match PANICS.contains(&id) {
                    true => assert_eq!(split.unwrap(), (&[][..], &raw[1..]), "{id}"),
                    false => assert!(matches!(split, Err(Error::Bytes { .. })), "{id}"),
                }
            }
            "range_key" | "range_key_full" => {
                let partition = bytes(&given["partition"]);
                let partition = given["with_partition"].as_bool().unwrap().then_some(&*partition);
                if FULL.contains(&id) {
                    let span = lexkey::range_bounds(partition, &[], &[lexkey::END]);
                    let start = [partition.unwrap_or_default(), &[0]].concat();
                    assert_eq!(hex::encode(&start), outs["lower"], "{id}");
                    let end = [&*start, &[0xFF, 0xFF]].concat();
                    assert_eq!(span, Span { start, end: Some(end) }, "{id}");
                } else {
                    let span =
                        lexkey::range_bounds(partition, &bytes(&given["lower"]), &bytes(&given["upper"]));
                    assert_eq!(hex::encode(&span.start), outs["lower"], "{id}");
                    assert_eq!(hex::encode(span.end.unwrap()), outs["upper"], "{id}");
                }
            }
            "from_hex" => {
                let key = lexkey::from_hex(given["s"].as_str().unwrap());
                if vector["err"].is_string() {
                    assert!(matches!(key, Err(Error::Text { .. })), "{id}");
                } else {
                    assert_eq!(hex::encode(key.as_ref().unwrap()), vector["out"], "{id}");
                    assert_eq!(lexkey::to_hex(&key.unwrap()), outs["to_hex"], "{id}");
                }
            }
            "to_json" => assert_eq!(lexkey::to_json(&bytes(&given["bytes"])), outs["json"], "{id}"),
            "from_json" => {
                let key = lexkey::from_json(given["json"].as_str().unwrap());
                match vector["err"].is_string() {
                    true => assert!(matches!(key, Err(Error::Text { .. })), "{id}"),
                    false => assert_eq!(hex::encode(key.unwrap()), outs["bytes"], "{id}"),
                }
            }
            "compare" => {
                let order = lexkey::compare(&bytes(&given["a"]), &bytes(&given["b"]));
                assert_eq!(i64::from(order as i8), outs["cmp"].as_i64().unwrap(), "{id}");
            }
            "const_Empty" => assert_eq!(vector["out"], ""),
            op => panic!("{id}: what is {op}?"),
        }
    }
    assert_eq!(run, 678);
    let mut expected = [&NAN[..], &WRAPPED].concat();
    expected.sort_unstable();
    assert_eq!(refused, expected);
    // Strict mode must not pass by refusing everything.
    assert!(strict > 450, "strict accepts {strict}");
}

#[test]
#[allow(clippy::approx_constant, reason = "the specification's own number")]
fn the_vectors_of_the_specification() {
    let uuid = "550e8400-e29b-41d4-a716-446655440000".parse::<keyloom_key::Uuid>().unwrap();
    let time = |seconds: i64| Value::from(Timestamp::from_millis(seconds * 1000));
    let canonical: [(&str, Value<'_>, &str); 22] = [
        ("str", "hello".into(), "68656c6c6f"),
        ("uuid", uuid.into(), "550e8400e29b41d4a716446655440000"),
        ("i64", 123_i64.into(), "800000000000007b"),
        ("i64", (-123_i64).into(), "7fffffffffffff85"),
        ("i32", (-123_i32).into(), "7fffffffffffff85"),
        ("u8", 255_u8.into(), "00000000000000ff"),
        ("u8", 123_u8.into(), "000000000000007b"),
        ("u16", 123_u16.into(), "000000000000007b"),
        ("u32", 123_u32.into(), "000000000000007b"),
        ("u64", 123_u64.into(), "000000000000007b"),
        ("f32", 3.14_f32.into(), "c0091eb860000000"),
        ("f32", (-3.14_f32).into(), "3ff6e1479fffffff"),
        ("f64", 3.14_f64.into(), "c0091eb851eb851f"),
        ("bool", false.into(), "00"),
        ("bool", true.into(), "01"),
        ("timestamp(3)", time(0), "8000000000000000"),
        ("timestamp(9)", time(1_700_000_000), "97979cfe362a0000"),
        ("duration", Duration::from_nanos(42).into(), "800000000000002a"),
        ("null", Value::Null, "00"),
        ("null:nulls-first", Value::Null, "00"),
        ("end", Value::Null, "ff"),
        ("bytes", vec![0x66, 0x6f].into(), "666f"),
    ];
    let legacy: [(&str, Value<'_>, &str); 9] = [
        ("i32", (-123_i32).into(), "7fffff85"),
        ("i32", 123_i32.into(), "8000007b"),
        ("i16", (-123_i16).into(), "7f85"),
        ("u8", 255_u8.into(), "ff"),
        ("u16", 123_u16.into(), "007b"),
        ("u32", 123_u32.into(), "0000007b"),
        ("f32", 3.14_f32.into(), "c048f5c3"),
        ("f32", (-3.14_f32).into(), "3fb70a3c"),
        ("i64", 123_i64.into(), "800000000000007b"),
    ];
    for (format, vectors) in [(LexKey::canonical(), &canonical[..]), (LexKey::legacy(), &legacy)] {
        for (field, value, hex) in vectors {
            let fields: Fields = field.parse().unwrap();
            let values = std::slice::from_ref(value);
            for format in [format, format.raw()] {
                let key = key(format, &fields, values).unwrap();
                assert_eq!(hex::encode(&key), *hex, "{field} {value:?}");
                assert_eq!(format.decode(&fields, &key).unwrap(), values, "{field}");
            }
        }
    }
    let fields = "str,i64,bool".parse().unwrap();
    let foo = key(LexKey::canonical(), &fields, &["foo".into(), 42_i64.into(), true.into()]).unwrap();
    assert_eq!(hex::encode(foo), "666f6f00800000000000002a0001");
    let mut primary = Vec::new();
    lexkey::primary_key(b"partition", b"row", &mut primary);
    assert_eq!(hex::encode(primary), "706172746974696f6e00726f77");
    let span = lexkey::range_bounds(Some(b"part"), b"start", b"end");
    assert_eq!(hex::encode(&span.start), "70617274007374617274");
    assert_eq!(hex::encode(span.end.unwrap()), "7061727400656e64ff");
    // The end sentinel is FF, whatever the reference's constant says.
    assert_eq!(lexkey::END, 0xFF);
    let end = Fields::from_iter([Type::End]);
    assert_eq!(key(LexKey::canonical(), &end, &[Value::Null]).unwrap(), [0xFF]);
    let nan = Fields::from_iter([Type::F64]);
    for format in [LexKey::canonical(), LexKey::canonical().raw(), LexKey::legacy(), LexKey::legacy().raw()] {
        assert!(key(format, &nan, &[f64::NAN.into()]).is_err());
    }
}

fn all() -> [LexKey; 4] {
    [LexKey::canonical(), LexKey::legacy(), LexKey::canonical().raw(), LexKey::legacy().raw()]
}

#[test]
fn the_size_is_that_of_the_key_and_of_its_beginnings() {
    for text in ["i64:nulls-first", "f32", "u16,str", "str,i64,bool", "bytes,uuid", "timestamp(3),duration"] {
        let fields: Fields = text.parse().unwrap();
        for row in hurtful::rows(&fields) {
            for format in all() {
                for count in 0..=fields.len() {
                    let size = key(format, &fields, &row[..count]).map(|key| key.len());
                    assert_eq!(format.encode_size(&fields, &row[..count]), size, "{count} of {row:?}");
                }
            }
        }
    }
}

#[test]
fn a_zero_in_text_is_refused_by_its_place() {
    let zero = key(LexKey::canonical(), &"i64,str".parse().unwrap(), &[1_i64.into(), "ab\0".into()]);
    let message = zero.unwrap_err().to_string();
    assert!(
        message.starts_with("field 2: a 00 at byte 2 of the value") && message.contains("`raw`"),
        "{message}"
    );
}

#[test]
fn refusals_name_the_field_and_the_remedy() {
    let cases = [
        ("", "no parts"),
        ("str,decimal", "field 2 (decimal)"),
        ("date", "declare a timestamp"),
        ("tuple(str)", "fields of their own"),
        ("varint", "declare u64"),
        ("str:nocase", "fold it first"),
        ("i24", "declare i32"),
        ("u56", "declare u32 or u64"),
        ("i64:desc", "only ascends"),
        ("end:nulls-first", "drop the nulls"),
    ];
    for format in all() {
        for (text, part) in cases {
            let fields: Fields = text.parse().unwrap();
            let errors = [
                format.promises(&fields).unwrap_err(),
                key(format, &fields, &[]).unwrap_err(),
                format.decode(&fields, b"").unwrap_err(),
                format.encode_size(&fields, &[]).unwrap_err(),
            ];
            for error in errors {
                assert!(matches!(error, Error::Layout { .. }) && error.to_string().contains(part), "{error}");
            }
        }
    }
    for text in
        ["str,i64:nulls-first", "str:nulls-first", "bytes:nulls-first", "bool:nulls-first", "i64:nulls-last"]
    {
        let fields: Fields = text.parse().unwrap();
        assert!(matches!(LexKey::canonical().promises(&fields), Err(Error::Layout { .. })), "{text}");
        assert!(matches!(key(LexKey::canonical(), &fields, &[]), Err(Error::Layout { .. })), "{text}");
        assert!(LexKey::canonical().raw().promises(&fields).is_ok(), "{text}");
    }
    for (text, named) in [
        ("null,u8", "field 1 (null)"),
        ("str,null", "field 2 (null)"),
        ("end,null:nulls-first", "field 2 (null:nulls-first)"),
    ] {
        let fields: Fields = text.parse().unwrap();
        for format in [LexKey::canonical(), LexKey::legacy()] {
            let error = format.promises(&fields).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "{} keys: {named}: null is 00, and so are false and the separator: leave it out, use the \
                     native format, or `raw`",
                    format.name()
                )
            );
            assert_eq!(key(format, &fields, &[]).unwrap_err(), error);
            assert_eq!(format.decode(&fields, b"\0\0\0").unwrap_err(), error);
            assert!(format.raw().promises(&fields).is_ok(), "{text}");
        }
    }
    // One byte wide in legacy only.
    let one = Fields::from_iter([Field::from(Type::Uint(Width::W8)).nullable(Nulls::First)]);
    assert!(LexKey::canonical().promises(&one).is_ok());
    assert!(LexKey::legacy().promises(&one).is_err());
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let cases: [(&str, Value<'_>); 11] = [
        ("i16", 32_768_i64.into()),
        ("i32", (-2_147_483_649_i64).into()),
        ("u8", 256_u64.into()),
        ("u16", 65_536_u64.into()),
        ("u32", 4_294_967_296_u64.into()),
        ("f32", 0.1_f64.into()),
        ("i64", 1_u64.into()),
        ("str", vec![1].into()),
        ("i64", Value::Null),
        ("end", 1_i64.into()),
        ("timestamp(3)", Timestamp::from_millis(i64::MAX).into()),
    ];
    for format in all() {
        for (text, value) in &cases {
            let fields = format!("u64,{text}").parse().unwrap();
            let error = key(format, &fields, &[1_u64.into(), value.clone()]).unwrap_err();
            assert!(matches!(error, Error::Value { field: 2, .. }), "{text}: {error}");
        }
        let fields = "u64".parse().unwrap();
        assert!(matches!(key(format, &fields, &[1_u64.into(), 2_u64.into()]), Err(Error::Layout { .. })));
        assert_eq!(key(format, &fields, &[]).unwrap(), b"");
        let none = format.encode_first(&fields, &[], &mut Vec::new());
        assert!(matches!(none, Err(Error::Layout { .. })));
    }
}

#[test]
fn decode_says_where() {
    let cases: [(&str, &[u8], usize); 10] = [
        ("bool", b"\x02", 0),
        ("bool", b"", 0),
        ("bool", b"\x01\x01", 1),
        ("str,bool", b"ab", 2),
        ("str,bool", b"ab\x00\x07", 3),
        ("bool,bool", b"\x01\x01\x01", 1),
        ("str", b"a\xff", 1),
        ("bool,str", b"\x01\x00a\x00", 3),
        ("f64", b"\x00\x00\x00\x00\x00\x00\x00\x00", 0),
        ("u8", b"\x00\x00\x00\x00\x00\x00\x01\x00", 0),
    ];
    for (text, bytes, at) in cases {
        match LexKey::canonical().decode(&text.parse().unwrap(), bytes) {
            Err(Error::Bytes { offset, .. }) => assert_eq!(offset, at, "{text} {bytes:?}"),
            other => panic!("{text} {bytes:?}: {other:?}"),
        }
    }
}

#[test]
fn hex_and_json() {
    for text in ["0", "abc", "0x00", " 00", "00 ", "zz", "é"] {
        assert!(matches!(lexkey::from_hex(text), Err(Error::Text { .. })), "{text}");
    }
    assert_eq!(lexkey::from_hex("aAbB").unwrap(), [0xAA, 0xBB]);
    for text in ["", "\"", "00", "nul", "\"0\"", "\"\\u0030\\u0030\"", "\"00\"x", "[\"00\"]"] {
        assert!(matches!(lexkey::from_json(text), Err(Error::Text { .. })), "{text}");
    }
    assert_eq!(lexkey::from_json(" null\n").unwrap(), b"");
    assert_eq!(lexkey::from_json("\"00Ff\"").unwrap(), [0x00, 0xFF]);
}

proptest! {
    #[test]
    fn what_decode_accepts_encode_gives_back(bytes in bytes_like_a_key()) {
        for text in ["str", "bytes", "str,str", "str,i64", "i64,str", "f32", "f64,bool", "u8,u16,u32", "i16,i32",
            "uuid", "timestamp(3)", "timestamp,duration", "null", "end,bool", "i64:nulls-first", "bytes,f32,str"]
        {
            let fields: Fields = text.parse().unwrap();
            for format in all() {
                if let Ok(values) = format.decode(&fields, &bytes) {
                    prop_assert_eq!(&key(format, &fields, &values).unwrap(), &bytes, "{}", text);
                }
            }
        }
        let _ = lexkey::decode_primary_key(&bytes);
        prop_assert_eq!(lexkey::from_json(&lexkey::to_json(&bytes)).unwrap(), bytes);
    }
}

/// Bytes with many zeros, since those are where keys go wrong.
fn bytes_like_a_key() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(prop_oneof![Just(0), Just(1), Just(0x80), Just(0xFF), any::<u8>()], 0..20)
}
