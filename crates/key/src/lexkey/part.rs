//! One value as bytes, and back. What joins the values is the [format](super)'s.

use std::borrow::Cow;

use uuid::Uuid;

use super::{END, LexKey, SEPARATOR};
use crate::error::{Error, Refusal};
use crate::field::{Field, Type, Width};
use crate::native::mismatch;
use crate::numbers;
use crate::time::{Duration, Precision, Timestamp};
use crate::value::Value;

/// The bytes of one value. Their number is in the type, so that a fixed width is an array and no slice.
pub(super) enum Part<'v> {
    One([u8; 1]),
    Two([u8; 2]),
    Four([u8; 4]),
    Eight([u8; 8]),
    Text(&'v [u8]),
}

impl Part<'_> {
    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::One(bytes) => bytes,
            Self::Two(bytes) => bytes,
            Self::Four(bytes) => bytes,
            Self::Eight(bytes) => bytes,
            Self::Text(bytes) => bytes,
        }
    }
}

const SIGN_32: u32 = 1 << 31;

impl LexKey {
    /// The bytes of `value` in `field`, which the format holds.
    pub(super) fn part<'v>(&self, field: &Field, value: &'v Value<'_>) -> Result<Part<'v>, Refusal> {
        Ok(match (&field.kind, value) {
            (Type::Null, Value::Null) => Part::One([SEPARATOR]),
            (Type::End, Value::Null) => Part::One([END]),
            (_, Value::Null) if field.nulls.is_some() => Part::One([SEPARATOR]),
            (_, Value::Null) => return Err(Refusal::new("null, but the field is not nullable")),
            (Type::Bool, Value::Bool(value)) => Part::One([u8::from(*value)]),
            (Type::Int(width), Value::Int(value)) => {
                self.int(*width, *value).ok_or_else(|| misfit(value, field))?
            }
            (Type::Uint(width), Value::Uint(value)) => {
                self.uint(*width, *value).ok_or_else(|| misfit(value, field))?
            }
            (Type::F64, Value::Float(value)) => Part::Eight(self.float(*value)?),
            (Type::F32, Value::Float(value)) => {
                let narrow = numbers::narrow_float(*value)?;
                let wide = self.float(*value)?;
                if self.legacy {
                    Part::Four(self.narrow_float(narrow).to_be_bytes())
                } else {
                    Part::Eight(wide)
                }
            }
            (Type::Str(_), Value::Str(value)) => self.text(value.as_bytes())?,
            (Type::Bytes, Value::Bytes(value)) => self.text(value)?,
            (Type::Uuid, Value::Uuid(value)) => Part::Text(value.as_bytes()),
            (Type::Timestamp(_), Value::Timestamp(value)) => {
                let nanos = value.count(Precision::Nanos).map_err(|_| {
                    Refusal::new(format!(
                        "timestamp {value} is outside 1677-09-21 … 2262-04-11, which is as far as LexKey's \
                         nanoseconds reach: use the native format"
                    ))
                })?;
                Part::Eight(numbers::int(nanos))
            }
            (Type::Duration, Value::Duration(value)) => Part::Eight(numbers::int(value.nanos())),
            (kind, value) => return Err(mismatch(kind, value)),
        })
    }

