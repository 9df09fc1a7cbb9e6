//! Where changes go: into a transaction, or each by itself where a store has none.

use keyloom_key::Value;
use keyloom_schema::Document;
use keyloom_store::Store;
use keyloom_table::{Change, Database, Error as TableError, Transaction};

use crate::error::Error;

/// Where changes go.
pub(crate) enum Writer<'a, S: Store> {
    Transaction(&'a mut Transaction<S>),
    Each(&'a Database<S>),
}

impl<S: Store> Writer<'_, S> {
    /// Makes a change, if its condition holds; returns the record before and after.
    pub(crate) async fn apply(
        &mut self,
        table: &str,
        change: Change,
    ) -> Result<(Option<Document>, Option<Document>), TableError> {
        match self {
            Self::Transaction(transaction) => transaction.apply(table, change).await,
            Self::Each(database) => database.table(table).await?.change(change).await,
        }
    }

    /// The record with this key.
    pub(crate) async fn get(
        &self,
        table: &str,
        key: Vec<Value<'static>>,
    ) -> Result<Option<Document>, TableError> {
        match self {
            Self::Transaction(transaction) => transaction.get(table, key).await,
            Self::Each(database) => database.table(table).await?.get(key).await,
        }
    }
}

/// Whether statements go by transactions on this database.
pub(crate) fn transacts<S: Store>(database: &Database<S>) -> bool {
    let capability = database.store().capability();
    capability.atomic_batch && capability.snapshot
}

/// The error of a statement that had changed so many records before.
pub(crate) fn partly(records: u64, error: Error) -> Error {
    match records {
        0 => error,
        records => Error::Partly { records, source: Box::new(error) },
    }
}
