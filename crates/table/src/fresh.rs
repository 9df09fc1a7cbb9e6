//! Trees that are filled before their table has them: how an empty table takes more than one commit can.
//!
//! ```text
//! begin    numbers for new trees, and a mark that says what they are for
//! fill     the rows of a tree in the order of their keys, a part in each commit, which renews the mark
//! finish   the table has the new trees, and the mark goes: one commit, if the table is empty still
//! ```
//!
//! Nobody reads these trees before the last commit. So a load is there as a whole or not at all, however large it is, and
//! each tree is only appended to. What a load leaves that was cut off is cleared by [`Database::fill_indexes`] when its
//! mark has not been renewed for a while; from then on the load cannot go on.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use keyloom_key::Timestamp;
use keyloom_schema::{self as schema, State};
use keyloom_store::{Batch, Condition, Direction, Fingerprint, Limits, Read, Store};

use crate::apply::violation;
use crate::catalog::Catalog;
use crate::database::{Database, Patience, is_version};
use crate::error::Error;
use crate::keyed::Keyed;
use crate::keyspace;
use crate::load::same_key;
use crate::table::Table;

/// A load whose mark is older has been cut off.
const CUT_OFF: Duration = Duration::from_secs(600);

/// Trees that are filled for a table.
pub(crate) struct Fresh<'a, S> {
    table: &'a Table<S>,
    /// The table as it was when the load began.
    old: Arc<schema::Table>,
    /// The same with the new trees.
    new: schema::Table,
    /// The value of the mark, which every commit requires and renews.
    mark: Vec<u8>,
    /// How many bytes are committed as one.
    part: usize,
    /// What stands for the load in the store, if it can go on where it is cut off.
    identity: Option<u64>,
    /// The last record that was written before it was cut off.
    done: Option<Vec<u8>>,
}

impl<'a, S: Store> Fresh<'a, S> {
    /// New trees for a table that is empty, [whole](is_whole), and still as it was seen.
    pub(crate) async fn begin(
        table: &'a Table<S>,
        old: &Arc<schema::Table>,
        part: usize,
        identity: Option<u64>,
    ) -> Result<Self, Error> {
        let (database, old) = (table.database(), Arc::clone(old));
        let mut begun = None;
        database
            .change_schema(|catalog| {
                // It may be asked again, of a newer catalog.
                begun = None;
                if catalog.table(table.name())? != &old {
                    return Ok(None);
                }
                let first = catalog.version.free_tree();
                let new = old.with_trees(first);
                let next = new.trees().map(|tree| tree.id() + 1).max().unwrap_or(first);
                let mark = mark(database.now(), &new)?;
                let batch = Batch::new().put(keyspace::fresh(first), &mark);
                begun = Some((new, mark));
                Ok(Some((batch, next)))
            })
            .await?;
        let Some((new, mark)) = begun else { return Err(conflict(table.name(), "has changed")) };
        database.tell_stripes(&new).await?;
        Ok(Self { table, old, new, mark, part, identity, done: None })
    }

    /// The trees of a load that was cut off while it filled them.
    pub(crate) async fn resume(
        table: &'a Table<S>,
        part: usize,
        identity: u64,
    ) -> Result<Option<Self>, Error> {
        let database = table.database();
        let old = Arc::clone(database.newest().await?.table(table.name())?);
        let Some(done) = database.store().get(&keyspace::load(identity), <[u8]>::to_vec).await? else {
            return Ok(None);
        };
        let Some((first, _)) = done.split_first_chunk() else { return Ok(None) };
        let first = u32::from_be_bytes(*first);
        let Some(mark) = database.store().get(&keyspace::fresh(first), <[u8]>::to_vec).await? else {
            return Ok(None);
        };
        let new = old.with_trees(first);
        // If the table has changed since, its trees are of no use.
        let same = parse_mark(&mark).is_ok_and(|(_, marked)| marked == new);
        let done = Some(done);
        Ok(same.then_some(Self { table, old, new, mark, part, identity: Some(identity), done }))
    }

    /// The table with the new trees.
    pub(crate) fn definition(&self) -> &schema::Table {
        &self.new
    }

