//! A record as it lies in the store, read field by field.

use std::cell::OnceCell;

use keyloom_key::{Timestamp, Type, Value};
use keyloom_schema::document::Payload;
use keyloom_schema::{Document, Source, Table, Tree};

use crate::error::Error;

/// A record, or what a covering index knows of one. Only the fields that are asked for are read.
pub struct Row<'a> {
    table: &'a Table,
    tree: &'a Tree,
    key: &'a [u8],
    record: &'a [u8],
    bytes: &'a [u8],
    payload: Payload<'a>,
    /// Whether the key has the parts behind the declared ones.
    whole: bool,
    values: OnceCell<Vec<Value<'a>>>,
}

impl std::fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Row")
            .field("table", &self.table.name())
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl<'a> Row<'a> {
    /// A record of a table by its key and value in the store.
    #[inline(always)]
    pub fn record(table: &'a Table, key: &'a [u8], payload: &'a [u8]) -> Result<Self, Error> {
        Self::new(table, table.primary(), key, key, payload, true)
    }

    #[inline(always)]
    pub(crate) fn new(
        table: &'a Table,
        tree: &'a Tree,
        key: &'a [u8],
        record: &'a [u8],
        bytes: &'a [u8],
        whole: bool,
    ) -> Result<Self, Error> {
        let payload = Payload::new(bytes)?;
        Ok(Self { table, tree, key, record, bytes, payload, whole, values: OnceCell::new() })
    }

    /// The bytes of the key in the tree that the row was found in.
    pub(crate) fn found_at(&self) -> &'a [u8] {
        self.key
    }

    /// The values of its primary key.
    pub fn key(&self) -> Result<Vec<Value<'a>>, Error> {
        Ok(self.table.primary().values(self.record)?)
    }

    /// How many bytes it takes in the store.
    pub(crate) fn size(&self) -> usize {
        self.key.len() + self.bytes.len()
    }

    /// Whether the record has ended.
    pub(crate) fn is_expired(&self, now: Timestamp) -> Result<bool, Error> {
        let Some(column) = self.table.expiry() else { return Ok(false) };
        Ok(matches!(self.value(&column.name)?, Value::Timestamp(end) if end <= now))
    }

    /// What of it lies in the store beside its key, to be kept.
    pub(crate) fn stored(&self) -> Stored {
        Stored { payload: self.bytes.to_vec(), whole: self.whole }
    }

    /// The value of a field; null if the record has none of that name.
    #[inline]
    pub fn get(&self, name: &str) -> Result<Value<'_>, Error> {
        self.value(name).map_err(Error::Schema)
    }

    /// The value of the column with this [number](keyloom_schema::Column::id); null if the record has none.
    ///
    /// For those who read many rows: a name has to be looked for in each.
    #[inline(always)]
    pub fn get_by_id(&self, id: u16) -> Result<Value<'_>, Error> {
        // What is made here need not be moved, and a value that was just written in parts is slow to move.
        if let Ok(Some(field)) = self.payload.find(id)
            && let Some(value) = field.plain()
        {
            return Ok(value);
        }
        self.declared(id, || self.table.column_by_id(id).map(|column| column.name.as_str()))
            .map_err(Error::Schema)
    }

    /// Whether it has fields that the table did not declare when it was written.
    pub fn has_undeclared(&self) -> bool {
        self.payload.has_undeclared()
    }

    /// The whole record.
    pub fn to_document(&self) -> Result<Document, Error> {
        let mut document = self.payload.to_document(self.table)?;
        for (part, value) in self.tree.parts().iter().zip(self.key_values()?) {
            // What the key cannot give back exactly is in the payload; a null of the key was perhaps never there.
            if part.is_exact() && !part.many && *value != Value::Null {
                document.set(part.name.clone(), value.clone().into_owned());
            }
        }
        Ok(document)
    }

    /// These fields of the record, those that it has.
    pub fn project(&self, fields: &[String]) -> Result<Document, Error> {
        let mut document = Document::new();
        for name in fields {
            match self.value(name)? {
                Value::Null => {}
                value => {
                    document.set(name.clone(), value.into_owned());
                }
            }
        }
        Ok(document)
    }

    /// The value of the column with this number, and `name` if it must be asked for.
    fn declared<'n>(
        &self,
        id: u16,
        name: impl FnOnce() -> Option<&'n str>,
    ) -> Result<Value<'_>, keyloom_schema::Error> {
        // The payload first: what is in it too is the same, and most fields that are asked for are in no key.
        if let Some(field) = self.payload.find(id)? {
            return field.read();
        }
        let parts = self.tree.parts();
        let part = parts.iter().position(|part| part.column == id && part.is_exact() && !part.many);
        match (part, name()) {
            (Some(index), _) => Ok(self.key_values()?.get(index).map_or(Value::Null, Value::borrowed)),
            // A record from before the column was declared has the field by its name.
            (None, Some(name)) => Ok(self.payload.get_unknown(name)?.unwrap_or(Value::Null)),
            (None, None) => Ok(Value::Null),
        }
    }

    fn key_values(&self) -> Result<&[Value<'a>], keyloom_schema::Error> {
        if let Some(values) = self.values.get() {
            return Ok(values);
        }
        let values =
            if self.whole { self.tree.values(self.key)? } else { self.tree.declared_values(self.key)? };
        Ok(self.values.get_or_init(|| values))
    }
}

/// What lies in the store beside a row's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) payload: Vec<u8>,
    pub(crate) whole: bool,
}

impl Source for Row<'_> {
    fn value(&self, name: &str) -> Result<Value<'_>, keyloom_schema::Error> {
        match self.table.column(name) {
            None => Ok(self.payload.get_unknown(name)?.unwrap_or(Value::Null)),
            Some(column) => self.declared(column.id, || Some(name)),
        }
    }

    fn kind(&self, name: &str) -> Option<&Type> {
        self.table.column(name).map(|column| column.kind.element())
    }
}
