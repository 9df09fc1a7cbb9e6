//! Decimal numbers of up to 38 digits, compared as numbers.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// A decimal number: up to 38 significant digits, of magnitude 10⁻¹³⁰ to 10¹²⁶, or zero.
///
/// Equal numbers are equal however they were written, and none is ever rounded: text with more digits is
/// an error. (The limits are those of DynamoDB's numbers.)
///
/// ```
/// use keyloom_key::Decimal;
/// let one: Decimal = "1".parse()?;
/// assert_eq!(one, "1.000".parse()?);
/// assert_eq!(one, "10e-1".parse()?);
/// assert_eq!(one.to_string(), "1");
/// assert_eq!(one.with_scale(2).as_deref(), Some("1.00"));
/// # Ok::<(), keyloom_key::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    // coefficient × 10^exponent, without trailing zeros; zero is 0 × 10^0.
    // The coefficient is big-endian bytes: as a number it would make every value, of whatever kind, half as large again.
    coefficient: [u8; 16],
    exponent: i16,
}

/// The most significant digits a decimal has.
pub const MAX_DIGITS: u32 = 38;
/// The least point of `0.d…` × 10^point: 0.1 × 10^-129 is 10^-130.
pub(crate) const POINT_MIN: i32 = -129;
/// The greatest one: every decimal is less than 10^126.
pub(crate) const POINT_MAX: i32 = 126;

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self { coefficient: [0; 16], exponent: 0 };

    /// `coefficient` × 10^`exponent`, if it has at most 38 digits and is within range.
    pub fn new(coefficient: i128, exponent: i32) -> Option<Self> {
        if coefficient == 0 {
            return Some(Self::ZERO);
        }
        let (mut coefficient, mut exponent) = (coefficient, exponent);
        while coefficient % 10 == 0 {
            coefficient /= 10;
            exponent = exponent.checked_add(1)?;
        }
        let digits = coefficient.unsigned_abs().ilog10() + 1;
        let point = exponent.checked_add(i32::try_from(digits).ok()?)?;
        if digits > MAX_DIGITS || !(POINT_MIN..=POINT_MAX).contains(&point) {
            return None;
        }
        Some(Self { coefficient: coefficient.to_be_bytes(), exponent: i16::try_from(exponent).ok()? })
    }

    /// The significant digits as an integer, without trailing zeros.
    pub fn coefficient(self) -> i128 {
        i128::from_be_bytes(self.coefficient)
    }

    /// The power of ten that [`coefficient`](Self::coefficient) is multiplied with.
    pub fn exponent(self) -> i32 {
        i32::from(self.exponent)
    }

    /// How many significant digits there are; zero has none.
    pub fn digits(self) -> u32 {
        self.coefficient().unsigned_abs().checked_ilog10().map_or(0, |log| log + 1)
    }

    /// Where the point stands when the number is written as `0.d…` × 10^point.
    pub(crate) fn point(self) -> i32 {
        self.exponent() + i32::try_from(self.digits()).unwrap_or(0)
    }

    /// The number times 10^`scale`, if that is an integer of 38 digits at most.
    pub fn scaled(self, scale: u32) -> Option<i128> {
        if self.coefficient() == 0 {
            return Some(0);
        }
        let shift = u32::try_from(self.exponent().checked_add(i32::try_from(scale).ok()?)?).ok()?;
        if shift + self.digits() > MAX_DIGITS {
            return None;
        }
        self.coefficient().checked_mul(10_i128.checked_pow(shift)?)
    }

    /// The number as text with exactly `scale` digits after the point, if it has no more than that.
    pub fn with_scale(self, scale: u32) -> Option<String> {
        let shift = u32::try_from(self.exponent().checked_add(i32::try_from(scale).ok()?)?).ok()?;
        let mut text = self.coefficient().unsigned_abs().to_string();
        if self.coefficient() != 0 {
            text.extend(std::iter::repeat_n('0', usize::try_from(shift).ok()?));
        }
        let scale = usize::try_from(scale).ok()?;
        if text.len() <= scale {
            text.insert_str(0, &"0".repeat(scale + 1 - text.len()));
        }
        if scale > 0 {
            text.insert(text.len() - scale, '.');
        }
        if self.coefficient() < 0 {
            text.insert(0, '-');
        }
        Some(text)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (coefficient, exponent) = (self.coefficient(), self.exponent);
        f.debug_struct("Decimal").field("coefficient", &coefficient).field("exponent", &exponent).finish()
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self::new(i128::from(value), 0).unwrap_or(Self::ZERO)
    }
}