    /// The key of the last record that was written before the load was cut off.
    pub(crate) fn done(&self) -> Option<&[u8]> {
        self.done.as_deref()
    }

    /// Writes all records, or all entries of an index, in the order of their keys. `number` is 0 for the records, or one
    /// more than the index's; `progress` is told after each commit how many have been written.
    ///
    /// Two rows with one key are an error.
    pub(crate) async fn fill(
        &mut self,
        number: usize,
        rows: impl Iterator<Item = Result<Keyed, Error>>,
        mut progress: impl FnMut(u64),
    ) -> Result<(), Error> {
        let mut mark = self.mark.clone();
        let mut parts = Parts { fresh: self, number, rows, last: None, gathered: 0, ended: false };
        let mut part = parts.next()?;
        while let Some((batch, gathered)) = part {
            // While the store writes a part, the next is gathered.
            let (committed, next) = join(self.commit(batch, &mark), async { parts.next() }).await;
            mark = committed?;
            progress(gathered);
            part = next?;
        }
        self.mark = mark;
        Ok(())
    }

    /// The number of the tree of the records, or of an index.
    fn tree(&self, number: usize) -> u32 {
        let index = number.checked_sub(1).and_then(|number| self.new.indexes().get(number));
        index.map_or(self.new.primary(), schema::Index::tree).id()
    }

    fn twin(&self, number: usize, key: &[u8]) -> Error {
        match number.checked_sub(1) {
            Some(number) => violation(&self.new, number, key),
            None => same_key(&self.new, key),
        }
    }

    fn mark_key(&self) -> Vec<u8> {
        keyspace::fresh(self.new.primary().id())
    }

