//! Indexes that come and go: an index on a table that has records is filled before it serves a query.
//!
//! ```text
//! starting  a record that changes loses its entries in it and gets none            ┐ only where others may go by an
//!           a lease later                                                          ┘ older schema for a lease
//! building  writes keep it up, no query uses it, the filler goes through the records in bounded batches
//! ready     it holds every record it should
//! stopping  as building, until nobody reads it                                     ┐ as above
//! ending    as starting, until nobody writes it                                    ┘
//! ```
//!
//! At any time two ages of the schema are in use that stand side by side here. So a record that is written by the older
//! one cannot lack an entry that the newer one reads, nor keep one that the newer one has forgotten.
//!
//! Each batch commits its entries together with how far it came, on condition that the records it read are as they were.
//! So a crash loses nothing, and [`Database::fill_indexes`] goes on where it stopped. A store that commits one record at
//! a time gets each record as it is, with its entries, and how far it came behind them ([`sweep`](crate::sweep)).

use std::ops::ControlFlow;

use keyloom_key::{Span, Timestamp};
use keyloom_schema::{Document, Index, IndexBuilder, State, Table, Tree};
use keyloom_store::{Batch, Direction, Limits, Overlay, Read, Store};

use crate::apply::{Commits, is_expired, violation};
use crate::catalog::Catalog;
use crate::database::{Database, Patience};
use crate::entries::{self, EntryValue};
use crate::error::Error;
use crate::keyspace;
use crate::staged::Recorded;

/// How many records one batch of filling reads.
pub(crate) const BATCH: Limits =
    Limits { rows: 2_000, bytes: 4 << 20, time: std::time::Duration::from_secs(1) };

/// How far an index has been filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filled {
    /// Records that were gone through.
    pub records: u64,
}

impl<S: Store> Database<S> {
    /// Creates an index and fills it; it serves queries when this returns.
    ///
    /// If it is interrupted, [`fill_indexes`](Self::fill_indexes) goes on. If a unique index finds two records with the
    /// same values, or a record has a value that its keys cannot hold, it is dropped again and the error names them.
    pub async fn create_index(&self, table: &str, index: IndexBuilder) -> Result<(), Error> {
        self.create_index_with(table, index, |_| {}).await
    }

    /// The same; `progress` is told after every batch.
    pub async fn create_index_with(
        &self,
        table: &str,
        index: IndexBuilder,
        progress: impl FnMut(Filled) + Send,
    ) -> Result<(), Error> {
        let described = self.newest().await?.table(table)?.describe_index(index.clone())?;
        self.add_index(table, index, described.name()).await?;
        self.fill_index(table, described.name(), progress).await
    }

    /// Adds an index that is not filled yet: from now on every write keeps it up.
    async fn add_index(&self, table: &str, index: IndexBuilder, name: &str) -> Result<(), Error> {
        self.change_schema(|catalog| {
            let definition = catalog.table(table)?;
            if definition.index(name).is_some() {
                return Err(Error::Exists(format!("an index {name} on {table}").into()));
            }
            let (definition, _) = definition.with_index(index.clone())?;
            let first = match self.store().capability().lease {
                None => State::Building,
                Some(_) => State::Starting,
            };
            let mut definition = definition.with_index_state(name, first);
            let next = definition.number_trees(catalog.version.free_tree());
            Ok(Some((Batch::new().put(keyspace::table(table), encode(&definition)?), next)))
        })
        .await?;
        // Another process may have dropped it since.
        match self.catalog().tables.get(table) {
            Some(table) => self.tell_stripes(table).await,
            None => Ok(()),
        }
    }

    /// Finishes what was interrupted: fills every index that is not whole, and clears what a drop has left.
    pub async fn fill_indexes(&self, mut progress: impl FnMut(Filled) + Send) -> Result<(), Error> {
        let catalog = self.newest().await?;
        for (table, definition) in &catalog.tables {
            for index in definition.indexes() {
                match index.state() {
                    State::Ready => {}
                    State::Starting | State::Building => {
                        self.fill_index(table, index.name(), &mut progress).await?;
                    }
                    State::Stopping | State::Ending => self.drop_index(table, index.name()).await?,
                }
            }
        }
        self.end_loads(&catalog).await?;
        // Numbers are never given twice: a tree of this catalog's time that it does not know was dropped.
        let known = catalog.trees();
        for tree in (1..catalog.version.free_tree()).filter(|tree| !known.contains(tree)) {
            if !self.is_clear(tree).await? {
                // It may have been dropped just now, and others may still write to it.
                self.outwait_lease().await;
                self.clear(tree).await?;
            }
        }
        Ok(())
    }

