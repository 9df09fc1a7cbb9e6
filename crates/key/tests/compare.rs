//! Comparing values across kinds, held against the exact digits of every number.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::cmp::Ordering;

use keyloom_key::{Date, Decimal, Duration, Fields, Timestamp, Uuid, Value};
use keyloom_testkit::{hurtful, random};
use proptest::collection::vec;
use proptest::prelude::*;

/// A number as all its digits: negative, those before the point, those behind it.
///
/// Rust prints a float with every digit it has if asked for enough of them.
fn digits(value: &Value<'_>) -> (bool, String, String) {
    let text = match value {
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Float(value) => format!("{value:.1080}"),
        Value::Decimal(value) => {
            let scale = value.exponent().min(0).unsigned_abs();
            value.with_scale(scale).unwrap()
        }
        other => panic!("{other:?} is no number"),
    };
    let (negative, text) = (text.starts_with('-'), text.trim_start_matches('-'));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    (negative && !(whole.is_empty() && fraction.is_empty()), whole.to_owned(), fraction.to_owned())
}

fn by_digits(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    if let (Value::Float(a), Value::Float(b)) = (a, b) {
        return a.partial_cmp(b);
    }
    for (value, order) in [(a, Ordering::Greater), (b, Ordering::Less)] {
        match value {
            Value::Float(value) if value.is_nan() => return None,
            Value::Float(value) if value.is_infinite() => {
                return Some(if *value > 0.0 { order } else { order.reverse() });
            }
            _ => {}
        }
    }
    let ((a_negative, a_whole, a_fraction), (b_negative, b_whole, b_fraction)) = (digits(a), digits(b));
    let longer = a_whole.len().cmp(&b_whole.len());
    let larger = longer.then(a_whole.cmp(&b_whole)).then(a_fraction.cmp(&b_fraction));
    Some(match (a_negative, b_negative) {
        (false, false) => larger,
        (true, true) => larger.reverse(),
        (a, b) => b.cmp(&a),
    })
}

/// A number, and one of another kind that is equal or close.
fn neighbours() -> impl Strategy<Value = (Value<'static>, Value<'static>)> {
    let near =
        |float: f64, steps: i64| Value::Float(f64::from_bits(float.to_bits().wrapping_add_signed(steps)));
    prop_oneof![
        (random::decimal(None), -2_i64..3).prop_map(move |(decimal, steps)| {
            (decimal.into(), near(decimal.to_string().parse().unwrap(), steps))
        }),
        (any::<i64>(), 0_u32..64, -2_i64..3).prop_map(move |(int, shift, steps)| {
            ((int >> shift).into(), near((int >> shift).to_string().parse().unwrap(), steps))
        }),
        (any::<u64>(), 0_u32..64, -2_i64..3).prop_map(move |(int, shift, steps)| {
            ((int >> shift).into(), near((int >> shift).to_string().parse().unwrap(), steps))
        }),
        (any::<i64>(), -2_i128..3, -3_i32..1).prop_map(|(int, add, exponent)| {
            let scale = 10_i128.pow(exponent.unsigned_abs());
            (int.into(), Decimal::new(i128::from(int) * scale + add, exponent).unwrap().into())
        }),
        // Short decimals that are exact floats: halves, quarters, eighths.
        (-5000_i128..5000, -1_i128..2).prop_map(|(eighths, add)| {
            let decimal = Decimal::new(eighths * 125 + add, -3).unwrap();
            (decimal.into(), Value::Float(f64::from(i32::try_from(eighths).unwrap()) / 8.0))
        }),
        (any::<i64>(), any::<u64>()).prop_map(|(a, b)| (a.into(), b.into())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn numbers_compare_by_all_their_digits((a, b) in neighbours()) {
        prop_assert_eq!(a.compare(&b), by_digits(&a, &b));
        prop_assert_eq!(b.compare(&a), by_digits(&b, &a));
    }

    #[test]
    fn two_comparisons_say_the_third(a in value(), b in value(), c in value()) {
        if let (Some(first), Some(second)) = (a.compare(&b), b.compare(&c)) {
            if first == second || second == Ordering::Equal {
                prop_assert_eq!(a.compare(&c), Some(first));
            } else if first == Ordering::Equal {
                prop_assert_eq!(a.compare(&c), Some(second));
            }
        }
        prop_assert_eq!(a.compare(&b), b.compare(&a).map(Ordering::reverse));
    }
}

/// Few values of many kinds, so that some are equal, alone and within lists and maps.
fn value() -> impl Strategy<Value = Value<'static>> {
    let simple = prop::sample::select(vec![
        Value::Null,
        Value::Int(-1),
        Value::Int(1),
        Value::Uint(1),
        Value::Float(1.0),
        Value::Float(0.1),
        Value::Float(f64::NAN),
        Value::Decimal("1".parse().unwrap()),
        Value::Decimal("0.1".parse().unwrap()),
        Value::from("1"),
    ]);
    simple.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::List),
            vec(inner.clone(), 0..3).prop_map(Value::Tuple),
            vec(("[ab]", inner), 0..3).prop_map(Value::map),
        ]
    })
}