    /// Commits a part, if the mark is this one; returns what it is then.
    async fn commit(&self, batch: Batch, before: &[u8]) -> Result<Vec<u8>, Error> {
        let (key, mark) = (self.mark_key(), mark(self.table.database().now(), &self.new)?);
        let batch = batch.require_value(key.clone(), before.to_vec()).put(key, &mark);
        match self.table.database().store().commit(batch).await {
            Ok(_) => Ok(mark),
            Err(keyloom_store::Error::Conflict(_)) => Err(self.ended()),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the new trees to the table.
    pub(crate) async fn finish(&self) -> Result<(), Error> {
        let database = self.table.database();
        let mut definition = Vec::new();
        self.new.encode(&mut definition)?;
        let mut patience = Patience::default();
        loop {
            let catalog = database.newest().await?;
            if catalog.table(self.table.name())? != &self.old {
                return Err(conflict(self.table.name(), "has changed"));
            }
            let version = catalog.version.next(catalog.version.free_tree());
            let batch = Batch::new()
                .put(keyspace::table(self.table.name()), &definition)
                .put(keyspace::VERSION, version.to_bytes())
                .delete(self.mark_key())
                .require(catalog.version.unchanged())
                .require_value(self.mark_key(), self.mark.clone())
                .require_unchanged(self.old.primary().span(), Fingerprint::empty());
            let batch = self.old.trees().fold(batch, |batch, tree| database.forgetting(batch, tree.id()));
            match database.store().commit(self.forgetting(batch)).await {
                Ok(_) => return database.refresh().await,
                Err(keyloom_store::Error::Conflict(condition)) => match *condition {
                    condition if is_version(&condition) => {
                        database.overtaken(&condition, &mut patience).await?
                    }
                    Condition::Unchanged { .. } => {
                        return Err(conflict(self.table.name(), "has got other records"));
                    }
                    _ => return Err(self.ended()),
                },
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Ends the load without the table having anything of it.
    pub(crate) async fn abandon(self) -> Result<(), Error> {
        let database = self.table.database();
        database.store().commit(self.forgetting(Batch::new().delete(self.mark_key()))).await?;
        for tree in self.new.trees() {
            database.clear(tree.id()).await?;
        }
        Ok(())
    }

    /// A batch that also deletes how far the load has come.
    fn forgetting(&self, batch: Batch) -> Batch {
        self.identity.iter().fold(batch, |batch, identity| batch.delete(keyspace::load(*identity)))
    }

    fn ended(&self) -> Error {
        let (table, minutes) = (self.table.name(), CUT_OFF.as_secs() / 60);
        let reason =
            format!("the load into {table} wrote nothing for {minutes} minutes, and was taken for cut off");
        Error::Conflict(reason.into())
    }
}

/// The rows of a tree, as many at a time as are committed as one.
struct Parts<'f, 'a, S, R> {
    fresh: &'f Fresh<'a, S>,
    /// Which tree, as [`Fresh::fill`] has it.
    number: usize,
    rows: R,
    last: Option<Keyed>,
    gathered: u64,
    ended: bool,
}

impl<S: Store, R: Iterator<Item = Result<Keyed, Error>>> Parts<'_, '_, S, R> {
    /// The next rows, and how many there were until then.
    fn next(&mut self) -> Result<Option<(Batch, u64)>, Error> {
        if self.ended {
            return Ok(None);
        }
        let (fresh, tree) = (self.fresh, self.fresh.tree(self.number));
        let mut batch = Batch::new();
        while batch.size() < fresh.part {
            let Some(row) = self.rows.next() else {
                self.ended = true;
                break;
            };
            let row = row?.in_tree(tree);
            if self.last.as_ref().is_some_and(|last| last.key() == row.key()) {
                return Err(fresh.twin(self.number, row.key()));
            }
            if self.number > 0 || fresh.done().is_none_or(|done| row.key() > done) {
                batch.write(row.key(), Some(row.value()));
            }
            self.gathered += 1;
            self.last = Some(row);
        }
        if let (Some(identity), Some(last), 0) = (fresh.identity, &self.last, self.number) {
            batch = batch.put(keyspace::load(identity), last.key());
        }
        Ok(Some((batch, self.gathered)))
    }
}

impl<S: Store> Database<S> {
    /// Ends loads that were cut off, and clears the trees that they filled.
    pub(crate) async fn end_loads(&self, catalog: &Catalog) -> Result<(), Error> {
        for (first, trees) in &catalog.loads {
            let key = keyspace::fresh(*first);
            // It may have been renewed since the catalog was read, or be gone with its load, which has ended well then.
            let Some(mark) = self.store().get(&key, <[u8]>::to_vec).await? else { continue };
            let age = self.now().total_nanos() - parse_mark(&mark)?.0.total_nanos();
            if u128::try_from(age).is_ok_and(|age| age < CUT_OFF.as_nanos()) {
                continue;
            }
            match self.store().commit(Batch::new().delete(&key).require_value(key.clone(), mark)).await {
                Err(keyloom_store::Error::Conflict(_)) => continue,
                ended => ended?,
            };
            for tree in trees {
                self.clear(*tree).await?;
            }
        }
        Ok(())
    }
}

/// Whether a table has no record.
pub(crate) async fn is_empty(read: &impl Read, table: &schema::Table) -> Result<bool, Error> {
    let look = |_: &[u8], _: &[u8]| ControlFlow::Break(());
    Ok(read.scan(&table.primary().span(), Direction::Forward, Limits::rows(1), look).await?.rows == 0)
}

/// Whether every index of a table has what it should.
pub(crate) fn is_whole(table: &schema::Table) -> bool {
    table.indexes().iter().all(|index| index.state() == State::Ready)
}

/// A mark: when it was made, and the table with the new trees.
fn mark(at: Timestamp, table: &schema::Table) -> Result<Vec<u8>, Error> {
    let mut bytes = at.total_nanos().to_be_bytes().to_vec();
    table.encode(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn parse_mark(bytes: &[u8]) -> Result<(Timestamp, schema::Table), Error> {
    let damaged = || Error::Damaged("the catalog's mark of a load".into());
    let (at, table) = bytes.split_first_chunk().ok_or_else(damaged)?;
    let at = Timestamp::from_total_nanos(i128::from_be_bytes(*at)).map_err(|_| damaged())?;
    Ok((at, schema::Table::decode(table)?))
}

fn conflict(table: &str, what: &str) -> Error {
    Error::Conflict(format!("{table} {what} while it was loaded, and nothing was written").into())
}