    /// Drops an index: its definition at once, then its entries in bounded batches.
    ///
    /// Where others may go by an older schema for a [lease](keyloom_store::Capability::lease), its definition goes in
    /// steps, and this takes three of them.
    pub async fn drop_index(&self, table: &str, name: &str) -> Result<(), Error> {
        let leased = self.store().capability().lease.is_some();
        let tree = loop {
            let definition = self.newest().await?.table(table)?.clone();
            let Some(index) = definition.index(name) else {
                return Err(Error::Missing(format!("index {name} on {table}").into()));
            };
            let next = match index.state() {
                State::Ready if leased => Some(State::Stopping),
                State::Stopping if leased => {
                    self.outwait_lease().await;
                    Some(State::Ending)
                }
                State::Building | State::Starting if leased => Some(State::Ending),
                _ => {
                    self.outwait_lease().await;
                    None
                }
            };
            self.step_index(table, index, next).await?;
            if next.is_none() {
                break index.tree().id();
            }
        };
        self.outwait_lease().await;
        self.clear(tree).await
    }

    /// Brings an index into its next state, or takes it away, if it is as it was seen.
    async fn step_index(&self, table: &str, seen: &Index, next: Option<State>) -> Result<(), Error> {
        self.change_schema(|catalog| {
            let definition = catalog.table(table)?;
            let is_seen =
                |index: &Index| index.tree().id() == seen.tree().id() && index.state() == seen.state();
            if !definition.index(seen.name()).is_some_and(is_seen) {
                return Ok(None);
            }
            let changed = match next {
                None => definition.without_index(seen.name()),
                Some(state) => definition.with_index_state(seen.name(), state),
            };
            let batch = Batch::new().put(keyspace::table(table), encode(&changed)?);
            let batch = if next.is_none() { self.forgetting(batch, seen.tree().id()) } else { batch };
            Ok(Some((batch, catalog.version.free_tree())))
        })
        .await
    }

    /// Drops a table with all its records and indexes.
    pub async fn drop_table(&self, table: &str) -> Result<(), Error> {
        let definition = self.newest().await?.table(table)?.clone();
        let trees: Vec<u32> = definition.trees().map(Tree::id).collect();
        self.change_schema(|catalog| {
            catalog.table(table)?;
            let batch = Batch::new().delete(keyspace::table(table));
            let batch = trees.iter().fold(batch, |batch, tree| self.forgetting(batch, *tree));
            Ok(Some((batch, catalog.version.free_tree())))
        })
        .await?;
        self.outwait_lease().await;
        if self.commits() == Commits::Record {
            self.clear_records(&definition).await?;
        }
        for tree in trees {
            self.clear(tree).await?;
        }
        Ok(())
    }

    /// A batch that also deletes what is known of a tree, where that can be one commit with the rest.
    pub(crate) fn forgetting(&self, batch: Batch, tree: u32) -> Batch {
        match self.commits() {
            Commits::All => batch.delete(keyspace::progress(tree)).delete(keyspace::statistics(tree)),
            Commits::Record => batch,
        }
    }

    /// Whether nothing is left of a tree.
    async fn is_clear(&self, tree: u32) -> Result<bool, Error> {
        let look = |_: &[u8], _: &[u8]| ControlFlow::Break(());
        let page =
            self.store().scan(&keyspace::tree(tree), Direction::Forward, Limits::rows(1), look).await?;
        Ok(page.rows == 0)
    }

    /// Deletes every key of a tree that the catalog knows no more.
    pub(crate) async fn clear(&self, tree: u32) -> Result<(), Error> {
        if self.commits() == Commits::Record {
            return self.clear_each(tree).await;
        }
        let mut left = Some(keyspace::tree(tree));
        while let Some(span) = left.take() {
            let mut keys = Vec::new();
            let look = |key: &[u8], _: &[u8]| {
                keys.push(key.to_vec());
                ControlFlow::Continue(())
            };
            left = self.store().scan(&span, Direction::Forward, BATCH, look).await?.rest;
            if keys.is_empty() {
                continue;
            }
            self.store().commit(keys.into_iter().fold(Batch::new(), Batch::delete)).await?;
        }
        Ok(())
    }

