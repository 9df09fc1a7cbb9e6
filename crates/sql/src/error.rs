//! What can go wrong with a statement: few kinds, one for each thing the caller can do about it.

use std::borrow::Cow;

use keyloom_plan::Refusal;

/// Why a statement did not do what it says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not what is taken here: mend it.
    #[error(transparent)]
    Text(keyloom_schema::Error),
    /// The statement would read every key: create the index that the refusal names, or allow the scan.
    #[error("{0}: SET allow_scan = on")]
    Refused(Box<Refusal>),
    /// An expression has no value: change it, or the values that it is made of.
    #[error("{0}")]
    Value(Cow<'static, str>),
    /// An INSERT meets a record with its key: nothing was written.
    #[error(
        "{table}: there is a record with {key} already: use ON CONFLICT DO NOTHING or DO UPDATE, or INSERT OR REPLACE"
    )]
    Exists {
        /// The table's name.
        table: String,
        /// The fields of its key and their values.
        key: String,
    },
    /// The statement does not go with the transaction that is open, or with none.
    #[error("{0}")]
    Transaction(Cow<'static, str>),
    /// What the transaction read has changed: nothing of it was written. Run it again from BEGIN.
    #[error("conflict: {0}; nothing was written: run the transaction again from BEGIN")]
    Conflict(Cow<'static, str>),
    /// A statement that changes more records than one commit takes stopped on its way.
    #[error("after {records} records, which stay changed: {source}")]
    Partly {
        /// How many records it has changed.
        records: u64,
        /// What stopped it.
        source: Box<Error>,
    },
    /// A statement among several failed; those before it have run.
    #[error("line {line}: {source}")]
    Statement {
        /// The line that it begins on.
        line: u64,
        /// What went wrong.
        source: Box<Error>,
    },
    /// The table or its store failed.
    #[error(transparent)]
    Table(keyloom_table::Error),
}

impl Error {
    pub(crate) fn value(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Value(reason.into())
    }

    /// The same, said of the statement that begins on this line.
    #[must_use]
    pub fn on_line(self, line: u64) -> Self {
        match self {
            // It says its place itself.
            Self::Text(keyloom_schema::Error::Sql { line: 1.., .. }) => self,
            error => Self::Statement { line, source: Box::new(error) },
        }
    }
}

impl From<keyloom_schema::Error> for Error {
    fn from(error: keyloom_schema::Error) -> Self {
        Self::Text(error)
    }
}

impl From<keyloom_table::Error> for Error {
    fn from(error: keyloom_table::Error) -> Self {
        match error {
            keyloom_table::Error::Plan(keyloom_plan::Error::Refused(refusal)) => Self::Refused(refusal),
            keyloom_table::Error::Schema(error) => Self::Text(error),
            error => Self::Table(error),
        }
    }
}
