//! A record's bytes as they lie, read one field at a time.

use std::cmp::Ordering;

use keyloom_key::Value;

use super::format::{NAMED, VERSION, WIDTH_BITS, Width};
use super::{Document, FieldRef, Names, value};
use crate::error::Error;

/// A view of a record's bytes. Text and bytes are borrowed from them.
///
/// Making one looks only at the tables' sizes; each read checks what it touches, so damage elsewhere goes unnoticed
/// until it is read. [`iter`](Self::iter) checks everything.
#[derive(Debug, Clone, Copy)]
pub struct Payload<'a> {
    width: Width,
    declared_len: usize,
    undeclared_len: usize,
    /// An id and the end of its value, for each declared field.
    declared: &'a [u8],
    /// The end of its name and that of its value, for each undeclared field.
    undeclared: &'a [u8],
    data: &'a [u8],
    /// Where the data begin, for errors.
    at: usize,
}

const CUT_OFF: &str = "the record ends within its tables";
const NO_VERSION: &str = "is no version of a record that this program reads";
const NOT_IN_ORDER: &str = "fields that are not in order, each once";

/// Why bytes are no record, before anyone is told.
#[derive(Debug, Clone, Copy)]
struct Damage {
    at: usize,
    what: &'static str,
    /// The first byte, if that is it.
    head: Option<u8>,
}

impl Damage {
    #[cold]
    fn told(self) -> Error {
        match self.head {
            Some(head) => Error::bytes(self.at, format!("{head:02X} {}", self.what)),
            None => Error::bytes(self.at, self.what),
        }
    }
}

