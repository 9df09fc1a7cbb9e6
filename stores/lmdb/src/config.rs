//! How a file is opened.

use std::time::Duration;

use keyloom_store::Durability;

/// How a file is opened. The first to open it in a process decides for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The most bytes that the file may grow to. It is address space, not disk; halved until the system gives it.
    pub map_size: usize,
    /// How many readers there may be at once, in all processes together.
    pub readers: u32,
    /// How long a commit waits for other processes that write.
    pub busy_timeout: Duration,
    /// What a commit promises when it returns. [`Durability::Written`] is refused.
    pub durability: Durability,
    /// How long a snapshot can be read. While it can, the file keeps every page that it can see, and grows.
    pub max_snapshot_age: Duration,
}

impl Default for Options {
    /// One tebibyte, 1,024 readers, five seconds to wait; synced; snapshots of a minute.
    fn default() -> Self {
        Self {
            map_size: 1 << 40,
            readers: 1_024,
            busy_timeout: Duration::from_secs(5),
            durability: Durability::Synced,
            max_snapshot_age: Duration::from_secs(60),
        }
    }
}
