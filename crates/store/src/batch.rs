//! What is committed as one: writes, and what must hold for them to happen.

use std::fmt;

use keyloom_key::Span;

use crate::fingerprint::Fingerprint;

/// Writes that are committed as one, if all conditions hold.
///
/// Of several writes to one key the last counts.
///
/// ```
/// use keyloom_store::Batch;
/// let batch = Batch::new().put("user:1", "Ada").delete("user:2").require_absent("user:1");
/// assert_eq!(batch.writes().len(), 2);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Batch {
    writes: Vec<Write>,
    conditions: Vec<Condition>,
}

/// One write of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The key.
    pub key: Vec<u8>,
    /// Its new value; `None` deletes the key.
    pub value: Option<Vec<u8>>,
}

/// What must hold when a batch is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Condition {
    /// The key is not there.
    Absent(Vec<u8>),
    /// The key has this value.
    Is {
        /// The key.
        key: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
    },
    /// The span holds exactly the keys and values that this is the fingerprint of.
    Unchanged {
        /// The span.
        span: Span,
        /// What it held when it was read.
        fingerprint: Fingerprint,
    },
}

impl fmt::Display for Condition {
    /// What was required, with keys as text where they are text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(key) => write!(f, "key {} is there, and should not be", key.escape_ascii()),
            Self::Is { key, .. } => write!(f, "key {} has not the value it should have", key.escape_ascii()),
            Self::Unchanged { span, fingerprint } => {
                let end =
                    span.end.as_ref().map_or("the end".to_owned(), |end| end.escape_ascii().to_string());
                let rows = fingerprint.rows();
                write!(f, "the {rows} keys from {} to {end} have changed", span.start.escape_ascii())
            }
        }
    }
}

impl Batch {
    /// A batch that does nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and a key gets a value.
    pub fn put(mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Self {
        self.writes.push(Write { key: key.into(), value: Some(value.into()) });
        self
    }

    /// The same, and a key goes, if it is there.
    pub fn delete(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.writes.push(Write { key: key.into(), value: None });
        self
    }

    /// The same, only if this holds.
    pub fn require(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// The same, only if the key is not there.
    pub fn require_absent(self, key: impl Into<Vec<u8>>) -> Self {
        self.require(Condition::Absent(key.into()))
    }

    /// The same, only if the key has this value.
    pub fn require_value(self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Self {
        self.require(Condition::Is { key: key.into(), value: value.into() })
    }

    /// The same, only if the span holds what it held when it was read.
    pub fn require_unchanged(self, span: Span, fingerprint: Fingerprint) -> Self {
        self.require(Condition::Unchanged { span, fingerprint })
    }

    /// The writes, in the order they were given.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// The conditions.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The writes and the conditions.
    pub fn into_parts(self) -> (Vec<Write>, Vec<Condition>) {
        (self.writes, self.conditions)
    }
}