impl<'a> Payload<'a> {
    /// A view of these bytes, which must be all of one record.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::parse(bytes).map_err(Damage::told)
    }

    // What is wrong is told elsewhere: without that this is short, and what it finds need not be moved.
    #[inline(always)]
    fn parse(bytes: &'a [u8]) -> Result<Self, Damage> {
        let cut = Damage { at: bytes.len(), what: CUT_OFF, head: None };
        let at_head = |what| Damage { at: 0, what, head: None };
        let (&head, rest) = bytes.split_first().ok_or(cut)?;
        if head & !(WIDTH_BITS | NAMED) != VERSION {
            return Err(Damage { head: Some(head), ..at_head(NO_VERSION) });
        }
        let width = Width::from_head(head).ok_or(at_head("tables of no known width"))?;
        let (declared_len, declared, mut rest) = table(rest, width, 2 + width.bytes()).ok_or(cut)?;
        let (mut undeclared_len, mut undeclared): (usize, &[u8]) = (0, &[]);
        if head & NAMED != 0 {
            (undeclared_len, undeclared, rest) = table(rest, width, 2 * width.bytes()).ok_or(cut)?;
            if undeclared.is_empty() {
                let (at, what) = (bytes.len() - rest.len(), "a table of no names: it is left out");
                return Err(Damage { at, what, head: None });
            }
        }
        let at = bytes.len() - rest.len();
        let table = if undeclared.is_empty() { declared } else { undeclared };
        let last = table.get(table.len().wrapping_sub(width.bytes())..).and_then(|end| width.read(end));
        if last.unwrap_or(0) != rest.len() {
            let what = "the record does not end where its last field does";
            return Err(Damage { at, what, head: None });
        }
        if Width::of(rest.len()) != Some(width) {
            return Err(at_head("tables wider than the record needs"));
        }
        Ok(Self { width, declared_len, undeclared_len, declared, undeclared, data: rest, at })
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.declared_len + self.undeclared_len
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there are fields that stand with their names: none was declared when the record was written.
    pub fn has_undeclared(&self) -> bool {
        self.undeclared_len > 0
    }

    /// The value of the declared field with this id, or `None` if the record has none; null is a value.
    #[inline]
    pub fn get(&self, id: u16) -> Result<Option<Value<'a>>, Error> {
        let Some(field) = self.find(id)? else { return Ok(None) };
        field.plain().map_or_else(|| field.read(), Ok).map(Some)
    }

    /// The declared field with this id, not yet read, or `None` if the record has none.
    ///
    /// Read where it is used, a value is made there and not moved from one result to another.
    #[inline(always)]
    pub fn find(&self, id: u16) -> Result<Option<Field<'a>>, Error> {
        let found = match self.width {
            Width::One => find(self.declared, id, |[_, _, end]| usize::from(end)),
            Width::Two => find(self.declared, id, |[_, _, a, b]| usize::from(u16::from_be_bytes([a, b]))),
            Width::Four => find(self.declared, id, |[_, _, a, b, c, d]| {
                usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX)
            }),
        };
        let Some((start, end)) = found else { return Ok(None) };
        let (bytes, at) = self.slice(start, end)?;
        Ok(Some(Field { bytes, at }))
    }

    /// The value of the undeclared field with this name, or `None` if the record has none; null is a value.
    pub fn get_unknown(&self, name: &str) -> Result<Option<Value<'a>>, Error> {
        let found = search(self.undeclared_len, |index| {
            let (found, ..) = self.undeclared_at(index).ok()?;
            Some(found.cmp(name.as_bytes()))
        });
        let Some(index) = found else { return Ok(None) };
        let (_, bytes, at) = self.undeclared_at(index)?;
        value::read(bytes, at, 0).map(Some)
    }

    /// The value of the field with this name under a schema, wherever the record keeps it.
    ///
    /// A field that was written before the schema declared it still stands with its name. If both are there, the
    /// declared one is the field.
    pub fn get_named(&self, names: &(impl Names + ?Sized), name: &str) -> Result<Option<Value<'a>>, Error> {
        if let Some(id) = names.id(name)
            && let Some(value) = self.get(id)?
        {
            return Ok(Some(value));
        }
        self.get_unknown(name)
    }

    /// Every field with its value: declared fields by id, then the others by name.
    ///
    /// Checks what it passes: a record that is read to its end without an error is exactly what [`encode`](super::encode)
    /// gives for these fields. After an error comes nothing that counts.
    pub fn iter(&self) -> impl Iterator<Item = Result<(FieldRef<'a>, Value<'a>), Error>> + use<'a> {
        let payload = *self;
        let declared = (0..self.declared_len).map(move |index| {
            let id = payload.id(index);
            if index > 0 && payload.id(index - 1) >= id {
                return Err(Error::bytes(1, NOT_IN_ORDER));
            }
            let (bytes, at) = payload.declared_at(index)?;
            Ok((FieldRef::Id(id.unwrap_or(0)), value::read(bytes, at, 0)?))
        });
        let undeclared = (0..self.undeclared_len).map(move |index| {
            let (name, bytes, at) = payload.undeclared_at(index)?;
            let name_at = at - name.len();
            if index > 0 && payload.undeclared_at(index - 1)?.0 >= name {
                return Err(Error::bytes(name_at, NOT_IN_ORDER));
            }
            Ok((FieldRef::Name(value::text(name, name_at)?), value::read(bytes, at, 0)?))
        });
        declared.chain(undeclared)
    }

    /// The whole record. Fields whose ids `names` does not know are kept as [`Document::foreign`] has them.
    ///
    /// If a field is there both declared and with its name, the declared one stays.
    pub fn to_document(&self, names: &(impl Names + ?Sized)) -> Result<Document, Error> {
        let mut document = Document::new();
        for field in self.iter() {
            let (field, value) = field?;
            let value = value.into_owned();
            match field {
                FieldRef::Id(id) => match names.name(id) {
                    Some(name) => drop(document.set(name.to_owned(), value)),
                    None => document.set_foreign(id, value),
                },
                // Declared fields came first.
                FieldRef::Name(name) if document.get(name).is_none() => {
                    drop(document.set(name.to_owned(), value))
                }
                FieldRef::Name(_) => {}
            }
        }
        Ok(document)
    }

    fn id(&self, index: usize) -> Option<u16> {
        let entry = self.declared.get(index * (2 + self.width.bytes())..)?;
        entry.first_chunk().map(|id| u16::from_be_bytes(*id))
    }

    /// Where the value of a declared field ends, and so the next one begins; 0 before the first.
    #[inline]
    fn declared_end(&self, count: usize) -> usize {
        let Some(before) = count.checked_sub(1) else { return 0 };
        let end = self.declared.get(before * (2 + self.width.bytes()) + 2..);
        end.and_then(|end| self.width.read(end)).unwrap_or(usize::MAX)
    }

    /// The bytes of a declared field's value, and where they begin.
    #[inline]
    fn declared_at(&self, index: usize) -> Result<(&'a [u8], usize), Error> {
        self.slice(self.declared_end(index), self.declared_end(index + 1))
    }

    /// Where an undeclared field's name (`2 * index`) or value (`2 * index + 1`) ends.
    fn undeclared_end(&self, index: usize) -> usize {
        let end = self.undeclared.get(index * self.width.bytes()..);
        end.and_then(|end| self.width.read(end)).unwrap_or(usize::MAX)
    }

    /// The name of an undeclared field, the bytes of its value, and where these begin.
    fn undeclared_at(&self, index: usize) -> Result<(&'a [u8], &'a [u8], usize), Error> {
        let start = match index.checked_sub(1) {
            None => self.declared_end(self.declared_len),
            Some(before) => self.undeclared_end(2 * before + 1),
        };
        let middle = self.undeclared_end(2 * index);
        let (name, _) = self.slice(start, middle)?;
        let (value, at) = self.slice(middle, self.undeclared_end(2 * index + 1))?;
        Ok((name, value, at))
    }

    #[inline]
    fn slice(&self, start: usize, end: usize) -> Result<(&'a [u8], usize), Error> {
        match self.data.get(start..end) {
            Some(bytes) => Ok((bytes, self.at + start)),
            None => Err(Error::bytes(1, "a table whose ends do not ascend within the record")),
        }
    }
}

