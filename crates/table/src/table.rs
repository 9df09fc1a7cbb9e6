//! A table of a database, to be written and read.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_key::Value;
use keyloom_plan::{Plan, Query, Statistics};
use keyloom_schema::{self as schema, Document};
use keyloom_store::{Read, Sequence, Store};
use smallvec::SmallVec;

use crate::blind::Before;
use crate::catalog::Catalog;
use crate::change::{Change, Update, When};
use crate::database::Database;
use crate::error::Error;
use crate::execute::{Examined, PageLimits};
use crate::reader::{Found, Planned, Reader};
use crate::row::Row;

/// A table of a database. Clones share it.
///
/// Every write changes the record and all its index entries as one. Records of one call are of one state of the store, if
/// it has snapshots; if not, each is as it was at some moment of the call, and one that is written meanwhile may be met
/// where it was and where it is.
#[derive(Debug)]
pub struct Table<S> {
    database: Database<S>,
    name: String,
}

impl<S> Clone for Table<S> {
    fn clone(&self) -> Self {
        Self { database: self.database.clone(), name: self.name.clone() }
    }
}

impl<S: Store> Table<S> {
    pub(crate) fn new(database: Database<S>, name: String) -> Self {
        Self { database, name }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The database that it belongs to.
    pub fn database(&self) -> &Database<S> {
        &self.database
    }

    /// What it is like now.
    pub fn definition(&self) -> Result<Arc<schema::Table>, Error> {
        Ok(Arc::clone(self.database.catalog().table(&self.name)?))
    }

    /// Makes the record what the document says, whatever it was.
    ///
    /// The record that was there is read, to know which entries go, and only entries that change are written: one that was
    /// lost behind the table's back is brought back by [`Database::repair`], not by putting the record again.
    ///
    /// It is not read where no entry depends on it: in a table without indexes, or with indexes on columns of the primary
    /// key alone ([`Index::is_of_key`](schema::Index::is_of_key)), whose entries are written as the record is.
    pub async fn put(&self, document: impl Into<Document>) -> Result<Sequence, Error> {
        self.apply(Change::put(document)).await
    }

    /// Adds a record; if there is one with its key already, it is [`Error::Condition`].
    pub async fn insert(&self, document: impl Into<Document>) -> Result<Sequence, Error> {
        self.apply(Change::put(document).when(When::Absent)).await
    }

    /// Changes fields of a record; returns it as it is then, or `None` if there is none.
    pub async fn update<V: Into<Value<'static>>>(
        &self,
        key: impl IntoIterator<Item = V>,
        update: Update,
    ) -> Result<Option<Document>, Error> {
        Ok(self.change(Change::update(key, update)).await?.1)
    }

