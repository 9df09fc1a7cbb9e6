//! Numbers: exact on integers and decimals, as the machine does it on floats.

use keyloom_key::{Decimal, Value};

use crate::error::Error;

/// What is done with two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
            Self::Remainder => '%',
        }
    }
}

/// A number of any kind.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    Whole(i128),
    Decimal(Decimal),
    Float(f64),
}

impl Number {
    /// The number that a value is.
    pub(crate) fn of(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Int(number) => Some(Self::Whole((*number).into())),
            Value::Uint(number) => Some(Self::Whole((*number).into())),
            Value::Decimal(number) => Some(Self::Decimal(*number)),
            Value::Float(number) => Some(Self::Float(*number)),
            _ => None,
        }
    }

    pub(crate) fn to_float(self) -> f64 {
        match self {
            // The nearest float, which the standard library finds from text.
            Self::Whole(number) => number.to_string().parse().unwrap_or(f64::NAN),
            Self::Decimal(number) => number.to_string().parse().unwrap_or(f64::NAN),
            Self::Float(number) => number,
        }
    }

    fn to_decimal(self) -> Option<Decimal> {
        match self {
            Self::Whole(number) => Decimal::new(number, 0),
            Self::Decimal(number) => Some(number),
            Self::Float(_) => None,
        }
    }
}

/// The whole number as the narrowest kind that holds it.
pub(crate) fn whole(number: i128) -> Option<Value<'static>> {
    if let Ok(number) = i64::try_from(number) {
        return Some(Value::Int(number));
    }
    match u64::try_from(number) {
        Ok(number) => Some(Value::Uint(number)),
        Err(_) => Decimal::new(number, 0).map(Value::Decimal),
    }
}

/// `a` and `b` put together; null if one of them is, or if it is a division by zero.
pub(crate) fn calculate(operator: Operator, a: &Value<'_>, b: &Value<'_>) -> Result<Value<'static>, Error> {
    if *a == Value::Null || *b == Value::Null {
        return Ok(Value::Null);
    }
    let (Some(x), Some(y)) = (Number::of(a), Number::of(b)) else {
        let reason =
            format!("{} {} {}: only numbers can be calculated with", a.kind(), operator.sign(), b.kind());
        return Err(Error::value(reason));
    };
    match (x, y) {
        (Number::Whole(x), Number::Whole(y)) => wholes(operator, x, y),
        (Number::Float(_), _) | (_, Number::Float(_)) => floats(operator, x.to_float(), y.to_float()),
        (x, y) => {
            let (Some(x), Some(y)) = (x.to_decimal(), y.to_decimal()) else {
                return Err(too_many(operator, &shown(x), &shown(y)));
            };
            decimals(operator, x, y)
        }
    }
}

fn shown(number: Number) -> String {
    match number {
        Number::Whole(number) => number.to_string(),
        Number::Decimal(number) => number.to_string(),
        Number::Float(number) => number.to_string(),
    }
}

fn too_many(operator: Operator, x: &str, y: &str) -> Error {
    let reason = "the result has more than 38 digits: CAST one of them AS DOUBLE to have it rounded";
    Error::value(format!("{x} {} {y}: {reason}", operator.sign()))
}

fn wholes(operator: Operator, x: i128, y: i128) -> Result<Value<'static>, Error> {
    let result = match operator {
        Operator::Add => x.checked_add(y),
        Operator::Subtract => x.checked_sub(y),
        Operator::Multiply => x.checked_mul(y),
        Operator::Divide | Operator::Remainder if y == 0 => return Ok(Value::Null),
        Operator::Divide => x.checked_div(y),
        Operator::Remainder => x.checked_rem(y),
    };
    result.and_then(whole).ok_or_else(|| too_many(operator, &x.to_string(), &y.to_string()))
}

