//! Composite keys: fields with a delimiter between them, and a shard before them if asked for.
//!
//! ```text
//! ("USR_12345", 2025-01-17T08:00:00Z, 550e8400-…-446655440001), the first padded to 32, 256 shards
//!
//! │00│10│ │1F│ │55│53│52│5F│31│32│33│34│35│00│…│ │1F│ │00│00│01│94│73│46│B0│00│ │1F│ │55│0E│84│00│…│00│01│
//!  shard        user_id, 32 bytes                       order_date                    order_id, 16 bytes
//! ```
//!
//! | field | bytes |
//! |---|---|
//! | str | its UTF-8, by the field's [`Text`] rule |
//! | i8 i16 i32 i64, u8 u16 u32 u64 | 8, big-endian, the sign bit flipped; nothing above 2⁶³ - 1 |
//! | timestamp | 8, big-endian, milliseconds since 1970; nothing finer, nothing earlier |
//! | uuid | 16 |
//! | decimal | 8, the number × 10^scale as an i64; nothing that needs more digits |
//!
//! What a field cannot hold exactly is refused and never cut or rounded. Nullable and descending fields are
//! refused: the native format has them.
//!
//! **Text.** Text of any length ends where a [`Delimiter`] stands, so it must not be taken for one, nor sort
//! before one. A field's [`Text`] rule says what happens to text that would: it is refused (the rule unless
//! told otherwise), it is escaped, or the field is padded to one length. The rule is the same for the last
//! field, so that a field's bytes do not depend on its place.
//!
//! | delimiter | refused in text | escaped in text |
//! |---|---|---|
//! | 1F | 00 … 1F | 00 … 20, each as `20` and itself |
//! | 00 | 00 | 00 and 01, each as `01` and itself |
//! | 00 01 | 00 | 00 as `00 FF` |
//! | FF | nothing, but text that is not the last field does not sort | nothing |
//!
//! **Reading.** Fields of fixed width hold any byte, the delimiter's too: a key is read by width and never by
//! splitting it.
//!
//! **Shard.** What is hashed is the first field's value by [placement](crate::placement)'s rule: text as it is,
//! without padding and escapes. Keys of several shards sort only within the same first value.
//!
//! **Prefixes.** Fewer values than fields end with the delimiter, so that "U1" never finds "U10". The key
//! behind a prefix is [`prefix_end`](crate::prefix_end): where every byte is FF there is none, and what the
//! specification's `IncrementLastByte` gives there (one more 00) would cut keys off.
//!
//! ```
//! use keyloom_key::composite::Composite;
//! use keyloom_key::{Fields, KeyFormat, Value};
//! let fields: Fields = "str,i64".parse()?;
//! let mut key = Vec::new();
//! Composite::new().encode(&fields, &["U1".into(), 7_i64.into()], &mut key)?;
//! assert_eq!(key, b"U1\x1F\x80\x00\x00\x00\x00\x00\x00\x07");
//! assert_eq!(Composite::new().decode(&fields, &key)?, [Value::from("U1"), Value::from(7_i64)]);
//!
//! let error = Composite::new().encode(&fields, &["tab\t".into(), 7_i64.into()], &mut key).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "field 1: text with the byte 09, which sorts before the delimiter 1f: \
//!      escape, pad, or use another delimiter"
//! );
//! Composite::new().escape().encode(&fields, &["tab\t".into(), 7_i64.into()], &mut key)?;
//! # Ok::<(), keyloom_key::Error>(())
//! ```

mod part;
mod schema;
mod text;

pub use schema::CompositeSchema;
pub use text::{Delimiter, Text};

use crate::composite::part::{Part, Reader};
use crate::error::Error;
use crate::field::{Collation, Direction, Field, Fields, Type, Width};
use crate::format::{KeyFormat, Promises};
use crate::placement::{Shards, hashed_bytes};
use crate::value::Value;

const NAME: &str = "composite";

/// How composite keys are written. Fields are named by their number, from 1.
///
/// ```
/// use keyloom_key::composite::{Composite, Delimiter};
/// use keyloom_key::{Decimal, Fields, KeyFormat};
/// let format = Composite::new().delimiter(Delimiter::Double).pad(1, 4).scale(2, 2);
/// let fields: Fields = "str,decimal".parse()?;
/// let mut key = Vec::new();
/// format.encode(&fields, &["ab".into(), "19.99".parse::<Decimal>()?.into()], &mut key)?;
/// assert_eq!(key, b"ab\x00\x00\x00\x01\x80\x00\x00\x00\x00\x00\x07\xCF");
/// # Ok::<(), keyloom_key::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Composite {
    delimiter: Delimiter,
    text: Text,
    texts: Vec<(usize, Text)>,
    scales: Vec<(usize, u32)>,
    shards: Option<Shards>,
}

