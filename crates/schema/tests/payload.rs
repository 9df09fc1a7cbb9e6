//! The laws of a record's bytes: what is written is read, whole or one field at a time, and nothing else is.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::collections::BTreeMap;

use keyloom_key::{Date, Decimal, Duration, Timestamp, Type, Uuid, Value};
use keyloom_schema::document::{FieldRef, MAX_DEPTH, Names, Payload, encode};
use keyloom_schema::{Document, Error};
use keyloom_testkit::{hurtful, random};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

/// Ids by name: what a schema's declared fields are.
#[derive(Debug, Clone, Default)]
struct Declared(BTreeMap<String, u16>);

impl Names for Declared {
    fn id(&self, name: &str) -> Option<u16> {
        self.0.get(name).copied()
    }

    fn name(&self, id: u16) -> Option<&str> {
        self.0.iter().find(|(_, other)| **other == id).map(|(name, _)| name.as_str())
    }
}

fn declared<const N: usize>(names: [(&str, u16); N]) -> Declared {
    Declared(names.into_iter().map(|(name, id)| (name.to_owned(), id)).collect())
}

const TYPES: &str =
    "bool,i64,u64,f64,decimal,str,bytes,uuid,timestamp(3),timestamp(6),timestamp(9),date,duration";

fn types() -> Vec<Type> {
    let fields: keyloom_key::Fields = TYPES.parse().unwrap();
    fields.iter().map(|field| field.kind.clone()).collect()
}

fn value() -> BoxedStrategy<Value<'static>> {
    let simple = prop_oneof![
        1 => Just(Value::Null),
        1 => (any::<i64>(), 0_u32..64).prop_map(|(value, shift)| Value::Int(value >> shift)),
        1 => (any::<u64>(), 0_u32..64).prop_map(|(value, shift)| Value::Uint(value >> shift)),
        8 => prop::sample::select(types()).prop_flat_map(|kind| random::value(&kind)),
        1 => "x{100,400}".prop_map(Value::from),
    ];
    simple
        .prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..5).prop_map(Value::Tuple),
                vec(inner.clone(), 0..5).prop_map(Value::List),
                vec((random::text(), inner), 0..5).prop_map(Value::map),
            ]
        })
        .boxed()
}

/// Names of few letters, so that schemas and documents share some.
fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-d]{1,2}", "[a-d]{0,1}", random::text()]
}

fn schema() -> impl Strategy<Value = Declared> {
    (
        btree_set(name(), 0..12),
        btree_set(prop_oneof![0_u16..20, any::<u16>()], 12),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(names, ids, turn)| {
            let mut ids: Vec<u16> = ids.into_iter().collect();
            let turn = turn.index(ids.len());
            ids.rotate_left(turn);
            Declared(names.into_iter().zip(ids).collect())
        })
}

fn document() -> impl Strategy<Value = Document> {
    btree_map(name(), value(), 0..10).prop_map(|fields| fields.into_iter().collect())
}

fn bytes_of(document: &Document, names: &Declared) -> Vec<u8> {
    let mut out = Vec::new();
    document.encode(names, &mut out).unwrap();
    out
}