    fn int(&self, width: Width, value: i64) -> Option<Part<'static>> {
        Some(match width {
            Width::W16 if self.legacy => {
                Part::Two((i16::try_from(value).ok()?.cast_unsigned() ^ (1 << 15)).to_be_bytes())
            }
            Width::W32 if self.legacy => Part::Four(numbers::narrow_int(i32::try_from(value).ok()?)),
            _ if !width.holds_int(value) => return None,
            _ => Part::Eight(numbers::int(value)),
        })
    }

    fn uint(&self, width: Width, value: u64) -> Option<Part<'static>> {
        Some(match width {
            Width::W8 if self.legacy => Part::One(u8::try_from(value).ok()?.to_be_bytes()),
            Width::W16 if self.legacy => Part::Two(u16::try_from(value).ok()?.to_be_bytes()),
            Width::W32 if self.legacy => Part::Four(u32::try_from(value).ok()?.to_be_bytes()),
            _ if !width.holds_uint(value) => return None,
            _ => Part::Eight(value.to_be_bytes()),
        })
    }

    /// The number's ordered bits. The specification asks `v < 0`, which -0.0 is not: flip only its sign.
    fn float(&self, value: f64) -> Result<[u8; 8], Refusal> {
        if self.raw && is_negative_zero(value) {
            return Ok([0; 8]);
        }
        numbers::float(value)
    }

    /// [`float`](Self::float) with 32 bits, of a number that it accepts.
    fn narrow_float(&self, value: f32) -> u32 {
        if self.raw && is_negative_zero(value.into()) {
            return 0;
        }
        // Adding +0.0 turns -0.0 into 0.0 and leaves every other number alone.
        let bits = (value + 0.0).to_bits();
        if bits & SIGN_32 == 0 { bits ^ SIGN_32 } else { !bits }
    }

    fn text<'v>(&self, text: &'v [u8]) -> Result<Part<'v>, Refusal> {
        if !self.raw
            && let Some(at) = text.iter().position(|&byte| byte == SEPARATOR)
        {
            return Err(Refusal::new(format!(
                "a 00 at byte {at} of the value, where LexKey would see the end of the field: take it out, \
                 use the native format, or `raw` if nothing needs to be told apart"
            )));
        }
        Ok(Part::Text(text))
    }

    /// The value that [`part`](Self::part) writes as `bytes`, which stand at `offset` of the key.
    ///
    /// The caller gives as many bytes as the type is wide.
    pub(super) fn value<'a>(
        &self,
        field: &Field,
        bytes: &'a [u8],
        offset: usize,
    ) -> Result<Value<'a>, Error> {
        let wrong = |reason: String| Error::bytes(offset, reason);
        let bits = || bytes.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        Ok(match &field.kind {
            Type::Str(_) => {
                self.no_zero(bytes, offset)?;
                let text = str::from_utf8(bytes)
                    .map_err(|error| Error::bytes(offset + error.valid_up_to(), "text that is not UTF-8"))?;
                Value::Str(Cow::Borrowed(text))
            }
            Type::Bytes => {
                self.no_zero(bytes, offset)?;
                Value::Bytes(Cow::Borrowed(bytes))
            }
            Type::Uuid => {
                let uuid = Uuid::from_slice(bytes).map_err(|_| wrong("a uuid has 16 bytes".to_owned()))?;
                Value::Uuid(uuid)
            }
            Type::Bool => match bytes {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                _ => return Err(wrong(format!("{:02x} where a bool is 00 or 01", bits()))),
            },
            Type::Null if bytes == [SEPARATOR] => Value::Null,
            Type::Null => return Err(wrong(format!("{:02x} where null is 00", bits()))),
            Type::End if bytes == [END] => Value::Null,
            Type::End => return Err(wrong(format!("{:02x} where the end is ff", bits()))),
            Type::Int(width) => {
                let sign = if self.legacy { width.bits() } else { 64 } - 1;
                let value = bits().wrapping_sub(1 << sign).cast_signed();
                if !width.holds_int(value) {
                    return Err(wrong(misfit(&value, field).0.into_owned()));
                }
                Value::Int(value)
            }
            Type::Uint(width) => {
                let value = bits();
                if !width.holds_uint(value) {
                    return Err(wrong(misfit(&value, field).0.into_owned()));
                }
                Value::Uint(value)
            }
            Type::F32 | Type::F64 => {
                let value = if self.raw && bits() == 0 {
                    Some(-0.0)
                } else if self.legacy && field.kind == Type::F32 {
                    u32::try_from(bits()).ok().and_then(|bits| self.to_narrow_float(bits)).map(f64::from)
                } else {
                    numbers::to_float(bits().to_be_bytes())
                };
                let value =
                    value.ok_or_else(|| wrong(format!("bits of NaN or -0.0, which no {field} has")))?;
                if field.kind == Type::F32 {
                    numbers::narrow_float(value).map_err(|refusal| wrong(refusal.0.into_owned()))?;
                }
                Value::Float(value)
            }
            Type::Timestamp(_) => {
                Value::Timestamp(Timestamp::from_nanos(numbers::to_int(bits().to_be_bytes())))
            }
            Type::Duration => Value::Duration(Duration::from_nanos(numbers::to_int(bits().to_be_bytes()))),
            Type::Varint | Type::Decimal(_) | Type::Date | Type::Tuple(_) => {
                return Err(wrong(format!("{field} is not in LexKey")));
            }
        })
    }

    /// What [`narrow_float`](Self::narrow_float) came from, or `None` for bits that it never gives.
    fn to_narrow_float(self, bits: u32) -> Option<f32> {
        let value = f32::from_bits(if bits & SIGN_32 == 0 { !bits } else { bits ^ SIGN_32 });
        (!value.is_nan() && self.narrow_float(value) == bits).then_some(value)
    }

    /// Strict mode never writes a zero within a text: one that is read was not written by it.
    fn no_zero(&self, text: &[u8], offset: usize) -> Result<(), Error> {
        match text.iter().position(|&byte| byte == SEPARATOR) {
            Some(at) if !self.raw => {
                Err(Error::bytes(offset + at, "a 00 within the last field, which only `raw` writes"))
            }
            _ => Ok(()),
        }
    }
}

fn is_negative_zero(value: f64) -> bool {
    value == 0.0 && value.is_sign_negative()
}

#[cold]
fn misfit(value: &impl std::fmt::Display, field: &Field) -> Refusal {
    Refusal::new(format!("{value} does not fit {}: declare a wider field", field.kind))
}