impl Composite {
    /// Fields with 1F between them, text that holds it refused, no shard.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with another delimiter.
    pub fn delimiter(self, delimiter: Delimiter) -> Self {
        Self { delimiter, ..self }
    }

    /// The same with all text escaped for which no other rule is given.
    pub fn escape(self) -> Self {
        Self { text: Text::Escape, ..self }
    }

    /// The same with this field's text padded to `width` bytes.
    pub fn pad(self, field: usize, width: u16) -> Self {
        self.text(field, Text::Pad(width))
    }

    /// The same with this rule for the field's text.
    pub fn text(mut self, field: usize, rule: Text) -> Self {
        self.texts.retain(|(number, _)| *number != field);
        self.texts.push((field, rule));
        self
    }

    /// The same with this many digits kept after the point of this decimal, whatever its type says.
    pub fn scale(mut self, field: usize, scale: u32) -> Self {
        self.scales.retain(|(number, _)| *number != field);
        self.scales.push((field, scale));
        self
    }

    /// The same with the shard of the first field before each key.
    pub fn shards(self, shards: Shards) -> Self {
        Self { shards: Some(shards), ..self }
    }

    /// How the field with this number is written.
    fn part(&self, number: usize, field: &Field) -> Result<Part, Error> {
        let refuse = |reason: &str| Err(Error::layout(NAME, format!("field {number} is {field}: {reason}")));
        if field.nulls.is_some() {
            return refuse("there are no nulls: make it not null, or use the native format");
        }
        if field.direction == Direction::Descending {
            return refuse("nothing runs downwards: leave out desc, or use the native format");
        }
        Ok(match &field.kind {
            Type::Str(Collation::Binary) => Part::Text(set(&self.texts, number).unwrap_or(self.text)),
            Type::Str(_) => return refuse("text is kept as it is: fold it first and declare str"),
            Type::Int(width @ (Width::W8 | Width::W16 | Width::W32 | Width::W64)) => Part::Int(*width),
            Type::Uint(width @ (Width::W8 | Width::W16 | Width::W32 | Width::W64)) => Part::Uint(*width),
            Type::Int(_) | Type::Uint(_) => {
                return refuse("this width is RowKey's: declare the next wider of 8, 16, 32 or 64 bits");
            }
            Type::Timestamp(precision) => Part::Timestamp(*precision),
            Type::Uuid => Part::Uuid,
            Type::Decimal(limit) => {
                let scale = set(&self.scales, number).or(limit.map(|limit| limit.scale()));
                match scale {
                    Some(scale) => Part::Decimal { scale, limit: *limit },
                    None => return refuse("its scale is not known: declare decimal(p,s), or set a scale"),
                }
            }
            _ => {
                return refuse(
                    "the types are str, i8 to i64, u8 to u64, timestamp, uuid and decimal: use one, or the \
                     native format",
                );
            }
        })
    }

    /// Refuses fields that cannot be written, and rules for fields that are not there.
    fn check(&self, fields: &Fields) -> Result<(), Error> {
        for (index, field) in fields.iter().enumerate() {
            self.part(index + 1, field)?;
        }
        let kind = |number: usize| fields.get(number.checked_sub(1)?).map(|field| &field.kind);
        let unused = |number: usize, rule: &str, wanted: &str| {
            let reason = format!(
                "a {rule} for field {number} of ({fields}), which is no {wanted}: fields are numbered from 1"
            );
            Err(Error::layout(NAME, reason))
        };
        for (number, _) in &self.texts {
            if !matches!(kind(*number), Some(Type::Str(_))) {
                return unused(*number, "text rule", "str");
            }
        }
        for (number, _) in &self.scales {
            if !matches!(kind(*number), Some(Type::Decimal(_))) {
                return unused(*number, "scale", "decimal");
            }
        }
        Ok(())
    }

