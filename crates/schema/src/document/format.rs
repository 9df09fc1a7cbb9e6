//! A record's bytes: a table that says where each field is, then the fields.
//!
//! ```text
//! {1: "ab", 3: 7}               │01│02│00 01│03│00 03│05│08 61 62│03 07│
//! {1: "ab"} and "note": "x"     │41│01│00 01│03│01│07│09│08 61 62│6E 6F 74 65│08 78│
//!                                 │  │  │    │  │  │  └ where its value ends
//!                                 │  │  │    │  │  └ where the name ends
//!                                 │  │  │    │  └ how many fields have names
//!                                 │  │  id   └ where field 1 ends, counted from behind the tables
//!                                 │  └ how many fields have ids
//!                                 └ version 1; 40: there are fields with names; 10, 20: numbers have 2, 4 bytes
//! ```
//!
//! Fields that the schema declares have ids and are sorted by them; others have their names and are sorted by those.
//! A reader finds one field by search in a table and touches no other. `VALUE_FORMAT.md` has every detail.

use std::borrow::Cow;
use std::fmt;

use keyloom_key::Value;
use smallvec::SmallVec;

use super::value;
use crate::error::Error;

pub(super) const VERSION: u8 = 0x01;
pub(super) const WIDTH_BITS: u8 = 0x30;
pub(super) const NAMED: u8 = 0x40;

/// What the ids of a schema's fields are called.
///
/// An id stays with its field for ever: it is not given to another field when the first is dropped.
pub trait Names {
    /// The id of the field with this name, if the schema declares it.
    fn id(&self, name: &str) -> Option<u16>;
    /// The name of the field with this id, if the schema declares it.
    fn name(&self, id: u16) -> Option<&str>;
}

impl<N: Names + ?Sized> Names for &N {
    fn id(&self, name: &str) -> Option<u16> {
        (**self).id(name)
    }

    fn name(&self, id: u16) -> Option<&str> {
        (**self).name(id)
    }
}

/// Which field: by the id that a schema gave it, or by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldRef<'a> {
    /// A declared field.
    Id(u16),
    /// A field by its name: declared or not.
    Name(&'a str),
}

impl From<u16> for FieldRef<'_> {
    fn from(id: u16) -> Self {
        Self::Id(id)
    }
}

impl<'a> From<&'a str> for FieldRef<'a> {
    fn from(name: &'a str) -> Self {
        Self::Name(name)
    }
}

impl fmt::Display for FieldRef<'_> {
    /// The name, or `#` and the id.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "#{id}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// How many bytes each count and each end in the tables has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    One,
    Two,
    Four,
}

impl Width {
    /// The width of a record with this many bytes of data: the least that holds it.
    ///
    /// It holds the counts too, because every field has a byte at least.
    #[inline]
    pub(super) fn of(data: usize) -> Option<Self> {
        match data {
            0..=0xFF => Some(Self::One),
            0x100..=0xFFFF => Some(Self::Two),
            _ => u32::try_from(data).is_ok().then_some(Self::Four),
        }
    }

    #[inline]
    pub(super) fn from_head(head: u8) -> Option<Self> {
        match head & WIDTH_BITS {
            0x00 => Some(Self::One),
            0x10 => Some(Self::Two),
            0x20 => Some(Self::Four),
            _ => None,
        }
    }

    fn head(self) -> u8 {
        match self {
            Self::One => 0x00,
            Self::Two => 0x10,
            Self::Four => 0x20,
        }
    }

    #[inline]
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// Reads a number from the front.
    #[inline]
    pub(super) fn read(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::One => bytes.first().map(|byte| usize::from(*byte)),
            Self::Two => bytes.first_chunk().map(|bytes| usize::from(u16::from_be_bytes(*bytes))),
            Self::Four => usize::try_from(u32::from_be_bytes(*bytes.first_chunk()?)).ok(),
        }
    }

    /// Writes a number that this width holds to the front.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the width was chosen to hold the largest number")]
    fn write(self, number: usize, to: &mut [u8]) {
        match self {
            Self::One => to.iter_mut().take(1).for_each(|place| *place = number as u8),
            Self::Two => place(to, (number as u16).to_be_bytes()),
            Self::Four => place(to, (number as u32).to_be_bytes()),
        }
    }
}

#[inline]
fn place<const N: usize>(to: &mut [u8], bytes: [u8; N]) {
    if let Some(to) = to.first_chunk_mut() {
        *to = bytes;
    }
}

type Declared<'a> = SmallVec<[(u16, &'a Value<'a>); 16]>;
type Undeclared<'a> = Vec<(&'a str, &'a Value<'a>)>;