#[test]
fn numbers_built_to_hurt_compare_by_all_their_digits() {
    let fields: Fields = "i64,u64,f64,decimal".parse().unwrap();
    let mut numbers: Vec<Value<'_>> = fields.iter().flat_map(|field| hurtful::values(&field.kind)).collect();
    let edges = [2_f64.powi(53), 2_f64.powi(63), 2_f64.powi(64), 1e126, 1e-130, 0.1, f64::NAN];
    numbers.extend(edges.into_iter().flat_map(|edge| [edge, -edge]).map(Value::Float));
    for a in &numbers {
        for b in &numbers {
            assert_eq!(a.compare(b), by_digits(a, b), "{a:?} {b:?}");
        }
    }
}

#[test]
fn other_kinds_compare_with_themselves_alone() {
    let ascending: &[[Value<'_>; 2]] = &[
        [false.into(), true.into()],
        ["U1".into(), "U10".into()],
        [vec![0_u8].into(), vec![0_u8, 0].into()],
        [Uuid::from_u128(1).into(), Uuid::from_u128(2).into()],
        [Timestamp::from_millis(1).into(), Timestamp::from_nanos(1_000_001).into()],
        [Date::from_days(-1).into(), Date::from_days(0).into()],
        [Duration::from_nanos(-1).into(), Duration::from_nanos(0).into()],
        [Value::Tuple(vec![]), Value::Tuple(vec![Value::Null])],
        [Value::list([1_i64]), Value::list([1_i64, 0])],
        [Value::map([("a", 2_i64)]), Value::map([("b", 1_i64)])],
        [Value::Int(1), Value::Float(1.5)],
    ];
    for [low, high] in ascending {
        assert_eq!(low.compare(high), Some(Ordering::Less), "{low:?} {high:?}");
        for [other, _] in ascending {
            assert_eq!(low.compare(other).is_some(), low.kind() == other.kind(), "{low:?} {other:?}");
        }
        assert_eq!(low.compare(&Value::Null), None);
        assert_eq!(Value::Null.compare(low), None);
    }
    assert_eq!(Value::Null.compare(&Value::Null), None);
}

#[test]
fn a_null_within_a_list_counts_only_where_it_is_reached() {
    let list = |first: Value<'static>| Value::list([first, Value::Null]);
    assert_eq!(list(1_i64.into()).compare(&list(1.5.into())), Some(Ordering::Less));
    assert_eq!(list(1_i64.into()).compare(&list(1.0.into())), None);
}

#[test]
fn maps_compare_whatever_the_order_they_stand_in() {
    let map =
        |names: [&'static str; 2]| Value::Map(names.map(|name| (name.into(), Value::from(name))).into());
    assert_eq!(map(["a", "b"]).compare(&map(["b", "a"])), Some(Ordering::Equal));
}
