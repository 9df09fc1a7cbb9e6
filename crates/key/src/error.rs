//! What can go wrong with a key: four kinds, one for each thing the caller can do about it.

use std::borrow::Cow;

/// Why a key could not be made or read. Fields are numbered from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The value does not go into this field: change the value.
    #[error("field {field}: {reason}")]
    Value {
        /// The field's number, from 1.
        field: usize,
        /// What is wrong, and the remedy.
        reason: Cow<'static, str>,
    },
    /// The format cannot hold keys of these fields: change the fields or the format.
    #[error("{format} keys: {reason}")]
    Layout {
        /// The format's name.
        format: &'static str,
        /// What is wrong, and the remedy.
        reason: Cow<'static, str>,
    },
    /// The bytes are not a key of these fields: they are damaged, or the fields are not theirs.
    #[error("byte {offset}: {reason}")]
    Bytes {
        /// Where in the key, from 0.
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
}

impl Error {
    pub(crate) fn layout(format: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Layout { format, reason: reason.into() }
    }

    pub(crate) fn bytes(offset: usize, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Bytes { offset, reason: reason.into() }
    }

    pub(crate) fn text(what: &'static str, text: &str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Text { what, text: text.to_owned(), reason: reason.into() }
    }
}

/// Why one value was refused, before the field's number is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub(crate) Cow<'static, str>);

impl Refusal {
    /// A refusal with its reason.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(reason.into())
    }

    /// The same refusal, said of an element of a tuple.
    #[cold]
    pub(crate) fn in_element(self, number: usize) -> Self {
        Self::new(format!("element {number}: {}", self.0))
    }

    /// The error for the field with this number, from 1.
    #[cold]
    pub fn at(self, field: usize) -> Error {
        Error::Value { field, reason: self.0 }
    }
}
