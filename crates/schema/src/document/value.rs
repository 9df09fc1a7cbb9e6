//! One value: a tag, then its bytes, whose length is known from outside.
//!
//! ```text
//! null  │00│                 -1   │03│FF│               "ab"       │08│61│62│
//! true  │02│                 300  │03│01│2C│            ["ab", 7]  │0F│03│08│61│62│02│03│07│
//! 0     │03│                 1.5  │05│3F│F8│00│00│00│00│00│00│
//! ```
//!
//! Before each element of a tuple or a list stands its length, before each entry of a map those of its name and value.

use std::borrow::Cow;

use keyloom_key::{Date, Decimal, Duration, Timestamp, Uuid, Value};

use super::varint;
use crate::error::Error;

/// How many tuples, lists and maps may stand one inside the other.
pub const MAX_DEPTH: usize = 64;

const TOO_DEEP: &str = "tuples, lists and maps nest at most 64 deep";

const NULL: u8 = 0x00;
const FALSE: u8 = 0x01;
const TRUE: u8 = 0x02;
const INT: u8 = 0x03;
const UINT: u8 = 0x04;
const FLOAT: u8 = 0x05;
const DECIMAL: u8 = 0x06;
const BYTES: u8 = 0x07;
const STR: u8 = 0x08;
const UUID: u8 = 0x09;
const TIMESTAMP: u8 = 0x0A;
const DATE: u8 = 0x0B;
const DURATION: u8 = 0x0C;
// 0D is free.
const TUPLE: u8 = 0x0E;
const LIST: u8 = 0x0F;
const MAP: u8 = 0x10;

/// Every NaN is written as this one.
const NAN: u64 = 0x7FF8_0000_0000_0000;

type Refused = Cow<'static, str>;

/// Appends the value, or says why it cannot be written.
#[inline]
pub(super) fn write(value: &Value<'_>, depth: usize, out: &mut Vec<u8>) -> Result<(), Refused> {
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Int(value) => write_int(INT, *value, out),
        Value::Uint(value) => {
            let zeros = value.leading_zeros() / 8;
            write_end(UINT, value.to_be_bytes(), zeros, out);
        }
        Value::Float(value) => {
            let bits = if value.is_nan() { NAN } else { value.to_bits() };
            write_end(FLOAT, bits.to_be_bytes(), 0, out);
        }
        Value::Decimal(value) => write_decimal(*value, out),
        Value::Str(text) => {
            out.push(STR);
            out.extend_from_slice(text.as_bytes());
        }
        Value::Bytes(bytes) => {
            out.push(BYTES);
            out.extend_from_slice(bytes);
        }
        Value::Uuid(uuid) => {
            out.push(UUID);
            out.extend_from_slice(uuid.as_bytes());
        }
        Value::Timestamp(time) => {
            let nanos = time.total_nanos();
            match i64::try_from(nanos) {
                Ok(nanos) => write_int(TIMESTAMP, nanos, out),
                Err(_) => {
                    out.push(TIMESTAMP);
                    write_wide(nanos, out);
                }
            }
        }
        Value::Date(date) => write_int(DATE, i64::from(date.days()), out),
        Value::Duration(duration) => write_int(DURATION, duration.nanos(), out),
        nested => write_nested(nested, depth, out)?,
    }
    Ok(())
}

fn write_nested(value: &Value<'_>, depth: usize, out: &mut Vec<u8>) -> Result<(), Refused> {
    if depth >= MAX_DEPTH {
        return Err(format!("{TOO_DEEP}: keep the inner part as text").into());
    }
    let tag = match value {
        Value::Tuple(_) => TUPLE,
        Value::List(_) => LIST,
        _ => MAP,
    };
    out.push(tag);
    match value {
        Value::Tuple(values) | Value::List(values) => {
            values.iter().try_for_each(|value| write_sized(value, depth, out))
        }
        Value::Map(entries) if entries.is_sorted_by(|(a, _), (b, _)| a < b) => {
            entries.iter().try_for_each(|entry| write_entry(entry, depth, out))
        }
        Value::Map(entries) => {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
            for (entry, next) in sorted.iter().zip(sorted.iter().skip(1)) {
                if entry.0 == next.0 {
                    return Err(format!("a map has the name `{}` twice: keep one of them", entry.0).into());
                }
            }
            sorted.into_iter().try_for_each(|entry| write_entry(entry, depth, out))
        }
        // A kind that a later version of the key crate may bring.
        other => Err(format!("a value of type {} cannot be stored", other.kind()).into()),
    }
}

fn write_entry(entry: &(Cow<'_, str>, Value<'_>), depth: usize, out: &mut Vec<u8>) -> Result<(), Refused> {
    let (name, value) = entry;
    varint::write(name.len(), out);
    out.extend_from_slice(name.as_bytes());
    write_sized(value, depth, out)
}

/// Appends the value with its length before it.
fn write_sized(value: &Value<'_>, depth: usize, out: &mut Vec<u8>) -> Result<(), Refused> {
    let at = out.len();
    // Most lengths take one byte; a longer one makes room for itself afterwards.
    out.push(0);
    write(value, depth + 1, out)?;
    varint::write_at(at, out);
    Ok(())
}

