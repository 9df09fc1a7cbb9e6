//! Partitions: the records that share the first field of the primary key, and so lie side by side in one place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use keyloom_key::Value;

/// How many of the largest partitions are kept.
const LARGEST: usize = 10;

/// How many of the newest records are looked at, at most: a tenth of all, if that is less.
const NEWEST: usize = 1_000;

/// How large the partitions of a table are.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Partitions {
    /// The field that they are made by: the first of the primary key.
    pub field: String,
    /// How many there are.
    pub count: u64,
    /// The largest, by rows, the largest first.
    pub largest: Vec<Partition>,
    /// How many partitions have 1 row, 2 to 3, 4 to 7, and so on: the n-th has those of 2ⁿ to 2ⁿ⁺¹ - 1.
    pub sizes: Vec<u64>,
    /// Where the newest records went, if a column says when a record is of.
    pub newest: Option<Newest>,
}

/// One partition.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// What its records share.
    pub value: Value<'static>,
    /// How many there are.
    pub rows: u64,
    /// The bytes of their keys and values.
    pub bytes: u64,
}

/// Where the newest tenth of the records went: the hottest partitions, as far as the data itself tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Newest {
    /// The column that says when a record is of.
    pub by: String,
    /// How many of the newest records were looked at.
    pub rows: u64,
    /// The partitions that have most of them, with how many.
    pub partitions: Vec<(Value<'static>, u64)>,
}

/// Gathers partitions while keys go by in their order.
#[derive(Debug, Default)]
pub(crate) struct Gatherer {
    count: u64,
    rows: u64,
    sizes: Vec<u64>,
    largest: Vec<Partition>,
    current: Option<Partition>,
    /// The newest records: when, and the number of their partition.
    newest: BinaryHeap<Reverse<(Vec<u8>, u64)>>,
    /// What the partitions of the newest records share.
    named: BTreeMap<u64, Value<'static>>,
}

impl Gatherer {
    /// Begins a partition.
    pub(crate) fn begin(&mut self, value: Value<'static>) {
        self.end();
        self.count += 1;
        self.current = Some(Partition { value, rows: 0, bytes: 0 });
    }

    /// Takes in a record of the partition, which is of this time; times are in the order of their bytes.
    pub(crate) fn add(&mut self, bytes: u64, time: Option<&[u8]>) {
        let Some(current) = &mut self.current else { return };
        current.rows += 1;
        current.bytes += bytes;
        self.rows += 1;
        let Some(time) = time else { return };
        let oldest = self.newest.peek().map(|Reverse((oldest, _))| oldest.as_slice());
        if self.newest.len() >= NEWEST && oldest >= Some(time) {
            return;
        }
        self.named.entry(self.count).or_insert_with(|| current.value.clone());
        self.newest.push(Reverse((time.to_vec(), self.count)));
        if self.newest.len() > NEWEST {
            self.newest.pop();
        }
        // Names of partitions that no record is kept of any more are let go from time to time.
        if self.named.len() > 2 * NEWEST {
            let kept: std::collections::BTreeSet<u64> =
                self.newest.iter().map(|Reverse((_, number))| *number).collect();
            self.named.retain(|number, _| kept.contains(number));
        }
    }

    fn end(&mut self) {
        let Some(partition) = self.current.take() else { return };
        let size = usize::try_from(partition.rows.checked_ilog2().unwrap_or_default()).unwrap_or(0);
        if self.sizes.len() <= size {
            self.sizes.resize(size + 1, 0);
        }
        if let Some(count) = self.sizes.get_mut(size) {
            *count += 1;
        }
        let at = self.largest.partition_point(|other| other.rows >= partition.rows);
        if at < LARGEST {
            self.largest.insert(at, partition);
            self.largest.truncate(LARGEST);
        }
    }

    /// What was gathered; `by` is the column that the times were of.
    pub(crate) fn finish(mut self, field: &str, by: Option<&str>) -> Partitions {
        self.end();
        let looked_at = usize::try_from(self.rows / 10).unwrap_or(NEWEST).max(1);
        while self.newest.len() > looked_at {
            self.newest.pop();
        }
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for Reverse((_, number)) in &self.newest {
            *counts.entry(*number).or_default() += 1;
        }
        let mut hottest: Vec<(u64, u64)> = counts.into_iter().collect();
        hottest.sort_by_key(|(number, rows)| (Reverse(*rows), *number));
        let named = hottest.into_iter().take(LARGEST);
        let partitions = named.filter_map(|(number, rows)| Some((self.named.get(&number)?.clone(), rows)));
        let partitions: Vec<_> = partitions.collect();
        let rows = u64::try_from(self.newest.len()).unwrap_or(u64::MAX);
        let newest = by.filter(|_| rows > 0).map(|by| Newest { by: by.to_owned(), rows, partitions });
        Partitions {
            field: field.to_owned(),
            count: self.count,
            largest: self.largest,
            sizes: self.sizes,
            newest,
        }
    }
}
