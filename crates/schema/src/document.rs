//! Documents: what a record is to its user, fields with names.

mod format;
#[cfg(feature = "json")]
mod json;
mod payload;
mod value;
mod varint;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::{fmt, mem, vec};

use keyloom_key::Value;

use crate::error::Error;
pub use format::{FieldRef, Names, encode};
pub use payload::{Field, Payload};
pub use value::MAX_DEPTH;

/// How many fields a document has room for at first, and is searched from end to end for one.
const SMALL: usize = 8;

/// Named fields with their values, in no order; a field that is absent and one that is null are different.
///
/// ```
/// use keyloom_key::Value;
/// use keyloom_schema::Document;
/// let order = Document::new().with("user", "U1").with("total", 300_i64).with("note", Value::Null);
/// assert_eq!(order.get("total"), Some(&Value::Int(300)));
/// assert_eq!(order.get("note"), Some(&Value::Null));
/// assert_eq!(order.get("paid"), None);
/// assert_eq!(order, Document::from([("note", Value::Null), ("total", 300_i64.into()), ("user", "U1".into())]));
/// ```
#[derive(Clone, PartialEq, Default)]
pub struct Document {
    /// By name. Few enough that a list is faster than a tree, with names that need no memory of their own if
    /// they are literals.
    fields: Vec<(Cow<'static, str>, Value<'static>)>,
    foreign: BTreeMap<u16, Value<'static>>,
}

impl Document {
    /// A document without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same document with this field.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value<'static>>) -> Self {
        self.set(name, value);
        self
    }

    /// Gives a field a value, and gives back the one it had.
    pub fn set(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Value<'static>>,
    ) -> Option<Value<'static>> {
        let (name, value) = (name.into(), value.into());
        match self.fields.binary_search_by(|(own, _)| own.as_ref().cmp(&*name)) {
            Ok(at) => self.fields.get_mut(at).map(|(_, place)| mem::replace(place, value)),
            Err(at) => {
                if self.fields.capacity() == 0 {
                    self.fields.reserve_exact(SMALL);
                }
                self.fields.insert(at, (name, value));
                None
            }
        }
    }

    /// A field's value.
    pub fn get(&self, name: &str) -> Option<&Value<'static>> {
        self.place(name).and_then(|at| self.fields.get(at)).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Value<'static>> {
        self.place(name).and_then(|at| self.fields.get_mut(at)).map(|(_, value)| value)
    }

    /// Takes a field out, and gives back its value.
    pub fn remove(&mut self, name: &str) -> Option<Value<'static>> {
        self.place(name).map(|at| self.fields.remove(at).1)
    }

    /// Where a field is. Among few, lengths tell most names apart, which costs less than to compare their bytes.
    fn place(&self, name: &str) -> Option<usize> {
        if self.fields.len() > SMALL {
            return self.fields.binary_search_by(|(own, _)| own.as_ref().cmp(name)).ok();
        }
        self.fields.iter().position(|(own, _)| own.len() == name.len() && own.as_ref() == name)
    }

    /// The fields by name. Does not give [`foreign`](Self::foreign) ones.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value<'static>)> + Clone {
        self.fields.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// How many named fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is no named field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Fields that were read with ids that the reader's schema does not know, because a newer one wrote them.
    ///
    /// They have no name here and cannot be changed; [`encode`](Self::encode) writes them back as they were, so that
    /// a program with an old schema loses nothing of a record that it changes.
    pub fn foreign(&self) -> impl Iterator<Item = (u16, &Value<'static>)> + Clone {
        self.foreign.iter().map(|(id, value)| (*id, value))
    }

    pub(crate) fn set_foreign(&mut self, id: u16, value: Value<'static>) {
        self.foreign.insert(id, value);
    }

    /// Appends the document's bytes under this schema, foreign fields included. See [`encode`].
    pub fn encode(&self, names: &(impl Names + ?Sized), out: &mut Vec<u8>) -> Result<(), Error> {
        let named = self.iter().map(|(name, value)| (FieldRef::Name(name), value));
        encode(names, named.chain(self.foreign().map(|(id, value)| (FieldRef::Id(id), value))), out)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let foreign = self.foreign().map(|(id, value)| (FieldRef::Id(id).to_string(), value));
        f.debug_map().entries(self.iter()).entries(foreign).finish()
    }
}

impl<K: Into<Cow<'static, str>>, V: Into<Value<'static>>> FromIterator<(K, V)> for Document {
    /// Of fields with the same name, the last one stays.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(fields: I) -> Self {
        let mut document = Self::new();
        document.extend(fields);
        document
    }
}

impl<K: Into<Cow<'static, str>>, V: Into<Value<'static>>> Extend<(K, V)> for Document {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, fields: I) {
        for (name, value) in fields {
            self.set(name, value);
        }
    }
}

impl<K: Into<Cow<'static, str>>, V: Into<Value<'static>>, const N: usize> From<[(K, V); N]> for Document {
    fn from(fields: [(K, V); N]) -> Self {
        fields.into_iter().collect()
    }
}

impl IntoIterator for Document {
    type Item = (Cow<'static, str>, Value<'static>);
    type IntoIter = vec::IntoIter<Self::Item>;

    /// The named fields; foreign ones are dropped.
    fn into_iter(self) -> Self::IntoIter {
        self.fields.into_iter()
    }
}
