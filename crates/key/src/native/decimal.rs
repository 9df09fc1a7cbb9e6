//! Decimals: an exponent, then two digits a byte.
//!
//! ```text
//!  1234.56 = 0.12 34 56 × 100²    │C2│19│45│70│
//! -1234.56                        │3D│E6│BA│8F│   every byte complemented
//!  0                              │80│00│
//! ```
//!
//! A positive number is `0.d₁d₂d₃… × 100^e` with the first pair of digits not zero. The first byte is
//! `C0 + e`, e from -64 to 63. Each pair d is the byte `2d + 1`, the last one `2d`: a number that goes on sorts
//! after the one that ends there, and the end is seen without a mark. Equal numbers have the same pairs.

use crate::decimal::Decimal;

/// The most bytes a decimal takes: the exponent, and 38 digits that straddle 20 pairs.
pub(crate) const MAX_BYTES: usize = 21;

const EXPONENT_ZERO: i32 = 0xC0;
const ZERO: [u8; 2] = [0x80, 0x00];

/// The decimal's bytes: an array and how many of it count.
pub(crate) fn encode(value: Decimal) -> ([u8; MAX_BYTES], usize) {
    let mut bytes = [0; MAX_BYTES];
    let Some(layout) = Layout::of(value) else {
        bytes.iter_mut().zip(ZERO).for_each(|(to, from)| *to = from);
        return (bytes, ZERO.len());
    };
    let flip = if value.coefficient() < 0 { 0xFF } else { 0x00 };
    let mut rest = value.coefficient().unsigned_abs();
    // The last pair, padded here because 39 digits would not fit.
    let mut pair = if layout.trailing_zero { rest % 10 * 10 } else { rest % 100 };
    rest /= if layout.trailing_zero { 10 } else { 100 };
    let mut more = 0;
    for byte in bytes.iter_mut().take(layout.pairs + 1).skip(1).rev() {
        *byte = (2 * u8::try_from(pair).unwrap_or(0) + more) ^ flip;
        more = 1;
        pair = rest % 100;
        rest /= 100;
    }
    if let Some(first) = bytes.first_mut() {
        *first = layout.header ^ flip;
    }
    (bytes, layout.pairs + 1)
}

/// How the digits of a number other than zero lie on pairs.
struct Layout {
    header: u8,
    pairs: usize,
    trailing_zero: bool,
}

impl Layout {
    fn of(value: Decimal) -> Option<Self> {
        let digits = value.digits();
        if digits == 0 {
            return None;
        }
        // A point after an odd number of digits makes the first pair `0d`.
        let point = value.point();
        let lead = point.rem_euclid(2).unsigned_abs();
        let exponent = point.div_euclid(2) + point.rem_euclid(2);
        Some(Self {
            header: u8::try_from(EXPONENT_ZERO + exponent).ok()?,
            pairs: usize::try_from((lead + digits).div_ceil(2)).ok()?,
            trailing_zero: (lead + digits) % 2 == 1,
        })
    }
}

/// Reads a decimal from the front of `input` and says how many bytes it took.
///
/// On failure, the offset of what is wrong: only the bytes that `encode` gives are read.
pub(crate) fn decode(input: &[u8], flip: u8) -> Result<(Decimal, usize), usize> {
    let (first, pairs) = input.split_first().ok_or(0_usize)?;
    let first = first ^ flip;
    let negative = first < ZERO[0];
    let flip = if negative { !flip } else { flip };
    let header = if negative { !first } else { first };
    let mut coefficient = 0_i128;
    let mut exponent = 2 * (i32::from(header) - EXPONENT_ZERO);
    let mut taken = 1;
    loop {
        let byte = pairs.get(taken - 1).ok_or(taken)? ^ flip;
        let (pair, last) = (i128::from(byte / 2), byte % 2 == 0);
        // A zero at the end is no digit: with it, 38 digits could be 39 and not fit.
        let (factor, pair) = if last && pair % 10 == 0 { (10, pair / 10) } else { (100, pair) };
        coefficient = coefficient.checked_mul(factor).and_then(|c| c.checked_add(pair)).ok_or(taken)?;
        exponent -= if factor == 10 { 1 } else { 2 };
        taken += 1;
        if last {
            break;
        }
    }
    let value = Decimal::new(if negative { -coefficient } else { coefficient }, exponent).ok_or(0_usize)?;
    // A number has one spelling; leading or trailing zero pairs would give it another.
    let (bytes, len) = encode(value);
    let flip = if negative { !flip } else { flip };
    let same = len == taken && bytes.iter().zip(input).take(len).all(|(a, b)| *a == b ^ flip);
    if same { Ok((value, taken)) } else { Err(0) }
}