impl From<u64> for Decimal {
    fn from(value: u64) -> Self {
        Self::new(i128::from(value), 0).unwrap_or(Self::ZERO)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = self.coefficient().signum();
        if sign != other.coefficient().signum() || sign == 0 {
            return self.coefficient().cmp(&other.coefficient());
        }
        // Same sign: the point decides, then the digits with their first ones aligned.
        let magnitude = self.point().cmp(&other.point()).then_with(|| self.aligned().cmp(&other.aligned()));
        if sign > 0 { magnitude } else { magnitude.reverse() }
    }
}

impl Decimal {
    /// The digits with zeros behind them up to 38.
    fn aligned(self) -> u128 {
        self.coefficient().unsigned_abs() * 10_u128.pow(MAX_DIGITS - self.digits())
    }
}

impl FromStr for Decimal {
    type Err = Error;

    /// Reads `-12.50`, `.5`, `1e-7` and the like.
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |reason: &'static str| Error::text("decimal", text, reason);
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            None => (text, 0_i32),
            Some((mantissa, exponent)) => {
                let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
                if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(wrong("the exponent is not an integer"));
                }
                // An exponent beyond i32 stands for out of range, unless the number is zero.
                let limit = if exponent.starts_with('-') { i32::MIN / 2 } else { i32::MAX / 2 };
                (mantissa, exponent.parse().unwrap_or(limit).clamp(i32::MIN / 2, i32::MAX / 2))
            }
        };
        let (negative, mantissa) = match mantissa.strip_prefix(['+', '-']) {
            Some(rest) => (mantissa.starts_with('-'), rest),
            None => (false, mantissa),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty()
            || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit())
        {
            return Err(wrong("not a number: write it like -12.50 or 1e-7"));
        }
        let mut coefficient = 0_i128;
        let mut digits = 0_u32;
        // Zeros wait until a digit follows them, so that those at the end cost none of the 38.
        let mut zeros = 0_u32;
        let mut exponent = i64::from(exponent);
        for (index, byte) in whole.bytes().chain(fraction.bytes()).enumerate() {
            if index >= whole.len() {
                exponent -= 1;
            }
            if byte == b'0' {
                zeros = zeros.saturating_add(1);
                continue;
            }
            let run = if digits == 0 { 0 } else { zeros };
            digits = digits.saturating_add(run).saturating_add(1);
            if digits > MAX_DIGITS {
                return Err(wrong("more than 38 significant digits"));
            }
            coefficient = coefficient * 10_i128.pow(run + 1) + i128::from(byte - b'0');
            zeros = 0;
        }
        if coefficient == 0 {
            return Ok(Self::ZERO);
        }
        let exponent = i32::try_from(exponent + i64::from(zeros)).map_err(|_| wrong(OUT_OF_RANGE))?;
        Self::new(if negative { -coefficient } else { coefficient }, exponent)
            .ok_or_else(|| wrong(OUT_OF_RANGE))
    }
}

const OUT_OF_RANGE: &str = "out of range: a decimal is zero or of magnitude 1e-130 to 1e126";

impl fmt::Display for Decimal {
    /// The shortest plain text, or an exponent where that would need many zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exponent = self.exponent();
        let scale = u32::try_from(-exponent).unwrap_or(0);
        if (-60..=21).contains(&exponent)
            && let Some(text) = self.with_scale(scale)
        {
            return f.write_str(&text);
        }
        write!(f, "{}e{exponent}", self.coefficient())
    }
}
