//! Filling and clearing on a store that commits one record at a time: each record is written as it is, with its entries or
//! without, on condition that nobody has changed it.

use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_schema::{Index, State, Table as Definition, Tree};
use keyloom_store::{About, Batch, Direction, Store};

use crate::build::{BATCH, Filled};
use crate::change::Change;
use crate::database::Database;
use crate::each::{Work, side_by_side};
use crate::entries::{self, EntryValue};
use crate::error::Error;
use crate::keyspace;

impl<S: Store> Database<S> {
    /// Goes through the records from where an earlier run has come to, and gives each its entries in an index.
    pub(crate) async fn fill_each(
        &self,
        table: &str,
        name: &str,
        mut progress: impl FnMut(Filled) + Send,
    ) -> Result<(), Error> {
        let mut filled = Filled { records: 0 };
        loop {
            let catalog = self.newest().await?;
            let definition = catalog.table(table)?;
            let index = definition.index(name).filter(|index| match index.state() {
                State::Ready | State::Building => true,
                State::Starting | State::Stopping | State::Ending => false,
            });
            let Some(index) = index else {
                return Err(Error::Missing(format!("index {name} on {table} any more").into()));
            };
            let tree = index.tree().id();
            if index.state() == State::Ready {
                return Ok(());
            }
            let mut span = definition.primary().span();
            if let Some(start) = self.store().get(&keyspace::progress(tree), <[u8]>::to_vec).await? {
                span.start = start;
            }
            let mut keys = Vec::new();
            let look = |key: &[u8], _: &[u8]| {
                keys.push(key.to_vec());
                ControlFlow::Continue(())
            };
            let page = self.store().scan(&span, Direction::Forward, BATCH, look).await?;
            filled.records += u64::try_from(keys.len()).unwrap_or(u64::MAX);
            match self.enter_all(table, index, keys).await {
                // Another try would meet the same records.
                Err(error @ (Error::Unique { .. } | Error::Schema(_))) => {
                    self.drop_index(table, name).await?;
                    return Err(error);
                }
                entered => entered?,
            }
            match page.rest {
                None => self.ready_index(table, index).await?,
                Some(rest) => {
                    let reached = Batch::new().put(keyspace::progress(tree), rest.start);
                    match self.store().commit(reached.require(catalog.version.unchanged())).await {
                        Err(keyloom_store::Error::Conflict(_)) => {}
                        committed => drop(committed?),
                    }
                }
            }
            progress(filled);
        }
    }

    /// Gives records their entries in an index.
    async fn enter_all(&self, table: &str, index: &Index, keys: Vec<Vec<u8>>) -> Result<(), Error> {
        let tree = index.tree().id();
        side_by_side(keys, |key| {
            Box::pin(async move { self.apply_one(table, &Change::enter(key, tree)).await.map(drop) })
        })
        .await
    }

    /// Deletes the records of a table that the catalog knows no more, each with its entries.
    pub(crate) async fn clear_records(&self, table: &Definition) -> Result<(), Error> {
        self.sweep(table.primary().id(), |(key, payload)| Box::pin(self.clear_record(table, key, payload)))
            .await
    }

    async fn clear_record(&self, table: &Definition, key: Vec<u8>, payload: Vec<u8>) -> Result<(), Error> {
        let mut batch = Batch::new().delete(&key);
        // One that cannot be read takes its entries with it too, though they are not named.
        if let Ok(document) = entries::document(table, &key, &payload)
            && let Ok(entries) = entries::all_entries(table, &document, &key)
        {
            batch = entries.iter().fold(batch, |batch, (_, entry)| batch.delete(&entry.key));
        }
        self.store().commit(batch.about(About::Record(key))).await?;
        Ok(())
    }

    /// Deletes every key of a tree that the catalog knows no more: records, or entries of records that stay.
    pub(crate) async fn clear_each(&self, tree: u32) -> Result<(), Error> {
        for key in [keyspace::progress(tree), keyspace::statistics(tree)] {
            self.store().commit(Batch::new().delete(key)).await?;
        }
        self.sweep(tree, |(key, value)| Box::pin(self.clear_row(key, value))).await
    }

    async fn clear_row(&self, key: Vec<u8>, value: Vec<u8>) -> Result<(), Error> {
        let catalog = self.catalog();
        let owner = EntryValue::parse(&value).map(|entry| entry.primary_key.to_vec()).unwrap_or_default();
        let of_owner = |table: &&Arc<Definition>| {
            owner.get(..Tree::ID) == Some(table.primary().id().to_be_bytes().as_slice())
        };
        if let Some(table) = catalog.tables.values().find(of_owner) {
            self.apply_one(table.name(), &Change::leave(owner.clone(), key.clone())).await?;
            if self.store().get(&key, |_| ()).await?.is_none() {
                return Ok(());
            }
        }
        // It only looked like an entry: it is a record.
        self.store().commit(Batch::new().delete(&key).about(About::Record(key))).await?;
        Ok(())
    }

    /// Does something to every row of a tree, a page of them at a time.
    async fn sweep<'w>(
        &self,
        tree: u32,
        work: impl Fn((Vec<u8>, Vec<u8>)) -> Work<'w> + Send + Sync,
    ) -> Result<(), Error> {
        let mut left = Some(keyspace::tree(tree));
        while let Some(span) = left.take() {
            let mut rows = Vec::new();
            let look = |key: &[u8], value: &[u8]| {
                rows.push((key.to_vec(), value.to_vec()));
                ControlFlow::Continue(())
            };
            left = self.store().scan(&span, Direction::Forward, BATCH, look).await?.rest;
            side_by_side(rows, &work).await?;
        }
        Ok(())
    }
}
