//! A tree of sorted keys: the primary key of a table, or an index.
//!
//! ```text
//! │tree id, 4 bytes│place, 0 to 2 bytes│key of the fields│
//! ```
//!
//! The fields of an index are those it was declared with, and behind them those of the primary key that are not
//! among them: so entries of equal values stand apart, in the order of the primary key.

use keyloom_key::placement::hashed_bytes;
use keyloom_key::{
    Collation, Direction, Field, Fields, KeyFormat, Native, Nulls, Span, Type, Value, prefix_end,
};

use crate::error::Error;
use crate::format::{Format, Placement};

/// One field of a tree's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The column's number.
    pub column: u16,
    /// The column's name.
    pub name: String,
    /// Its type, direction and nulls.
    pub field: Field,
    /// Whether the column is a list, of which the key has one element.
    pub many: bool,
}

impl Part {
    /// Whether a value read from the key is the value that was written, and not only one that is equal to it.
    pub fn is_exact(&self) -> bool {
        is_exact(&self.field.kind)
    }
}

fn is_exact(kind: &Type) -> bool {
    match kind {
        // Folded text, a decimal's trailing zeros and the sign of zero are not in the key.
        Type::Str(Collation::NoCase) | Type::Decimal(_) | Type::F64 | Type::F32 => false,
        Type::Tuple(fields) => fields.iter().all(|field| is_exact(&field.kind)),
        _ => true,
    }
}

/// Sorted keys of certain columns, in a format, at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    id: u32,
    parts: Vec<Part>,
    declared: usize,
    fields: Fields,
    declared_fields: Fields,
    format: Format,
    placement: Placement,
}

impl Tree {
    /// How many bytes of a key say which tree it is in.
    pub const ID: usize = 4;

    pub(crate) fn new(parts: Vec<Part>, declared: usize, format: Format, placement: Placement) -> Self {
        let fields = |count| parts.iter().take(count).map(|part| part.field.clone()).collect();
        let (fields, declared_fields) = (fields(parts.len()), fields(declared));
        Self { id: 0, parts, declared, fields, declared_fields, format, placement }
    }

    /// The tree's number; 0 until the table is created.
    pub fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn set_id(&mut self, id: u32) {
        self.id = id;
    }

    /// What its keys are made of.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// How many of the parts were declared; behind them stand those of the primary key.
    pub fn declared(&self) -> usize {
        self.declared
    }

    /// The fields of its keys.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The format of its keys.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Where its keys go.
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// How many bytes stand before the fields.
    pub fn head_length(&self) -> usize {
        let after = if self.placement.width() > 0 { self.format.after_shard().len() } else { 0 };
        Self::ID + self.placement.width() + after
    }

