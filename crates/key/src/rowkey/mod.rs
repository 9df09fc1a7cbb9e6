//! RowKey: components joined by two zero bytes, a zero within one written as `00 01`.
//!
//! ```text
//! ("building", 123)  str, i64     │62 75 69 6C 64 69 6E 67│ 00 00 │00 01 … seven times … 7B│
//! (04 00 05)         bytes        │04│00│01│05│
//! 240, 241, 2288     varint       │F0│     │F1│01│     │F9│00│01│00│01│
//! -1                 i16          │FF│FF│              sorts behind every positive number
//! ```
//!
//! | field | bytes, before zeros are escaped |
//! |---|---|
//! | str, bytes | themselves |
//! | i8 i16 i24 … i64, u8 … u64 | big-endian, as many as the width has, two's complement |
//! | varint | 1 to 9, the varint of SQLite 4, which sorts as its numbers do |
//!
//! The escape is sound: keys never collide, and text and unsigned numbers sort. Signed numbers do not, for
//! their sign bit is not flipped. [`RowKey::exact`] writes them as they are and promises no order;
//! [`RowKey::strict`], for tables, refuses negative numbers, and then everything sorts.
//!
//! ```
//! use keyloom_key::rowkey::RowKey;
//! use keyloom_key::{Fields, KeyFormat, Value};
//! let fields: Fields = "str,varint,bytes".parse()?;
//! let values = [Value::from("building"), Value::from(123_u64), Value::from(vec![4, 0, 5])];
//! let mut key = Vec::new();
//! RowKey::strict().encode(&fields, &values, &mut key)?;
//! assert_eq!(key, b"building\x00\x00\x7b\x00\x00\x04\x00\x01\x05");
//! assert_eq!(RowKey::strict().decode(&fields, &key)?, values);
//! # Ok::<(), keyloom_key::Error>(())
//! ```
//!
//! [`RowKeyBuilder`] and [`RowKeyParts`] write and read keys component by component, without declared fields.

mod builder;
mod component;
mod parts;
mod varint;

pub use builder::RowKeyBuilder;
pub use parts::{RowKeyParts, components, last_component, without_last};

use std::borrow::Cow;

use self::component::{Component, SEPARATOR, escape, split};
use self::varint::Varint;
use crate::error::{Error, Refusal};
use crate::field::{Collation, Direction, Field, Fields, Type, Width};
use crate::format::{KeyFormat, Promises};
use crate::native::mismatch;
use crate::value::Value;

/// The RowKey format. See the [module](self) for its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowKey {
    strict: bool,
}

impl RowKey {
    /// The reference's bytes, negative numbers included; keys with signed numbers have no order.
    pub const fn exact() -> Self {
        Self { strict: false }
    }

    /// The same bytes, but a negative number is refused: it would sort behind every positive one.
    pub const fn strict() -> Self {
        Self { strict: true }
    }

    fn check_fields(&self, fields: &Fields) -> Result<(), Error> {
        for (index, field) in fields.iter().enumerate() {
            if let Some(remedy) = foreign(field) {
                let reason = format!("field {} ({field}): {remedy}", index + 1);
                return Err(Error::layout(self.name(), reason));
            }
        }
        Ok(())
    }

    fn write(&self, field: &Field, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        match (&field.kind, value) {
            (Type::Str(_), Value::Str(value)) => escape(value.as_bytes(), out),
            (Type::Bytes, Value::Bytes(value)) => escape(value, out),
            (Type::Int(width), Value::Int(value)) => {
                if self.strict && *value < 0 {
                    return Err(negative(*value));
                }
                write_int(*width, *value, out)?;
            }
            (Type::Uint(width), Value::Uint(value)) => write_uint(*width, *value, out)?,
            (Type::Varint, Value::Uint(value)) => escape(Varint::new(*value).as_bytes(), out),
            (kind, value) => return Err(mismatch(kind, value)),
        }
        Ok(())
    }

    fn read<'a>(&self, field: &Field, component: Component<'a>) -> Result<Value<'a>, Error> {
        Ok(match &field.kind {
            Type::Str(_) => component.text()?.into(),
            Type::Int(width) => match component.int(*width)? {
                value if self.strict && value < 0 => {
                    return Err(Error::bytes(component.offset, negative(value).0));
                }
                value => Value::Int(value),
            },
            Type::Uint(width) => Value::Uint(component.uint(*width)?),
            Type::Varint => Value::Uint(component.varint()?),
            _ => component.unescape().into(),
        })
    }
}

/// Why the format has no bytes for a field, and what to use instead.
fn foreign(field: &Field) -> Option<&'static str> {
    if field.direction == Direction::Descending {
        return Some("RowKey only ascends: use the native format");
    }
    if field.nulls.is_some() {
        return Some("RowKey has no nulls: use the native format, or a value that stands for null");
    }
    match field.kind {
        Type::Str(Collation::Binary) | Type::Bytes | Type::Int(_) | Type::Uint(_) | Type::Varint => None,
        Type::Str(Collation::NoCase) => {
            Some("RowKey compares text by its bytes: fold it first, or use the native format")
        }
        Type::Bool => Some("RowKey has no bool: declare u8"),
        Type::Timestamp(_) | Type::Date | Type::Duration => {
            Some("RowKey has no times: declare a u64 of the unit, or use the native format")
        }
        Type::Uuid => Some("RowKey has no uuid: declare bytes"),
        Type::Tuple(_) => Some("RowKey has no tuples: declare the elements as fields of their own"),
        Type::Null | Type::End | Type::F32 | Type::F64 | Type::Decimal(_) => {
            Some("RowKey holds text, bytes and integers only: use the native format")
        }
    }
}