fn read(bytes: &[u8]) -> Result<Vec<(FieldRef<'_>, Value<'_>)>, Error> {
    Payload::new(bytes)?.iter().collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read(document in document(), names in schema()) {
        let bytes = bytes_of(&document, &names);
        let payload = Payload::new(&bytes).unwrap();
        prop_assert_eq!(payload.len(), document.len());
        let read = payload.to_document(&names).unwrap();
        prop_assert_eq!(&read, &document);
        prop_assert_eq!(bytes_of(&read, &names), bytes);
    }

    #[test]
    fn one_field_is_read_as_the_whole_is(document in document(), names in schema(), absent in name()) {
        let bytes = bytes_of(&document, &names);
        let payload = Payload::new(&bytes).unwrap();
        for (name, value) in document.iter() {
            let alone = match names.id(name) {
                Some(id) => payload.get(id).unwrap(),
                None => payload.get_unknown(name).unwrap(),
            };
            prop_assert_eq!(alone.as_ref(), Some(value));
            prop_assert_eq!(payload.get_named(&names, name).unwrap(), Some(value.clone()));
        }
        prop_assert_eq!(payload.get_named(&names, &absent).unwrap(), document.get(&absent).cloned());
        for (name, id) in &names.0 {
            prop_assert_eq!(payload.get(*id).unwrap(), document.get(name).cloned());
            prop_assert_eq!(payload.get_unknown(name).unwrap(), None);
        }
    }

    #[test]
    fn a_program_with_another_schema_loses_nothing(document in document(), names in schema(), keep in vec(any::<bool>(), 12)) {
        // The other program knows some of the fields, with the same ids.
        let mut keep = keep.into_iter();
        let other = Declared(names.0.clone().into_iter().filter(|_| keep.next().unwrap_or(false)).collect());
        let bytes = bytes_of(&document, &names);
        let seen = Payload::new(&bytes).unwrap().to_document(&other).unwrap();
        prop_assert_eq!(&bytes_of(&seen, &other), &bytes);
        // What that program writes with names, the first one takes up under its ids.
        let written = bytes_of(&document, &other);
        let taken = Payload::new(&written).unwrap().to_document(&names).unwrap();
        prop_assert_eq!(&taken, &document);
        prop_assert_eq!(bytes_of(&taken, &names), bytes);
    }

    #[test]
    fn the_order_of_fields_given_does_not_show(document in document(), names in schema(), turn in any::<prop::sample::Index>()) {
        let mut fields: Vec<(&str, &Value<'_>)> = document.iter().collect();
        let middle = turn.index(fields.len() + 1);
        fields.rotate_left(middle);
        let mut out = b"kept".to_vec();
        encode(&names, fields, &mut out).unwrap();
        prop_assert_eq!(&out[..4], b"kept");
        prop_assert_eq!(&out[4..], bytes_of(&document, &names));
    }

    #[test]
    fn changed_bytes_never_panic_and_have_one_spelling(
        document in document(),
        names in schema(),
        changes in vec((any::<prop::sample::Index>(), prop_oneof![any::<u8>(), 0_u8..0x42]), 0..4),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = bytes_of(&document, &names);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        one_spelling(&bytes);
    }

    #[test]
    fn any_bytes_never_panic_and_have_one_spelling(head in prop_oneof![Just(1_u8), Just(0x41), any::<u8>()], bytes in random::bytes()) {
        one_spelling(&[&[head], bytes.as_slice()].concat());
    }
}

/// What is read writes the same bytes; what is not, is refused whether whole or in part.
fn one_spelling(bytes: &[u8]) {
    let Ok(payload) = Payload::new(bytes) else { return };
    for id in 0..20 {
        let _ = payload.get(id);
    }
    for name in ["", "a", "bc"] {
        let _ = payload.get_unknown(name);
    }
    if let Ok(fields) = read(bytes) {
        let mut again = Vec::new();
        encode(&Declared::default(), fields.iter().map(|(field, value)| (*field, value)), &mut again)
            .unwrap();
        assert_eq!(again, bytes, "{fields:?}");
        for (field, value) in fields {
            let alone = match field {
                FieldRef::Id(id) => payload.get(id),
                FieldRef::Name(name) => payload.get_unknown(name),
            };
            // Debug, because NaN is itself here.
            assert_eq!(format!("{alone:?}"), format!("{:?}", Ok::<_, Error>(Some(value))));
        }
    }
}

#[test]
fn values_built_to_hurt_come_back() {
    let names = declared([("v", 7)]);
    for kind in types() {
        for value in hurtful::values(&kind) {
            let lists = [
                value.clone(),
                Value::list([value.clone(), value.clone()]),
                Value::map([("", value.clone()), ("\0", value.clone())]),
            ];
            for value in lists {
                let document = Document::new().with("v", value.clone()).with("w", value);
                let bytes = bytes_of(&document, &names);
                assert_eq!(Payload::new(&bytes).unwrap().to_document(&names).unwrap(), document);
                one_spelling(&bytes);
            }
        }
    }
}

#[test]
fn floats_keep_their_bits_and_there_is_one_nan() {
    let names = Declared::default();
    let odd = f64::from_bits(0xFFF8_0000_0000_0001);
    for (value, bits) in [(-0.0, 1 << 63), (0.0, 0), (f64::NAN, 0x7FF8 << 48), (odd, 0x7FF8 << 48)] {
        let bytes = bytes_of(&Document::new().with("v", value), &names);
        let Some(Value::Float(read)) = Payload::new(&bytes).unwrap().get_unknown("v").unwrap() else {
            panic!("no float")
        };
        assert_eq!(read.to_bits(), bits);
    }
}

#[test]
fn the_same_instant_has_the_same_bytes_whatever_its_unit() {
    let names = Declared::default();
    let bytes = |time: Timestamp| bytes_of(&Document::new().with("t", time), &names);
    assert_eq!(bytes(Timestamp::from_millis(-5)), bytes(Timestamp::from_nanos(-5_000_000)));
    assert_eq!(
        bytes(Timestamp::from_micros(i64::MAX / 1000 * 1000)),
        bytes(Timestamp::from_millis(i64::MAX / 1000))
    );
}

#[test]
fn tables_widen_at_the_edges() {
    let names = declared([("a", 1), ("b", 2)]);
    for (length, head) in
        [(0, 0x01), (252, 0x01), (253, 0x11), (254, 0x11), (65_532, 0x11), (65_533, 0x21), (70_000, 0x21)]
    {
        for (first, named) in [("a", 0), ("z", 0x40)] {
            // Beside the text: its tag, null's tag, and where it is undeclared the byte of its name.
            let text = "x".repeat(if named == 0 { length + 1 } else { length });
            let document = Document::new().with(first, text).with("b", Value::Null);
            let bytes = bytes_of(&document, &names);
            assert_eq!(bytes[0], head | named, "{length}");
            assert_eq!(Payload::new(&bytes).unwrap().to_document(&names).unwrap(), document);
        }
    }
}

#[test]
fn many_fields() {
    for count in [16_u16, 17, 255, 256, 300, u16::MAX] {
        let fields: Vec<(u16, Value<'_>)> = (0..count).map(|id| (id, Value::from(id))).collect();
        let mut bytes = Vec::new();
        encode(&Declared::default(), fields.iter().map(|(id, value)| (*id, value)), &mut bytes).unwrap();
        let payload = Payload::new(&bytes).unwrap();
        for (id, value) in fields.iter().step_by(97) {
            assert_eq!(payload.get(*id).unwrap().as_ref(), Some(value));
        }
        assert_eq!(payload.get(count).unwrap(), None);
        assert_eq!(read(&bytes).unwrap().len(), usize::from(count));
    }
}

fn nested(depth: usize) -> Value<'static> {
    (0..depth).fold(Value::Null, |value, level| match level % 3 {
        0 => Value::List(vec![value]),
        1 => Value::Tuple(vec![value]),
        _ => Value::map([("k", value)]),
    })
}

#[test]
fn nesting_has_an_end_and_refusals_leave_the_buffer_alone() {
    let names = declared([("deep", 3)]);
    let deepest = Document::new().with("deep", nested(MAX_DEPTH));
    let bytes = bytes_of(&deepest, &names);
    assert_eq!(Payload::new(&bytes).unwrap().to_document(&names).unwrap(), deepest);

    let mut out = b"kept".to_vec();
    let refused = Document::new().with("deep", nested(MAX_DEPTH + 1)).encode(&names, &mut out).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "field deep: tuples, lists and maps nest at most 64 deep: keep the inner part as text"
    );
    assert_eq!(out, b"kept");
    // A writer that does not keep to it is not believed: 02 and a length before each list.
    let mut bytes = vec![0x0F];
    for _ in 0..MAX_DEPTH {
        let length = u8::try_from(bytes.len()).unwrap();
        bytes.splice(0..0, if length < 0x80 { vec![0x0F, length] } else { vec![0x0F, 0x81, length & 0x7F] });
    }
    let mut record = vec![0x01, 0x01, 0x00, 0x03, u8::try_from(bytes.len()).unwrap()];
    record.extend(bytes);
    let refused = Payload::new(&record).unwrap().get(3).unwrap_err();
    assert!(refused.to_string().contains("64 deep"), "{refused}");
}

