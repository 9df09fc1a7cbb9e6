//! Bugs that others shipped, each a case that ours must pass.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::ops::Bound::{Excluded, Included};

use keyloom_key::{Fields, KeyFormat, Native, Value, prefix_end};

fn key(fields: &str, values: &[Value<'_>]) -> Vec<u8> {
    let fields: Fields = fields.parse().unwrap();
    let mut key = Vec::new();
    Native.encode(&fields, values, &mut key).unwrap();
    key
}

/// Incrementing the last byte of a prefix that ends in FF overflowed, or left the FF and missed keys
/// (muninndb#816, tidb#12598, kafka PR#22789; the composite-key specification's own `IncrementLastByte` for all-FF).
#[test]
fn a_prefix_that_ends_in_ff_has_a_tight_end() {
    assert_eq!(prefix_end([0x03, 0xAA, 0xFF]), Some(vec![0x03, 0xAB]));
    assert_eq!(prefix_end([0x03, 0xFF, 0xFF]), Some(vec![0x04]));
    assert_eq!(prefix_end([0xFF]), None);
    assert_eq!(prefix_end([0xFF, 0xFF, 0xFF]), None);
    assert_eq!(prefix_end([]), None);
}

/// Fields joined by a separator that data may hold ran together (floci#3800, lexkey).
#[test]
fn fields_never_run_together() {
    for (a, b) in [
        (["A#", "B"], ["A", "#B"]),
        (["a\0", "b"], ["a", "\0b"]),
        (["a", "b"], ["ab", ""]),
        (["a\0", "b"], ["a", "b"]),
    ] {
        assert_ne!(key("str,str", &a.map(Value::from)), key("str,str", &b.map(Value::from)));
    }
}

/// An element equal to the terminator ended the list, a string with NUL was cut (storekey PR#15).
#[test]
fn elements_that_look_like_a_terminator_survive() {
    let fields: Fields = "tuple(str,u64,bytes),bytes,str".parse().unwrap();
    for text in ["", "\0", "\u{1}", "\0\u{1}", "a\0b"] {
        let row = vec![
            Value::Tuple(vec![text.into(), 0_u64.into(), vec![0, 1].into()]),
            vec![0, 1, 0, 0xFF].into(),
            text.into(),
        ];
        let mut key = Vec::new();
        Native.encode(&fields, &row, &mut key).unwrap();
        assert_eq!(Native.decode(&fields, &key).unwrap(), row);
    }
}

/// Nested tuples were cut at a null, and the empty one sorted among them (FoundationDB's deprecated 0x03).
#[test]
fn empty_then_null_then_two_nulls() {
    let tuple = |length| {
        key(
            "tuple(u64:nulls-first,u64:nulls-first),bool",
            &[Value::Tuple(vec![Value::Null; length]), true.into()],
        )
    };
    assert!(tuple(0) < tuple(1) && tuple(1) < tuple(2));
    let prefix = |length| key("u64:nulls-first,u64:nulls-first", &vec![Value::Null; length]);
    assert!(prefix(0) < prefix(1) && prefix(1) < prefix(2));
}

/// An equality scan also matched a longer key whose next byte was 00 (fdb-record-layer#2650).
#[test]
fn equality_does_not_match_a_longer_value() {
    let fields: Fields = "bytes,u64".parse().unwrap();
    let span = Native.prefix(&fields, &[vec![0x61].into()]).unwrap();
    assert!(span.contains(&key("bytes,u64", &[vec![0x61].into(), 0_u64.into()])));
    assert!(!span.contains(&key("bytes,u64", &[vec![0x61, 0x00].into(), 0_u64.into()])));
    assert!(!span.contains(&key("bytes,u64", &[vec![0x61, 0x00, 0x01].into(), 0_u64.into()])));
}

/// The prefix of user U1 returned the orders of U10 (the composite-key specification as written).
#[test]
fn u1_does_not_match_u10() {
    let fields: Fields = "str,u64".parse().unwrap();
    let span = Native.prefix(&fields, &["U1".into()]).unwrap();
    assert!(span.contains(&key("str,u64", &["U1".into(), u64::MAX.into()])));
    assert!(!span.contains(&key("str,u64", &["U10".into(), 0_u64.into()])));
}

/// Descending strings sorted wrongly when one was a prefix of the other (quickwit PR#6338).
#[test]
fn descending_strings_that_are_prefixes() {
    let sorted =
        ["b", "ab", "a\u{1}", "a\0", "a", ""].map(|text| key("str:desc,bool", &[text.into(), true.into()]));
    assert!(sorted.is_sorted());
}

/// BETWEEN on strings let in what sorts after the upper bound ("2024-01-31x" for a bound of "2024-01-31").
#[test]
fn between_excludes_what_sorts_after_the_bound() {
    let fields: Fields = "str,str".parse().unwrap();
    let (user, low, high) = (Value::from("U1"), Value::from("2024-01-01"), Value::from("2024-01-31"));
    let holds =
        |span: &keyloom_key::Span, day: &str| span.contains(&key("str,str", &["U1".into(), day.into()]));
    let span = Native.range(&fields, std::slice::from_ref(&user), Included(&low), Included(&high)).unwrap();
    assert!(holds(&span, "2024-01-01") && holds(&span, "2024-01-15") && holds(&span, "2024-01-31"));
    assert!(!holds(&span, "2024-01-31x") && !holds(&span, "2024-01-31\0") && !holds(&span, "2024-01"));
    let open = Native.range(&fields, &[user], Excluded(&low), Excluded(&high)).unwrap();
    assert!(!holds(&open, "2024-01-01") && holds(&open, "2024-01-01\0") && !holds(&open, "2024-01-31"));
}

/// Decimals went through a float: 4.6 % of two-digit amounts came back wrong (the composite-key specification).
#[test]
fn every_two_digit_amount_keeps_its_digits() {
    let fields: Fields = "decimal(10,2)".parse().unwrap();
    for cents in 0..100_000 {
        let text = format!("{}.{:02}", cents / 100, cents % 100);
        let bytes = key("decimal(10,2)", &[Value::Decimal(text.parse().unwrap())]);
        let values = Native.decode(&fields, &bytes).unwrap();
        let Value::Decimal(read) = values[0] else { panic!("{values:?}") };
        assert_eq!(read.with_scale(2).as_deref(), Some(text.as_str()));
    }
}
