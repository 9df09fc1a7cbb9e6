//! Documents: what a record is to its user, fields with names.

mod format;
#[cfg(feature = "json")]
mod json;
mod payload;
mod value;
mod varint;

use std::collections::{BTreeMap, btree_map};
use std::fmt;

use keyloom_key::Value;

use crate::error::Error;
pub use format::{FieldRef, Names, encode};
pub use payload::{Field, Payload};
pub use value::MAX_DEPTH;

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
    fields: BTreeMap<String, Value<'static>>,
    foreign: BTreeMap<u16, Value<'static>>,
}

impl Document {
    /// A document without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same document with this field.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value<'static>>) -> Self {
        self.set(name, value);
        self
    }

    /// Gives a field a value, and gives back the one it had.
    pub fn set(
        &mut self,
        name: impl Into<String>,
        value: impl Into<Value<'static>>,
    ) -> Option<Value<'static>> {
        self.fields.insert(name.into(), value.into())
    }

    /// A field's value.
    pub fn get(&self, name: &str) -> Option<&Value<'static>> {
        self.fields.get(name)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Value<'static>> {
        self.fields.get_mut(name)
    }

    /// Takes a field out, and gives back its value.
    pub fn remove(&mut self, name: &str) -> Option<Value<'static>> {
        self.fields.remove(name)
    }

    /// The fields by name. Does not give [`foreign`](Self::foreign) ones.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value<'static>)> + Clone {
        self.fields.iter().map(|(name, value)| (name.as_str(), value))
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

impl<K: Into<String>, V: Into<Value<'static>>> FromIterator<(K, V)> for Document {
    /// Of fields with the same name, the last one stays.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(fields: I) -> Self {
        let fields = fields.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self { fields: fields.collect(), foreign: BTreeMap::new() }
    }
}

impl<K: Into<String>, V: Into<Value<'static>>> Extend<(K, V)> for Document {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, fields: I) {
        self.fields.extend(fields.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
}

impl<K: Into<String>, V: Into<Value<'static>>, const N: usize> From<[(K, V); N]> for Document {
    fn from(fields: [(K, V); N]) -> Self {
        fields.into_iter().collect()
    }
}

impl IntoIterator for Document {
    type Item = (String, Value<'static>);
    type IntoIter = btree_map::IntoIter<String, Value<'static>>;

    /// The named fields; foreign ones are dropped.
    fn into_iter(self) -> Self::IntoIter {
        self.fields.into_iter()
    }
}
