//! Numbers as big-endian bytes that sort as the numbers do. All formats share them.
//!
//! ```text
//! i64    flip the sign bit                       -1  7F FF FF FF FF FF FF FF    0  80 00 00 00 00 00 00 00
//! f64    negative: flip all bits, else the sign  -1  40 0F FF FF FF FF FF FF    0  80 00 00 00 00 00 00 00
//! ```

use crate::error::Refusal;

const SIGN: u64 = 1 << 63;

/// The integer, its sign bit flipped.
#[inline(always)]
pub(crate) fn int(value: i64) -> [u8; 8] {
    (value.cast_unsigned() ^ SIGN).to_be_bytes()
}

/// What [`int`] came from.
#[inline(always)]
pub(crate) fn to_int(bytes: [u8; 8]) -> i64 {
    (u64::from_be_bytes(bytes) ^ SIGN).cast_signed()
}

/// [`int`] with 32 bits.
#[inline(always)]
pub(crate) fn narrow_int(value: i32) -> [u8; 4] {
    (value.cast_unsigned() ^ 1 << 31).to_be_bytes()
}

/// What [`narrow_int`] came from.
#[inline(always)]
pub(crate) fn to_narrow_int(bytes: [u8; 4]) -> i32 {
    (u32::from_be_bytes(bytes) ^ 1 << 31).cast_signed()
}

/// The number's ordered bits; -0.0 is 0.0, NaN is refused.
#[inline(always)]
pub(crate) fn float(value: f64) -> Result<[u8; 8], Refusal> {
    if value.is_nan() {
        return Err(Refusal::new("NaN has no place in an order: use a nullable field and null"));
    }
    // Adding +0.0 turns -0.0 into 0.0 and leaves every other number alone.
    let bits = (value + 0.0).to_bits();
    Ok((if bits & SIGN == 0 { bits ^ SIGN } else { !bits }).to_be_bytes())
}

/// What [`float`] came from, or `None` for bits that it never gives.
#[inline(always)]
pub(crate) fn to_float(bytes: [u8; 8]) -> Option<f64> {
    let bits = u64::from_be_bytes(bytes);
    let value = f64::from_bits(if bits & SIGN == 0 { !bits } else { bits ^ SIGN });
    (float(value) == Ok(bytes)).then_some(value)
}

/// Refuses a number that a 32-bit float does not hold exactly.
pub(crate) fn narrow_float(value: f64) -> Result<f32, Refusal> {
    #[allow(clippy::cast_possible_truncation, reason = "the loss is what is tested")]
    let narrow = value as f32;
    if f64::from(narrow) == value || value.is_nan() {
        return Ok(narrow);
    }
    Err(Refusal::new(format!("{value} is no f32: declare f64")))
}