/// A table of entries of so many bytes, their number before them: the number, the table, what follows.
#[inline]
fn table(bytes: &[u8], width: Width, entry: usize) -> Option<(usize, &[u8], &[u8])> {
    let count = width.read(bytes)?;
    let (table, rest) = bytes.get(width.bytes()..)?.split_at_checked(count.checked_mul(entry)?)?;
    Some((count, table, rest))
}

/// Where the value with this id begins and ends, in a table whose entries have `N` bytes and say where theirs `ends`.
#[inline]
fn find<const N: usize>(table: &[u8], id: u16, ends: impl Fn([u8; N]) -> usize) -> Option<(usize, usize)> {
    let (entries, _) = table.as_chunks::<N>();
    let id_at = |index: usize| entries.get(index)?.first_chunk().map(|id| u16::from_be_bytes(*id));
    // Ids ascend, so none is farther back than its distance from the first; in most records it is just there.
    let most = usize::from(id.checked_sub(id_at(0)?)?);
    let index = if id_at(most) == Some(id) {
        most
    } else {
        search(entries.len().min(most), |index| id_at(index).map(|found| found.cmp(&id)))?
    };
    let end_of = |index: usize| entries.get(index).map(|entry| ends(*entry));
    Some((index.checked_sub(1).and_then(end_of).unwrap_or(0), end_of(index)?))
}

/// The index that compares as equal, by halving. Bytes out of order may hide an entry and do no other harm.
#[inline]
fn search(count: usize, compare: impl Fn(usize) -> Option<Ordering>) -> Option<usize> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        match compare(middle)? {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Some(middle),
            Ordering::Greater => high = middle,
        }
    }
    None
}

/// A field of a record, not yet read. See [`Payload::find`].
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Field<'a> {
    /// Its value.
    pub fn read(self) -> Result<Value<'a>, Error> {
        value::read(self.bytes, self.at, 0)
    }

    /// Its value if it is text or an integer, and nothing is wrong with it: most are, and this is soon done.
    #[inline(always)]
    pub fn plain(self) -> Option<Value<'a>> {
        value::read_plain(self.bytes)
    }
}