#[test]
fn a_name_twice_is_refused() {
    let names = declared([("a", 1)]);
    let mut out = Vec::new();
    let twice = [("a", &Value::Null), ("b", &Value::Null), ("a", &Value::Null)];
    let said = encode(&names, twice, &mut out).unwrap_err().to_string();
    assert_eq!(said, "field a: given twice: give it once");
    let twice = [(FieldRef::Name("a"), &Value::Null), (FieldRef::Id(1), &Value::Null)];
    assert!(encode(&names, twice, &mut out).is_err());
    let said = encode(&names, [("b", &Value::Null), ("b", &Value::Null)], &mut out).unwrap_err().to_string();
    assert_eq!(said, "field b: given twice: give it once");
    let map =
        Value::Map(vec![("k".into(), Value::Null), ("j".into(), Value::Null), ("k".into(), Value::Null)]);
    let said = encode(&names, [("a", &map)], &mut out).unwrap_err().to_string();
    assert_eq!(said, "field a: a map has the name `k` twice: keep one of them");
    assert!(out.is_empty());
}

#[test]
fn maps_are_written_sorted() {
    let names = Declared::default();
    let map = Value::Map(vec![("k".into(), 1_i64.into()), ("j".into(), 2_i64.into())]);
    let mut bytes = Vec::new();
    encode(&names, [("m", &map)], &mut bytes).unwrap();
    let read = Payload::new(&bytes).unwrap().get_unknown("m").unwrap();
    assert_eq!(read, Some(Value::map([("j", 2_i64), ("k", 1)])));
}

