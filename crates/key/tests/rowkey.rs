//! RowKey against every vector that the reference printed and its author's own, and what it refuses.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::borrow::Cow;
use std::ops::Range;

use keyloom_key::rowkey::{RowKey, RowKeyBuilder, RowKeyParts, components, last_component, without_last};
use keyloom_key::{Error, Fields, KeyFormat, Type, Value, Width, prefix_end};
use proptest::prelude::*;
use serde_json::Value as Json;

const VECTORS: &str = include_str!("../../../vectors/rowkey.json");

// Where the reference is wrong, the right answer is asserted instead:
//
// - It cuts an integer to its width without a word: 65536 as an int16 is 0. Here an error, and the ids are
//   those of the vectors whose number does not fit.
const CUT: [u64; 37] = [
    33, 38, 39, 42, 51, 195, 204, 213, 223, 231, 232, 258, 259, 260, 267, 277, 286, 295, 296, 297, 304, 315,
    321, 322, 334, 339, 340, 344, 348, 349, 350, 351, 352, 357, 358, 362, 363,
];
// - It loses a trailing empty component when it reads. Here it stays, so these have one more.
const LOST: [u64; 13] = [1, 18, 369, 370, 372, 427, 437, 522, 548, 558, 569, 606, 607];
// - It reads negative integers as unsigned ones, and fails on those of 32 bits: `decoded_values` of them is not
//   compared; the number that was written must come back.
// - Its `prefixEnd` leaves zeros behind: of 01FF it gives 0200, and the keys from 02 to 0200 are too many; on an
//   empty prefix it fails, where there is no end.
const TOO_FAR: [(u64, &str); 2] = [(595, "02"), (596, "02")];
const NO_END: u64 = 601;
// - It fails on a key of one component where there is none to take away: 618, 620. Here `None`.
// - It reads on behind the end of a sub-range: 625 has 7 bytes, so its last component is 6262.
const BEHIND: u64 = 625;

