//! How a file is opened.

use std::time::Duration;

use keyloom_store::Durability;

/// How a file is opened. The first to open it in a process decides for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How many bytes of the file may be kept in memory.
    pub cache: usize,
    /// How long to wait for another process that has the file open.
    pub busy_timeout: Duration,
    /// What a commit promises when it returns. [`Durability::Written`] is refused.
    pub durability: Durability,
    /// How long a snapshot can be read. While it can, the file keeps every page that it can see, and grows.
    pub max_snapshot_age: Duration,
}

impl Default for Options {
    /// 256 MiB, five seconds to wait; synced; snapshots of a minute.
    fn default() -> Self {
        Self {
            cache: 256 << 20,
            busy_timeout: Duration::from_secs(5),
            durability: Durability::Synced,
            max_snapshot_age: Duration::from_secs(60),
        }
    }
}
