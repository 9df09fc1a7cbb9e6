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
    /// A batch [about one record](crate::About::Record) is committed whole or not at all, if its conditions are on keys
    /// that it writes, or on others that change [seldom](Self::lease).
    pub record_batch: bool,
    /// A batch may have [conditions](crate::Condition).
    pub conditions: bool,
    /// A state of the store can be held and read while others write.
    pub snapshot: bool,
    /// How long a snapshot can be read, after which it is [expired](crate::Error::Expired); `None` if for ever.
    pub snapshot_age: Option<Duration>,
    /// A condition on a key that the batch does not write may be judged by what was read this long ago; `None` if it is
    /// always judged by what is there. Whoever changes such a key waits this long before he relies on all others knowing.
    pub lease: Option<Duration>,
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
            record_batch: false,
            conditions: false,
            snapshot: false,
            snapshot_age: None,
            lease: None,
            ordered: false,
            exclusive: false,
            durable: false,
            max_key: usize::MAX,
            max_value: usize::MAX,
        }
    }
    /// A store of this name on one machine's disk: it commits whole batches, on conditions, and its snapshots can be read
    /// for so long. Values have at most 1 GiB.
    pub const fn embedded(name: &'static str, snapshot_age: Duration, max_key: usize) -> Self {
        Self {
            atomic_batch: true,
            record_batch: true,
            conditions: true,
            snapshot: true,
            snapshot_age: Some(snapshot_age),
            ordered: true,
            exclusive: true,
            durable: true,
            max_key,
            max_value: 1 << 30,
            ..Self::least(name)
        }
    }
}
