//! What a record is in the store: its own key and payload, and an entry in every index it belongs to.
//!
//! ```text
//! record   │primary key│ → │payload: every field that the key does not give back│
//! entry    │index key  │ → │shape│length│primary key│payload of the covered fields│
//! ```

use keyloom_key::{Type, Value};
use keyloom_schema::document::{self, FieldRef};
use keyloom_schema::{Document, Index, Source, Table, Tree};
use smallvec::SmallVec;

use crate::error::Error;

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// Whether another record with the same key is a violation.
    pub(crate) unique: bool,
}

/// A record's values, each by the number of its column.
pub(crate) trait Columns: Source {
    /// The value of a column; `None` if the record has none.
    fn column(&self, number: u16) -> Option<&Value<'_>>;
}

/// The fields of a document. Each is looked for by its name once.
pub(crate) struct Fields<'a> {
    table: &'a Table,
    document: &'a Document,
    /// The value of the first column, and so on.
    values: SmallVec<[Option<&'a Value<'static>>; 8]>,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(table: &'a Table, document: &'a Document) -> Self {
        let values = table.columns().iter().map(|column| document.get(&column.name)).collect();
        Self { table, document, values }
    }

    /// Those that the table does not declare.
    fn others(&self) -> impl Iterator<Item = (FieldRef<'_>, &Value<'_>)> {
        let (table, document) = (self.table, self.document);
        // Mostly there are none, and nothing has to be looked for.
        let all_declared = self.values.iter().flatten().count() == document.len();
        let named = document.iter().filter(move |(name, _)| !all_declared && table.column(name).is_none());
        let named = named.map(|(name, value)| (FieldRef::Name(name), value));
        named.chain(document.foreign().map(|(id, value)| (FieldRef::Id(id), value)))
    }
}

impl Source for Fields<'_> {
    fn value(&self, name: &str) -> Result<Value<'_>, keyloom_schema::Error> {
        Ok(self.document.get(name).map_or(Value::Null, Value::borrowed))
    }

    fn kind(&self, name: &str) -> Option<&Type> {
        self.table.column(name).map(|column| column.kind.element())
    }
}

impl Columns for Fields<'_> {
    fn column(&self, number: u16) -> Option<&Value<'_>> {
        self.values.get(usize::from(number).checked_sub(1)?).copied().flatten()
    }
}

/// Appends the key of a record.
pub(crate) fn write_key(table: &Table, record: &impl Columns, out: &mut Vec<u8>) -> Result<(), Error> {
    Ok(table.primary().key_of_each(&values_of(table.primary(), record), out)?)
}

/// The values of the parts of a tree; null where the record has none.
fn values_of<'r>(tree: &Tree, record: &'r impl Columns) -> Values<'r> {
    tree.parts().iter().map(|part| record.column(part.column).unwrap_or(&Value::Null)).collect()
}

/// The values of a key.
type Values<'r> = SmallVec<[&'r Value<'r>; 8]>;

