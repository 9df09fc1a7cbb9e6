//! Several reads and writes as one, as if nobody else were there.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_key::Value;
use keyloom_plan::Query;
use keyloom_schema::Document;
use keyloom_store::{Overlay, Sequence, Store};

use crate::apply::{Applied, Commits, apply};
use crate::blind::Before;
use crate::catalog::Catalog;
use crate::change::{Change, Update};
use crate::database::{Database, is_version};
use crate::error::Error;
use crate::execute::{Examined, PageLimits};
use crate::reader::{Found, Planned, Reader};
use crate::row::Row;
use crate::staged::Recorded;

/// A transaction over any tables of a database. Dropped without a commit, it has done nothing.
///
/// It reads one state of the store and its own writes, and remembers every key and every span that it reads; the commit
/// fails with [`Error::Conflict`] if one of them has changed. So transactions are serializable: their effect is that of
/// running them one after the other.
///
/// ```
/// use keyloom_schema::{Document, Table};
/// use keyloom_store::{MemoryStore, Wait};
/// use keyloom_table::{Database, Update};
///
/// let database = Database::open(MemoryStore::new()).wait()?;
/// let accounts = Table::named("accounts").column("id", "str").column("balance", "i64").key(["id"]);
/// let accounts = database.create_table(accounts).wait()?;
/// for (id, balance) in [("A", 100_i64), ("B", 0)] {
///     accounts.put(Document::new().with("id", id).with("balance", balance)).wait()?;
/// }
///
/// let mut transfer = database.begin().wait()?;
/// transfer.update("accounts", ["A"], Update::new().add("balance", -30_i64)).wait()?;
/// transfer.update("accounts", ["B"], Update::new().add("balance", 30_i64)).wait()?;
/// transfer.commit().wait()?;
/// assert_eq!(accounts.get(["B"]).wait()?.unwrap().get("balance"), Some(&30_i64.into()));
/// # Ok::<(), keyloom_table::Error>(())
/// ```
#[must_use]
pub struct Transaction<S: Store> {
    database: Database<S>,
    catalog: Arc<Catalog>,
    read: Recorded<S::Snapshot>,
    writes: Overlay,
}

impl<S: Store> std::fmt::Debug for Transaction<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").field("writes", &self.writes.len()).finish_non_exhaustive()
    }
}

impl<S: Store> Transaction<S> {
    pub(crate) fn new(database: Database<S>, catalog: Arc<Catalog>, snapshot: S::Snapshot) -> Self {
        Self { database, catalog, read: Recorded::new(snapshot), writes: Overlay::new() }
    }

    /// The record of a table with this key.
    pub async fn get<'v, V: Into<Value<'v>>>(
        &self,
        table: &str,
        key: impl IntoIterator<Item = V>,
    ) -> Result<Option<Document>, Error> {
        let key: Vec<Value<'v>> = key.into_iter().map(Into::into).collect();
        let view = self.writes.over(&self.read);
        self.reader(table, &view)?.get(&key, |row| row.to_document()).await
    }

    /// Everything that a query of a table finds.
    pub async fn query(&self, table: &str, query: &Query) -> Result<Found, Error> {
        let view = self.writes.over(&self.read);
        let reader = self.reader(table, &view)?;
        let plan = keyloom_plan::route(reader.table, reader.statistics, query)?;
        reader.found(Planned::of(&plan), query, None).await
    }

    /// A page of what a query of a table finds, and the cursor of the next.
    pub async fn page(&self, table: &str, query: &Query, limits: PageLimits) -> Result<Found, Error> {
        let view = self.writes.over(&self.read);
        let reader = self.reader(table, &view)?;
        let plan = keyloom_plan::route(reader.table, reader.statistics, query)?;
        reader.found(Planned::of(&plan), query, Some(limits)).await
    }

    /// Shows what a query of a table finds to `visit`, until it breaks.
    pub async fn each(
        &self,
        table: &str,
        query: &Query,
        visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error> + Send,
    ) -> Result<Examined, Error> {
        let view = self.writes.over(&self.read);
        let (_, ran) = self.reader(table, &view)?.each(query, None, visit).await?;
        Ok(ran.examined)
    }

    /// Makes a record what the document says, whatever it was.
    pub async fn put(&mut self, table: &str, document: impl Into<Document>) -> Result<(), Error> {
        self.make(table, &Change::put(document), Before::Untold).await?;
        Ok(())
    }

    /// Changes fields of a record; returns it as it is then, or `None` if there is none.
    pub async fn update<V: Into<Value<'static>>>(
        &mut self,
        table: &str,
        key: impl IntoIterator<Item = V>,
        update: Update,
    ) -> Result<Option<Document>, Error> {
        Ok(self.apply(table, Change::update(key, update)).await?.1)
    }

    /// Deletes a record; returns what it was, or `None` if there was none.
    pub async fn delete<V: Into<Value<'static>>>(
        &mut self,
        table: &str,
        key: impl IntoIterator<Item = V>,
    ) -> Result<Option<Document>, Error> {
        Ok(self.apply(table, Change::delete(key)).await?.0)
    }

    /// Makes a change, if its condition holds; returns the record before and after.
    ///
    /// What was before is not looked at by a put without a condition into a table without indexes.
    pub async fn apply(
        &mut self,
        table: &str,
        change: Change,
    ) -> Result<(Option<Document>, Option<Document>), Error> {
        let applied = self.make(table, &change, Before::Told).await?;
        Ok((applied.before, applied.after.map(Cow::into_owned)))
    }

    async fn make<'c>(
        &mut self,
        table: &str,
        change: &'c Change,
        before: Before,
    ) -> Result<Applied<'c>, Error> {
        let view = self.writes.over(&self.read);
        let table = self.catalog.table(table)?;
        let applied = apply(&view, table, change, self.database.now(), Commits::All, before).await?;
        self.writes.write_all(&applied.writes);
        Ok(applied)
    }

    /// Commits all writes as one if nothing that was read has changed; `None` if there was nothing to write.
    pub async fn commit(self) -> Result<Option<Sequence>, Error> {
        if self.writes.is_empty() {
            // One state was read and nothing depends on it.
            return Ok(None);
        }
        let batch = self.read.require(self.writes.into_batch()).require(self.catalog.version.unchanged());
        match self.database.store().commit(batch).await {
            Ok(sequence) => Ok(Some(sequence)),
            Err(keyloom_store::Error::Conflict(condition)) => {
                if is_version(&condition) {
                    self.database.refresh().await?;
                    return Err(Error::Conflict("the schema has changed".into()));
                }
                Err(Error::Conflict(condition.to_string().into()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn reader<'a, R: keyloom_store::Read>(
        &'a self,
        table: &str,
        read: &'a R,
    ) -> Result<Reader<'a, R>, Error> {
        let table = self.catalog.table(table)?;
        let now = self.database.now_for(table);
        Ok(Reader { read, table, statistics: &self.catalog.statistics, now, one_state: true })
    }
}
