//! How much the layers have done.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the layers have done since the store was opened, and how large they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LayerStats {
    /// Gets that the cache has answered, each key of many by itself.
    pub hits: u64,
    /// Gets that it has not.
    pub misses: u64,
    /// Scans that the cache has answered.
    pub page_hits: u64,
    /// Scans that it has not.
    pub page_misses: u64,
    /// How many values and pages the cache keeps.
    pub cached: u64,
    /// The bytes that it takes for that.
    pub cached_bytes: u64,
    /// Gets of keys that were not there, which the filter has answered.
    pub filtered: u64,
    /// Gets of keys that were not there, for which the store was asked although the filter was whole.
    pub false_positives: u64,
    /// The keys of the filter.
    pub filter_keys: u64,
    /// The bytes that it takes for them.
    pub filter_bytes: u64,
    /// Whether the filter has all keys: until then it answers nothing.
    pub filter_whole: bool,
    /// Whether there are more keys than fit into its bytes: then there is no filter.
    pub filter_overflown: bool,
    /// Bytes of values that were read or written.
    pub value_bytes: u64,
    /// The bytes that they take in the store.
    pub stored_bytes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) hits: Count,
    pub(crate) misses: Count,
    pub(crate) page_hits: Count,
    pub(crate) page_misses: Count,
    pub(crate) filtered: Count,
    pub(crate) false_positives: Count,
    pub(crate) value_bytes: Count,
    pub(crate) stored_bytes: Count,
}

/// A number that many threads add to, in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
