//! What can go wrong with a table: few kinds, one for each thing the caller can do about it.

use std::borrow::Cow;

/// Why a table did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such table, index or record: name another, or create it.
    #[error("there is no {0}")]
    Missing(Cow<'static, str>),
    /// There is one already: use it, or choose another name or key.
    #[error("there is {0} already")]
    Exists(Cow<'static, str>),
    /// Another record has these values in a unique index: nothing was written.
    #[error("{table}: another record has {values} in the unique index {index}")]
    Unique {
        /// The table's name.
        table: String,
        /// The index's name.
        index: String,
        /// The fields and their values.
        values: String,
    },
    /// The record is not as the condition says: nothing was written.
    #[error("{table}: the record is not as asked: {condition}")]
    Condition {
        /// The table's name.
        table: String,
        /// What was asked.
        condition: String,
    },
    /// What was read has changed since: nothing was written. Begin the transaction again.
    #[error("conflict: {0}; begin the transaction again")]
    Conflict(Cow<'static, str>),
    /// The query has cost what it may: use the index that is named, ask for less, or raise the budget.
    #[error("{query} on {table} is over its budget of {budget}{advice}")]
    Budget {
        /// The table's name.
        table: String,
        /// What was asked.
        query: String,
        /// What it may cost.
        budget: String,
        /// The index that would serve it, as a statement on a line of its own; empty if none is known.
        advice: String,
    },
    /// What lies in the store contradicts itself: run verify, then repair.
    #[error("damaged: {0}; run verify")]
    Damaged(Cow<'static, str>),
    /// A temporary file for sorting could not be written or read.
    #[error("sorting in a temporary file: {0}")]
    Sort(#[from] std::io::Error),
    /// The schema or a value is wrong.
    #[error(transparent)]
    Schema(#[from] keyloom_schema::Error),
    /// The query cannot be planned.
    #[error(transparent)]
    Plan(#[from] keyloom_plan::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] keyloom_store::Error),
}

impl From<keyloom_key::Error> for Error {
    fn from(error: keyloom_key::Error) -> Self {
        Self::Schema(error.into())
    }
}
