//! What things cost: where the figures of the simulation come from.

/// A figure, and whether it was measured here or is assumed.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// The figure.
    pub value: u64,
    /// Whether it was measured on three real nodes.
    pub measured: bool,
    /// What it is.
    pub what: &'static str,
}

const fn measured(value: u64, what: &'static str) -> Cost {
    Cost { value, measured: true, what }
}

const fn assumed(value: u64, what: &'static str) -> Cost {
    Cost { value, measured: false, what }
}

/// All figures that the simulation starts from.
#[derive(Debug, Clone)]
pub struct Costs {
    /// Plain inserts of a second, three nodes together, each row a statement.
    pub inserts: Cost,
    /// Rows of a second in batches of one partition, three nodes together: what a split copies with.
    pub batched: Cost,
    /// A point read, in microseconds.
    pub read: Cost,
    /// How many times a plain write a conditional one costs.
    pub conditional: Cost,
    /// How long a client trusts its copy of the map, in seconds.
    pub lease: Cost,
    /// What is waited beyond the lease, in seconds.
    pub margin: Cost,
    /// A shard with more rows is split.
    pub limit: Cost,
    /// Ranges that a client remembers.
    pub cache: Cost,
    /// Copies of each row.
    pub replication: Cost,
    /// Bytes of a row, as the store keeps it.
    pub row: Cost,
    /// Bytes of a range in the map, as the store keeps it.
    pub range: Cost,
    /// What a partition may have in bytes before Cassandra warns.
    pub partition: Cost,
    /// Rows that a node has, copies not counted.
    pub rows_a_node: Cost,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            inserts: measured(1_100, "inserts/s, three nodes, quorum, 256 under way"),
            batched: measured(20_000, "rows/s in batches of 50 in one partition, three nodes"),
            read: measured(1_300, "µs, point read at quorum, median"),
            conditional: measured(7, "times a plain write: a conditional one (5 to 10)"),
            lease: assumed(5, "s, lease (a setting)"),
            margin: assumed(1, "s, margin (a setting)"),
            limit: assumed(50_000, "rows, a shard with more is split (a setting)"),
            cache: assumed(10_000, "ranges, remembered by a client (a setting)"),
            replication: assumed(3, "copies of each row (a setting)"),
            row: assumed(300, "bytes, a row on disk"),
            range: assumed(150, "bytes, a range of the map on disk"),
            partition: assumed(100_000_000, "bytes, beyond which Cassandra warns of a partition"),
            rows_a_node: assumed(300_000_000, "rows a node, copies among them"),
        }
    }
}

impl Costs {
    /// All of them, in the order of the page.
    pub fn all(&self) -> [Cost; 13] {
        let Self { inserts, batched, read, conditional, lease, margin, limit, .. } = *self;
        let Self { cache, replication, row, range, partition, rows_a_node, .. } = *self;
        [
            inserts,
            batched,
            read,
            conditional,
            lease,
            margin,
            limit,
            cache,
            replication,
            row,
            range,
            partition,
            rows_a_node,
        ]
    }

    /// Seconds that a change of the map is waited for.
    pub(crate) fn wait(&self) -> u64 {
        self.lease.value + self.margin.value
    }
}
