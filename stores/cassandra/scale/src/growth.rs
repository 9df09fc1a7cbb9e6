//! From the figures of the simulation to larger clusters: what each part would have to bear.

use crate::cache::misses;
use crate::costs::Costs;

/// Swaps of the map for a split: announce, prepare, swap, clear, done.
const SWAPS: u64 = 5;
/// Rows that a client writes in a second.
pub(crate) const CLIENT: u64 = 1_000;

/// A table of so many rows, without an index, under as many writes as its nodes take.
#[derive(Debug, Clone)]
pub(crate) struct Growth {
    pub(crate) rows: u64,
    pub(crate) nodes: u64,
    pub(crate) shards: u64,
    /// Bytes of the map.
    pub(crate) map: u64,
    /// Rows written in a second.
    pub(crate) writes: u64,
    /// Splits in an hour.
    pub(crate) splits: u64,
    /// Bytes copied by splits in a second.
    pub(crate) copied: u64,
    /// Reads of the map in a second, if keys are uniform.
    pub(crate) reads: u64,
    /// Of a thousand writes, those that need a read of the map first.
    pub(crate) misses: u64,
    /// Swaps of the map in an hour.
    pub(crate) swaps: u64,
}

/// What a table comes to. `mean` is how many rows a shard has, `copied` how many of a thousand rows are copied.
pub(crate) fn growth(costs: &Costs, rows: u64, mean: u64, copied: u64, lookups: u64) -> Growth {
    let nodes = (rows * costs.replication.value / costs.rows_a_node.value).max(3);
    let shards = (rows / mean).max(1);
    let writes = costs.inserts.value * nodes / 3;
    let cache = usize::try_from(costs.cache.value).unwrap_or(usize::MAX);
    let known = u32::try_from(shards).unwrap_or(u32::MAX);
    let missed = misses(known, cache, costs.lease.value, CLIENT, false, lookups);
    let missed = missed.unknown + missed.expired;
    let splits = writes * 3_600 / mean;
    Growth {
        rows,
        nodes,
        shards,
        map: shards * costs.range.value,
        writes,
        splits,
        copied: writes * costs.row.value * copied / 1_000,
        reads: writes * missed / 1_000,
        misses: missed,
        swaps: splits * SWAPS,
    }
}

/// Where something breaks, if all keys are as bad for it as they can be.
pub(crate) struct Limits {
    /// Conditional writes of one partition in a second, a record or a map: the next waits for the one before.
    pub(crate) record: u64,
    /// Nodes whose writes split shards as often as that.
    pub(crate) swaps_nodes: u64,
    /// Shards of a map that is as large as a partition should be.
    pub(crate) shards: u64,
    /// Rows of that many shards.
    pub(crate) rows: u64,
    /// Nodes that have that many rows.
    pub(crate) rows_nodes: u64,
    /// Reads in a second that three nodes give.
    pub(crate) reads: u64,
    /// The fewest nodes whose writes read the map more often than that.
    pub(crate) reads_nodes: u64,
    /// Rows at which a client with uniform keys misses every second time.
    pub(crate) half_missed: u64,
}

/// The limits of one table.
pub(crate) fn limits(costs: &Costs, mean: u64, lookups: u64) -> Limits {
    let record = 1_000_000 / (costs.read.value * costs.conditional.value);
    let splits = record / SWAPS;
    let shards = costs.partition.value / costs.range.value;
    let rows = shards * mean;
    let reads = |nodes: &u64| {
        growth(costs, nodes * costs.rows_a_node.value / costs.replication.value, mean, 0, lookups).reads
    };
    Limits {
        record,
        swaps_nodes: splits * mean * 3 / costs.inserts.value,
        shards,
        rows,
        rows_nodes: rows * costs.replication.value / costs.rows_a_node.value,
        reads: costs.inserts.value,
        reads_nodes: (3..).find(|nodes| reads(nodes) > costs.inserts.value).unwrap_or(0),
        half_missed: costs.lease.value * CLIENT * mean,
    }
}
