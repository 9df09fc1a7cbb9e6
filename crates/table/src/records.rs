//! A table whose records are values of a Rust struct.

use std::marker::PhantomData;

use keyloom_key::Value;
use keyloom_plan::{Cursor, Query};
use keyloom_schema::Record;
use keyloom_store::{Sequence, Store};

use crate::database::Database;
use crate::error::Error;
use crate::execute::PageLimits;
use crate::table::Table;

/// A table whose records are values of `T`, which derives [`Record`].
#[derive(Debug)]
pub struct Records<T, S> {
    table: Table<S>,
    of: PhantomData<fn(T) -> T>,
}

impl<T, S> Clone for Records<T, S> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), of: PhantomData }
    }
}

impl<S: Store> Database<S> {
    /// Opens the table of a struct, or creates it; refuses one that is stored otherwise, and shows both sides.
    pub async fn open_records<T: Record>(&self) -> Result<Records<T, S>, Error> {
        Ok(Records { table: self.open_table(T::table()).await?, of: PhantomData })
    }
}

impl<T: Record, S: Store> Records<T, S> {
    /// The table, for everything that is not said in terms of the struct.
    pub fn table(&self) -> &Table<S> {
        &self.table
    }

    /// Makes the record this, whatever it was: fields that the struct does not have are gone.
    pub async fn put(&self, record: &T) -> Result<Sequence, Error> {
        self.table.put(record.to_document()).await
    }

    /// Adds a record; if there is one with its key already, it is [`Error::Condition`].
    pub async fn insert(&self, record: &T) -> Result<Sequence, Error> {
        self.table.insert(record.to_document()).await
    }

    /// The record with this key.
    pub async fn get<'v, V: Into<Value<'v>>>(
        &self,
        key: impl IntoIterator<Item = V>,
    ) -> Result<Option<T>, Error> {
        Ok(self.table.get(key).await?.map(T::from_document).transpose()?)
    }

    /// Deletes a record; returns what it was, or `None` if there was none.
    pub async fn delete<V: Into<Value<'static>>>(
        &self,
        key: impl IntoIterator<Item = V>,
    ) -> Result<Option<T>, Error> {
        Ok(self.table.delete(key).await?.map(T::from_document).transpose()?)
    }

    /// Everything that a query finds.
    pub async fn query(&self, query: &Query) -> Result<Vec<T>, Error> {
        let found = self.table.query(query).await?;
        found.records.into_iter().map(|found| Ok(T::from_document(found.document)?)).collect()
    }

    /// A page of what a query finds, and the cursor of the next.
    pub async fn page(&self, query: &Query, limits: PageLimits) -> Result<(Vec<T>, Option<Cursor>), Error> {
        let found = self.table.page(query, limits).await?;
        let records = found.records.into_iter().map(|found| Ok(T::from_document(found.document)?));
        Ok((records.collect::<Result<_, Error>>()?, found.cursor))
    }
}