/// The key of a record with these values in its primary key.
pub(crate) fn record_key(table: &Table, values: &[Value<'_>]) -> Result<Vec<u8>, Error> {
    let parts = table.primary().parts();
    if values.len() != parts.len() {
        let reason = format!("{} values for the key {}", values.len(), table.primary().text());
        return Err(
            keyloom_schema::Error::Value { field: table.name().to_owned(), reason: reason.into() }.into()
        );
    }
    let mut key = Vec::with_capacity(64);
    table.primary().key(values, &mut key)?;
    Ok(key)
}

/// The key of a record by values as a caller gave them, in the types that the table declares if they are others.
pub(crate) fn given_key(table: &Table, values: &[Value<'_>]) -> Result<Vec<u8>, Error> {
    // Mostly they are of the right types, and nothing has to be made of them.
    if let Ok(key) = record_key(table, values) {
        return Ok(key);
    }
    let parts = table.primary().parts();
    let coerced = values.iter().enumerate().map(|(index, value)| {
        let column = parts.get(index).and_then(|part| table.column_by_id(part.column));
        column.map_or(Ok(value.borrowed()), |column| column.coerce(value.borrowed()))
    });
    record_key(table, &coerced.collect::<Result<Vec<_>, _>>()?)
}

/// Appends a document's payload: every field that its key does not give back.
pub(crate) fn payload(fields: &Fields<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    write_payload(fields.table, fields, fields.others(), out)
}

/// Appends a record's payload, with fields that the table does not declare.
pub(crate) fn write_payload<'r>(
    table: &Table,
    record: &'r impl Columns,
    others: impl Iterator<Item = (FieldRef<'r>, &'r Value<'r>)>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let in_key = |id: u16, value: &Value<'_>| {
        let part = table.primary().parts().iter().find(|part| part.column == id);
        part.is_some_and(|part| part.is_exact() && *value != Value::Null)
    };
    // Declared columns first, in the order of their numbers: the order that costs the encoder nothing.
    let declared = table.columns().iter();
    let declared = declared.filter_map(|column| Some((column.id, record.column(column.id)?)));
    let declared = declared.filter(|(id, value)| !in_key(*id, value));
    let declared = declared.map(|(id, value)| (FieldRef::Id(id), value));
    Ok(document::encode(table, declared.chain(others), out)?)
}

/// Memory for entries, used again for each.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Scratch {
    /// With room for most entries: for those who use it a few times.
    pub(crate) fn with_room() -> Self {
        Self { key: Vec::with_capacity(96), value: Vec::with_capacity(96) }
    }
}

/// Shows the entries of a record in an index: each key, its value, and whether another record with the same key is a
/// violation.
pub(crate) fn each_entry(
    table: &Table,
    index: &Index,
    record: &impl Columns,
    primary_key: &[u8],
    scratch: &mut Scratch,
    mut visit: impl FnMut(&[u8], &[u8], bool),
) -> Result<(), Error> {
    if let Some(only) = index.only()
        && !only.holds(record)?
    {
        return Ok(());
    }
    let tree = index.tree();
    let mut values = values_of(tree, record);
    let Scratch { key, value } = scratch;
    let fields = index.covering().iter().filter_map(|id| Some((*id, record.column(*id)?)));
    begin_entry_value(primary_key, value);
    document::encode(table, fields, value)?;
    let mut one = |values: &[&Value<'_>], seen: Option<&mut Vec<Vec<u8>>>| -> Result<(), Error> {
        let declared = values.get(..tree.declared()).unwrap_or(values);
        let unique = index.is_unique() && declared.iter().all(|value| **value != Value::Null);
        key.clear();
        tree.key_of_each(if unique { declared } else { values }, key)?;
        if let Some(seen) = seen {
            // An element that is there twice has one entry.
            if seen.contains(key) {
                return Ok(());
            }
            seen.push(key.clone());
        }
        // All entries of a record say the same but for their shape, which comes first.
        if let Some(shape) = value.first_mut() {
            *shape = if unique { DECLARED } else { WHOLE };
        }
        visit(key, value, unique);
        Ok(())
    };
    let Some(number) = tree.parts().iter().position(|part| part.many) else { return one(&values, None) };
    // A list that is not there has no elements.
    let Some(Value::List(elements)) = values.get(number) else { return Ok(()) };
    let mut seen = Vec::with_capacity(elements.len());
    for element in elements.iter().filter(|element| **element != Value::Null) {
        if let Some(place) = values.get_mut(number) {
            *place = element;
        }
        one(&values, Some(&mut seen))?;
    }
    Ok(())
}

/// The entries of a document in an index.
pub(crate) fn index_entries(
    table: &Table,
    index: &Index,
    document: &Document,
    primary_key: &[u8],
) -> Result<Vec<Entry>, Error> {
    let (record, mut entries) = (Fields::of(table, document), Vec::new());
    each_entry(table, index, &record, primary_key, &mut Scratch::with_room(), |key, value, unique| {
        entries.push(Entry { key: key.to_vec(), value: value.to_vec(), unique });
    })?;
    Ok(entries)
}

/// How many bytes each entry that a record has in an index takes, of keys and of values.
///
/// The index need not be there: it is [described](Table::describe_index) only.
pub fn entry_sizes(table: &Table, index: &Index, document: &Document) -> Result<Vec<(usize, usize)>, Error> {
    let key = record_key(table, &table.key_values(document))?;
    let entries = index_entries(table, index, document, &key)?;
    Ok(entries.iter().map(|entry| (entry.key.len(), entry.value.len())).collect())
}

/// The entries of a record in all indexes, each with the index's number.
pub(crate) fn all_entries(
    table: &Table,
    document: &Document,
    primary_key: &[u8],
) -> Result<Vec<(usize, Entry)>, Error> {
    if table.indexes().is_empty() {
        return Ok(Vec::new());
    }
    let (record, mut scratch) = (Fields::of(table, document), Scratch::with_room());
    let mut all = Vec::with_capacity(table.indexes().len());
    for (number, index) in table.indexes().iter().enumerate() {
        each_entry(table, index, &record, primary_key, &mut scratch, |key, value, unique| {
            all.push((number, Entry { key: key.to_vec(), value: value.to_vec(), unique }));
        })?;
    }
    Ok(all)
}

/// An entry's shape: whether its key ends with the declared parts.
const WHOLE: u8 = 0;
const DECLARED: u8 = 1;

/// Makes `out` what stands before the covered fields in the value of an entry, one with a whole key.
fn begin_entry_value(primary_key: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.push(WHOLE);
    // A key has 65,535 bytes at most in every store.
    let length = u16::try_from(primary_key.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(primary_key);
}

/// Says in an entry's value that its record lies in the tree of this number.
pub(crate) fn set_tree(value: &mut [u8], tree: u32) {
    // Behind the shape and the length.
    value.iter_mut().skip(3).zip(tree.to_be_bytes()).for_each(|(place, byte)| *place = byte);
}

/// What an entry's value says.
pub(crate) struct EntryValue<'a> {
    /// Whether the key has all parts of the tree, and not only the declared ones.
    pub(crate) whole: bool,
    /// The key of the record.
    pub(crate) primary_key: &'a [u8],
    /// The covered fields.
    pub(crate) covered: &'a [u8],
}

impl<'a> EntryValue<'a> {
    pub(crate) fn parse(value: &'a [u8]) -> Option<Self> {
        let (shape, rest) = value.split_first()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (primary_key, covered) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        match *shape {
            WHOLE => Some(Self { whole: true, primary_key, covered }),
            DECLARED => Some(Self { whole: false, primary_key, covered }),
            _ => None,
        }
    }
}

/// The document of a record.
pub(crate) fn document(table: &Table, key: &[u8], payload: &[u8]) -> Result<Document, Error> {
    crate::row::Row::record(table, key, payload)?.to_document()
}
