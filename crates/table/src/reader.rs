//! Reading a table: the same for a store, a snapshot and a transaction.

use std::ops::ControlFlow;

use keyloom_key::{Timestamp, Value};
use keyloom_plan::{Access, Class, Cursor, Plan, Query, Statistics};
use keyloom_schema::{Document, Table};
use keyloom_store::Read;

use crate::entries;
use crate::error::Error;
use crate::execute::{Examined, PageLimits, Ran, Run};
use crate::row::Row;

/// A record and its key.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The values of its primary key. Text that the key compares without case is in the key's own spelling.
    pub key: Vec<Value<'static>>,
    /// The record, or the fields of it that were asked for.
    pub document: Document,
}

/// What a query found, and what that cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The records, in their order.
    pub records: Vec<Match>,
    /// Where the next page begins; `None` if there is no more.
    pub cursor: Option<Cursor>,
    /// What it cost.
    pub examined: Examined,
}

/// A plan, and the keys that it reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) access: &'p Access,
}

impl<'p> Planned<'p> {
    /// A plan that has its keys itself.
    pub(crate) fn of(plan: &'p Plan) -> Self {
        Self { plan, access: &plan.access }
    }

    /// Whether it reads the primary key in one scan, which is of one state by itself.
    pub(crate) fn is_one_read(self) -> bool {
        let one = matches!(self.access, Access::InTurn(stretches) if stretches.len() <= 1);
        self.plan.index.is_none() && one
    }
}

/// A table as it can be read.
pub(crate) struct Reader<'a, R> {
    pub(crate) read: &'a R,
    pub(crate) table: &'a Table,
    pub(crate) statistics: &'a Statistics,
    pub(crate) now: Timestamp,
    /// Whether all that is read is of one state.
    pub(crate) one_state: bool,
}

impl<R: Read> Reader<'_, R> {
    /// Shows the record with this key to `look`.
    pub(crate) async fn get<T: Send>(
        &self,
        key: &[Value<'_>],
        look: impl FnOnce(&Row<'_>) -> Result<T, Error> + Send,
    ) -> Result<Option<T>, Error> {
        let key = entries::given_key(self.table, key)?;
        let found = self.read.get(&key, |payload| {
            let row = Row::record(self.table, &key, payload)?;
            if row.is_expired(self.now)? { Ok(None) } else { look(&row).map(Some) }
        });
        Ok(found.await?.transpose()?.flatten())
    }

    /// The records with these keys, in their order, asked for together.
    pub(crate) async fn get_many(&self, keys: &[Vec<Value<'_>>]) -> Result<Vec<Option<Document>>, Error> {
        let keys =
            keys.iter().map(|key| entries::given_key(self.table, key)).collect::<Result<Vec<_>, _>>()?;
        let mut documents = Vec::with_capacity(keys.len());
        let document = |number: usize, payload: Option<&[u8]>| {
            let (Some(key), Some(payload)) = (keys.get(number), payload) else { return Ok(None) };
            let row = Row::record(self.table, key, payload)?;
            if row.is_expired(self.now)? { Ok(None) } else { row.to_document().map(Some) }
        };
        let look = |number: usize, payload: Option<&[u8]>| documents.push(document(number, payload));
        self.read.get_many(&keys, look).await?;
        documents.into_iter().collect()
    }

    /// Plans a query and shows what it finds to `visit`.
    pub(crate) async fn each(
        &self,
        query: &Query,
        page: Option<PageLimits>,
        visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error> + Send,
    ) -> Result<(Plan, Ran), Error> {
        let plan = keyloom_plan::route(self.table, self.statistics, query)?;
        let ran = self.run(Planned::of(&plan), query, page, visit).await?;
        Ok((plan, ran))
    }

    /// Runs a plan and shows what it finds to `visit`.
    pub(crate) async fn run(
        &self,
        Planned { plan, access }: Planned<'_>,
        query: &Query,
        page: Option<PageLimits>,
        visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error> + Send,
    ) -> Result<Ran, Error> {
        let after = query.after.as_ref().map(|cursor| cursor.read(self.table, query)).transpose()?;
        let left = after.as_ref().map(|resume| plan.resume(&resume.position));
        let run = Run {
            read: self.read,
            table: self.table,
            plan,
            access: left.as_ref().map_or(access, |left| &left.access),
            after: after.as_ref().map(|resume| &resume.position),
            now: self.now,
            budget: query.budget,
            page,
            one_state: self.one_state,
        };
        match run.run(visit).await {
            // What was planned to be run says no index that would be better; now someone wants to know. None would be, if
            // it reads no more than it returns.
            Err(Error::Budget { table, query: asked, budget, .. }) if plan.class >= Class::Partition => {
                let advice = keyloom_plan::plan(self.table, self.statistics, query)?.advice;
                let advice = advice.map_or(String::new(), |index| format!("\nadd:  {index}"));
                Err(Error::Budget { table, query: asked, budget, advice })
            }
            ran => ran,
        }
    }

    /// What a plan finds.
    pub(crate) async fn found(
        &self,
        planned: Planned<'_>,
        query: &Query,
        page: Option<PageLimits>,
    ) -> Result<Found, Error> {
        let mut records = Vec::new();
        let collect = |row: &Row<'_>| {
            let document = match &query.select {
                None => row.to_document()?,
                Some(fields) => row.project(fields)?,
            };
            let key = row.key()?.into_iter().map(Value::into_owned).collect();
            records.push(Match { key, document });
            Ok(ControlFlow::Continue(()))
        };
        let (plan, ran) = (planned.plan, self.run(planned, query, page, collect).await?);
        let examined = ran.examined;
        let remaining = plan.limit.map(|limit| limit.saturating_sub(examined.returned));
        let cursor = ran.rest.map(|rest| Cursor::new(self.table, query, plan, &rest, remaining));
        Ok(Found { records, cursor, examined })
    }
}