/// Appends a tag and an integer in as few bytes as it takes.
#[inline]
fn write_int(tag: u8, value: i64, out: &mut Vec<u8>) {
    write_end(tag, value.to_be_bytes(), 8 - int_len(value), out);
}

/// Appends a tag and the bytes behind the first `skipped`.
#[inline]
fn write_end(tag: u8, bytes: [u8; 8], skipped: u32, out: &mut Vec<u8>) {
    // One append of a fixed size and a cut are faster than an append of any size.
    let bits = u64::from_be_bytes(bytes).checked_shl(skipped * 8).unwrap_or(0).to_be_bytes();
    let [a, b, c, d, e, f, g, h] = bits;
    let end = out.len() + 9;
    out.extend_from_slice(&[tag, a, b, c, d, e, f, g, h]);
    out.truncate(end.saturating_sub(usize::try_from(skipped).unwrap_or(0)));
}

/// How many bytes an integer takes: none for zero.
#[inline]
fn int_len(value: i64) -> u32 {
    if value == 0 {
        return 0;
    }
    // The bits that differ from the sign, and one for the sign itself.
    (65 - (value ^ (value >> 63)).leading_zeros()).div_ceil(8)
}

fn wide_len(value: i128) -> u32 {
    if value == 0 {
        return 0;
    }
    (129 - (value ^ (value >> 127)).leading_zeros()).div_ceil(8)
}

fn write_wide(value: i128, out: &mut Vec<u8>) {
    let skipped = usize::try_from(16 - wide_len(value)).unwrap_or(0);
    out.extend_from_slice(value.to_be_bytes().get(skipped..).unwrap_or_default());
}

/// Zero is nothing; else the exponent as a varint, its sign in the lowest bit, then the coefficient.
fn write_decimal(value: Decimal, out: &mut Vec<u8>) {
    out.push(DECIMAL);
    if value.coefficient() == 0 {
        return;
    }
    let exponent = value.exponent();
    varint::write(usize::try_from((exponent << 1 ^ exponent >> 31).unsigned_abs()).unwrap_or(0), out);
    write_wide(value.coefficient(), out);
}

/// Reads the value that these bytes are, all of them. `at` is where they begin, for errors.
pub(super) fn read(bytes: &[u8], at: usize, depth: usize) -> Result<Value<'_>, Error> {
    let Some((&tag, rest)) = bytes.split_first() else {
        return Err(Error::bytes(at, "a value without a tag"));
    };
    Ok(match tag {
        STR => Value::Str(Cow::Borrowed(text(rest, at + 1)?)),
        INT => Value::Int(read_int(rest, at)?),
        UINT => Value::Uint(read_uint(rest, at)?),
        FLOAT => Value::Float(read_float(rest, at)?),
        BYTES => Value::Bytes(Cow::Borrowed(rest)),
        TIMESTAMP => Value::Timestamp(read_timestamp(rest, at)?),
        DATE => {
            let days = i32::try_from(read_int(rest, at)?);
            Value::Date(Date::from_days(days.map_err(|_| Error::bytes(at, "a date beyond 32 bits of days"))?))
        }
        DURATION => Value::Duration(Duration::from_nanos(read_int(rest, at)?)),
        UUID => match rest.try_into() {
            Ok(bytes) => Value::Uuid(Uuid::from_bytes(bytes)),
            Err(_) => return Err(Error::bytes(at, "a uuid has 16 bytes")),
        },
        DECIMAL => Value::Decimal(read_decimal(rest, at)?),
        NULL | FALSE | TRUE if !rest.is_empty() => {
            return Err(Error::bytes(at + 1, "bytes behind a value that has none"));
        }
        NULL => Value::Null,
        FALSE => Value::Bool(false),
        TRUE => Value::Bool(true),
        _ => read_nested(tag, rest, at, depth)?,
    })
}

/// Reads a value if it is text or an integer, and nothing is wrong with it.
#[inline(always)]
pub(super) fn read_plain(bytes: &[u8]) -> Option<Value<'_>> {
    match bytes.split_first()? {
        (&STR, text) => simdutf8::basic::from_utf8(text).ok().map(|text| Value::Str(Cow::Borrowed(text))),
        (&INT, bytes) => int(bytes).map(Value::Int),
        _ => None,
    }
}

pub(super) fn text(bytes: &[u8], at: usize) -> Result<&str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|error| Error::bytes(at + error.valid_up_to(), "text that is not UTF-8"))
}

#[inline]
fn read_int(bytes: &[u8], at: usize) -> Result<i64, Error> {
    int(bytes).ok_or_else(|| Error::bytes(at, "an integer that is not in as few bytes as it takes"))
}

/// The integer that these bytes are; `None` if they are more than it takes.
#[inline]
fn int(bytes: &[u8]) -> Option<i64> {
    // The sign comes down from the top as the shift brings the bytes to their place.
    let value = leading(bytes).cast_signed().checked_shr(unused_bits(bytes)).unwrap_or(0);
    (usize::try_from(int_len(value)) == Ok(bytes.len())).then_some(value)
}

