//! How the order is kept: times and sizes.

use std::time::Duration;

/// Times and sizes that all clients of a cluster agree on, but for the sizes of what is remembered.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a copy of the map is trusted, counted from before it was read.
    pub lease: Duration,
    /// What is waited beyond the lease after each change of the map: as much as clocks may drift apart in that time.
    pub margin: Duration,
    /// How many ranges are remembered.
    pub cache: usize,
    /// A shard with more rows is split.
    pub split_rows: usize,
    /// A shard with more bytes of keys and values is split.
    pub split_bytes: usize,
    /// A change that began longer ago is abandoned: half the time that Cassandra keeps deletions (`gc_grace_seconds`),
    /// because a shard whose deletions are forgotten must not get copies.
    pub abandon: Duration,
    /// The most that one statement takes, from when it is sent until it can no longer be done.
    pub statement: Duration,
    /// How long the owner of a claim may take to write his record before others shut him out.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(5),
            margin: Duration::from_secs(1),
            cache: 10_000,
            split_rows: 50_000,
            split_bytes: 64 << 20,
            abandon: Duration::from_secs(5 * 24 * 60 * 60),
            statement: Duration::from_secs(10),
            patience: Duration::from_secs(1),
        }
    }
}

impl Settings {
    /// How long after a change every copy that is still trusted has it.
    pub(crate) fn wait(&self) -> Duration {
        self.lease + self.margin
    }
}