    /// Appends what stands before the fields of every key at this place.
    pub fn head(&self, place: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_be_bytes());
        let [_, _, high, low] = place.to_be_bytes();
        match self.placement {
            Placement::Ordered => {}
            Placement::Shards(_) => {
                out.extend_from_slice(&[high, low]);
                out.extend_from_slice(self.format.after_shard());
            }
            Placement::Stripes(_) => {
                out.push(low);
                out.extend_from_slice(self.format.after_shard());
            }
        }
    }

    /// The place of the keys whose first field has this value.
    pub fn place(&self, first: &Value<'_>) -> Result<u32, Error> {
        if self.placement == Placement::Ordered {
            return Ok(0);
        }
        let Some(part) = self.parts.first() else { return Ok(0) };
        let hashed = hashed_bytes(&part.field, first).map_err(|refusal| refusal.at(1))?;
        Ok(self.placement.place_of(&hashed))
    }

    /// Appends the key of these values, one for each part or for each of the first parts.
    pub fn key(&self, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Error> {
        let place = values.first().map_or(Ok(0), |first| self.place(first))?;
        let length = out.len();
        self.head(place, out);
        self.format.encode(&self.fields, values, out).map_err(|error| {
            out.truncate(length);
            self.named(error)
        })
    }

    /// Does what [`key`](Self::key) does with values that need not lie side by side.
    pub fn key_of_each<'v>(&self, values: &[&'v Value<'v>], out: &mut Vec<u8>) -> Result<(), Error> {
        if self.format != Format::Native {
            let values: Vec<Value<'_>> = values.iter().map(|value| value.borrowed()).collect();
            return self.key(&values, out);
        }
        let place = values.first().map_or(Ok(0), |first| self.place(first))?;
        let length = out.len();
        self.head(place, out);
        Native.encode_each(&self.fields, values.iter().copied(), out).map_err(|error| {
            out.truncate(length);
            self.named(error)
        })
    }

    /// The values of a key.
    pub fn values<'k>(&self, key: &'k [u8]) -> Result<Vec<Value<'k>>, Error> {
        let fields = key.get(self.head_length()..).unwrap_or_default();
        Ok(self.format.decode(&self.fields, fields)?)
    }

    /// The values of a key that has only the declared parts, as the entries of a unique index have.
    pub fn declared_values<'k>(&self, key: &'k [u8]) -> Result<Vec<Value<'k>>, Error> {
        let fields = key.get(self.head_length()..).unwrap_or_default();
        Ok(self.format.decode(&self.declared_fields, fields)?)
    }

    /// The bytes of a key up to the end of its first `count` parts. Only native keys say where a part ends.
    pub fn lead<'k>(&self, key: &'k [u8], count: usize) -> Result<&'k [u8], Error> {
        if self.format != Format::Native {
            let reason = format!("the {} format does not say where a part ends", self.format);
            return Err(
                keyloom_key::Error::Layout { format: self.format.name(), reason: reason.into() }.into()
            );
        }
        let head = self.head_length();
        let length = Native.length(&self.fields, count, key.get(head..).unwrap_or_default())?;
        Ok(key.get(..head + length).unwrap_or(key))
    }

    /// The span of every key of the tree.
    pub fn span(&self) -> Span {
        Span::prefix(self.id.to_be_bytes())
    }

    /// A span of fields as a span of keys at this place.
    pub fn at(&self, place: u32, fields: &Span) -> Span {
        let mut start = Vec::with_capacity(self.head_length() + fields.start.len());
        self.head(place, &mut start);
        let end = match &fields.end {
            None => prefix_end(start.as_slice()),
            Some(end) => Some([start.as_slice(), end].concat()),
        };
        start.extend_from_slice(&fields.start);
        Span { start, end }
    }

    /// The error of a key, said of the column by its name.
    pub fn named(&self, error: keyloom_key::Error) -> Error {
        match error {
            keyloom_key::Error::Value { field, reason } => {
                let name = field.checked_sub(1).and_then(|index| self.parts.get(index));
                Error::Value { field: name.map_or(field.to_string(), |part| part.name.clone()), reason }
            }
            other => other.into(),
        }
    }

    /// What its bytes depend on: columns and types in their order, format, placement.
    pub fn layout(&self) -> String {
        let parts = self.parts.iter().map(|part| format!("{} {}", part.name, part.field));
        format!("({}) {} {}", parts.collect::<Vec<_>>().join(", "), self.format, self.placement)
    }

    /// A hash of its number and its layout: another tree, or one whose bytes mean something else, has another.
    pub fn fingerprint(&self) -> u64 {
        twox_hash::XxHash3_64::oneshot(format!("{} {}", self.id, self.layout()).as_bytes())
    }

    /// The key as the schema says it: `(user_id, order_date desc)`, the declared parts only.
    pub fn text(&self) -> String {
        let parts = self.parts.iter().take(self.declared).map(|part| {
            let mut text = part.name.clone();
            let (direction, nulls) = (part.field.direction, part.field.nulls);
            if direction == Direction::Descending {
                text.push_str(" desc");
            }
            match nulls {
                Some(nulls) if nulls != default_nulls(direction) => {
                    text.push_str(if nulls == Nulls::First { " nulls-first" } else { " nulls-last" });
                }
                _ => {}
            }
            text
        });
        format!("({})", parts.collect::<Vec<_>>().join(", "))
    }
}

/// Null is smaller than every value, unless the key says otherwise.
pub(crate) fn default_nulls(direction: Direction) -> Nulls {
    match direction {
        Direction::Ascending => Nulls::First,
        Direction::Descending => Nulls::Last,
    }
}
