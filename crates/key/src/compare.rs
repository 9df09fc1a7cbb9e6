//! Values compared as a query compares them: numbers of every kind as exact numbers, everything else with its own kind.
//!
//! ```
//! use std::cmp::Ordering;
//! use keyloom_key::Value;
//! assert_eq!(Value::Int(7).compare(&Value::Float(7.5)), Some(Ordering::Less));
//! assert_eq!(Value::Uint(u64::MAX).compare(&Value::Float(18446744073709551616.0)), Some(Ordering::Less));
//! assert_eq!(Value::Int(7).compare(&Value::from("7")), None);
//! assert_eq!(Value::Null.compare(&Value::Null), None);
//! ```

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::decimal::Decimal;
use crate::value::Value;

impl Value<'_> {
    /// Compares two values, or says `None` where they have no order: a null, a NaN, or values of different kinds.
    ///
    /// Integers, floats and decimals compare as the numbers they are, without rounding; -0.0 equals 0. Tuples and
    /// lists compare element by element up to the first that differs, then by length; maps as the list of their
    /// names and values, sorted by name. Where two comparisons say less or equal, so does the third of the three
    /// values.
    pub fn compare(&self, other: &Value<'_>) -> Option<Ordering> {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
            (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
            (Value::Uint(a), Value::Uint(b)) => Some(a.cmp(b)),
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
            (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
            (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
            (Value::Uuid(a), Value::Uuid(b)) => Some(a.cmp(b)),
            (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
            (Value::Date(a), Value::Date(b)) => Some(a.cmp(b)),
            (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
            (Value::Tuple(a), Value::Tuple(b)) | (Value::List(a), Value::List(b)) => {
                rows(a.iter(), b.iter(), Value::compare)
            }
            (Value::Map(a), Value::Map(b)) => {
                rows(sorted(a).into_iter(), sorted(b).into_iter(), |(name, a), (other, b)| {
                    match name.cmp(other) {
                        Ordering::Equal => a.compare(b),
                        unequal => Some(unequal),
                    }
                })
            }
            (a, b) => Number::of(a)?.compare(Number::of(b)?),
        }
    }
}

/// Compares element by element, then by length.
fn rows<T>(
    a: impl ExactSizeIterator<Item = T>,
    b: impl ExactSizeIterator<Item = T>,
    compare: impl Fn(T, T) -> Option<Ordering>,
) -> Option<Ordering> {
    let lengths = a.len().cmp(&b.len());
    for (a, b) in a.zip(b) {
        match compare(a, b)? {
            Ordering::Equal => {}
            unequal => return Some(unequal),
        }
    }
    Some(lengths)
}

fn sorted<'a, 'v>(map: &'a [(Cow<'v, str>, Value<'v>)]) -> Vec<&'a (Cow<'v, str>, Value<'v>)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    entries
}

/// A number of any kind.
#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Float(f64),
    Decimal(Decimal),
}

impl Number {
    fn of(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Int(value) => Some(Self::Whole(i128::from(*value))),
            Value::Uint(value) => Some(Self::Whole(i128::from(*value))),
            Value::Float(value) => Some(Self::Float(*value)),
            Value::Decimal(value) => Some(Self::Decimal(*value)),
            _ => None,
        }
    }

    fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => Some(a.cmp(&b)),
            (Self::Decimal(a), Self::Decimal(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Whole(a), Self::Float(b)) => exact(a, 0, b),
            (Self::Decimal(a), Self::Float(b)) => exact(a.coefficient(), a.exponent(), b),
            (Self::Whole(a), Self::Decimal(b)) => Some(Decimal::new(a, 0)?.cmp(&b)),
            (a, b) => b.compare(a).map(Ordering::reverse),
        }
    }
}

/// Compares `coefficient` × 10^`exponent` with a float, which is an integer times a power of two.
fn exact(coefficient: i128, exponent: i32, float: f64) -> Option<Ordering> {
    let sign = float.partial_cmp(&0.0)?;
    let signs = coefficient.cmp(&0).cmp(&sign);
    if signs.is_ne() || coefficient == 0 {
        return Some(signs);
    }
    if float.is_infinite() {
        return Some(sign.reverse());
    }
    let (mantissa, power) = binary(float);
    // Multiply both sides until no exponent is negative.
    let mut a = Wide::new(coefficient.unsigned_abs());
    let mut b = Wide::new(u128::from(mantissa));
    if exponent > 0 { &mut a } else { &mut b }.multiply(10, exponent.unsigned_abs());
    if power > 0 { &mut b } else { &mut a }.multiply(2, power.unsigned_abs());
    let magnitudes = a.cmp(&b);
    Some(if coefficient > 0 { magnitudes } else { magnitudes.reverse() })
}

/// The magnitude of a finite float other than zero as an odd integer and a power of two.
fn binary(float: f64) -> (u64, i32) {
    const FRACTION: u32 = 52;
    let bits = float.abs().to_bits();
    let fraction = bits & ((1 << FRACTION) - 1);
    let exponent = i32::try_from(bits >> FRACTION).unwrap_or(0);
    // Below the least exponent numbers have no leading one.
    let mantissa = if exponent == 0 { fraction } else { fraction | 1 << FRACTION };
    let zeros = mantissa.trailing_zeros();
    (mantissa >> zeros, exponent.max(1) - 1075 + zeros.cast_signed())
}

/// An integer of up to 1,664 bits, which holds either side of every comparison: at most
/// 10³⁸ × 10¹²⁵ × 2¹⁰⁷⁴ or 2⁵³ × 2⁹⁷¹ × 10¹⁶⁷.
struct Wide {
    /// The least significant first; those behind `used` are zero.
    digits: [u64; Self::DIGITS],
    used: usize,
}

impl Wide {
    const DIGITS: usize = 26;

    #[allow(clippy::cast_possible_truncation, reason = "each half is a digit")]
    fn new(value: u128) -> Self {
        let mut digits = [0; Self::DIGITS];
        let [low, high, ..] = &mut digits;
        (*low, *high) = (value as u64, (value >> 64) as u64);
        Self { digits, used: 2 }
    }

    /// Multiplies with `base`^`power`, as many at a time as go into 64 bits.
    fn multiply(&mut self, base: u64, power: u32) {
        let most = u64::MAX.ilog(base);
        let mut left = power;
        while left > 0 {
            let step = left.min(most);
            self.times(base.pow(step));
            left -= step;
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "the low half is the digit, the high half is carried")]
    fn times(&mut self, factor: u64) {
        let mut carry = 0_u128;
        for digit in self.digits.iter_mut().take(self.used) {
            let product = u128::from(*digit) * u128::from(factor) + carry;
            *digit = product as u64;
            carry = product >> 64;
        }
        if let (Some(place), true) = (self.digits.get_mut(self.used), carry != 0) {
            *place = carry as u64;
            self.used += 1;
        }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        self.digits.iter().rev().cmp(other.digits.iter().rev())
    }
}
