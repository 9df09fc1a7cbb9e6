//! KeystoneDB's keys: the specification's examples, and what its own encoding gets wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::borrow::Cow;
use std::collections::BTreeSet;

use keyloom_key::keystone::{Key, Keystone};
use keyloom_key::placement::Stripes;
use keyloom_key::{Error, Fields, KeyFormat, Value};
use proptest::prelude::*;

fn fields(text: &str) -> Fields {
    text.parse().unwrap()
}

fn encode(kinds: &str, values: &[Value<'_>]) -> Result<Vec<u8>, Error> {
    let mut out = b"before".to_vec();
    let result = Keystone.encode(&fields(kinds), values, &mut out);
    let key = out.split_off(6);
    assert_eq!(out, b"before");
    assert!(result.is_ok() || key.is_empty(), "an error left {key:?} behind");
    result.map(|()| key)
}

fn refused(kinds: &str, values: &[Value<'_>]) -> String {
    encode(kinds, values).unwrap_err().to_string()
}

fn raw(key: &Key<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    key.encode(&mut out).unwrap();
    out
}

const PK_ONLY: &str = "00000008 75736572 23313233 00000000";
const PK_AND_SK: &str = "00000008 75736572 23313233 00000008 706f7374 23303031";

fn unhex(text: &str) -> Vec<u8> {
    hex::decode(text.replace(' ', "")).unwrap()
}

#[test]
fn the_specifications_two_examples() {
    assert_eq!(raw(&Key::new(b"user#123".to_vec())), unhex(PK_ONLY));
    assert_eq!(raw(&Key::with_sk(b"user#123".to_vec(), b"post#001".to_vec())), unhex(PK_AND_SK));
    assert_eq!(encode("str", &["user#123".into()]).unwrap(), unhex(PK_ONLY));
    assert_eq!(encode("str,str", &["user#123".into(), "post#001".into()]).unwrap(), unhex(PK_AND_SK));
    assert_eq!(encode("str,str:nulls-first", &["user#123".into(), Value::Null]).unwrap(), unhex(PK_ONLY));
}

#[test]
fn a_partition_has_one_stripe() {
    let keys = [
        Key::new(b"user#123"),
        Key::with_sk(b"user#123", b"post#001"),
        Key::with_sk(b"user#123", b"post#002"),
    ];
    assert_eq!(keys.map(|key| key.stripe()), [Stripes::default().stripe_of(b"user#123"); 3]);
    assert_eq!([b"user#1", b"user#2", b"user#3"].map(|pk| Key::new(pk).stripe()), [154, 32, 182]);
}

#[test]
fn shorter_sorts_first() {
    let keys: BTreeSet<Vec<u8>> =
        ["aa", "bbb", "c", "b", "ab", "a"].map(|pk| raw(&Key::new(pk.as_bytes()))).into();
    let sorted: Vec<Key<'_>> = keys.iter().map(|key| Key::decode(key).unwrap()).collect();
    assert_eq!(sorted, ["a", "b", "c", "aa", "ab", "bbb"].map(|pk| Key::new(pk.as_bytes())));
}

#[test]
fn an_empty_sort_key_is_not_taken_for_none() {
    let reason =
        "field 2: an empty sort key is the same key as none: leave it out (null in a nullable field)";
    assert_eq!(refused("str,str", &["a".into(), "".into()]), reason);
    assert_eq!(refused("str,str:nulls-first", &["a".into(), "".into()]), reason);
    let mut out = b"before".to_vec();
    assert_eq!(Key::with_sk(b"a", b"").encode(&mut out).unwrap_err().to_string(), reason);
    assert_eq!(out, b"before");
    // An empty partition key is like no other and may be.
    assert_eq!(encode("str", &["".into()]).unwrap(), [0; 8]);
}

#[test]
fn fewer_values_are_the_partition() {
    assert_eq!(encode("str,str", &[]).unwrap(), Vec::<u8>::new());
    assert_eq!(encode("str,str", &["u1".into()]).unwrap(), unhex("00000002 7531"));
}

#[test]
fn not_null_leaves_out_the_key_without_a_sort_key() {
    let kinds = "str,bytes:nulls-first";
    let span = Keystone.not_null(&fields(kinds), &["u1".into()]).unwrap();
    assert!(!span.contains(&encode(kinds, &["u1".into(), Value::Null]).unwrap()));
    assert!(span.contains(&encode(kinds, &["u1".into(), vec![0].into()]).unwrap()));
    assert!(span.contains(&encode(kinds, &["u1".into(), vec![0xFF; 300].into()]).unwrap()));
    assert!(!span.contains(&encode(kinds, &["u2".into(), vec![0].into()]).unwrap()));
    let all = Keystone.not_null(&fields(kinds), &[]).unwrap();
    assert!(all.contains(&[0; 8]));
}

#[test]
fn a_range_is_refused_by_name() {
    use std::ops::Bound::Unbounded;
    let error = Keystone.range(&fields("str,str"), &["a".into()], Unbounded, Unbounded).unwrap_err();
    assert!(error.to_string().starts_with("keystone keys: (str,str) does not sort"), "{error}");
}

#[test]
fn other_fields_are_refused() {
    for (kinds, reason) in [
        ("", "not 0 fields"),
        ("str,str,str", "not 3 fields"),
        ("u64", "field 1 is u64, and only str and bytes go in: write it as text"),
        ("str,str:nocase", "field 2 is str:nocase"),
        ("str:desc", "leave out desc"),
        ("str,bytes:desc", "leave out desc"),
        ("str:nulls-first", "every key has a partition key"),
        ("str,str:nulls-last", "say nulls-first"),
    ] {
        let error = Keystone.promises(&fields(kinds)).unwrap_err();
        assert!(matches!(error, Error::Layout { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{kinds}: {error}");
        assert_eq!(Keystone.encode(&fields(kinds), &[], &mut Vec::new()).unwrap_err(), error);
        assert_eq!(Keystone.decode(&fields(kinds), &[0; 8]).unwrap_err(), error);
    }
}

#[test]
fn other_values_are_refused() {
    assert_eq!(refused("str", &[Value::Null]), "field 1: null, but the field is not nullable");
    assert_eq!(refused("str", &[7_u64.into()]), "field 1: a value of type u64 in a field of type str");
    assert_eq!(
        refused("str,str", &["a".into(), Value::Null]),
        "field 2: null, but the field is not nullable"
    );
    let bytes = Value::from(vec![1]);
    assert_eq!(
        refused("str,str", &["a".into(), bytes]),
        "field 2: a value of type bytes in a field of type str"
    );
    assert_eq!(refused("str", &["a".into(), "b".into()]), "keystone keys: 2 values for 1 fields (str)");
}

#[test]
fn bytes_that_are_no_key_say_where() {
    for (kinds, key, error) in [
        ("str", "", "byte 0: the key ends within a length of 4 bytes"),
        ("str", "000000", "byte 3: the key ends within a length of 4 bytes"),
        ("str", "00000002 61", "byte 0: a length of 2 where 1 bytes follow"),
        ("str", "ffffffff 61", "byte 0: a length of 4294967295 where 1 bytes follow"),
        ("str", "00000001 61", "byte 5: the key ends within a length of 4 bytes"),
        ("str", "00000001 61 00000000 62", "byte 9: 1 bytes follow the sort key"),
        ("str", "00000001 61 00000001 62", "byte 5: a sort key, which (str) has not"),
        ("str", "00000002 61ff 00000000", "byte 5: text that is not UTF-8"),
        ("str,str", "00000001 61 00000001 ff", "byte 9: text that is not UTF-8"),
        ("str,str", "00000001 61 00000000", "byte 5: no sort key, and the field is not nullable"),
    ] {
        let found = Keystone.decode(&fields(kinds), &unhex(key)).unwrap_err();
        assert_eq!(found.to_string(), error, "{kinds} {key}");
    }
    assert_eq!(
        Key::decode(&unhex("00000001 61 00000000 62")).unwrap_err().to_string(),
        "byte 9: 1 bytes follow the sort key"
    );
    assert!(Key::decode(&[0; 7]).is_err());
}

#[test]
fn decoding_borrows() {
    let kinds = fields("str,bytes:nulls-first");
    let values = [Value::from("user#123"), Value::from(&b"post"[..])];
    let key = encode("str,bytes:nulls-first", &values).unwrap();
    let read = Keystone.decode(&kinds, &key).unwrap();
    assert_eq!(read, values);
    assert!(matches!(read[..], [Value::Str(Cow::Borrowed(_)), Value::Bytes(Cow::Borrowed(_))]));
}

proptest! {
    #[test]
    fn keys_come_back(pk: Vec<u8>, sk in proptest::option::of(proptest::collection::vec(any::<u8>(), 1..20))) {
        let key = Key { pk: (&pk[..]).into(), sk: sk.as_deref().map(Into::into) };
        let bytes = raw(&key);
        prop_assert_eq!(&Key::decode(&bytes).unwrap(), &key);
        let values = [Value::from(&pk[..]), sk.as_deref().into()];
        prop_assert_eq!(&encode("bytes,bytes:nulls-first", &values).unwrap(), &bytes);
        prop_assert_eq!(Keystone.decode(&fields("bytes,bytes:nulls-first"), &bytes).unwrap(), values);
    }

    #[test]
    fn what_is_read_is_what_was_written(
        lengths in [0_u8..4, 0_u8..4], body in proptest::collection::vec(any::<u8>(), 0..8), cut in 0_usize..3,
    ) {
        // Lengths that mostly fit, so that most bytes are almost a key.
        let mut key = vec![0, 0, 0, lengths[0]];
        let split = usize::from(lengths[0]).min(body.len());
        key.extend(&body[..split]);
        key.extend([0, 0, 0, lengths[1]]);
        key.extend(&body[split..]);
        key.truncate(key.len() - cut);
        for kinds in ["bytes", "str", "bytes,bytes", "str,str:nulls-first"] {
            if let Ok(values) = Keystone.decode(&fields(kinds), &key) {
                prop_assert_eq!(&encode(kinds, &values).unwrap(), &key);
            }
        }
        if let Ok(read) = Key::decode(&key) {
            prop_assert_eq!(&raw(&read), &key);
        }
    }
}
