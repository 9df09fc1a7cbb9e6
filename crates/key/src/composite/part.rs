//! One field's bytes: how a value is written and how it is read back.

use uuid::Uuid;

use crate::composite::text::{self, Delimiter, Text};
use crate::decimal::Decimal;
use crate::error::{Error, Refusal};
use crate::field::{Collation, Scale, Type, Width};
use crate::native::mismatch;
use crate::numbers;
use crate::time::{Precision, Timestamp};
use crate::value::Value;

/// How one field is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Text(Text),
    Int(Width),
    Uint(Width),
    Timestamp(Precision),
    Uuid,
    Decimal { scale: u32, limit: Option<Scale> },
}

impl Part {
    /// How many bytes a value takes, if all take the same.
    pub(super) fn width(self) -> Option<usize> {
        match self {
            Self::Text(Text::Pad(width)) => Some(width.into()),
            Self::Text(_) => None,
            Self::Int(_) | Self::Uint(_) | Self::Timestamp(_) | Self::Decimal { .. } => Some(8),
            Self::Uuid => Some(16),
        }
    }

    fn kind(self) -> Type {
        match self {
            Self::Text(_) => Type::Str(Collation::Binary),
            Self::Int(width) => Type::Int(width),
            Self::Uint(width) => Type::Uint(width),
            Self::Timestamp(precision) => Type::Timestamp(precision),
            Self::Uuid => Type::Uuid,
            Self::Decimal { limit, .. } => Type::Decimal(limit),
        }
    }

    /// Appends the value; on a refusal some of it may have been written.
    pub(super) fn write(
        self,
        value: &Value<'_>,
        delimiter: Delimiter,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let bytes = match (self, value) {
            (Self::Text(rule), Value::Str(text)) => return text::write(text, rule, delimiter, out),
            (Self::Uuid, Value::Uuid(value)) => {
                out.extend_from_slice(value.as_bytes());
                return Ok(());
            }
            (Self::Int(width), Value::Int(value)) => {
                if !width.holds_int(*value) {
                    return Err(Refusal::new(format!("{value} does not fit {}", self.kind())));
                }
                numbers::int(*value)
            }
            (Self::Uint(width), Value::Uint(value)) => {
                if !width.holds_uint(*value) {
                    return Err(Refusal::new(format!("{value} does not fit {}", self.kind())));
                }
                let signed = i64::try_from(*value).map_err(|_| {
                    Refusal::new(format!(
                        "{value} is above {}, the highest here: use the native format",
                        i64::MAX
                    ))
                })?;
                numbers::int(signed)
            }
            (Self::Timestamp(precision), Value::Timestamp(value)) => millis(*value, precision)?.to_be_bytes(),
            (Self::Decimal { scale, limit }, Value::Decimal(value)) => {
                limit.map_or(Ok(()), |limit| limit.check(*value))?;
                let scaled = value.scaled(scale).and_then(|scaled| i64::try_from(scaled).ok());
                numbers::int(scaled.ok_or_else(|| {
                    Refusal::new(format!(
                        "{value} with {scale} digits after the point is no i64: set another scale, or round it first"
                    ))
                })?)
            }
            (_, Value::Null) => return Err(Refusal::new("null, but the field is not nullable")),
            (_, value) => return Err(mismatch(&self.kind(), value)),
        };
        out.extend_from_slice(&bytes);
        Ok(())
    }

    /// Reads a value. `last`: no field follows.
    pub(super) fn read<'a>(self, reader: &mut Reader<'a>, last: bool) -> Result<Value<'a>, Error> {
        let at = reader.at;
        let wrong = |reason: String| Error::bytes(at, reason);
        let unfit = |value: i64| wrong(format!("{value} does not fit {}", self.kind()));
        Ok(match self {
            Self::Text(rule) => reader.text(rule, last)?,
            Self::Uuid => Uuid::from_bytes(reader.array()?).into(),
            Self::Int(width) => match reader.int()? {
                value if width.holds_int(value) => value.into(),
                value => return Err(unfit(value)),
            },
            Self::Uint(width) => {
                let value = reader.int()?;
                let unsigned = u64::try_from(value).ok().filter(|value| width.holds_uint(*value));
                unsigned.ok_or_else(|| unfit(value))?.into()
            }
            Self::Timestamp(precision) => {
                let millis = u64::from_be_bytes(reader.array()?);
                let count = i64::try_from(millis)
                    .ok()
                    .and_then(|millis| Timestamp::from_millis(millis).count(precision).ok())
                    .ok_or_else(|| wrong(format!("{millis} ms are beyond {}", self.kind())))?;
                Timestamp::new(count, precision).into()
            }
            Self::Decimal { scale, limit } => {
                let scaled = reader.int()?;
                let exponent = i32::try_from(scale).ok().map(|scale| -scale);
                exponent
                    .and_then(|exponent| Decimal::new(scaled.into(), exponent))
                    .filter(|value| limit.is_none_or(|limit| limit.check(*value).is_ok()))
                    .ok_or_else(|| wrong(format!("{scaled} at the scale {scale} is no {}", self.kind())))?
                    .into()
            }
        })
    }
}

/// The instant in whole milliseconds since 1970, if a field of this precision reaches it.
fn millis(value: Timestamp, precision: Precision) -> Result<u64, Refusal> {
    let count = value.count(Precision::Millis).map_err(|_| {
        Refusal::new(format!(
            "timestamp {value} is finer than a millisecond: round it first, or use the native format"
        ))
    })?;
    let count = u64::try_from(count).map_err(|_| {
        Refusal::new(format!(
            "timestamp {value} is before 1970, where the count starts: use the native format"
        ))
    })?;
    // What another format's field of this type refuses is refused here, and the hash needs it.
    value.count(precision)?;
    Ok(count)
}

/// A key that is being read.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    key: &'a [u8],
    at: usize,
    delimiter: Delimiter,
}

impl<'a> Reader<'a> {
    pub(super) fn new(key: &'a [u8], delimiter: Delimiter) -> Self {
        Self { key, at: 0, delimiter }
    }

    fn rest(&self) -> &'a [u8] {
        self.key.get(self.at..).unwrap_or_default()
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let Some(bytes) = self.rest().first_chunk::<N>() else {
            return Err(Error::bytes(self.key.len(), format!("the key ends within a field of {N} bytes")));
        };
        self.at += N;
        Ok(*bytes)
    }

    fn int(&mut self) -> Result<i64, Error> {
        Ok(numbers::to_int(self.array()?))
    }

    fn text(&mut self, rule: Text, last: bool) -> Result<Value<'a>, Error> {
        let (text, taken) = text::read(self.key, self.at, rule, self.delimiter, last)?;
        self.at += taken;
        Ok(text.into())
    }

    /// Reads the delimiter, which must stand here.
    pub(super) fn delimiter(&mut self) -> Result<(), Error> {
        let delimiter = self.delimiter.bytes();
        if !self.rest().starts_with(delimiter) {
            return Err(Error::bytes(self.at, format!("no delimiter {}", hex::encode(delimiter))));
        }
        self.at += delimiter.len();
        Ok(())
    }

    /// Checks that the whole key was read.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self.key.len() - self.at {
            0 => Ok(()),
            rest => Err(Error::bytes(self.at, format!("{rest} bytes follow the last field"))),
        }
    }
}
