//! Keys of Rust's own types: the same bytes as the dynamic format, the same laws, no allocation.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::borrow::Cow;

use keyloom_key::{
    Date, Decimal, DecodeKey, Desc, Duration, EncodeKey, Error, KeyFormat, KeyStr, Native, NoCase, NullsLast,
    Timestamp, Uuid, Value,
};
use keyloom_testkit::{laws, random};
use proptest::prelude::*;

/// The typed key is what the dynamic format writes for the same fields and values.
#[track_caller]
fn same_bytes<T: EncodeKey>(key: &T, values: &[Value<'_>]) -> Vec<u8> {
    let typed = key.to_key().unwrap();
    let mut dynamic = Vec::new();
    Native.encode(&T::fields(), values, &mut dynamic).unwrap();
    assert_eq!(typed, dynamic, "{}", T::fields());
    typed
}

#[test]
fn typed_and_dynamic_agree_on_every_type() {
    let id = Uuid::from_u128(7);
    let decimal: Decimal = "-12.5".parse().unwrap();
    let (time, day, long) = (Timestamp::from_micros(5), Date::from_days(-3), Duration::from_nanos(9));
    same_bytes(
        &(true, -1_i8, 2_i16, -3_i32, 4_i64),
        &[true.into(), (-1_i8).into(), 2_i16.into(), (-3_i32).into(), 4_i64.into()],
    );
    same_bytes(&(1_u8, 2_u16, 3_u32, 4_u64), &[1_u8.into(), 2_u16.into(), 3_u32.into(), 4_u64.into()]);
    same_bytes(&(1.5_f32, -2.5_f64, decimal), &[1.5_f32.into(), (-2.5_f64).into(), decimal.into()]);
    same_bytes(&(id, time, day, long), &[id.into(), time.into(), day.into(), long.into()]);
    let bytes: &[u8] = b"a\0";
    same_bytes(
        &("a\0b", bytes, String::new(), vec![0_u8]),
        &["a\0b".into(), bytes.into(), "".into(), vec![0].into()],
    );
    same_bytes(&(Desc("a\0b"), Desc(7_u64), Desc(decimal)), &["a\0b".into(), 7_u64.into(), decimal.into()]);
    same_bytes(&(NoCase("Straße"), Desc(NoCase("ÀB"))), &["STRASSE".into(), "àb".into()]);
    same_bytes(&(Some("a"), None::<u64>, Desc(Some(1_u64))), &["a".into(), Value::Null, 1_u64.into()]);
    same_bytes(&(NullsLast(Some("a")), NullsLast(None::<u64>)), &["a".into(), Value::Null]);
    let tuple = Value::Tuple(vec!["a".into(), Value::Null]);
    same_bytes(&(("a", None::<u64>), 1_u64), &[tuple.clone(), 1_u64.into()]);
    same_bytes(&(Desc(("a", None::<u64>)), 1_u64), &[tuple, 1_u64.into()]);
}

proptest! {
    #[test]
    fn laws_on_tuples(rows in proptest::collection::vec((random::text(), any::<u64>(), any::<i32>()), 2..30)) {
        laws::check_type(&rows)?;
        let nested: Vec<_> = rows.iter().map(|(a, b, c)| ((a.clone(), *b), Some(*c))).collect();
        laws::check_type(&nested)?;
    }

    #[test]
    fn what_is_written_is_read(text in random::text(), number: u64, id: u128, bytes in random::bytes()) {
        let id = Uuid::from_u128(id);
        let key = (text.as_str(), number, id).to_key()?;
        let (read, n, i) = <(KeyStr, u64, Uuid)>::decode_key(&key)?;
        prop_assert_eq!((read.as_str()?, n, i), (text.as_str(), number, id));
        prop_assert_eq!(read.is_ascii(), text.is_ascii());
        let key = (Desc(text.as_str()), Some(bytes.as_slice()), Desc(number)).to_key()?;
        type Key<'a> = (Desc<Cow<'a, str>>, Option<Cow<'a, [u8]>>, Desc<u64>);
        let read = <Key<'_>>::decode_key(&key)?;
        prop_assert_eq!(read, (Desc(Cow::Borrowed(text.as_str())), Some(Cow::Borrowed(bytes.as_slice())), Desc(number)));
        let key = (Desc((text.as_str(), None::<u64>)), true).to_key()?;
        let read = <(Desc<(String, Option<u64>)>, bool)>::decode_key(&key)?;
        prop_assert_eq!(read, (Desc((text, None)), true));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in random::bytes()) {
        let _ = <(KeyStr, u64, Uuid)>::decode_key(&bytes);
        let _ = <(Desc<Cow<str>>, Option<Decimal>)>::decode_key(&bytes);
        let _ = <((String, bool), NullsLast<f64>, Date)>::decode_key(&bytes);
    }
}

#[test]
fn text_is_borrowed_where_it_stands_in_the_key_as_it_is() {
    let key = ("plain", b"bytes".as_slice(), "a\0b").to_key().unwrap();
    let (plain, bytes, escaped) = <(Cow<str>, Cow<[u8]>, Cow<str>)>::decode_key(&key).unwrap();
    assert!(matches!(plain, Cow::Borrowed("plain")));
    assert!(matches!(bytes, Cow::Borrowed(b"bytes")));
    assert!(matches!(escaped, Cow::Owned(ref text) if text == "a\0b"));
    // 80 is the byte that a careless search takes for a zero.
    let key = ("\u{2000}\u{2000}\u{2000}\u{2000}", "\u{2000}").to_key().unwrap();
    let (long, short) = <(Cow<str>, Cow<str>)>::decode_key(&key).unwrap();
    assert!(matches!((long, short), (Cow::Borrowed(_), Cow::Borrowed(_))));
}

/// Text is looked at in overlapping words: a zero that lies in none of them would run two fields together.
#[test]
fn a_zero_is_found_wherever_it_stands() {
    for length in 0..80 {
        for zero in 0..=length {
            let bytes: Vec<u8> = (0..length).map(|at| if at == zero { 0 } else { 0x80 | 1 }).collect();
            let escaped: Vec<u8> =
                bytes.iter().flat_map(|b| if *b == 0 { vec![0, 0xFF] } else { vec![*b] }).collect();
            let key = (bytes.as_slice(), 7_u64).to_key().unwrap();
            assert_eq!(key, [&escaped[..], &[0, 1], &7_u64.to_be_bytes()].concat(), "{length} {zero}");
            assert_eq!(<(Vec<u8>, u64)>::decode_key(&key).unwrap(), (bytes.clone(), 7), "{length} {zero}");
            // Without a known rest the end is searched for.
            let key = (bytes.as_slice(), "").to_key().unwrap();
            assert_eq!(
                <(Vec<u8>, String)>::decode_key(&key).unwrap(),
                (bytes, String::new()),
                "{length} {zero}"
            );
        }
    }
}

/// What is not ASCII is seen wherever it stands, for the same reason.
#[test]
fn a_high_byte_is_found_wherever_it_stands() {
    for length in 1..80 {
        for high in 0..=length {
            let bytes: Vec<u8> = (0..length).map(|at| if at == high { 0x80 } else { b'a' }).collect();
            let key = (bytes.as_slice(), 7_u64).to_key().unwrap();
            let (text, _) = <(KeyStr, u64)>::decode_key(&key).unwrap();
            assert_eq!(text.is_ascii(), high == length, "{length} {high}");
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_an_error_when_asked_for_as_text() {
    let key = (b"\xFF\xFE".as_slice(),).to_key().unwrap();
    let (text,) = <(KeyStr,)>::decode_key(&key).unwrap();
    assert!(text.as_str().is_err() && !text.is_ascii());
    assert!(<(String,)>::decode_key(&key).is_err());
}

#[test]
fn a_refused_part_names_its_field_and_leaves_the_buffer() {
    let mut buffer = b"kept".to_vec();
    let error = ("a", 1_u64, f64::NAN).encode_key(&mut buffer).unwrap_err();
    assert!(matches!(error, Error::Value { field: 3, .. }), "{error}");
    assert_eq!(buffer, b"kept");
}

#[test]
fn encoding_and_borrowed_decoding_allocate_nothing() {
    let id = Uuid::from_u128(7);
    let decimal: Decimal = "12.5".parse().unwrap();
    let mut out = Vec::with_capacity(256);
    let texts = ["", "short", "USR_12345", "a text of more than thirty-two bytes, é too"];
    let encode = allocation_counter::measure(|| {
        for text in texts {
            out.clear();
            (text, 7_u64, id).encode_key(&mut out).unwrap();
            (Desc(text), Some(decimal), NoCase(text)).encode_key(&mut out).unwrap();
        }
    });
    assert_eq!(encode.count_total, 0);
    for text in texts {
        let key = (text, 7_u64, id).to_key().unwrap();
        let decode = allocation_counter::measure(|| {
            let (read, number, read_id) = <(KeyStr, u64, Uuid)>::decode_key(&key).unwrap();
            assert_eq!((read.as_str().unwrap(), number, read_id), (text, 7, id));
        });
        assert_eq!(decode.count_total, 0);
    }
}
