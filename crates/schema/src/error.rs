//! What can go wrong with a schema or a document: few kinds, one for each thing the caller can do about it.

use std::borrow::Cow;

/// Why a table cannot be as it was described, or a document not be kept in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The table cannot be like this: change its definition.
    #[error("table {table}: {reason}")]
    Definition {
        /// The table's name.
        table: String,
        /// What is wrong, and the remedy.
        reason: Cow<'static, str>,
    },
    /// The value does not go into this field: change the value.
    #[error("field {field}: {reason}")]
    Value {
        /// The field's name.
        field: String,
        /// What is wrong, and the remedy.
        reason: Cow<'static, str>,
    },
    /// The bytes are not what this version writes: they are damaged, or of a later version.
    #[error("byte {offset}: {reason}")]
    Bytes {
        /// Where, from 0.
        offset: usize,
        /// What was found there, or what was expected.
        reason: Cow<'static, str>,
    },
    /// A text is not what it should be: mend the text.
    #[error("{what} `{text}`: {reason}")]
    Text {
        /// What the text should have been.
        what: &'static str,
        /// The text.
        text: String,
        /// Why it is not.
        reason: Cow<'static, str>,
    },
    /// The SQL is not what is taken here: mend the text.
    #[error("{}{reason}", place(*line, *column))]
    Sql {
        /// The line, from 1; 0 if no place is known.
        line: u64,
        /// The column, from 1; 0 if no place is known.
        column: u64,
        /// What is wrong, and the remedy.
        reason: Cow<'static, str>,
    },
    /// The table is not the one that the program declares: migrate it, or open it as it is.
    #[error(
        "table {table} is stored otherwise than it is declared:\n  stored    {stored}\n  declared  {declared}"
    )]
    Differs {
        /// The table's name.
        table: String,
        /// The part as it is stored.
        stored: String,
        /// The same part as it is declared.
        declared: String,
    },
    /// A key cannot be made or read.
    #[error(transparent)]
    Key(#[from] keyloom_key::Error),
}

fn place(line: u64, column: u64) -> String {
    if line == 0 { String::new() } else { format!("line {line}, column {column}: ") }
}

impl Error {
    pub(crate) fn definition(table: &str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Definition { table: table.to_owned(), reason: reason.into() }
    }

    #[cold]
    pub(crate) fn bytes(offset: usize, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Bytes { offset, reason: reason.into() }
    }

    #[cfg(feature = "json")]
    pub(crate) fn text(what: &'static str, text: &str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Text { what, text: text.to_owned(), reason: reason.into() }
    }

    #[cold]
    pub(crate) fn value(field: impl ToString, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Value { field: field.to_string(), reason: reason.into() }
    }
}
