//! What a store can do, as a value that the table layer and the behaviour suite read.

use std::time::Duration;

/// What a store offers beyond single reads and writes, and its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capability {
    /// The store's name, as in its URL.
    pub name: &'static str,
    /// A batch is committed whole or not at all, whatever keys are in it.
    pub atomic_batch: bool,
    /// A batch may have [conditions](crate::Condition).
    pub conditions: bool,
    /// A state of the store can be held and read while others write.
    pub snapshot: bool,
    /// How long a snapshot can be read, after which it is [expired](crate::Error::Expired); `None` if for ever.
    pub snapshot_age: Option<Duration>,
    /// One order runs across all keys, so that a span is one scan.
    pub ordered: bool,
    /// No other process writes while this one has the store open.
    pub exclusive: bool,
    /// What was committed, and [flushed](crate::Store::flush), survives the process.
    pub durable: bool,
    /// The longest key, in bytes.
    pub max_key: usize,
    /// The longest value, in bytes.
    pub max_value: usize,
}

impl Capability {
    /// A store of this name that can do nothing beyond the least.
    pub const fn least(name: &'static str) -> Self {
        Self {
            name,
            atomic_batch: false,
            conditions: false,
            snapshot: false,
            snapshot_age: None,
            ordered: false,
            exclusive: false,
            durable: false,
            max_key: usize::MAX,
            max_value: usize::MAX,
        }
    }
}
