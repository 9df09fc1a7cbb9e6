//! LexKey: parts of fixed width or plain text, joined by a zero byte, with no escape.
//!
//! ```text
//! ("foo", 42, true)  str, i64, bool  │66│6F│6F│ 00 │80│00│00│00│00│00│00│2A│ 00 │01│
//! ("U1")             str of str, i64 │55│31│ 00 │      the start of every key of "U1", and of none of "U10"
//! null               null            │00│
//! the end sentinel   end             │FF│
//! ```
//!
//! | field | canonical | legacy |
//! |---|---|---|
//! | i8 | 8 bytes, sign bit flipped | refused, as the old library did |
//! | i16 i32 i64, duration | 8 bytes, sign bit flipped | 2, 4, 8 |
//! | u8 u16 u32 u64 | 8 bytes | 1, 2, 4, 8 |
//! | f32 f64 | 8 bytes, sign bit flipped, or all bits if negative | 4, 8 |
//! | timestamp | 8 bytes: nanoseconds since 1970 as an i64, whatever precision is declared | the same |
//! | bool | `00` or `01` | the same |
//! | str, bytes, uuid | as they are | the same |
//! | null | `00` | the same |
//! | end | `FF` | the same |
//!
//! A zero byte in a text looks like the end of it, and null, `false` and `("", "")` are all `00`. So there are
//! two modes. **Strict**, the default, refuses by name what would collide, and then every promise holds.
//! [`raw`](LexKey::raw) writes the bytes of the specification, whatever they collide with.
//!
//! ```
//! use keyloom_key::lexkey::LexKey;
//! use keyloom_key::{Fields, KeyFormat, Value};
//! let fields: Fields = "str,i64,bool".parse()?;
//! let values = [Value::from("foo"), Value::from(42_i64), Value::from(true)];
//! let mut key = Vec::new();
//! LexKey::canonical().encode(&fields, &values, &mut key)?;
//! assert_eq!(key, b"foo\x00\x80\x00\x00\x00\x00\x00\x00\x2a\x00\x01");
//! assert_eq!(LexKey::canonical().decode(&fields, &key)?, values);
//!
//! let zero = [Value::from("a\0b")];
//! assert!(LexKey::canonical().encode(&fields, &zero, &mut key).is_err());
//! assert!(LexKey::canonical().raw().encode(&fields, &zero, &mut key).is_ok());
//! # Ok::<(), keyloom_key::Error>(())
//! ```

mod bounds;
mod part;
mod text;

pub use bounds::{compare, decode_primary_key, primary_key, range_bounds};
pub use text::{from_hex, from_json, to_hex, to_json};

use crate::error::Error;
use crate::field::{Collation, Direction, Field, Fields, Nulls, Type, Width};
use crate::format::{KeyFormat, Promises};
use crate::span::Span;
use crate::value::Value;

/// The byte between two parts. It is also null and `false`.
pub const SEPARATOR: u8 = 0x00;

/// The end sentinel: the byte of a field of type `end`, and the last byte of an upper bound.
pub const END: u8 = 0xFF;

/// The LexKey format. See the [module](self) for its bytes and its modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LexKey {
    legacy: bool,
    raw: bool,
}

impl LexKey {
    /// Every number with eight bytes, so that an i16 and an i64 of the same value are the same bytes. Strict.
    pub const fn canonical() -> Self {
        Self { legacy: false, raw: false }
    }

    /// Numbers with their own width, for keys from before 2025-10-01. Strict.
    pub const fn legacy() -> Self {
        Self { legacy: true, raw: false }
    }

    /// The same widths, and the specification's bytes for every value, even where they collide.
    ///
    /// -0.0 is then all zeros, which sorts below negative infinity: it equals 0.0, and neither finds the other.
    #[must_use]
    pub const fn raw(self) -> Self {
        Self { raw: true, ..self }
    }