    /// Deletes a record; returns what it was, or `None` if there was none.
    pub async fn delete<V: Into<Value<'static>>>(
        &self,
        key: impl IntoIterator<Item = V>,
    ) -> Result<Option<Document>, Error> {
        Ok(self.change(Change::delete(key)).await?.0)
    }

    /// Makes a change, if its condition holds.
    ///
    /// What is put or deleted without a condition is not read first, where [`put`](Self::put) does not.
    pub async fn apply(&self, change: Change) -> Result<Sequence, Error> {
        Ok(self.database.apply_all(&[(&self.name, change)], Before::Untold).await?.sequence)
    }

    /// Makes a change, if its condition holds; returns the record before and after.
    ///
    /// What was before is not looked at where nothing depends on it: a put without a condition into a table without
    /// indexes.
    pub async fn change(&self, change: Change) -> Result<(Option<Document>, Option<Document>), Error> {
        let changes = [(self.name.as_str(), change)];
        let outcome = self.database.apply_all(&changes, Before::Told).await?;
        let (before, after) = outcome.records.into_iter().next().unwrap_or_default();
        Ok((before, after.map(Cow::into_owned)))
    }

    /// Makes several changes as one.
    ///
    /// A store that commits one record at a time takes one change.
    pub async fn apply_all(&self, changes: impl IntoIterator<Item = Change>) -> Result<Sequence, Error> {
        let changes: Vec<(&str, Change)> =
            changes.into_iter().map(|change| (self.name.as_str(), change)).collect();
        Ok(self.database.apply_all(&changes, Before::Untold).await?.sequence)
    }

    /// The record with this key.
    pub async fn get<'v, V: Into<Value<'v>>>(
        &self,
        key: impl IntoIterator<Item = V>,
    ) -> Result<Option<Document>, Error> {
        self.get_with(key, |row| row.to_document()).await
    }

    /// Shows the record with this key to `look`, as it lies in the store: only fields that are asked for are read.
    pub async fn get_with<'v, V: Into<Value<'v>>, T: Send>(
        &self,
        key: impl IntoIterator<Item = V>,
        look: impl FnOnce(&Row<'_>) -> Result<T, Error> + Send,
    ) -> Result<Option<T>, Error> {
        let key: SmallVec<[Value<'v>; 4]> = key.into_iter().map(Into::into).collect();
        let mut look = Some(look);
        loop {
            let catalog = self.database.catalog();
            let once = |row: &Row<'_>| look.take().map(|look| look(row)).transpose();
            let found = self.reader(&catalog, self.database.store())?.get(&key, once).await?;
            // Another process may have put another table in its place: nothing is an answer only by the newest schema.
            if found.is_some() || self.database.is_schema(&catalog).await? {
                return Ok(found.flatten());
            }
        }
    }

    /// The records with these keys, in their order, all of one state of the store, if it has snapshots.
    pub async fn get_many(&self, keys: &[Vec<Value<'_>>]) -> Result<Vec<Option<Document>>, Error> {
        loop {
            let catalog = self.database.catalog();
            let Some(view) = self.database.view_of(&catalog).await? else { continue };
            let documents = self.reader(&catalog, &view)?.get_many(keys).await?;
            if self.database.served(&catalog, &self.name, None).await? {
                return Ok(documents);
            }
        }
    }

    /// Everything that a query finds. If that costs more than its budget, it is [`Error::Budget`] and never a part.
    pub async fn query(&self, query: &Query) -> Result<Found, Error> {
        self.run(query, None).await
    }

    /// A page of what a query finds, and the cursor of the next.
    pub async fn page(&self, query: &Query, limits: PageLimits) -> Result<Found, Error> {
        self.run(query, Some(limits)).await
    }

    /// Shows what a query finds to `visit`, as it lies in the store, until it breaks.
    ///
    /// The closure must not call the store: it may hold a lock. Where the store has no snapshots, it is
    /// [`Error::Conflict`] if the index that was read is dropped meanwhile: what was shown may be a part.
    pub async fn each(
        &self,
        query: &Query,
        mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error> + Send,
    ) -> Result<Examined, Error> {
        loop {
            let (catalog, plan) = self.plan(query, keyloom_plan::route).await?;
            let planned = Planned::of(&plan);
            if let Some(examined) = self.each_planned(&catalog, planned, query, &mut visit).await? {
                return Ok(examined);
            }
        }
    }

    /// Shows what a plan by this catalog finds; `None`, and nothing was shown, if the schema has changed.
    pub(crate) async fn each_planned(
        &self,
        catalog: &Catalog,
        planned: Planned<'_>,
        query: &Query,
        visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error> + Send,
    ) -> Result<Option<Examined>, Error> {
        if planned.is_one_read() {
            // What was shown cannot be taken back, so the look at the schema comes first.
            if !self.database.is_schema(catalog).await? {
                return Ok(None);
            }
            let reader = self.reader(catalog, self.database.store())?;
            return Ok(Some(reader.run(planned, query, None, visit).await?.examined));
        }
        let Some(view) = self.database.view_of(catalog).await? else { return Ok(None) };
        let ran = self.reader(catalog, &view)?.run(planned, query, None, visit).await?;
        if self.database.served(catalog, &self.name, planned.plan.index.as_deref()).await? {
            return Ok(Some(ran.examined));
        }
        let reason = format!("what was read of {} has been dropped meanwhile", self.name);
        Err(Error::Conflict(reason.into()))
    }

    /// How many records a query finds. Reads keys only, where an index has all that the query asks.
    pub async fn count(&self, query: &Query) -> Result<u64, Error> {
        let query = Query { select: Some(Vec::new()), order: Vec::new(), ..query.clone() };
        Ok(self.each(&query, |_| Ok(ControlFlow::Continue(()))).await?.returned)
    }

    /// How a query would be answered.
    pub async fn explain(&self, query: &Query) -> Result<Plan, Error> {
        Ok(*self.plan(query, keyloom_plan::plan).await?.1)
    }

    async fn run(&self, query: &Query, page: Option<PageLimits>) -> Result<Found, Error> {
        loop {
            let (catalog, plan) = self.plan(query, keyloom_plan::route).await?;
            if let Some(found) = self.found_planned(&catalog, Planned::of(&plan), query, page).await? {
                return Ok(found);
            }
        }
    }

    /// What a plan by this catalog finds; `None` if the schema has changed.
    pub(crate) async fn found_planned(
        &self,
        catalog: &Catalog,
        planned: Planned<'_>,
        query: &Query,
        page: Option<PageLimits>,
    ) -> Result<Option<Found>, Error> {
        if planned.is_one_read() {
            let found = self.reader(catalog, self.database.store())?.found(planned, query, page).await?;
            return Ok(self.database.is_schema(catalog).await?.then_some(found));
        }
        let Some(view) = self.database.view_of(catalog).await? else { return Ok(None) };
        let found = self.reader(catalog, &view)?.found(planned, query, page).await;
        let served = self.database.served(catalog, &self.name, planned.plan.index.as_deref()).await?;
        if served { found.map(Some) } else { Ok(None) }
    }

    /// Plans a query, by the newest schema if it is refused by the one that is known here.
    ///
    /// The plan is in a box because it is large, and goes from one future to the next.
    async fn plan(&self, query: &Query, planner: Planner) -> Result<(Arc<Catalog>, Box<Plan>), Error> {
        loop {
            let catalog = self.database.catalog();
            match planner(catalog.table(&self.name)?, &catalog.statistics, query) {
                Ok(plan) => return Ok((catalog, Box::new(plan))),
                Err(refused) => {
                    self.database.refresh().await?;
                    if self.database.catalog().version == catalog.version {
                        return Err(refused.into());
                    }
                }
            }
        }
    }

    fn reader<'a, R: Read>(&self, catalog: &'a Catalog, read: &'a R) -> Result<Reader<'a, R>, Error> {
        let table = catalog.table(&self.name)?;
        let now = self.database.now_for(table);
        let one_state = self.database.store().capability().snapshot;
        Ok(Reader { read, table, statistics: &catalog.statistics, now, one_state })
    }
}

/// What plans a query: to be read, or only to be run.
type Planner = fn(&schema::Table, &Statistics, &Query) -> Result<Plan, keyloom_plan::Error>;
