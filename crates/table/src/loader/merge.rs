//! Sorted records into a table, a batch of neighbours at a time.

use std::iter::Peekable;
use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_key::Span;
use keyloom_schema::{self as schema, Tree};
use keyloom_store::{Batch, Direction, Fingerprint, Limits, Store};

use super::{Existing, Merged};
use crate::apply::Commits;
use crate::catalog::Catalog;
use crate::change::Change;
use crate::each::side_by_side;
use crate::entries;
use crate::error::Error;
use crate::fresh::{Fresh, is_empty, is_whole};
use crate::keyed::Keyed;
use crate::keyspace;
use crate::load::Group;
use crate::sort::Sorter;
use crate::table::Table;

/// Where sorted records go.
pub(super) struct Merge<'a, S> {
    pub(super) table: &'a Table<S>,
    /// The table as the records were checked by it.
    pub(super) checked: &'a schema::Table,
    pub(super) existing: Existing,
    /// How many bytes are committed as one.
    pub(super) batch: usize,
    /// What stands for the load in the store, if it is to go on where it is cut off.
    pub(super) identity: Option<u64>,
    /// Whether it was cut off while it wrote.
    pub(super) goes_on: bool,
    /// How many bytes of entries may be sorted in memory, about.
    pub(super) memory: usize,
    /// How many records there are at most.
    pub(super) records: u64,
    /// Whether they are more than one commit takes.
    pub(super) large: bool,
}

/// How many records are compared with what is there, and written as one.
const COMPARED: usize = 4_096;

