//! Which layers there are, and how large.

use std::time::Duration;

use crate::compression::Compression;

/// Which layers stand in front of a store. None by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layers {
    /// Tells which keys are not there. For a store that this process has alone.
    pub filter: Option<FilterOptions>,
    /// Keeps what was read. For a store that this process has alone.
    pub cache: Option<CacheOptions>,
    /// How values are written from now on. `None` is as the store has it: a store remembers what it was told last.
    pub compression: Option<Compression>,
}

/// How a filter begins, and how large it may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterOptions {
    /// How many keys are expected. It takes ten bits for each; with more keys it becomes a larger one by itself.
    pub keys: usize,
    /// The most bytes of memory that it may take. With more keys than fit there is none until the store is opened anew: a
    /// quarter of it is left for what comes in later, so that it is not made anew all the time.
    pub bytes: usize,
}

impl Default for FilterOptions {
    /// 65,536 keys, and 32 MiB at the most, which is 20 million.
    fn default() -> Self {
        Self { keys: 1 << 16, bytes: 32 << 20 }
    }
}

/// How much a cache keeps, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheOptions {
    /// The most bytes that its values and pages take; what it has to know of commits takes a thirtieth beside them.
    pub bytes: usize,
    /// How long an entry may be used.
    pub time_to_live: Duration,
}

impl Default for CacheOptions {
    /// 64 MiB, five minutes.
    fn default() -> Self {
        Self { bytes: 64 << 20, time_to_live: Duration::from_secs(300) }
    }
}
