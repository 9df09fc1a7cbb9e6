//! Sorted records into a table, a batch of neighbours at a time.

use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_key::Span;
use keyloom_schema::{self as schema, Tree};
use keyloom_store::{Batch, Direction, Fingerprint, Limits, Store};

use super::keyed::Keyed;
use super::{Existing, Merged};
use crate::apply::Commits;
use crate::catalog::Catalog;
use crate::change::Change;
use crate::each::side_by_side;
use crate::entries;
use crate::error::Error;
use crate::keyspace;
use crate::load::Group;
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
}

/// How many records are compared with what is there, and written as one.
const COMPARED: usize = 4_096;

impl<S: Store> Merge<'_, S> {
    pub(super) async fn run(
        &self,
        rows: impl Iterator<Item = Result<Keyed, Error>>,
        progress: &mut impl FnMut(Merged),
    ) -> Result<Merged, Error> {
        let tree = self.newest().await?.1.primary().id();
        let done = self.done(tree).await?;
        let mut merged = Merged::default();
        let mut rows = rows.map(|row| row.map(|row| row.in_tree(tree))).peekable();
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next() {
            let row = row?;
            if matches!(rows.peek(), Some(Ok(next)) if next.key() == row.key()) {
                merged.repeated += 1;
                continue;
            }
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
            batch.write(row.key(), Some(row.payload()));
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
                    *place = Some(value == row.payload());
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
            changes.push(Change::put(entries::document(&table, row.key(), row.payload())?));
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

/// The entries of these records in all indexes, sorted.
fn entries(table: &schema::Table, rows: &[Keyed]) -> Result<Batch, Error> {
    let mut group = Group::of(table, false);
    if !table.indexes().is_empty() {
        for row in rows {
            let document = entries::document(table, row.key(), row.payload())?;
            for (number, entry) in entries::all_entries(table, &document, row.key())? {
                group.push(number + 1, &entry.key, &entry.value, entry.unique);
            }
        }
    }
    group.into_batch(table, 0)
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
