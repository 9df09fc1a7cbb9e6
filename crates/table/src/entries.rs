//! What a record is in the store: its own key and payload, and an entry in every index it belongs to.
//!
//! ```text
//! record   │primary key│ → │payload: every field that the key does not give back│
//! entry    │index key  │ → │shape│length│primary key│payload of the covered fields│
//! ```

use keyloom_key::{Type, Value};
use keyloom_schema::document::{self, FieldRef};
use keyloom_schema::{Document, Index, Source, Table};

use crate::error::Error;

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// Whether another record with the same key is a violation.
    pub(crate) unique: bool,
}

/// Where a predicate finds the fields of a document.
pub(crate) struct Fields<'a> {
    pub(crate) table: &'a Table,
    pub(crate) document: &'a Document,
}

impl Source for Fields<'_> {
    fn value(&self, name: &str) -> Result<Value<'_>, keyloom_schema::Error> {
        Ok(self.document.get(name).map_or(Value::Null, Value::borrowed))
    }

    fn kind(&self, name: &str) -> Option<&Type> {
        self.table.column(name).map(|column| column.kind.element())
    }
}

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

/// Appends a record's payload: every field that its key does not give back.
pub(crate) fn payload(table: &Table, document: &Document, out: &mut Vec<u8>) -> Result<(), Error> {
    let in_key = |name: &str, value: &Value<'_>| {
        let part = table.primary().parts().iter().find(|part| part.name == name);
        part.is_some_and(|part| part.is_exact() && *value != Value::Null)
    };
    // Declared columns first, in the order of their numbers: the order that costs the encoder nothing.
    let declared = table.columns().iter();
    let declared = declared.filter_map(|column| Some((column.name.as_str(), document.get(&column.name)?)));
    let unknown = document.iter().filter(|(name, _)| table.column(name).is_none());
    let fields = declared.chain(unknown).filter(|(name, value)| !in_key(name, value));
    let fields = fields.map(|(name, value)| (FieldRef::Name(name), value));
    let foreign = document.foreign().map(|(id, value)| (FieldRef::Id(id), value));
    Ok(document::encode(table, fields.chain(foreign), out)?)
}

/// The entries of a record in an index.
pub(crate) fn index_entries(
    table: &Table,
    index: &Index,
    document: &Document,
    primary_key: &[u8],
) -> Result<Vec<Entry>, Error> {
    let source = Fields { table, document };
    if let Some(only) = index.only()
        && !only.holds(&source)?
    {
        return Ok(Vec::new());
    }
    let tree = index.tree();
    let mut values: Vec<Value<'_>> = Vec::with_capacity(tree.parts().len());
    let mut list = None;
    for (number, part) in tree.parts().iter().enumerate() {
        let value = document.get(&part.name).map_or(Value::Null, Value::borrowed);
        match value {
            Value::List(elements) if part.many => {
                list = Some((number, elements));
                values.push(Value::Null);
            }
            // A list that is not there has no elements.
            Value::Null if part.many => return Ok(Vec::new()),
            value => values.push(value),
        }
    }
    let mut covered = Vec::new();
    let fields = index.covering().iter().filter_map(|id| {
        let name = &table.column_by_id(*id)?.name;
        Some((name.as_str(), document.get(name)?))
    });
    document::encode(table, fields, &mut covered)?;
    let one = |values: &[Value<'_>]| -> Result<Entry, Error> {
        let declared = values.get(..tree.declared()).unwrap_or(values);
        let unique = index.is_unique() && !declared.contains(&Value::Null);
        let mut key = Vec::with_capacity(primary_key.len() + 32);
        tree.key(if unique { declared } else { values }, &mut key)?;
        Ok(Entry { key, value: entry_value(unique, primary_key, &covered), unique })
    };
    let Some((number, elements)) = list else { return Ok(vec![one(&values)?]) };
    let mut entries: Vec<Entry> = Vec::with_capacity(elements.len());
    for element in elements {
        if element == Value::Null {
            continue;
        }
        if let Some(place) = values.get_mut(number) {
            *place = element;
        }
        let entry = one(&values)?;
        // An element that is there twice has one entry.
        if !entries.iter().any(|other| other.key == entry.key) {
            entries.push(entry);
        }
    }
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
    let mut all = Vec::new();
    for (number, index) in table.indexes().iter().enumerate() {
        let entries = index_entries(table, index, document, primary_key)?;
        all.extend(entries.into_iter().map(|entry| (number, entry)));
    }
    Ok(all)
}

/// An entry's shape: whether its key ends with the declared parts.
const WHOLE: u8 = 0;
const DECLARED: u8 = 1;

fn entry_value(unique: bool, primary_key: &[u8], covered: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(3 + primary_key.len() + covered.len());
    value.push(if unique { DECLARED } else { WHOLE });
    // A key has 65,535 bytes at most in every store.
    let length = u16::try_from(primary_key.len()).unwrap_or(u16::MAX);
    value.extend_from_slice(&length.to_be_bytes());
    value.extend_from_slice(primary_key);
    value.extend_from_slice(covered);
    value
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
