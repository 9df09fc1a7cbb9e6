//! What the store knows of its tables.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_plan::Statistics;
use keyloom_schema::{Table, Tree};
use keyloom_store::{Condition, Direction, Limits, Read, Sequence, Store};

use crate::analyze;
use crate::error::Error;
use crate::fresh::parse_mark;
use crate::index::IndexDefinition;
use crate::keyspace;

/// The catalog of one moment.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    /// How often the schema has changed, and the next free tree: the value that every commit requires unchanged.
    pub(crate) version: Version,
    /// The last commit after which the store is known to have this version.
    held_at: AtomicU64,
    pub(crate) tables: BTreeMap<String, Arc<Table>>,
    pub(crate) indexes: BTreeMap<String, IndexDefinition>,
    pub(crate) statistics: Statistics,
    /// The trees that loads fill before their tables have them, by the first.
    pub(crate) loads: BTreeMap<u32, Vec<u32>>,
}

/// How often the schema has changed, and the next free tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Version {
    pub(crate) changes: u64,
    pub(crate) next_tree: u32,
}

impl Version {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        [self.changes.to_be_bytes().as_slice(), &self.next_tree.to_be_bytes()].concat()
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (changes, rest) = bytes.split_first_chunk()?;
        let next_tree = rest.try_into().ok()?;
        Some(Self { changes: u64::from_be_bytes(*changes), next_tree: u32::from_be_bytes(next_tree) })
    }

    /// What a commit requires so that nobody writes by an old schema.
    pub(crate) fn unchanged(self) -> Condition {
        match self {
            Self { changes: 0, .. } => Condition::Absent(keyspace::VERSION.to_vec()),
            version => Condition::Is { key: keyspace::VERSION.to_vec(), value: version.to_bytes() },
        }
    }

    /// The version after one more change that takes trees up to this one.
    pub(crate) fn next(self, next_tree: u32) -> Self {
        Self { changes: self.changes + 1, next_tree }
    }

    /// The first tree that is free. Tree 0 is the catalog.
    pub(crate) fn free_tree(self) -> u32 {
        self.next_tree.max(1)
    }
}

impl Catalog {
    /// The store has this catalog's version after this commit.
    pub(crate) fn held_at(&self, sequence: Sequence) {
        self.held_at.fetch_max(sequence.0, Ordering::Relaxed);
    }

    /// Whether the store is known to have this catalog's version after this commit.
    pub(crate) fn holds_after(&self, sequence: Sequence) -> bool {
        self.held_at.load(Ordering::Relaxed) == sequence.0
    }

    /// Reads the catalog, all of it of one moment.
    pub(crate) async fn newest(store: &impl Store) -> Result<Self, Error> {
        // One page is of one state where there are snapshots.
        if store.capability().snapshot {
            return Self::read(store).await;
        }
        loop {
            let before = store.get(keyspace::VERSION, <[u8]>::to_vec).await?;
            let catalog = Self::read(store).await?;
            // Definitions change only with the version, which never comes back to what it was.
            if store.get(keyspace::VERSION, <[u8]>::to_vec).await? == before {
                return Ok(catalog);
            }
        }
    }

    async fn read(read: &impl Read) -> Result<Self, Error> {
        let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let whole = Limits { rows: usize::MAX, bytes: usize::MAX, time: std::time::Duration::MAX };
        let look = |key: &[u8], value: &[u8]| {
            rows.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        read.scan(&keyspace::all(), Direction::Forward, whole, look).await?;
        let mut catalog = Self::default();
        for (key, value) in rows {
            let damaged = |what: &str| Error::Damaged(format!("the catalog's {what}").into());
            match keyspace::parse(&key) {
                Some((b'v', [])) => {
                    catalog.version = Version::parse(&value).ok_or_else(|| damaged("version"))?;
                }
                Some((b't', _)) => {
                    let table = Table::decode(&value)?;
                    catalog.tables.insert(table.name().to_owned(), Arc::new(table));
                }
                Some((b'i', name)) => {
                    let name = String::from_utf8_lossy(name).into_owned();
                    let definition =
                        IndexDefinition::decode(&value).ok_or_else(|| damaged("plain indexes"))?;
                    catalog.indexes.insert(name, definition);
                }
                Some((b's', tree)) => {
                    let tree = tree.try_into().map_err(|_| damaged("statistics"))?;
                    let statistics = analyze::decode(&value).ok_or_else(|| damaged("statistics"))?;
                    catalog.statistics.0.insert(u32::from_be_bytes(tree), statistics);
                }
                Some((b'n', _)) => {
                    let (_, table) = parse_mark(&value)?;
                    catalog.loads.insert(table.primary().id(), table.trees().map(Tree::id).collect());
                }
                Some((b'b' | b'l', _)) => {}
                // Through the layer that compresses, it is not seen.
                Some((b'c', [])) => {
                    let remedy = "its values are compressed: open it by its URL, or as a Layered store";
                    return Err(Error::Store(keyloom_store::Error::Refused(remedy.into())));
                }
                _ => {
                    return Err(damaged(
                        "keys: one is of no known kind; a later version may have written it",
                    ));
                }
            }
        }
        Ok(catalog)
    }

    /// The numbers of the trees that belong to something.
    pub(crate) fn trees(&self) -> BTreeSet<u32> {
        let of_tables = self.tables.values().flat_map(|table| table.trees()).map(Tree::id);
        let plain = self.indexes.values().map(IndexDefinition::tree);
        of_tables.chain(plain).chain(self.loads.values().flatten().copied()).collect()
    }

    pub(crate) fn table(&self, name: &str) -> Result<&Arc<Table>, Error> {
        self.tables.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.tables.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
            Error::Missing(format!("table {name}; the tables are: {known}").into())
        })
    }
}