impl<S: Store> Merge<'_, S> {
    pub(super) async fn run(
        &self,
        rows: impl Iterator<Item = Result<Keyed, Error>>,
        progress: &mut impl FnMut(Merged),
    ) -> Result<Merged, Error> {
        let (_, table) = self.newest().await?;
        let tree = table.primary().id();
        let mut rows = LastOfEach::of(rows.map(|row| row.map(|row| row.in_tree(tree))));
        if let Some(fresh) = self.fresh(&table).await? {
            return self.fill_fresh(fresh, rows, progress).await;
        }
        let done = self.done(tree).await?;
        let mut merged = Merged::default();
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next() {
            let row = row?;
            merged.repeated = rows.repeated;
            if done.as_ref().is_some_and(|done| row.key() <= done.as_slice()) {
                merged.resumed += 1;
                continue;
            }
            bytes += row.len();
            batch.push(row);
            if bytes >= self.batch {
                self.write(std::mem::take(&mut batch), &mut merged).await?;
                progress(merged);
                bytes = 0;
            }
        }
        if !batch.is_empty() {
            self.write(batch, &mut merged).await?;
            progress(merged);
        }
        self.forget().await?;
        Ok(merged)
    }

    /// New trees for an empty table, if the load is large; those that it was cut off with, if there are any.
    async fn fresh(&self, table: &Arc<schema::Table>) -> Result<Option<Fresh<'_, S>>, Error> {
        if let Some(identity) = self.identity.filter(|_| self.goes_on)
            && let Some(fresh) = Fresh::resume(self.table, self.batch, identity).await?
        {
            return Ok(Some(fresh));
        }
        let fits = self.large && self.table.database().commits() == Commits::All && is_whole(table);
        if fits && is_empty(self.store(), table).await? {
            return Ok(Some(Fresh::begin(self.table, table, self.batch, self.identity).await?));
        }
        Ok(None)
    }

    /// Writes all records and their entries to new trees, which the table then has.
    async fn fill_fresh(
        &self,
        mut fresh: Fresh<'_, S>,
        rows: LastOfEach<impl Iterator<Item = Result<Keyed, Error>>>,
        progress: &mut impl FnMut(Merged),
    ) -> Result<Merged, Error> {
        match self.fill_trees(&mut fresh, rows, progress).await {
            Ok(merged) => Ok(merged),
            // What would meet the same again, or cannot be gone on with, leaves nothing. If clearing fails too, what is
            // left is cleared later.
            Err(error)
                if self.identity.is_none()
                    || matches!(error, Error::Unique { .. } | Error::Exists(_) | Error::Conflict(_)) =>
            {
                drop(fresh.abandon().await);
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    async fn fill_trees(
        &self,
        fresh: &mut Fresh<'_, S>,
        mut rows: LastOfEach<impl Iterator<Item = Result<Keyed, Error>>>,
        progress: &mut impl FnMut(Merged),
    ) -> Result<Merged, Error> {
        let (table, done) = (fresh.definition().clone(), fresh.done().map(<[u8]>::to_vec));
        let (tree, trees) = (table.primary().id(), count(table.trees().count()));
        let memory = self.memory / 2 / table.indexes().len().max(1);
        let mut sorters: Vec<Sorter<Keyed>> = table.indexes().iter().map(|_| Sorter::new(memory)).collect();
        let mut merged = Merged::default();
        let with_entries = |row: Result<Keyed, Error>| {
            let row = row?.in_tree(tree);
            match &done {
                Some(done) if row.key() <= done.as_slice() => merged.resumed += 1,
                _ => merged.new += 1,
            }
            if !sorters.is_empty() {
                let document = entries::document(&table, row.key(), row.value())?;
                for (number, entry) in entries::all_entries(&table, &document, row.key())? {
                    let sorter = sorters.get_mut(number);
                    sorter.map_or(Ok(()), |sorter| sorter.push(Keyed::row(&entry.key, &entry.value)))?;
                }
            }
            Ok(row)
        };
        // Each tree is as much of the work as any other.
        let mut tell = |tree: usize, written: u64, all: u64| {
            let before = count(tree) * self.records;
            let staged = (before + self.records.saturating_mul(written) / all.max(1)) / trees;
            progress(Merged { staged, ..Merged::default() });
        };
        let records = rows.by_ref().map(with_entries);
        fresh.fill(0, records, |written| tell(0, written, self.records)).await?;
        for (number, sorter) in sorters.into_iter().enumerate() {
            let entries = sorter.pushed();
            fresh.fill(number + 1, sorter.finish()?, |written| tell(number + 1, written, entries)).await?;
        }
        fresh.finish().await?;
        merged.repeated = rows.repeated;
        progress(merged);
        Ok(merged)
    }

    /// Removes what says how far the load has come.
    pub(super) async fn forget(&self) -> Result<(), Error> {
        if let Some(identity) = self.identity {
            self.store().commit(Batch::new().delete(keyspace::load(identity))).await?;
        }
        Ok(())
    }

    fn store(&self) -> &S {
        self.table.database().store()
    }

    /// The table as it is now, if the records still fit it.
    async fn newest(&self) -> Result<(Arc<Catalog>, Arc<schema::Table>), Error> {
        let catalog = self.table.database().newest().await?;
        let table = Arc::clone(catalog.table(self.table.name())?);
        let (now, then) = (table.primary(), self.checked.primary());
        let same = table.columns() == self.checked.columns()
            && (now.fields(), now.format(), now.placement())
                == (then.fields(), then.format(), then.placement());
        if same { Ok((catalog, table)) } else { Err(changed(&table)) }
    }

    /// The key of the last record that was written before the load was cut off.
    async fn done(&self, tree: u32) -> Result<Option<Vec<u8>>, Error> {
        let Some(identity) = self.identity.filter(|_| self.goes_on) else { return Ok(None) };
        let done = self.store().get(&keyspace::load(identity), <[u8]>::to_vec).await?;
        // It may be of another table of this name, which has gone.
        Ok(done.filter(|done| done.starts_with(&tree.to_be_bytes()) && done.len() > Tree::ID))
    }

    /// A batch that says how far the load has come.
    fn reaching(&self, batch: Batch, last: Option<&Keyed>) -> Batch {
        match (self.identity, last) {
            (Some(identity), Some(last)) => batch.put(keyspace::load(identity), last.key()),
            _ => batch,
        }
    }

    async fn write(&self, rows: Vec<Keyed>, merged: &mut Merged) -> Result<(), Error> {
        if self.table.database().commits() == Commits::All && self.fill(&rows).await? {
            merged.new += count(rows.len());
            return Ok(());
        }
        for some in rows.chunks(COMPARED) {
            self.compare(some, merged).await?;
        }
        Ok(())
    }

    /// Writes records where nothing lies between the first and the last, so that nothing can be in their way; whether
    /// that is so.
    async fn fill(&self, rows: &[Keyed]) -> Result<bool, Error> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(true) };
        let span = Span { start: first.key().to_vec(), end: Some([last.key(), &[0]].concat()) };
        let look = |_: &[u8], _: &[u8]| ControlFlow::Break(());
        let page = self.store().scan(&span, Direction::Forward, Limits::rows(1), look).await?;
        if page.rows > 0 {
            return Ok(false);
        }
        let (catalog, table) = self.newest().await?;
        let mut batch =
            Batch::new().require(catalog.version.unchanged()).require_unchanged(span, Fingerprint::empty());
        batch = self.reaching(batch, Some(last));
        for row in rows {
            batch.write(row.key(), Some(row.value()));
        }
        batch.append(entries(&table, rows)?);
        match self.store().commit(batch).await {
            Ok(_) => Ok(true),
            // An entry of a unique index, or what others wrote meanwhile.
            Err(keyloom_store::Error::Conflict(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Compares records with what is there, and writes those that are new or another.
    async fn compare(&self, rows: &[Keyed], merged: &mut Merged) -> Result<(), Error> {
        let (_, table) = self.newest().await?;
        rows.first().map_or(Ok(()), |first| check_tree(&table, first))?;
        let keys: Vec<&[u8]> = rows.iter().map(Keyed::key).collect();
        // For each record, whether it is there, and the same.
        let mut found: Vec<Option<bool>> = vec![None; rows.len()];
        self.store()
            .get_many(&keys, |number, value| {
                if let (Some(place), Some(row), Some(value)) =
                    (found.get_mut(number), rows.get(number), value)
                {
                    *place = Some(value == row.value());
                }
            })
            .await?;
        let mut changes = Vec::new();
        let before = *merged;
        for (row, found) in rows.iter().zip(found) {
            match (found, self.existing) {
                (Some(true), _) => {
                    merged.unchanged += 1;
                    continue;
                }
                (Some(false), Existing::Keep) => {
                    merged.kept += 1;
                    continue;
                }
                (Some(false), Existing::Refuse) => {
                    *merged = before;
                    let values = table.primary().parts().iter().zip(table.primary().values(row.key())?);
                    let key = values
                        .map(|(part, value)| schema::field(&part.name).eq(value.into_owned()).to_string());
                    let key = key.collect::<Vec<_>>().join(", ");
                    let reason = format!("another record with {key} in {}", table.name());
                    return Err(Error::Exists(reason.into()));
                }
                (Some(false), Existing::Replace) => merged.replaced += 1,
                (None, _) => merged.new += 1,
            }
            changes.push(Change::put(entries::document(&table, row.key(), row.value())?));
        }
        match self.table.database().commits() {
            _ if changes.is_empty() => {}
            Commits::All => drop(self.table.apply_all(changes).await?),
            Commits::Record => {
                side_by_side(changes, |change| Box::pin(async { self.table.apply(change).await.map(drop) }))
                    .await?;
            }
        }
        let reached = self.reaching(Batch::new(), rows.last());
        if reached.writes().len() > 0 {
            self.store().commit(reached).await?;
        }
        Ok(())
    }
}

/// Of sorted rows with one key the last, and how many others there were.
struct LastOfEach<I: Iterator> {
    rows: Peekable<I>,
    repeated: u64,
}

impl<I: Iterator> LastOfEach<I> {
    fn of(rows: I) -> Self {
        Self { rows: rows.peekable(), repeated: 0 }
    }
}

impl<I: Iterator<Item = Result<Keyed, Error>>> Iterator for LastOfEach<I> {
    type Item = Result<Keyed, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match (self.rows.next()?, self.rows.peek()) {
                (Ok(row), Some(Ok(next))) if next.key() == row.key() => self.repeated += 1,
                (row, _) => return Some(row),
            }
        }
    }
}

/// The entries of these records in all indexes, sorted.
fn entries(table: &schema::Table, rows: &[Keyed]) -> Result<Batch, Error> {
    let mut group = Group::of(table, false);
    if !table.indexes().is_empty() {
        for row in rows {
            let document = entries::document(table, row.key(), row.value())?;
            for (number, entry) in entries::all_entries(table, &document, row.key())? {
                group.push(number + 1, &entry.key, &entry.value, entry.unique);
            }
        }
    }
    group.into_batch()
}

/// Refuses to write records to a tree that is not the table's any more.
fn check_tree(table: &schema::Table, row: &Keyed) -> Result<(), Error> {
    if row.key().starts_with(&table.primary().id().to_be_bytes()) { Ok(()) } else { Err(changed(table)) }
}

fn changed(table: &schema::Table) -> Error {
    Error::Conflict(format!("the table {} has changed since its records were checked", table.name()).into())
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