fn vectors() -> Vec<Json> {
    let file: Json = serde_json::from_str(VECTORS).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

fn bytes(json: &Json) -> Vec<u8> {
    hex::decode(json.as_str().unwrap_or_default()).unwrap()
}

fn list(json: &Json) -> Vec<Vec<u8>> {
    json.as_array().unwrap().iter().map(bytes).collect()
}

fn key(format: RowKey, fields: &Fields, values: &[Value<'_>]) -> Result<Vec<u8>, Error> {
    let mut out = b"before".to_vec();
    match format.encode(fields, values, &mut out) {
        Ok(()) => Ok(out.strip_prefix(b"before").unwrap().to_vec()),
        Err(error) => {
            assert_eq!(out, b"before", "an error leaves the buffer alone");
            Err(error)
        }
    }
}

fn plain(key: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let parts = RowKeyParts::new(key)?;
    Ok((0..parts.len()).map(|index| parts.get(index).unwrap().into_owned()).collect())
}

/// A vector's part as a type and a value. The reference's integers are unsigned, except that it takes -1 too.
fn part(part: &Json) -> (Type, Value<'static>) {
    let number = || part["v"].as_str().unwrap().parse::<i64>().unwrap();
    match part["t"].as_str().unwrap() {
        "str" => (Type::Str(Default::default()), String::from_utf8(bytes(&part["hex"])).unwrap().into()),
        "bytes" => (Type::Bytes, bytes(&part["hex"]).into()),
        "varint" => (Type::Varint, number().cast_unsigned().into()),
        int => {
            let bits: u32 = int.strip_prefix("int").unwrap().parse().unwrap();
            let width = Width::ALL.into_iter().find(|width| width.bits() == bits).unwrap();
            match u64::try_from(number()) {
                Ok(number) => (Type::Uint(width), number.into()),
                Err(_) => (Type::Int(width), number().into()),
            }
        }
    }
}

fn build(builder: RowKeyBuilder, kind: &Type, value: &Value<'_>) -> Result<RowKeyBuilder, Error> {
    match (kind, value) {
        (Type::Varint, Value::Uint(value)) => Ok(builder.add_varint(*value)),
        (Type::Int(width), Value::Int(value)) => builder.add_int(*width, *value),
        (Type::Uint(width), Value::Uint(value)) => builder.add_uint(*width, *value),
        (_, Value::Str(value)) => Ok(builder.add(value.as_ref())),
        (_, Value::Bytes(value)) => Ok(builder.add(value)),
        _ => panic!("{kind} {value:?}"),
    }
}

fn encode(id: u64, vector: &Json, cut: &mut Vec<u64>) {
    let parts: Vec<_> = vector["parts"].as_array().unwrap().iter().map(part).collect();
    let fields: Fields = parts.iter().map(|(kind, _)| kind.clone()).collect();
    let values: Vec<_> = parts.iter().map(|(_, value)| value.clone()).collect();
    let built =
        parts.iter().try_fold(RowKeyBuilder::new(), |builder, (kind, value)| build(builder, kind, value));
    let key = match self::key(RowKey::exact(), &fields, &values) {
        Ok(key) => key,
        Err(error) => {
            assert!(matches!(error, Error::Value { field: 1, .. }), "{id}: {error}");
            assert_eq!(built.unwrap_err(), error, "{id}");
            cut.push(id);
            return;
        }
    };
    assert_eq!(hex::encode(&key), vector["out"], "{id}");
    assert_eq!(built.unwrap().finish(), key, "{id}");
    assert_eq!(RowKey::exact().decode(&fields, &key).unwrap(), values, "{id}");

    let negative = values.iter().any(|value| matches!(value, Value::Int(v) if *v < 0));
    let strict = self::key(RowKey::strict(), &fields, &values);
    match negative {
        true => assert!(matches!(strict, Err(Error::Value { .. })), "{id}"),
        false => assert_eq!(strict.unwrap(), key, "{id}"),
    }

    let mut components = list(&vector["decoded_parts"]);
    if LOST.contains(&id) && !key.is_empty() {
        components.push(Vec::new());
    }
    assert_eq!(plain(&key).unwrap(), components, "{id}");
    let read = RowKeyParts::new(&key).unwrap();
    for (index, (kind, value)) in parts.iter().enumerate().take(read.len()) {
        let back = match kind {
            Type::Varint => read.get_varint(index).unwrap().into(),
            Type::Int(Width::W64) => read.get_int64(index).unwrap().into(),
            Type::Int(width) => read.get_int(index, *width).unwrap().into(),
            Type::Uint(width) => read.get_uint(index, *width).unwrap().into(),
            Type::Str(_) => read.get_str(index).unwrap().into(),
            _ => Value::from(read.get(index).unwrap()),
        };
        assert_eq!(&back, value, "{id}");
    }
    // Small enough for the signed width, a number has the same bytes there.
    if let [(Type::Uint(width), Value::Uint(value))] = &parts[..] {
        let signed = i64::try_from(*value).unwrap();
        let fields = Fields::from_iter([Type::Int(*width)]);
        let result = self::key(RowKey::strict(), &fields, &[signed.into()]);
        assert_eq!(result.ok(), width.holds_int(signed).then_some(key), "{id}");
    }
}

#[test]
fn all_vectors_of_the_reference() {
    let (mut run, mut cut) = (0, Vec::new());
    for vector in vectors() {
        run += 1;
        let id = vector["id"].as_u64().unwrap();
        let given = bytes(&vector["in"]);
        match vector["op"].as_str().unwrap() {
            "encode" => encode(id, &vector, &mut cut),
            "prefix_end" if id == NO_END => assert_eq!(prefix_end(given.as_slice()), None),
            "prefix_end" => {
                let right = TOO_FAR.iter().find(|(too_far, _)| *too_far == id);
                let right = right.map_or(vector["out"].as_str().unwrap(), |(_, right)| right);
                assert_eq!(hex::encode(prefix_end(given.as_slice()).unwrap()), right, "{id}");
            }
            "decode_raw" if vector["err"].is_string() => {
                assert!(matches!(RowKeyParts::new(&given), Err(Error::Bytes { .. })), "{id}");
            }
            "decode_raw" => {
                let mut right = list(&vector["out"]);
                if LOST.contains(&id) {
                    right.push(Vec::new());
                }
                assert_eq!(plain(&given).unwrap(), right, "{id}");
            }
            "last_component" => {
                assert_eq!(last_component(&given), Some(&*bytes(&vector["last"])), "{id}");
                let without = vector["without_last"].as_str().map(|hex| hex::decode(hex).unwrap());
                assert_eq!(without_last(&given), without.as_deref(), "{id}");
            }
            "subrange" => {
                let at = |name: &str| usize::try_from(vector[name].as_u64().unwrap()).unwrap();
                let part = &given[at("off")..at("off") + at("len")];
                let right =
                    if id == BEHIND { vec![b"aaa".to_vec(), b"bb".to_vec()] } else { list(&vector["out"]) };
                assert_eq!(plain(part).unwrap(), right, "{id}");
            }
            "builder_from_empty" => {
                assert_eq!(hex::encode(RowKeyBuilder::extending([]).add("x").finish()), vector["out"]);
            }
            op => panic!("{id}: what is {op}?"),
        }
    }
    assert_eq!(run, 311);
    assert_eq!(cut, CUT);
}

#[test]
fn the_example_of_its_author() {
    let key = RowKeyBuilder::new().add("building").add_int64(123).add([4, 0, 5]).finish();
    assert_eq!(hex::encode(&key), "6275696c64696e67000000010001000100010001000100017b000004000105");
    let parts = RowKeyParts::new(&key).unwrap();
    assert_eq!(parts.get_str(0).unwrap(), "building");
    assert_eq!(parts.get_int64(1).unwrap(), 123);
    assert_eq!(parts.get(2).unwrap(), Cow::Borrowed(&[4_u8, 0, 5]));
    let fields = "str,i64,bytes".parse().unwrap();
    let values = ["building".into(), 123_i64.into(), vec![4, 0, 5].into()];
    assert_eq!(self::key(RowKey::strict(), &fields, &values).unwrap(), key);
    assert_eq!(RowKey::strict().decode(&fields, &key).unwrap(), values);
}

#[test]
fn the_builder_names_the_component_that_does_not_fit() {
    let error = RowKeyBuilder::new().add("a").add_int(Width::W24, 1 << 23).unwrap_err();
    assert_eq!(error.to_string(), "field 2: 8388608 does not fit i24: declare a wider field");
    let error = RowKeyBuilder::extending(*b"a\x00\x00b").add_uint(Width::W8, 256).unwrap_err();
    assert!(matches!(error, Error::Value { field: 3, .. }));
    let named = RowKeyBuilder::new().add_int8(-2).add_int16(-2).add_int32(-2).add_int64(-2).finish();
    let any = [Width::W8, Width::W16, Width::W32, Width::W64]
        .into_iter()
        .try_fold(RowKeyBuilder::new(), |builder, width| builder.add_int(width, -2));
    assert_eq!(any.unwrap().finish(), named);
    let parts = RowKeyParts::new(&named).unwrap();
    assert_eq!(parts.get_int(0, Width::W8), Ok(-2));
    assert_eq!(parts.get_uint(1, Width::W16), Ok(0xFFFE));
}

/// A first byte of F1 to F8 before seven bytes and more overflowed the sum; fuzzing found it.
#[test]
fn a_varint_with_too_many_bytes_is_refused() {
    let fields: Fields = "varint".parse().unwrap();
    for count in 0..=9 {
        let key: Vec<u8> = [0xF6].into_iter().chain(std::iter::repeat_n(0xFF, count)).collect();
        assert_eq!(RowKey::exact().decode(&fields, &key).is_ok(), count == 1, "{key:02x?}");
    }
}

#[test]
fn varints_sort_and_have_one_form() {
    let edges = [240, 2287, 67823, (1 << 24) - 1, (1 << 32) - 1, (1 << 40) - 1, (1 << 48) - 1, (1 << 56) - 1];
    let lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    let bytes = |value| plain(&RowKeyBuilder::new().add_varint(value).finish()).unwrap().remove(0);
    for (edge, length) in edges.into_iter().zip(lengths) {
        assert_eq!(bytes(edge).len(), length, "{edge}");
        assert_eq!(bytes(edge + 1).len(), length + 1, "{edge}");
        assert!(bytes(edge) < bytes(edge + 1), "{edge}");
    }
    assert_eq!(bytes(u64::MAX), [0xFF; 9]);
    let long: [&[u8]; 9] = [
        b"",
        b"\x05\x06",
        b"\xf1",
        b"\xf9\x01",
        b"\xfa\x01\x01\x01",
        b"\xfb\xff\xff\xff",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xf9\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xf8\xff\xff\xff\xff\xff\xff\xff\xff",
    ];
    for bytes in long {
        let key = RowKeyBuilder::new().add(bytes).finish();
        let read = RowKey::exact().decode(&Fields::from_iter([Type::Varint]), &key);
        assert!(matches!(read, Err(Error::Bytes { offset: 0, .. })), "{bytes:x?}: {read:?}");
    }
}

#[test]
fn cuts_stand_at_separators_only() {
    // The zero of "a\0" is no separator though a zero of one follows: 61 00 01 00 00 62.
    let key = RowKeyBuilder::new().add("a\0").add("b").add("").finish();
    assert_eq!(key, b"a\x00\x01\x00\x00b\x00\x00");
    assert_eq!(components(&key, 0..1), Some(b"a\x00\x01".as_slice()));
    assert_eq!(components(&key, 0..2), Some(b"a\x00\x01\x00\x00b".as_slice()));
    assert_eq!(components(&key, 2..3), Some(b"".as_slice()));
    let reversed = Range { start: 2, end: 1 };
    for range in [0..4, 3..4, 1..1, 0..0, reversed] {
        assert_eq!(components(&key, range.clone()), None, "{range:?}");
    }
    assert_eq!(components(b"", 0..1), Some(b"".as_slice()));
    assert_eq!((last_component(&key), without_last(&key)), (Some(&b""[..]), Some(&key[..6])));
    for malformed in [&b"a\x00"[..], b"a\x00\x02", b"a\x00\x00b\x00", b"\x00\x00\x00"] {
        assert!(RowKeyParts::new(malformed).is_err());
        assert_eq!((last_component(malformed), without_last(malformed)), (None, None));
        assert_eq!(components(malformed, 0..1), None);
    }
}

#[test]
fn decode_says_where() {
    let cases: [(&str, &[u8], usize); 12] = [
        ("str", b"a\x00", 1),
        ("str", b"a\x00\x02", 2),
        ("str", b"a\x00\x00b", 3),
        ("str,str", b"a", 1),
        ("str,u16", b"a\x00\x00b", 3),
        ("str,u16", b"a\x00\x00", 3),
        ("str,u8", b"a\x00\x00b\x00\x00", 6),
        ("str", b"a\x00\x01\xff", 3),
        ("str,str", b"a\x00\x00b\x00\x03", 5),
        ("i8", b"\x80", 0),
        ("varint", b"", 0),
        ("", b"a", 0),
    ];
    for (text, bytes, at) in cases {
        match RowKey::strict().decode(&text.parse().unwrap(), bytes) {
            Err(Error::Bytes { offset, .. }) => assert_eq!(offset, at, "{text} {bytes:?}"),
            other => panic!("{text} {bytes:?}: {other:?}"),
        }
    }
    assert_eq!(RowKey::strict().decode(&"str".parse().unwrap(), b"").unwrap(), [Value::from("")]);
    assert_eq!(RowKey::exact().decode(&"i8".parse().unwrap(), b"\x80").unwrap(), [Value::Int(-128)]);
    let parts = RowKeyParts::new(b"a\x00\x00\xff").unwrap();
    assert!(matches!(parts.get_str(1), Err(Error::Bytes { offset: 3, .. })));
    assert!(matches!(parts.get_str(2), Err(Error::Bytes { offset: 4, .. })));
    assert!(matches!(parts.get_int64(1), Err(Error::Bytes { offset: 3, .. })));
    assert!(RowKeyParts::new(b"").unwrap().is_empty());
    // Text without a zero is borrowed, also beside one that has it.
    let values = RowKey::strict().decode(&"str,bytes,str".parse().unwrap(), b"a\x00\x00b\x00\x00c\x00\x01");
    assert!(matches!(
        &values.unwrap()[..],
        [Value::Str(Cow::Borrowed("a")), Value::Bytes(Cow::Borrowed(b"b")), Value::Str(Cow::Owned(_))]
    ));
}

#[test]
fn refusals_name_the_field_and_the_remedy() {
    let cases = [
        ("str,f64", "field 2 (f64)"),
        ("bool", "declare u8"),
        ("uuid", "declare bytes"),
        ("timestamp", "u64 of the unit"),
        ("tuple(str)", "fields of their own"),
        ("str:nocase", "fold it first"),
        ("u64:desc", "only ascends"),
        ("u64:nulls-first", "no nulls"),
        ("decimal", "native"),
        ("null", "native"),
        ("end", "native"),
    ];
    for format in [RowKey::exact(), RowKey::strict()] {
        for (text, part) in cases {
            let fields: Fields = text.parse().unwrap();
            let errors = [
                format.promises(&fields).unwrap_err(),
                key(format, &fields, &[]).unwrap_err(),
                format.decode(&fields, b"").unwrap_err(),
            ];
            for error in errors {
                assert!(matches!(error, Error::Layout { .. }) && error.to_string().contains(part), "{error}");
            }
        }
        for (text, value) in [("u8", Value::from(256_u64)), ("i8", 1_u64.into()), ("str", Value::Null)] {
            let fields = format!("str,{text}").parse().unwrap();
            let error = key(format, &fields, &["a".into(), value]).unwrap_err();
            assert!(matches!(error, Error::Value { field: 2, .. }), "{error}");
        }
        let many = key(format, &"str".parse().unwrap(), &["a".into(), "b".into()]);
        assert!(matches!(many, Err(Error::Layout { .. })));
    }
    let minus = key(RowKey::strict(), &"i64".parse().unwrap(), &[(-1_i64).into()]).unwrap_err();
    assert!(minus.to_string().starts_with("field 1: -1 is negative"), "{minus}");
}

proptest! {
    #[test]
    fn what_decode_accepts_encode_gives_back(bytes in bytes_like_a_key()) {
        for text in ["str", "bytes", "bytes,bytes", "str,u8", "i8,varint", "varint", "u16,str", "i24", "bytes,varint"] {
            let fields: Fields = text.parse().unwrap();
            for format in [RowKey::exact(), RowKey::strict()] {
                if let Ok(values) = format.decode(&fields, &bytes) {
                    prop_assert_eq!(&key(format, &fields, &values).unwrap(), &bytes, "{}", text);
                }
            }
        }
        if let Ok(parts) = RowKeyParts::new(&bytes) {
            let again = (0..parts.len()).fold(RowKeyBuilder::new(), |key, at| key.add(parts.get(at).unwrap()));
            prop_assert_eq!(&again.finish(), &bytes);
            let rest = without_last(&bytes).map(|rest| [rest, &[0, 0], last_component(&bytes).unwrap()].concat());
            prop_assert_eq!(rest.as_deref().unwrap_or(&bytes), &bytes[..]);
        }
    }

    #[test]
    fn varints_come_back(value in any::<u64>(), shift in 0_u32..64) {
        let value = value >> shift;
        let key = RowKeyBuilder::new().add_varint(value).finish();
        prop_assert_eq!(RowKeyParts::new(&key).unwrap().get_varint(0), Ok(value));
    }
}

/// Bytes with many zeros and ones, since those are where keys go wrong.
fn bytes_like_a_key() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(
        prop_oneof![4 => Just(0), 3 => Just(1), 1 => Just(0xF1), 2 => any::<u8>()],
        0..16,
    )
}
