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
    /// What a commit promises when it returns. [`Durability::Written`] needs a [`log`](Self::log).
    pub durability: Durability,
    /// Where commits that come one upon the other are written first; `None` if each is written into the file at once, or
    /// all that have gathered in memory, if they are [buffered](Durability::Buffered).
    ///
    /// With a log, other processes see commits when they have been [taken into the file](LogOptions).
    pub log: Option<LogOptions>,
    /// Whether nobody else may have the file open, neither another process nor another opening in this one.
    ///
    /// Then a filter or a cache may stand in front of it: all that is written is written by this store and its clones.
    pub exclusive: bool,
    /// What is kept in memory to know of keys that they are not in the file; `None` if nothing is.
    pub filter: Option<FilterOptions>,
    /// How long a snapshot can be read. While it can, the file keeps every page that it can see, and grows.
    pub max_snapshot_age: Duration,
}

impl Default for Options {
    /// One tebibyte, 1,024 readers, five seconds to wait; synced, with a log; shared; a filter; snapshots of a minute.
    fn default() -> Self {
        Self {
            map_size: 1 << 40,
            readers: 1_024,
            busy_timeout: Duration::from_secs(5),
            durability: Durability::Synced,
            log: Some(LogOptions::default()),
            exclusive: false,
            filter: Some(FilterOptions::default()),
            max_snapshot_age: Duration::from_secs(60),
        }
    }
}

/// When commits that are in the log and in memory are taken into the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOptions {
    /// The most writes that may be in memory; at half of them they are taken into the file.
    pub entries: usize,
    /// The same in bytes.
    pub bytes: usize,
    /// How long they may wait for that; four times as long if they are an eighth of either by then.
    pub interval: Duration,
}

impl Default for LogOptions {
    /// 700,000 writes, 96 MiB, one second.
    fn default() -> Self {
        Self { entries: 700_000, bytes: 96 << 20, interval: Duration::from_secs(1) }
    }
}

/// A filter of the file's keys, ten bits each: inserts of new records, and gets of threads that often find nothing, need
/// not look in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterOptions {
    /// The most bytes of memory that it may take. A file with more keys than fit has none.
    pub bytes: usize,
    /// How many gets and inserts have to find nothing before it is begun. The thread that writes fills it.
    pub after: usize,
}

impl Default for FilterOptions {
    /// 32 MiB, which is 26 million keys, after 1,000.
    fn default() -> Self {
        Self { bytes: 32 << 20, after: 1_000 }
    }
}