/// Appends the bytes of a record with these fields to `out`.
///
/// A field that `names` declares is written with its id, any other with its name; an id is written as it is. A field
/// given twice is refused, and so is what [`MAX_DEPTH`](super::MAX_DEPTH) or the 4 GiB of a record do not allow; then
/// `out` is as it was. Up to 16 declared fields in the order of their ids need no memory but that of `out`.
///
/// ```
/// use keyloom_key::Value;
/// use keyloom_schema::document::{Names, Payload, encode};
///
/// struct Orders;
/// impl Names for Orders {
///     fn id(&self, name: &str) -> Option<u16> {
///         (name == "total").then_some(7)
///     }
///     fn name(&self, id: u16) -> Option<&str> {
///         (id == 7).then_some("total")
///     }
/// }
///
/// let mut bytes = Vec::new();
/// encode(&Orders, [("total", &Value::Int(300)), ("note", &"x".into())], &mut bytes)?;
/// let record = Payload::new(&bytes)?;
/// assert_eq!(record.get(7)?, Some(Value::Int(300)));
/// assert_eq!(record.get_unknown("note")?, Some("x".into()));
/// # Ok::<(), keyloom_schema::Error>(())
/// ```
pub fn encode<'a, F: Into<FieldRef<'a>>>(
    names: &(impl Names + ?Sized),
    fields: impl IntoIterator<Item = (F, &'a Value<'a>)>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut declared = Declared::new();
    let mut undeclared = Undeclared::new();
    for (field, value) in fields {
        match field.into() {
            FieldRef::Id(id) => declared.push((id, value)),
            FieldRef::Name(name) => match names.id(name) {
                Some(id) => declared.push((id, value)),
                None => undeclared.push((name, value)),
            },
        }
    }
    let said = |id: u16| names.name(id).map_or_else(|| FieldRef::Id(id).to_string(), str::to_owned);
    if let Some(id) = sort(&mut declared) {
        return Err(Error::value(said(id), TWICE));
    }
    if let Some(name) = sort(&mut undeclared) {
        return Err(Error::value(name, TWICE));
    }
    let start = out.len();
    write(&declared, &undeclared, out).map_err(|(field, reason)| {
        out.truncate(start);
        match field {
            FieldRef::Id(id) => Error::value(said(id), reason),
            FieldRef::Name(name) => Error::value(name, reason),
        }
    })
}

const TWICE: &str = "given twice: give it once";

/// Sorts fields, and gives one that is there twice.
#[inline]
fn sort<K: Ord + Copy, V>(fields: &mut [(K, V)]) -> Option<K> {
    if !fields.is_sorted_by(|(a, _), (b, _)| a < b) {
        fields.sort_by_key(|(key, _)| *key);
        return fields
            .iter()
            .zip(fields.iter().skip(1))
            .find(|((a, _), (b, _))| a == b)
            .map(|((a, _), _)| *a);
    }
    None
}

fn write<'a>(
    declared: &[(u16, &'a Value<'a>)],
    undeclared: &[(&'a str, &'a Value<'a>)],
    out: &mut Vec<u8>,
) -> Result<(), (FieldRef<'a>, Cow<'static, str>)> {
    let start = out.len();
    // Most records are short: write the table for one, and spread it where that was wrong.
    let tables = Tables { declared: declared.len(), undeclared: undeclared.len() };
    let data = start + tables.bytes(Width::One);
    out.resize(data, 0);
    let mut ends: SmallVec<[usize; 16]> = SmallVec::new();
    for (id, value) in declared {
        value::write(value, 0, out).map_err(|reason| (FieldRef::Id(*id), reason))?;
        ends.push(out.len() - data);
    }
    for (name, value) in undeclared {
        out.extend_from_slice(name.as_bytes());
        ends.push(out.len() - data);
        value::write(value, 0, out).map_err(|reason| (FieldRef::Name(name), reason))?;
        ends.push(out.len() - data);
    }
    let length = out.len() - data;
    let Some(width) = Width::of(length) else {
        let last = undeclared.last().map(|(name, _)| FieldRef::Name(name));
        let last = last.or(declared.last().map(|(id, _)| FieldRef::Id(*id)));
        return Err((
            last.unwrap_or(FieldRef::Id(0)),
            "the record has 4 GiB or more: keep less in it".into(),
        ));
    };
    let wider = tables.bytes(width) - tables.bytes(Width::One);
    if wider > 0 {
        out.resize(data + length + wider, 0);
        out.copy_within(data..data + length, data + wider);
    }
    tables.write(width, declared, &ends, out.get_mut(start..data + wider).unwrap_or_default());
    Ok(())
}

/// How many fields of either kind there are.
struct Tables {
    declared: usize,
    undeclared: usize,
}

impl Tables {
    /// How many bytes stand before the data.
    #[inline]
    fn bytes(&self, width: Width) -> usize {
        let width = width.bytes();
        let undeclared = if self.undeclared == 0 { 0 } else { width + self.undeclared * 2 * width };
        1 + width + self.declared * (2 + width) + undeclared
    }

    #[inline]
    fn write(&self, width: Width, declared: &[(u16, &Value<'_>)], ends: &[usize], to: &mut [u8]) {
        let named = if self.undeclared == 0 { 0 } else { NAMED };
        let Some((head, to)) = to.split_first_mut() else { return };
        *head = VERSION | width.head() | named;
        let (count, to) = to.split_at_mut(width.bytes());
        width.write(self.declared, count);
        let (table, to) = to.split_at_mut(self.declared * (2 + width.bytes()));
        for (entry, ((id, _), end)) in
            table.chunks_exact_mut(2 + width.bytes()).zip(declared.iter().zip(ends))
        {
            place(entry, id.to_be_bytes());
            width.write(*end, entry.get_mut(2..).unwrap_or_default());
        }
        if self.undeclared > 0 {
            let (count, table) = to.split_at_mut(width.bytes());
            width.write(self.undeclared, count);
            let ends = ends.iter().skip(self.declared);
            for (entry, end) in table.chunks_exact_mut(width.bytes()).zip(ends) {
                width.write(*end, entry);
            }
        }
    }
}
