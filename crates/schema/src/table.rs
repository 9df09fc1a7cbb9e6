//! A table: its columns, its primary key, its indexes.

use std::borrow::Cow;

use keyloom_key::Value;

use crate::builder::TableBuilder;
use crate::column::Column;
use crate::document::{Document, Names};
use crate::error::Error;
use crate::index::{Index, IndexBuilder, State};
use crate::tree::Tree;

/// A table: what its records are like and which keys lead to them.
///
/// Made by [`Table::named`] or from SQL text.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) primary: Tree,
    pub(crate) indexes: Vec<Index>,
    pub(crate) expiry: Option<u16>,
}

impl Table {
    /// A table of this name, to be described.
    pub fn named(name: impl Into<String>) -> TableBuilder {
        TableBuilder::new(name.into())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its declared columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The column of this number.
    pub fn column_by_id(&self, id: u16) -> Option<&Column> {
        // Columns stand in the order of their numbers, and none is ever taken away.
        self.columns.get(usize::from(id).checked_sub(1)?)
    }

    /// Its primary key.
    pub fn primary(&self) -> &Tree {
        &self.primary
    }

    /// Its indexes.
    pub fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    /// The index of this name.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The column whose instant ends a record: from then on it is not there.
    pub fn expiry(&self) -> Option<&Column> {
        self.expiry.and_then(|id| self.column_by_id(id))
    }

    /// The document as the table keeps it: declared columns of their type, everything else as it is.
    ///
    /// A column that is not nullable must be there.
    pub fn check(&self, document: Document) -> Result<Document, Error> {
        let mut document = document;
        for column in &self.columns {
            match document.get_mut(&column.name) {
                // Mostly values are of the right types, and nothing has to be made of them.
                Some(place) if column.holds(place) => {}
                Some(place) => *place = column.coerce(std::mem::replace(place, Value::Null))?,
                None if column.nullable => {}
                None => return Err(column.missing()),
            }
        }
        Ok(document)
    }

    /// A document as it is stored, as [`check`](Self::check) makes it; the same one if nothing has to be made of it.
    pub fn checked<'d>(&self, document: &'d Document) -> Result<Cow<'d, Document>, Error> {
        let fits = |column: &Column| match document.get(&column.name) {
            Some(value) => column.holds(value),
            None => column.nullable,
        };
        match self.columns.iter().all(fits) {
            true => Ok(Cow::Borrowed(document)),
            false => self.check(document.clone()).map(Cow::Owned),
        }
    }

    /// The values of the primary key in a document that was [checked](Self::check).
    pub fn key_values<'d>(&self, document: &'d Document) -> Vec<Value<'d>> {
        let values = self.primary.parts().iter().map(|part| document.get(&part.name));
        values.map(|value| value.map_or(Value::Null, Value::borrowed)).collect()
    }

    /// The same table with one more column, which may be null or left out. Its type is text as a builder takes it.
    pub fn with_column(&self, name: &str, kind: &str) -> Result<Self, Error> {
        let column = crate::builder::column(&self.name, &self.columns, name, kind, true)?;
        let mut table = self.clone();
        table.columns.push(column);
        Ok(table)
    }

    /// The index that this describes, under the name that it would have.
    pub fn describe_index(&self, index: IndexBuilder) -> Result<Index, Error> {
        let bare = Self { indexes: Vec::new(), ..self.clone() };
        crate::builder::index(&bare, index)
    }

    /// The same table with one more index, which is [building](State::Building) until it is filled.
    pub fn with_index(&self, index: IndexBuilder) -> Result<(Self, Index), Error> {
        let index = crate::builder::index(self, index)?.with_state(State::Building);
        let mut table = self.clone();
        table.indexes.push(index.clone());
        Ok((table, index))
    }

    /// The same table without this index.
    pub fn without_index(&self, name: &str) -> Self {
        let mut table = self.clone();
        table.indexes.retain(|index| index.name != name);
        table
    }

    /// The same table with this index in another state.
    pub fn with_index_state(&self, name: &str, state: State) -> Self {
        let mut table = self.clone();
        for index in table.indexes.iter_mut().filter(|index| index.name == name) {
            index.state = state;
        }
        table
    }

    /// Its trees: the primary key's, then each index's.
    pub fn trees(&self) -> impl Iterator<Item = &Tree> {
        std::iter::once(&self.primary).chain(self.indexes.iter().map(Index::tree))
    }

    /// Gives every tree that has none a number, from `next` on; returns the next free number.
    pub fn number_trees(&mut self, next: u32) -> u32 {
        let mut next = next;
        let trees =
            std::iter::once(&mut self.primary).chain(self.indexes.iter_mut().map(|index| &mut index.tree));
        for tree in trees.filter(|tree| tree.id() == 0) {
            tree.set_id(next);
            next += 1;
        }
        next
    }

    /// The same table with other trees, numbered from `next` on.
    pub fn with_trees(&self, next: u32) -> Self {
        let mut table = self.clone();
        table.primary.set_id(0);
        table.indexes.iter_mut().for_each(|index| index.tree.set_id(0));
        table.number_trees(next);
        table
    }
}

impl Names for Table {
    fn id(&self, name: &str) -> Option<u16> {
        self.column(name).map(|column| column.id)
    }

    fn name(&self, id: u16) -> Option<&str> {
        self.column_by_id(id).map(|column| column.name.as_str())
    }
}