    /// Whether keys that agree on their first `equal` fields sort as the rest does; the fields are checked.
    fn sorts(&self, fields: &Fields, equal: usize) -> bool {
        let one_shard = equal > 0 || self.shards.is_none_or(|shards| shards.count() == 1);
        // FF behind the shorter text sorts after whatever the longer one goes on with.
        let ends_high = |(index, field): (usize, &Field)| {
            self.delimiter == Delimiter::High
                && index + 1 < fields.len()
                && self.part(index + 1, field).is_ok_and(|part| part.width().is_none())
        };
        one_shard && !fields.iter().enumerate().skip(equal).any(ends_high)
    }

    /// Appends the key of these values; `out` stays as it was if one is refused.
    fn write<'v, 'w: 'v>(
        &self,
        fields: &Fields,
        values: impl ExactSizeIterator<Item = &'v Value<'w>>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.check(fields)?;
        if values.len() > fields.len() {
            let reason = format!("{} values for {} fields ({fields})", values.len(), fields.len());
            return Err(Error::layout(NAME, reason));
        }
        let length = out.len();
        let written = self.write_fields(fields, values, out);
        if written.is_err() {
            out.truncate(length);
        }
        written
    }

    fn write_fields<'v, 'w: 'v>(
        &self,
        fields: &Fields,
        values: impl Iterator<Item = &'v Value<'w>>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let delimiter = self.delimiter.bytes();
        for (index, (field, value)) in fields.iter().zip(values).enumerate() {
            let number = index + 1;
            let part = self.part(number, field)?;
            let shards = self.shards.filter(|_| index == 0);
            let start = out.len();
            if shards.is_some() {
                out.extend_from_slice(&[0; 2]);
                out.extend_from_slice(delimiter);
            }
            part.write(value, self.delimiter, out).map_err(|refusal| refusal.at(number))?;
            // Hashed only now: what the field cannot hold is refused in the field's words, not in the hash's.
            if let Some(shards) = shards {
                let hashed = hashed_bytes(field, value).map_err(|refusal| refusal.at(number))?;
                let place = out.iter_mut().skip(start);
                place.zip(shards.prefix(&hashed)).for_each(|(to, from)| *to = from);
            }
            // Also behind the last value of a prefix: "U1" must not find "U10".
            if number < fields.len() {
                out.extend_from_slice(delimiter);
            }
        }
        Ok(())
    }
}

impl KeyFormat for Composite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn promises(&self, fields: &Fields) -> Result<Promises, Error> {
        self.check(fields)?;
        let last = fields.last().map(|field| self.part(fields.len(), field)).transpose()?;
        Ok(Promises {
            order: self.sorts(fields, 0),
            prefix_free: last.is_none_or(|last| last.width().is_some()),
            ..Promises::ALL
        })
    }

    fn encode(&self, fields: &Fields, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Error> {
        self.write(fields, values.iter(), out)
    }

    fn decode<'a>(&self, fields: &Fields, key: &'a [u8]) -> Result<Vec<Value<'a>>, Error> {
        self.check(fields)?;
        let mut reader = Reader::new(key, self.delimiter);
        let mut values = Vec::with_capacity(fields.len());
        let mut shard = None;
        for (index, field) in fields.iter().enumerate() {
            let number = index + 1;
            let last = number == fields.len();
            if index == 0
                && let Some(shards) = self.shards
            {
                shard = Some((shards, reader.array::<2>()?));
                reader.delimiter()?;
            }
            let value = self.part(number, field)?.read(&mut reader, last)?;
            if let Some((shards, found)) = shard.take() {
                let hashed = hashed_bytes(field, &value).map_err(|refusal| Error::bytes(0, refusal.0))?;
                let expected = shards.prefix(&hashed);
                if found != expected {
                    let (found, expected) = (hex::encode(found), hex::encode(expected));
                    let reason = format!("the shard {found} where its first field belongs to {expected}");
                    return Err(Error::bytes(0, reason));
                }
            }
            values.push(value);
            if !last {
                reader.delimiter()?;
            }
        }
        reader.finish()?;
        Ok(values)
    }

    fn sorts_after(&self, fields: &Fields, equal: usize) -> Result<bool, Error> {
        self.check(fields)?;
        Ok(self.sorts(fields, equal))
    }
}

/// What was set for the field with this number.
fn set<T: Copy>(rules: &[(usize, T)], number: usize) -> Option<T> {
    rules.iter().find(|(field, _)| *field == number).map(|(_, rule)| *rule)
}
