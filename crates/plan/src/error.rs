//! What can go wrong with a query before it runs: few kinds, one for each thing the caller can do about it.

use std::borrow::Cow;

use crate::refuse::Refusal;

/// Why a query has no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The query would read every key: create the index that the refusal names, or allow the scan.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The records cannot be ordered like this: order them otherwise, or declare the field.
    #[error("table {table} cannot be ordered by {field}: {reason}")]
    Order {
        /// The table's name.
        table: String,
        /// The field's name.
        field: String,
        /// What is wrong, and the remedy.
        reason: Cow<'static, str>,
    },
    /// The cursor does not go on with this query: run the query from its start.
    #[error("cursor: {0}")]
    Cursor(Stale),
    /// A value is not of its field's type, or a key cannot be made of it.
    #[error(transparent)]
    Schema(#[from] keyloom_schema::Error),
}

/// Why a cursor does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stale {
    /// The bytes are not those of a cursor.
    #[error("it is damaged or cut short: pass it on as it was given")]
    Damaged,
    /// A later version made it.
    #[error("version {0} made it, and this one reads version 1: run the query from its start")]
    Version(u8),
    /// The filter, the order or the fields are others.
    #[error("it is of another query: filter, order and fields must stay the same from page to page")]
    Query,
    /// The keys that it points into mean something else now.
    #[error("the table was made anew, or its key or shards changed: run the query from its start")]
    Table,
    /// The index that it points into is not there, or not filled.
    #[error("the index that it reads is not there any more: run the query from its start")]
    Index,
}
