//! Arithmetic against wider arithmetic.

use proptest::prelude::*;

use super::*;

fn decimal(coefficient: i64, exponent: i32) -> Decimal {
    Decimal::new(coefficient.into(), exponent).unwrap()
}

/// `number` in units of 10^-12.
fn units(number: Decimal) -> i128 {
    number.scaled(12).unwrap()
}

fn calculated(operator: Operator, a: Decimal, b: Decimal) -> Value<'static> {
    calculate(operator, &Value::Decimal(a), &Value::Decimal(b)).unwrap()
}

proptest! {
    #[test]
    fn sums_and_products_of_decimals_are_exact(
        a in -1_000_000_000_i64..1_000_000_000, x in -6..=3_i32,
        b in -1_000_000_000_i64..1_000_000_000, y in -6..=3_i32,
    ) {
        let (a, b) = (decimal(a, x), decimal(b, y));
        let number = |value: Value<'static>| match value {
            Value::Decimal(number) => number,
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(units(number(calculated(Operator::Add, a, b))), units(a) + units(b));
        prop_assert_eq!(units(number(calculated(Operator::Subtract, a, b))), units(a) - units(b));
        let product = number(calculated(Operator::Multiply, a, b));
        prop_assert_eq!(units(product), a.scaled(6).unwrap() * b.scaled(6).unwrap());
    }

    #[test]
    fn a_quotient_times_its_divisor_is_the_dividend(a in any::<i64>(), b in any::<i64>(), x in -20..20_i32) {
        let (a, b) = (decimal(a, x), decimal(b, 0));
        match calculate(Operator::Divide, &Value::Decimal(a), &Value::Decimal(b)) {
            Ok(Value::Decimal(quotient)) => match calculate(Operator::Multiply, &Value::Decimal(quotient), &Value::Decimal(b)) {
                Ok(product) => prop_assert_eq!(product, Value::Decimal(a)),
                // The product of the digits was too long on its way.
                Err(error) => prop_assert!(error.to_string().contains("38 digits")),
            },
            Ok(null) => prop_assert!(null == Value::Null && b == Decimal::ZERO),
            Err(error) => prop_assert!(error.to_string().contains("no end")),
        }
    }

    #[test]
    fn integers_do_not_wrap(a in any::<i64>(), b in any::<i64>()) {
        let (x, y) = (i128::from(a), i128::from(b));
        let of = |operator| calculate(operator, &Value::Int(a), &Value::Int(b)).unwrap();
        prop_assert_eq!(of(Operator::Add), whole(x + y).unwrap());
        prop_assert_eq!(of(Operator::Subtract), whole(x - y).unwrap());
        prop_assert_eq!(of(Operator::Multiply), whole(x * y).unwrap());
        if y != 0 {
            prop_assert_eq!(of(Operator::Divide), whole(x / y).unwrap());
            prop_assert_eq!(of(Operator::Remainder), whole(x % y).unwrap());
        }
    }

    #[test]
    fn rounding_is_to_the_nearest(coefficient in any::<i64>(), exponent in -25..5_i32, places in 0..12_u32) {
        let number = decimal(coefficient, exponent);
        let near = rounded(number, places.into()).unwrap();
        prop_assert!(near.scaled(places).is_some(), "{near} has more than {places} digits behind the point");
        let Ok(Value::Decimal(off)) = calculate(Operator::Subtract, &Value::Decimal(near), &Value::Decimal(number)) else {
            return Err(TestCaseError::reject("too long to be checked"));
        };
        let half = Decimal::new(5, -i32::try_from(places).unwrap() - 1).unwrap();
        prop_assert!(off <= half && negated(off).unwrap() <= half, "{number} to {near}");
    }
}

#[test]
fn halves_go_away_from_zero() {
    for (number, places, near) in
        [("2.5", 0, "3"), ("-2.5", 0, "-3"), ("0.05", 1, "0.1"), ("1e-100", 3, "0"), ("12", 3, "12")]
    {
        assert_eq!(rounded(number.parse().unwrap(), places).unwrap(), near.parse().unwrap(), "{number}");
    }
}

#[test]
fn numbers_are_cut_toward_zero() {
    for (number, cut) in [("2.9", 2), ("-2.9", -2), ("1e3", 1000), ("1e-100", 0), ("0", 0)] {
        assert_eq!(truncated(number.parse().unwrap()), Some(cut), "{number}");
    }
    assert_eq!(truncated("1e100".parse().unwrap()), None);
}

#[test]
fn the_ends_of_the_integers() {
    let least = Value::Int(i64::MIN);
    assert_eq!(calculate(Operator::Divide, &least, &Value::Int(-1)).unwrap(), Value::Uint(1 << 63));
    assert_eq!(calculate(Operator::Remainder, &least, &Value::Int(-1)).unwrap(), Value::Int(0));
    let most = Value::Uint(u64::MAX);
    assert!(calculate(Operator::Multiply, &most, &most).is_err());
    assert_eq!(calculate(Operator::Divide, &Value::Float(1.0), &Value::Int(0)).unwrap(), Value::Null);
}
