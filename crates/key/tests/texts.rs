//! Texts that people write: decimals, times, types. What is read prints the same again.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use keyloom_key::{Date, Decimal, Duration, Fields, Precision, Scale, Timestamp, Width};
use keyloom_testkit::random;
use proptest::prelude::*;

#[track_caller]
fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

#[test]
fn equal_numbers_are_equal_however_they_are_written() {
    for (a, b) in [
        ("1", "1.0"),
        ("1", "1e0"),
        ("1", "+1"),
        ("1", "0.1e1"),
        ("100", "1E2"),
        ("0", "-0.000"),
        ("0", "0e999999999"),
    ] {
        assert_eq!(decimal(a), decimal(b), "{a} {b}");
        assert_eq!(decimal(a).to_string(), decimal(b).to_string());
    }
    assert_eq!(decimal(".5"), decimal("0.5"));
    assert_eq!(decimal("5."), decimal("5"));
}

#[test]
fn decimals_print_plainly_while_that_is_short() {
    for text in [
        "0",
        "-1",
        "0.5",
        "12.34",
        "1000000000000000000000",
        "1e22",
        "-1e-61",
        "99999999999999999999999999999999999999",
        "1e125",
        "1e-130",
    ] {
        assert_eq!(decimal(text).to_string(), text);
    }
}

#[test]
fn decimals_beyond_their_limits_are_errors() {
    let wrong = [
        "",
        ".",
        "-",
        "e5",
        "1e",
        "1e+",
        "1e1.5",
        "--1",
        "1 ",
        "0x1",
        "1_000",
        "١",
        "1e126",
        "1e-131",
        "1e99999999999",
        "123456789012345678901234567890123456789",
    ];
    for text in wrong {
        assert!(text.parse::<Decimal>().is_err(), "{text:?}");
    }
    assert_eq!(
        decimal("999999999999999999999999999999999999990").to_string(),
        "999999999999999999999999999999999999990"
    );
}

#[test]
fn a_declared_scale_brings_the_text_back() {
    let scale = Scale::new(6, 2).unwrap();
    for text in ["0.00", "-0.01", "12.50", "9999.99"] {
        assert!(scale.check(decimal(text)).is_ok(), "{text}");
        assert_eq!(decimal(text).with_scale(2).as_deref(), Some(text));
    }
    for text in ["10000", "0.001", "1e100"] {
        assert!(scale.check(decimal(text)).is_err(), "{text}");
    }
    assert_eq!(decimal("0.001").with_scale(2), None);
    assert_eq!((Scale::new(39, 0), Scale::new(0, 0), Scale::new(2, 3)), (None, None, None));
}

#[test]
fn timestamps_are_instants() {
    let time: Timestamp = "2025-01-17T09:00:00+01:00".parse().unwrap();
    assert_eq!(time, Timestamp::from_millis(1_737_100_800_000));
    assert_eq!(Timestamp::from_millis(1), Timestamp::from_micros(1_000));
    assert!(Timestamp::from_nanos(1) > Timestamp::from_millis(0));
    assert_eq!(
        "9999-12-31T23:59:59.999999Z".parse::<Timestamp>().unwrap().to_string(),
        "9999-12-31T23:59:59.999999Z"
    );
    for text in
        ["", "2025-01-17", "2025-01-17T08:00:00", "2025-02-30T00:00:00Z", "9999-12-31T23:59:59.9999999Z"]
    {
        assert!(text.parse::<Timestamp>().is_err(), "{text}");
    }
}

#[test]
fn timestamps_are_never_rounded_and_never_wrap() {
    let fine = Timestamp::from_nanos(1_001);
    assert!(fine.count(Precision::Micros).is_err());
    assert_eq!(Timestamp::from_nanos(1_000).count(Precision::Micros), Ok(1));
    let far = Timestamp::from_millis(i64::MAX);
    assert!(far.count(Precision::Micros).is_err() && far.count(Precision::Nanos).is_err());
    assert!(far.to_rfc3339().is_none());
}

#[test]
fn dates_and_durations() {
    for text in ["0000-01-01", "1969-12-31", "2024-02-29", "9999-12-31"] {
        assert_eq!(text.parse::<Date>().unwrap().to_string(), text);
    }
    for text in ["2023-02-29", "2024-2-1", "20240201", "-006004-01-10", "2024-02-01T00:00", "2024-02-01 "] {
        assert!(text.parse::<Date>().is_err(), "{text}");
    }
    assert_eq!(Date::from_days(i32::MAX).to_string(), i32::MAX.to_string());
    assert_eq!("1h30m".parse::<Duration>().unwrap(), Duration::from_nanos(5_400_000_000_000));
    assert_eq!("PT1.5S".parse::<Duration>().unwrap().to_string(), "PT1.5S");
    assert!(
        "300y".parse::<Duration>().is_err()
            && "1000000h".parse::<Duration>().is_ok()
            && "9999999h".parse::<Duration>().is_err()
    );
}

#[test]
fn types_that_are_not_are_errors_that_name_those_that_are() {
    for text in [
        "text",
        "i7",
        "u128",
        "f16",
        "decimal(0,0)",
        "decimal(39,0)",
        "decimal(2,3)",
        "timestamp(4)",
        "tuple",
        "tuple(",
        "str(3)",
        "i64:nocase",
        "str:",
        "str::desc",
        "str,,str",
        "é",
    ] {
        assert!(text.parse::<Fields>().is_err(), "{text}");
    }
    let deep = format!("{}str{}", "tuple(".repeat(100_000), ")".repeat(100_000));
    assert!(deep.parse::<Fields>().is_err());
}

#[test]
fn widths_hold_what_their_bits_can() {
    for width in Width::ALL {
        let bits = width.bits();
        let most = u64::MAX >> (64 - bits);
        assert!(width.holds_uint(most) && (bits == 64 || !width.holds_uint(most + 1)), "{bits}");
        let (low, high) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
        assert!(width.holds_int(low) && width.holds_int(high));
        assert!(bits == 64 || !width.holds_int(low - 1) && !width.holds_int(high + 1), "{bits}");
    }
}

proptest! {
    #[test]
    fn decimals_come_back_from_their_text_and_sort_as_numbers(a in random::decimal(None), b in random::decimal(None)) {
        prop_assert_eq!(a.to_string().parse::<Decimal>()?, a);
        // f64 is a rough model: where it tells two numbers apart clearly, so must the decimals.
        let (x, y): (f64, f64) = (a.to_string().parse()?, b.to_string().parse()?);
        if (x - y).abs() > 1e-9 * (x.abs() + y.abs()) {
            prop_assert_eq!(a.cmp(&b), x.total_cmp(&y));
        }
    }

    #[test]
    fn decimals_of_one_scale_sort_as_integers(a in -10_i128.pow(37)..10_i128.pow(37), b in -10_i128.pow(37)..10_i128.pow(37), scale in 0_i32..30) {
        let (x, y) = (Decimal::new(a, -scale).unwrap(), Decimal::new(b, -scale).unwrap());
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
    }
}