#[test]
fn a_field_that_is_both_declared_and_named_is_the_declared_one() {
    // A record holds "total" undeclared; then the declared field "sum" is renamed to "total".
    let mut bytes = Vec::new();
    encode(&declared([("sum", 9)]), [("sum", &Value::Int(1)), ("total", &Value::Int(2))], &mut bytes)
        .unwrap();
    let renamed = declared([("total", 9)]);
    let payload = Payload::new(&bytes).unwrap();
    assert_eq!(payload.get_named(&renamed, "total").unwrap(), Some(Value::Int(1)));
    assert_eq!(payload.to_document(&renamed).unwrap(), Document::new().with("total", 1_i64));
}

#[test]
fn declared_fields_in_order_allocate_nothing() {
    let fields = [
        (1, Value::from("USR_12345")),
        (2, Value::from(300_i64)),
        (3, Value::Decimal("12.50".parse::<Decimal>().unwrap())),
        (4, Timestamp::from_micros(1_737_100_800_000_001).into()),
        (5, Uuid::from_u128(7).into()),
        (6, Date::from_days(19_782).into()),
        (7, Duration::from_nanos(-1).into()),
        (8, Value::list(["a", "b"])),
        (9, Value::map([("k", 1.5)])),
    ];
    let mut out = Vec::with_capacity(256);
    let written = allocation_counter::measure(|| {
        let fields = fields.iter().map(|(id, value)| (FieldRef::Id(*id), value));
        encode(&Declared::default(), fields, &mut out).unwrap();
    });
    assert_eq!(written.count_total, 0);
    let read = allocation_counter::measure(|| {
        let payload = Payload::new(&out).unwrap();
        for (id, value) in fields.iter().take(7) {
            assert_eq!(payload.get(*id).unwrap().as_ref(), Some(value));
        }
        assert_eq!(payload.get(10), Ok(None));
    });
    assert_eq!(read.count_total, 0);
}