#[inline]
fn read_uint(bytes: &[u8], at: usize) -> Result<u64, Error> {
    if bytes.len() > 8 || bytes.first() == Some(&0) {
        return Err(Error::bytes(at, "an integer that is not in as few bytes as it takes"));
    }
    Ok(leading(bytes).checked_shr(unused_bits(bytes)).unwrap_or(0))
}

/// The first eight bytes, or what there is of them, as the upper bytes of an integer.
#[inline]
fn leading(bytes: &[u8]) -> u64 {
    let unused = unused_bits(bytes);
    // Two words that overlap, which costs less than a byte at a time.
    if let Some(bytes) = bytes.first_chunk() {
        u64::from_be_bytes(*bytes)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u64::from(u32::from_be_bytes(*first)) << 32 | u64::from(u32::from_be_bytes(*last)) << unused
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u64::from(u16::from_be_bytes(*first)) << 48 | u64::from(u16::from_be_bytes(*last)) << unused
    } else {
        bytes.first().map_or(0, |byte| u64::from(*byte) << 56)
    }
}

#[inline]
fn unused_bits(bytes: &[u8]) -> u32 {
    u32::try_from(8_usize.saturating_sub(bytes.len()) * 8).unwrap_or(0)
}

fn read_wide(bytes: &[u8], at: usize) -> Result<i128, Error> {
    let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) { -1 } else { 0 };
    let value = bytes.iter().take(16).fold(sign, |value, &byte| value << 8 | i128::from(byte));
    if usize::try_from(wide_len(value)) != Ok(bytes.len()) {
        return Err(Error::bytes(at, "an integer that is not in as few bytes as it takes"));
    }
    Ok(value)
}

fn read_float(bytes: &[u8], at: usize) -> Result<f64, Error> {
    let bits = bytes.try_into().map_err(|_| Error::bytes(at, "an f64 has 8 bytes"))?;
    let value = f64::from_bits(u64::from_be_bytes(bits));
    if value.is_nan() && value.to_bits() != NAN {
        return Err(Error::bytes(at, "a NaN other than 7FF8000000000000"));
    }
    Ok(value)
}

fn read_timestamp(bytes: &[u8], at: usize) -> Result<Timestamp, Error> {
    if bytes.len() <= 8 {
        return Ok(Timestamp::from_nanos(read_int(bytes, at)?));
    }
    Timestamp::from_total_nanos(read_wide(bytes, at)?)
        .map_err(|_| Error::bytes(at, "an instant that no timestamp reaches"))
}

fn read_decimal(bytes: &[u8], at: usize) -> Result<Decimal, Error> {
    if bytes.is_empty() {
        return Ok(Decimal::ZERO);
    }
    let (exponent, digits) = varint::read(bytes, at + 1)?;
    let coefficient = read_wide(digits, at)?;
    let exponent = i32::try_from(exponent).map_err(|_| Error::bytes(at, "no such exponent"))?;
    let exponent = exponent >> 1 ^ -(exponent & 1);
    // Decimals are kept without zeros at the end, and so must the bytes be.
    Decimal::new(coefficient, exponent)
        .filter(|value| {
            value.coefficient() == coefficient && value.exponent() == exponent && coefficient != 0
        })
        .ok_or_else(|| Error::bytes(at, "a decimal with zeros at its end, too many digits, or out of range"))
}

fn read_nested(tag: u8, bytes: &[u8], at: usize, depth: usize) -> Result<Value<'_>, Error> {
    if !(TUPLE..=MAP).contains(&tag) {
        return Err(Error::bytes(at, format!("no kind of value has the tag {tag:02X}")));
    }
    if depth >= MAX_DEPTH {
        return Err(Error::bytes(at, TOO_DEEP));
    }
    let end = at + 1 + bytes.len();
    let mut rest = bytes;
    if tag == MAP {
        let mut entries: Vec<(Cow<'_, str>, Value<'_>)> = Vec::new();
        while !rest.is_empty() {
            let at = end - rest.len();
            let (name, behind) = sized(rest, at)?;
            let name = text(name, end - behind.len() - name.len())?;
            if entries.last().is_some_and(|(last, _)| **last >= *name) {
                return Err(Error::bytes(at, "names of a map that are not in order, each once"));
            }
            let (value, behind) = sized(behind, end - behind.len())?;
            entries.push((name.into(), read(value, end - behind.len() - value.len(), depth + 1)?));
            rest = behind;
        }
        return Ok(Value::Map(entries));
    }
    let mut values = Vec::new();
    while !rest.is_empty() {
        let (value, behind) = sized(rest, end - rest.len())?;
        values.push(read(value, end - behind.len() - value.len(), depth + 1)?);
        rest = behind;
    }
    Ok(if tag == TUPLE { Value::Tuple(values) } else { Value::List(values) })
}

/// Splits off the bytes whose length stands before them.
fn sized(bytes: &[u8], at: usize) -> Result<(&[u8], &[u8]), Error> {
    let (length, rest) = varint::read(bytes, at)?;
    rest.split_at_checked(length)
        .ok_or_else(|| Error::bytes(at, format!("a length of {length} where {} bytes are left", rest.len())))
}