#[cold]
fn negative(value: i64) -> Refusal {
    Refusal::new(format!(
        "{value} is negative, and RowKey sorts it behind every positive number: use a u64 or the native \
         format, or RowKey's exact mode if nothing needs the order"
    ))
}

#[cold]
fn misfit(value: &dyn std::fmt::Display, sign: char, width: Width) -> Refusal {
    Refusal::new(format!("{value} does not fit {sign}{}: declare a wider field", width.bits()))
}

fn write_int(width: Width, value: i64, out: &mut Vec<u8>) -> Result<(), Refusal> {
    if !width.holds_int(value) {
        return Err(misfit(&value, 'i', width));
    }
    write_low_bytes(width, value.cast_unsigned(), out);
    Ok(())
}

fn write_uint(width: Width, value: u64, out: &mut Vec<u8>) -> Result<(), Refusal> {
    if !width.holds_uint(value) {
        return Err(misfit(&value, 'u', width));
    }
    write_low_bytes(width, value, out);
    Ok(())
}

fn write_low_bytes(width: Width, value: u64, out: &mut Vec<u8>) {
    let bytes = value.to_be_bytes();
    escape(bytes.get(bytes.len() - width.bytes()..).unwrap_or_default(), out);
}

impl KeyFormat for RowKey {
    fn name(&self) -> &'static str {
        "rowkey"
    }

    fn promises(&self, fields: &Fields) -> Result<Promises, Error> {
        self.check_fields(fields)?;
        let text = |field: &Field| matches!(field.kind, Type::Str(_) | Type::Bytes);
        Ok(Promises {
            order: self.sorts_after(fields, 0)?,
            injective: true,
            // Nothing marks the end of a last text; a number ends with its last byte, zeros escaped or not.
            prefix_free: !fields.last().is_some_and(text),
            decodable: true,
        })
    }

    fn encode(&self, fields: &Fields, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Error> {
        self.check_fields(fields)?;
        if values.len() > fields.len() {
            let reason = format!("{} values for {} fields ({fields})", values.len(), fields.len());
            return Err(Error::layout(self.name(), reason));
        }
        let length = out.len();
        for (index, (field, value)) in fields.iter().zip(values).enumerate() {
            if let Err(refusal) = self.write(field, value, out) {
                out.truncate(length);
                return Err(refusal.at(index + 1));
            }
            if index + 1 < fields.len() {
                out.extend_from_slice(&SEPARATOR);
            }
        }
        Ok(())
    }

    fn decode<'a>(&self, fields: &Fields, key: &'a [u8]) -> Result<Vec<Value<'a>>, Error> {
        self.check_fields(fields)?;
        if fields.is_empty() && key.is_empty() {
            return Ok(Vec::new());
        }
        let mut components = split(key);
        let mut values = Vec::with_capacity(fields.len());
        for field in fields.iter() {
            let Some(component) = components.next() else {
                let reason = format!("the key ends after component {} of {}", values.len(), fields.len());
                return Err(Error::bytes(key.len(), reason));
            };
            values.push(self.read(field, component?)?);
        }
        match components.next() {
            None => Ok(values),
            Some(component) => {
                let reason = format!("more components than the {} of ({fields})", fields.len());
                Err(Error::bytes(component?.offset, reason))
            }
        }
    }

    fn sorts_after(&self, fields: &Fields, equal: usize) -> Result<bool, Error> {
        self.check_fields(fields)?;
        // What is equal has equal bytes: only the signed numbers behind it can misplace a key.
        Ok(self.strict || !fields.iter().skip(equal).any(|field| matches!(field.kind, Type::Int(_))))
    }
}

impl<'a> Component<'a> {
    fn text(self) -> Result<Cow<'a, str>, Error> {
        // The escape adds 01 behind 00, both ASCII: the component is UTF-8 if and only if its text is, and
        // an offset into it is one into the key.
        let text = str::from_utf8(self.bytes)
            .map_err(|error| Error::bytes(self.offset + error.valid_up_to(), "text that is not UTF-8"))?;
        Ok(if self.escaped { text.replace("\0\u{1}", "\0").into() } else { text.into() })
    }

    fn int(self, width: Width) -> Result<i64, Error> {
        let shift = 64 - width.bits();
        // Up to the top and back again: the arithmetic shift brings the sign along.
        Ok((self.uint(width)? << shift).cast_signed() >> shift)
    }

    fn uint(self, width: Width) -> Result<u64, Error> {
        let bytes = self.unescape();
        if bytes.len() != width.bytes() {
            let reason = format!("{} bytes where an integer of {} bits stands", bytes.len(), width.bits());
            return Err(Error::bytes(self.offset, reason));
        }
        Ok(bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn varint(self) -> Result<u64, Error> {
        Varint::read(&self.unescape())
            .ok_or_else(|| Error::bytes(self.offset, "not a varint in its shortest form"))
    }
}
