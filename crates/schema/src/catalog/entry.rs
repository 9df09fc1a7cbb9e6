//! A map of the catalog, of which every name is asked for once and none may be left over.

use std::collections::BTreeMap;

use keyloom_key::Value;

use crate::document::Document;
use crate::error::Error;

/// The names of a map that were not asked for yet.
pub(super) struct Entry {
    what: &'static str,
    fields: BTreeMap<String, Value<'static>>,
}

/// The error of bytes that no version writes.
#[cold]
pub(super) fn damaged(reason: impl std::fmt::Display) -> Error {
    Error::bytes(0, format!("the catalog is damaged: {reason}"))
}

/// The error of something that only a later version can have written.
#[cold]
pub(super) fn unknown(what: &str, name: &str) -> Error {
    Error::bytes(
        0,
        format!(
            "the catalog has `{name}` in {what}, which a later version of Keyloom wrote: upgrade to that one"
        ),
    )
}

impl Entry {
    pub(super) fn new(what: &'static str, document: Document) -> Self {
        Self { what, fields: document.into_iter().map(|(name, value)| (name.into_owned(), value)).collect() }
    }

    pub(super) fn read(what: &'static str, value: Value<'static>) -> Result<Self, Error> {
        match value {
            Value::Map(entries) => {
                Ok(Self { what, fields: entries.into_iter().map(|(k, v)| (k.into_owned(), v)).collect() })
            }
            other => Err(damaged(format!("{what} is of type {}", other.kind()))),
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Result<Value<'static>, Error> {
        self.fields.remove(name).ok_or_else(|| damaged(format!("{} has no `{name}`", self.what)))
    }

    /// What null stands for the absence of.
    pub(super) fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Value<'static>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match self.take(name)? {
            Value::Null => Ok(None),
            value => read(value).map(Some),
        }
    }

    pub(super) fn entry(&mut self, name: &str, what: &'static str) -> Result<Self, Error> {
        Self::read(what, self.take(name)?)
    }

    pub(super) fn text(&mut self, name: &str) -> Result<String, Error> {
        text(self.what, self.take(name)?)
    }

    pub(super) fn number<N: TryFrom<u64>>(&mut self, name: &str) -> Result<N, Error> {
        number(self.what, self.take(name)?)
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<bool, Error> {
        match self.take(name)? {
            Value::Bool(flag) => Ok(flag),
            other => Err(damaged(format!("`{name}` of {} is of type {}", self.what, other.kind()))),
        }
    }

    pub(super) fn list(&mut self, name: &str) -> Result<Vec<Value<'static>>, Error> {
        list(self.what, self.take(name)?)
    }

    /// Checks that nothing is left that was not asked for.
    pub(super) fn end(self) -> Result<(), Error> {
        match self.fields.first_key_value() {
            None => Ok(()),
            Some((name, _)) => Err(unknown(self.what, name)),
        }
    }

    /// The only name there is, with its value.
    pub(super) fn only(mut self) -> Result<(String, Value<'static>), Error> {
        let first = self.fields.pop_first().ok_or_else(|| damaged(format!("{} is empty", self.what)))?;
        self.end()?;
        Ok(first)
    }
}

pub(super) fn text(what: &str, value: Value<'static>) -> Result<String, Error> {
    match value {
        Value::Str(text) => Ok(text.into_owned()),
        other => Err(damaged(format!("a text of {what} is of type {}", other.kind()))),
    }
}

pub(super) fn number<N: TryFrom<u64>>(what: &str, value: Value<'static>) -> Result<N, Error> {
    match value {
        Value::Uint(number) => {
            N::try_from(number).map_err(|_| damaged(format!("{number} of {what} is out of range")))
        }
        other => Err(damaged(format!("a number of {what} is of type {}", other.kind()))),
    }
}

pub(super) fn list(what: &str, value: Value<'static>) -> Result<Vec<Value<'static>>, Error> {
    match value {
        Value::List(values) => Ok(values),
        other => Err(damaged(format!("a list of {what} is of type {}", other.kind()))),
    }
}
