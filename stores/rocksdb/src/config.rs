//! How a folder is opened.

use std::time::Duration;

use keyloom_store::Durability;

/// How a folder is opened. The first to open it in a process decides for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What a commit promises when it returns.
    pub durability: Durability,
    /// How long to wait for another process that has the folder open.
    pub busy_timeout: Duration,
    /// How long a snapshot can be read. While it can, no version that it sees is thrown away.
    pub max_snapshot_age: Duration,
    /// How many bytes of blocks, filters and indexes of files may be kept in memory.
    pub cache: usize,
    /// How many bytes all trees together may have in memory before the largest is written to a file.
    pub buffer: usize,
    /// How many bytes one tree may have in memory before it is written to a file: for a table with stripes that are
    /// [families](Stripes::Families), each of them.
    pub tree_buffer: usize,
    /// How many bytes the log may have before trees are written to files so that it can be cut.
    pub log: u64,
    /// A batch with at least so many bytes becomes sorted files, past log and memory.
    pub ingest: usize,
    /// How tables with stripes lie.
    pub stripes: Stripes,
}

impl Default for Options {
    /// Synced; five seconds to wait; snapshots of a minute; 256 MiB of cache; 128 MiB in memory, 64 MiB of them of one
    /// tree; a log of 256 MiB; batches of 2 MiB as files; stripes in one tree.
    fn default() -> Self {
        Self {
            durability: Durability::Synced,
            busy_timeout: Duration::from_secs(5),
            max_snapshot_age: Duration::from_secs(60),
            cache: 256 << 20,
            buffer: 128 << 20,
            tree_buffer: 64 << 20,
            log: 256 << 20,
            ingest: 2 << 20,
            stripes: Stripes::Prefix,
        }
    }
}

/// How tables with stripes lie. A table stays as it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stripes {
    /// All in one tree, one stripe behind the other.
    #[default]
    Prefix,
    /// In so many trees, at most 256, that all such tables share: stripes that are neighbours lie together if there are
    /// more of them. A tree is made when it is first written to.
    Families(u16),
}