fn floats(operator: Operator, x: f64, y: f64) -> Result<Value<'static>, Error> {
    let result = match operator {
        Operator::Add => x + y,
        Operator::Subtract => x - y,
        Operator::Multiply => x * y,
        Operator::Divide if y == 0.0 => return Ok(Value::Null),
        Operator::Divide => x / y,
        Operator::Remainder => return Err(not_whole()),
    };
    // What is no number has no place in an order.
    Ok(if result.is_nan() { Value::Null } else { Value::Float(result) })
}

fn not_whole() -> Error {
    Error::value("% takes whole numbers: CAST them AS INTEGER")
}

fn decimals(operator: Operator, x: Decimal, y: Decimal) -> Result<Value<'static>, Error> {
    let result = match operator {
        Operator::Add => sum(x, y),
        Operator::Subtract => negated(y).and_then(|y| sum(x, y)),
        Operator::Multiply => {
            let product = x.coefficient().checked_mul(y.coefficient());
            product.and_then(|product| Decimal::new(product, x.exponent() + y.exponent()))
        }
        Operator::Divide if y == Decimal::ZERO => return Ok(Value::Null),
        Operator::Divide => {
            let quotient = quotient(x, y).map(Value::Decimal);
            return quotient.ok_or_else(|| {
                let reason =
                    "the quotient has no end within 38 digits: CAST one of them AS DOUBLE to have it rounded";
                Error::value(format!("{x} / {y}: {reason}"))
            });
        }
        Operator::Remainder => return Err(not_whole()),
    };
    result.map(Value::Decimal).ok_or_else(|| too_many(operator, &x.to_string(), &y.to_string()))
}

pub(crate) fn negated(number: Decimal) -> Option<Decimal> {
    Decimal::new(number.coefficient().checked_neg()?, number.exponent())
}

fn sum(x: Decimal, y: Decimal) -> Option<Decimal> {
    if x == Decimal::ZERO || y == Decimal::ZERO {
        return Some(if x == Decimal::ZERO { y } else { x });
    }
    let exponent = x.exponent().min(y.exponent());
    let raised = |number: Decimal| {
        let places = u32::try_from(number.exponent() - exponent).ok()?;
        number.coefficient().checked_mul(10_i128.checked_pow(places)?)
    };
    Decimal::new(raised(x)?.checked_add(raised(y)?)?, exponent)
}

/// The exact quotient, if it has one: zeros are put behind the dividend until the divisor goes into it.
fn quotient(x: Decimal, y: Decimal) -> Option<Decimal> {
    let (mut dividend, mut exponent) = (x.coefficient(), x.exponent() - y.exponent());
    loop {
        if dividend % y.coefficient() == 0 {
            return Decimal::new(dividend / y.coefficient(), exponent);
        }
        dividend = dividend.checked_mul(10)?;
        exponent -= 1;
    }
}

/// The number with this many digits behind the point, halves away from zero.
pub(crate) fn rounded(number: Decimal, places: i128) -> Option<Decimal> {
    let cut = -i128::from(number.exponent()) - places;
    if cut <= 0 {
        return Some(number);
    }
    let Ok(cut) = u32::try_from(cut) else { return Some(Decimal::ZERO) };
    // A number that is cut by more digits than it can have is less than half of the last one that stays.
    let Some(unit) = 10_i128.checked_pow(cut) else { return Some(Decimal::ZERO) };
    let (kept, lost) = (number.coefficient() / unit, number.coefficient() % unit);
    let up = i128::from(lost.unsigned_abs() >= unit.unsigned_abs() / 2) * number.coefficient().signum();
    Decimal::new(kept.checked_add(up)?, number.exponent().checked_add(i32::try_from(cut).ok()?)?)
}

/// The number without what is behind the point.
pub(crate) fn truncated(number: Decimal) -> Option<i128> {
    match u32::try_from(number.exponent()) {
        Ok(_) => number.scaled(0),
        Err(_) => match 10_i128.checked_pow(number.exponent().unsigned_abs()) {
            Some(unit) => Some(number.coefficient() / unit),
            None => Some(0),
        },
    }
}

#[cfg(test)]
mod tests;
