//! Statistics: how many keys a tree has, how many different values, and where they lie.
//!
//! They are advice to the planner. Nobody keeps them up while writing, so no key is hot because of them; ANALYZE makes
//! them anew.

use std::ops::ControlFlow;

use keyloom_plan::{Statistics, TreeStatistics};
use keyloom_schema::{Format, Tree};
use keyloom_store::{Batch, Condition, Direction, Limits, Read, Store};

use crate::apply::Commits;
use crate::database::{Database, Patience};
use crate::error::Error;
use crate::keyspace;

/// The most keys that are kept as samples.
const SAMPLES: usize = 256;

impl<S: Store> Database<S> {
    /// Counts the keys of a table and its indexes anew, for the planner.
    pub async fn analyze(&self, table: &str) -> Result<(), Error> {
        let mut patience = Patience::default();
        loop {
            let catalog = self.newest().await?;
            let definition = catalog.table(table)?;
            // A tree that is dropped meanwhile leaves no statistics.
            let mut batches = vec![Batch::new()];
            let indexes = definition.indexes().iter().map(|index| index.tree());
            for tree in std::iter::once(definition.primary()).chain(indexes) {
                let statistics = count(self.store(), tree).await?;
                let (key, value) = (keyspace::statistics(tree.id()), encode(&statistics));
                match batches.last_mut() {
                    Some(all) if self.commits() == Commits::All => all.write(&key, Some(&value)),
                    _ => batches.push(Batch::new().put(key, value)),
                }
            }
            match self.commit_all(batches, catalog.version.unchanged()).await {
                Ok(()) => return self.refresh().await,
                Err(keyloom_store::Error::Conflict(condition)) => {
                    self.overtaken(&condition, &mut patience).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn commit_all(&self, batches: Vec<Batch>, only: Condition) -> Result<(), keyloom_store::Error> {
        for batch in batches.into_iter().filter(|batch| batch.writes().len() > 0) {
            self.store().commit(batch.require(only.clone())).await?;
        }
        Ok(())
    }
}

impl<S: Store> Database<S> {
    /// What [`analyze`](Self::analyze) has counted, and the planner goes by.
    pub fn statistics(&self) -> Statistics {
        self.catalog().statistics.clone()
    }
}

/// Counts a tree page by page.
async fn count(read: &impl Read, tree: &Tree) -> Result<TreeStatistics, Error> {
    let mut counter = TreeCounter::new(tree);
    let mut left = Some(tree.span());
    while let Some(span) = left.take() {
        let look = |key: &[u8], _: &[u8]| {
            counter.add(tree, key);
            ControlFlow::Continue(())
        };
        left = read.scan(&span, Direction::Forward, Limits::default(), look).await?.rest;
    }
    Ok(counter.finish())
}

/// Counts the keys of a tree as ANALYZE does: in bounded memory, whoever reads them.
///
/// ```
/// use keyloom_schema::Table;
/// use keyloom_table::TreeCounter;
/// let table = Table::named("t").column("a", "u8").column("b", "u8").key(["a", "b"]).build()?;
/// let mut counter = TreeCounter::new(table.primary());
/// for (a, b) in [(1_u8, 1_u8), (1, 2), (2, 1)] {
///     let mut key = Vec::new();
///     table.primary().key(&[a.into(), b.into()], &mut key)?;
///     counter.add(table.primary(), &key);
/// }
/// let counted = counter.finish();
/// assert_eq!((counted.rows, counted.distinct), (3, vec![2, 3]));
/// # Ok::<(), keyloom_schema::Error>(())
/// ```
#[derive(Debug)]
pub struct TreeCounter {
    statistics: TreeStatistics,
    /// Every so manieth key is a sample.
    stride: u64,
    last: Vec<u8>,
    /// How many parts have an end that can be found.
    parts: usize,
}

impl TreeCounter {
    /// Nothing counted yet.
    pub fn new(tree: &Tree) -> Self {
        let parts = if *tree.format() == Format::Native { tree.declared() } else { 0 };
        let statistics = TreeStatistics { rows: 0, distinct: vec![0; parts], samples: Vec::new() };
        Self { statistics, stride: 1, last: Vec::new(), parts }
    }

    /// Takes in the next key: keys come in their order.
    pub fn add(&mut self, tree: &Tree, key: &[u8]) {
        for (part, distinct) in (1..=self.parts).zip(&mut self.statistics.distinct) {
            // Keys come in their order: a value is new if the key before began otherwise.
            let lead = tree.lead(key, part).unwrap_or(key);
            if !self.last.starts_with(lead) {
                *distinct += 1;
            }
        }
        if self.statistics.rows.is_multiple_of(self.stride) {
            self.statistics.samples.push(key.to_vec());
        }
        if self.statistics.samples.len() > SAMPLES {
            let mut number = 0_usize;
            self.statistics.samples.retain(|_| {
                number += 1;
                !number.is_multiple_of(2)
            });
            self.stride *= 2;
        }
        self.statistics.rows += 1;
        self.last.clear();
        self.last.extend_from_slice(key);
    }

    /// What was counted.
    pub fn finish(self) -> TreeStatistics {
        self.statistics
    }
}

/// Statistics as bytes: rows, the count of distinct numbers and they, then samples, each behind its length.
fn encode(statistics: &TreeStatistics) -> Vec<u8> {
    let length = |count: usize| u16::try_from(count).unwrap_or(u16::MAX).to_be_bytes();
    let mut out = statistics.rows.to_be_bytes().to_vec();
    out.extend_from_slice(&length(statistics.distinct.len()));
    statistics.distinct.iter().for_each(|distinct| out.extend_from_slice(&distinct.to_be_bytes()));
    for sample in &statistics.samples {
        out.extend_from_slice(&length(sample.len()));
        out.extend_from_slice(sample);
    }
    out
}

/// What [`encode`] wrote.
pub(crate) fn decode(bytes: &[u8]) -> Option<TreeStatistics> {
    let (rows, rest) = bytes.split_first_chunk()?;
    let (count, mut rest) = rest.split_first_chunk()?;
    let mut distinct = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (number, after) = rest.split_first_chunk()?;
        distinct.push(u64::from_be_bytes(*number));
        rest = after;
    }
    let mut samples = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk()?;
        let (sample, after) = after.split_at_checked(u16::from_be_bytes(*length).into())?;
        samples.push(sample.to_vec());
        rest = after;
    }
    Some(TreeStatistics { rows: u64::from_be_bytes(*rows), distinct, samples })
}