    async fn fill_index(
        &self,
        table: &str,
        name: &str,
        mut progress: impl FnMut(Filled) + Send,
    ) -> Result<(), Error> {
        self.raise_index(table, name).await?;
        if self.commits() == Commits::Record {
            return self.fill_each(table, name, progress).await;
        }
        let (mut patience, mut records) = (Patience::default(), 0);
        loop {
            let catalog = self.catalog();
            let definition = catalog.table(table)?;
            let Some(number) = definition.indexes().iter().position(|index| index.name() == name) else {
                return Err(Error::Missing(format!("index {name} on {table}").into()));
            };
            let Some(index) = definition.indexes().get(number) else { continue };
            if index.state() == State::Ready {
                return Ok(());
            }
            let recorded = Recorded::new(self.store());
            let step = match fill_step(&recorded, definition, number, index, self.now()).await {
                // Another try would meet the same records.
                Err(error @ (Error::Unique { .. } | Error::Schema(_))) => {
                    self.drop_index(table, name).await?;
                    return Err(error);
                }
                step => step?,
            };
            let done = step.done;
            let batch = recorded.require(step.writes.into_batch());
            let committed = if done {
                self.finish_index(&catalog, definition, name, index.tree().id(), batch).await
            } else {
                self.store().commit(batch.require(catalog.version.unchanged())).await.map(|_| ())
            };
            match committed {
                Ok(()) => {
                    records += step.records;
                    patience = Patience::default();
                    progress(Filled { records });
                    if done {
                        return self.refresh().await;
                    }
                }
                Err(keyloom_store::Error::Conflict(condition)) => {
                    self.overtaken(&condition, &mut patience).await?
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until every writer knows an index, and keeps it up.
    async fn raise_index(&self, table: &str, name: &str) -> Result<(), Error> {
        loop {
            let definition = self.newest().await?.table(table)?.clone();
            match definition.index(name) {
                Some(index) if index.state() == State::Starting => {
                    self.outwait_lease().await;
                    self.step_index(table, index, Some(State::Building)).await?;
                }
                Some(index) if index.state() == State::Building => {
                    self.outwait_lease().await;
                    return Ok(());
                }
                _ => return Ok(()),
            }
        }
    }

    /// Says that an index is whole.
    pub(crate) async fn ready_index(&self, table: &str, index: &Index) -> Result<(), Error> {
        self.step_index(table, index, Some(State::Ready)).await
    }

    /// The last batch also says that the index is whole.
    async fn finish_index(
        &self,
        catalog: &Catalog,
        definition: &Table,
        name: &str,
        tree: u32,
        batch: Batch,
    ) -> Result<(), keyloom_store::Error> {
        let ready = definition.with_index_state(name, State::Ready);
        let mut bytes = Vec::new();
        if let Err(error) = ready.encode(&mut bytes) {
            return Err(keyloom_store::Error::Refused(error.to_string().into()));
        }
        let version = catalog.version.next(catalog.version.free_tree());
        let batch = batch
            .put(keyspace::table(definition.name()), bytes)
            .put(keyspace::VERSION, version.to_bytes())
            .delete(keyspace::progress(tree))
            .require(catalog.version.unchanged());
        self.store().commit(batch).await.map(|_| ())
    }
}

/// What one batch of filling writes.
struct Step {
    writes: Overlay,
    records: u64,
    done: bool,
}

/// Goes through the next records and writes their entries.
async fn fill_step<R: Read>(
    recorded: &Recorded<R>,
    table: &Table,
    number: usize,
    index: &Index,
    now: Timestamp,
) -> Result<Step, Error> {
    let progress_key = keyspace::progress(index.tree().id());
    let mut span = table.primary().span();
    if let Some(start) = recorded.get(&progress_key, <[u8]>::to_vec).await? {
        span.start = start;
    }
    let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let look = |key: &[u8], payload: &[u8]| {
        rows.push((key.to_vec(), payload.to_vec()));
        ControlFlow::Continue(())
    };
    let page = recorded.scan(&span, Direction::Forward, BATCH, look).await?;
    let mut writes = Overlay::new();
    for (key, payload) in &rows {
        let document = entries::document(table, key, payload)?;
        if is_expired(table, &document, now) {
            // It is not there, so it must not stand in the way of one that is.
            remove(recorded, table, &document, key, &mut writes).await?;
            continue;
        }
        for entry in entries::index_entries(table, index, &document, key)? {
            if entry.unique {
                let view = writes.over(recorded);
                let owner = view.get(&entry.key, |value| {
                    EntryValue::parse(value).is_none_or(|value| value.primary_key == key)
                });
                if owner.await? == Some(false) {
                    return Err(violation(table, number, &entry.key));
                }
            }
            writes.put(entry.key, entry.value);
        }
    }
    if let Some(Span { start, .. }) = &page.rest {
        writes.put(progress_key, start.clone());
    }
    let records = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    Ok(Step { writes, records, done: page.rest.is_none() })
}

/// Deletes a record with those entries that are its own: the place of one that it has not yet may be another's.
async fn remove<R: Read>(
    recorded: &Recorded<R>,
    table: &Table,
    document: &Document,
    key: &[u8],
    writes: &mut Overlay,
) -> Result<(), Error> {
    for (_, entry) in entries::all_entries(table, document, key)? {
        let view = writes.over(recorded);
        let is_own = |value: &[u8]| EntryValue::parse(value).is_none_or(|value| value.primary_key == key);
        if view.get(&entry.key, is_own).await? == Some(true) {
            writes.delete(entry.key);
        }
    }
    writes.delete(key.to_vec());
    Ok(())
}

fn encode(table: &Table) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    table.encode(&mut bytes)?;
    Ok(bytes)
}