    /// Appends the key of these values and `00`: the specification's lower bound.
    ///
    /// With [`encode_last`](Self::encode_last) it bounds the keys that have more parts, and more than those:
    /// the bounds of `"foo"` contain `"foobar"` too and miss `"foo"` itself.
    /// [`KeyFormat::prefix`] is the tight one.
    ///
    /// ```
    /// use keyloom_key::lexkey::LexKey;
    /// use keyloom_key::{Fields, KeyFormat, Span};
    /// let (format, fields) = (LexKey::canonical(), "str".parse::<Fields>()?);
    /// let (mut first, mut last) = (Vec::new(), Vec::new());
    /// format.encode_first(&fields, &["foo".into()], &mut first)?;
    /// format.encode_last(&fields, &["foo".into()], &mut last)?;
    /// let loose = Span { start: first, end: Some(last) };
    /// assert!(loose.contains(b"foobar") && !loose.contains(b"foo"));
    /// let tight = format.prefix(&fields, &["foo".into()])?;
    /// assert!(tight.contains(b"foo") && !tight.contains(b"foobar"));
    /// # Ok::<(), keyloom_key::Error>(())
    /// ```
    pub fn encode_first(
        &self,
        fields: &Fields,
        values: &[Value<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.bound(fields, values, SEPARATOR, out)
    }

    /// Appends the key of these values and `FF`: the specification's upper bound.
    ///
    /// See [`encode_first`](Self::encode_first) for what lies between the two.
    pub fn encode_last(&self, fields: &Fields, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Error> {
        self.bound(fields, values, END, out)
    }

    /// The exact number of bytes that [`encode`](KeyFormat::encode) appends for these values.
    ///
    /// Refuses what `encode` refuses.
    pub fn encode_size(&self, fields: &Fields, values: &[Value<'_>]) -> Result<usize, Error> {
        self.check(fields, values)?;
        // A separator follows every value but the last of all fields.
        let mut size = values.len().min(fields.len() - 1);
        for (index, (field, value)) in fields.iter().zip(values).enumerate() {
            size += self.part(field, value).map_err(|refusal| refusal.at(index + 1))?.as_bytes().len();
        }
        Ok(size)
    }

    fn bound(&self, fields: &Fields, values: &[Value<'_>], end: u8, out: &mut Vec<u8>) -> Result<(), Error> {
        self.check(fields, values)?;
        if values.is_empty() {
            return Err(Error::layout(self.name(), "no parts: a bound needs one value at least"));
        }
        self.join(fields, values, out)?;
        out.push(end);
        Ok(())
    }

    fn check(&self, fields: &Fields, values: &[Value<'_>]) -> Result<(), Error> {
        self.check_fields(fields)?;
        if values.len() > fields.len() {
            let reason = format!("{} values for {} fields ({fields})", values.len(), fields.len());
            return Err(Error::layout(self.name(), reason));
        }
        Ok(())
    }

    /// Appends the values with a separator between them, or nothing if one is refused.
    fn join(&self, fields: &Fields, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Error> {
        let length = out.len();
        for (index, (field, value)) in fields.iter().zip(values).enumerate() {
            if index > 0 {
                out.push(SEPARATOR);
            }
            match self.part(field, value) {
                Ok(part) => out.extend_from_slice(part.as_bytes()),
                Err(refusal) => {
                    out.truncate(length);
                    return Err(refusal.at(index + 1));
                }
            }
        }
        Ok(())
    }

    /// Refuses fields that have no bytes here and, in strict mode, those whose values would collide.
    fn check_fields(&self, fields: &Fields) -> Result<(), Error> {
        if fields.is_empty() {
            return Err(Error::layout(self.name(), "no parts: a key needs one field at least"));
        }
        for (index, field) in fields.iter().enumerate() {
            if let Some(remedy) = self.foreign(field) {
                return Err(self.refuse(index, field, remedy));
            }
            if !self.raw && has_nulls(field) && field.nulls == Some(Nulls::Last) {
                let remedy = "null is 00 and sorts first: say nulls-first, or use the native format";
                return Err(self.refuse(index, field, remedy));
            }
        }
        if self.raw {
            return Ok(());
        }
        if fields.len() > 1
            && let Some((index, field)) =
                fields.iter().enumerate().find(|(_, field)| field.kind == Type::Null)
        {
            let remedy = "null is 00, and so are false and the separator: leave it out, use the native format, or `raw`";
            return Err(self.refuse(index, field, remedy));
        }
        self.clash(fields).map_or(Ok(()), Err)
    }

    /// Why the format has no bytes for a field, and what to use instead.
    fn foreign(&self, field: &Field) -> Option<&'static str> {
        if field.direction == Direction::Descending {
            return Some("LexKey only ascends: use the native format");
        }
        match &field.kind {
            Type::Int(Width::W8) if self.legacy => {
                Some("legacy keys never had an i8: declare i16, or use canonical widths")
            }
            Type::Int(Width::W24 | Width::W40 | Width::W48 | Width::W56) => {
                Some("this width is RowKey's: declare i32 or i64")
            }
            Type::Uint(Width::W24 | Width::W40 | Width::W48 | Width::W56) => {
                Some("this width is RowKey's: declare u32 or u64")
            }
            Type::Varint => Some("varint is RowKey's: declare u64"),
            Type::Decimal(_) => {
                Some("LexKey has no decimals: use the native format, or an i64 of the smallest unit")
            }
            Type::Date => Some("LexKey has no dates: declare a timestamp, or an i32 of days"),
            Type::Tuple(_) => Some("LexKey has no tuples: declare the elements as fields of their own"),
            Type::Str(Collation::NoCase) => {
                Some("LexKey compares text by its bytes: fold it first, or use the native format")
            }
            Type::End if field.nulls.is_some() => Some("end has one value already: drop the nulls"),
            _ => None,
        }
    }

    /// The first field whose values cannot be told from what stands around them.
    fn clash(&self, fields: &Fields) -> Option<Error> {
        for (index, field) in fields.iter().enumerate() {
            let width = self.width(&field.kind);
            let reason = match width {
                None if self.raw && index + 1 < fields.len() => {
                    "a 00 in it reads as the end of the field: use strict mode, or make it the last field"
                }
                _ if !has_nulls(field) => continue,
                _ if fields.len() > 1 => {
                    "null is 00, and so are the separator and the start of other values: \
                     use the native format, or a key of this field alone"
                }
                None => {
                    "null is 00: the empty text sorts before it and a text of one 00 is the same: \
                     use the native format"
                }
                Some(1) => "null is 00, and so is the smallest value: use the native format",
                Some(_) => continue,
            };
            return Some(self.refuse(index, field, reason));
        }
        None
    }

    #[cold]
    fn refuse(&self, index: usize, field: &Field, reason: &str) -> Error {
        Error::layout(self.name(), format!("field {} ({field}): {reason}", index + 1))
    }

    /// How many bytes a value of this type has; `None` if that depends on the value.
    fn width(&self, kind: &Type) -> Option<usize> {
        match kind {
            Type::Null | Type::Bool | Type::End => Some(1),
            Type::Int(width) | Type::Uint(width) if self.legacy => Some(width.bytes()),
            Type::F32 if self.legacy => Some(4),
            Type::Uuid => Some(16),
            Type::Str(_) | Type::Bytes => None,
            _ => Some(8),
        }
    }
}

/// Whether null is one of several values; in a field of type `null` it is the only one.
fn has_nulls(field: &Field) -> bool {
    field.nulls.is_some() && field.kind != Type::Null
}

impl KeyFormat for LexKey {
    fn name(&self) -> &'static str {
        if self.legacy { "lexkey-legacy" } else { "lexkey" }
    }

    fn promises(&self, fields: &Fields) -> Result<Promises, Error> {
        self.check_fields(fields)?;
        let distinct = self.clash(fields).is_none();
        // Only raw mode has these: a -0.0 below negative infinity, and nulls that were asked to be last.
        let misplaced = |field: &Field| {
            matches!(field.kind, Type::F32 | Type::F64)
                || has_nulls(field) && field.nulls == Some(Nulls::Last)
        };
        let fixed = |field: &Field| self.width(&field.kind).is_some() && !has_nulls(field);
        Ok(Promises {
            order: distinct && !(self.raw && fields.iter().any(misplaced)),
            injective: distinct,
            prefix_free: distinct && fields.last().is_some_and(fixed),
            decodable: distinct,
        })
    }

    fn encode(&self, fields: &Fields, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Error> {
        self.check(fields, values)?;
        self.join(fields, values, out)?;
        if !values.is_empty() && values.len() < fields.len() {
            out.push(SEPARATOR);
        }
        Ok(())
    }

    fn decode<'a>(&self, fields: &Fields, key: &'a [u8]) -> Result<Vec<Value<'a>>, Error> {
        self.check_fields(fields)?;
        if let Some(error) = self.clash(fields) {
            return Err(error);
        }
        if key == [SEPARATOR] && fields.first().is_some_and(has_nulls) {
            // A nullable field stands alone, or the fields would clash.
            return Ok(vec![Value::Null]);
        }
        let mut values = Vec::with_capacity(fields.len());
        let (mut rest, mut offset) = (key, 0);
        for (index, field) in fields.iter().enumerate() {
            let last = index + 1 == fields.len();
            let length = match self.width(&field.kind) {
                Some(width) => width,
                None if last => rest.len(),
                None => rest.iter().position(|&byte| byte == SEPARATOR).unwrap_or(rest.len()),
            };
            let Some((part, behind)) = rest.split_at_checked(length) else {
                let reason = format!("the key ends within field {}, a {field} of {length} bytes", index + 1);
                return Err(Error::bytes(key.len(), reason));
            };
            values.push(self.value(field, part, offset)?);
            offset += length;
            rest = match behind.split_first() {
                None if last => break,
                Some((&SEPARATOR, behind)) if !last => behind,
                None => {
                    let reason = format!("the key ends after field {} of {}", index + 1, fields.len());
                    return Err(Error::bytes(offset, reason));
                }
                Some(_) if last => {
                    let reason = format!("{} bytes more than the fields have", behind.len());
                    return Err(Error::bytes(offset, reason));
                }
                Some((byte, _)) => {
                    return Err(Error::bytes(
                        offset,
                        format!("{byte:02x} where 00 ends field {}", index + 1),
                    ));
                }
            };
            offset += 1;
        }
        Ok(values)
    }

    fn not_null(&self, fields: &Fields, equal: &[Value<'_>]) -> Result<Span, Error> {
        let mut span = self.prefix(fields, equal)?;
        if fields.get(equal.len()).is_some_and(has_nulls) {
            // Null is the lone byte 00; the smallest value, all zeros, is longer and sorts right behind it.
            span.start.extend([SEPARATOR, SEPARATOR]);
        }
        Ok(span)
    }
}
