//! Reading: the newest state of the tables, or what a transaction sees.

use std::ops::ControlFlow;

use keyloom_plan::{Class, Query};
use keyloom_store::Store;
use keyloom_table::{Database, Examined, Plan, Row, Transaction};

use crate::aggregate::Aggregate;
use crate::answer::Rows;
use crate::error::Error;
use crate::evaluate::{Nothing, Scope};
use crate::expression::Expression;
use crate::select::{Output, Select};
use crate::writer::transacts;

/// What a statement reads.
pub(crate) struct View<'a, S: Store> {
    pub(crate) database: &'a Database<S>,
    pub(crate) transaction: Option<&'a Transaction<S>>,
}

impl<S: Store> View<'_, S> {
    /// Shows what a query finds to `visit`, until it breaks or fails.
    pub(crate) async fn each(
        &self,
        table: &str,
        query: &Query,
        mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error> + Send,
    ) -> Result<Examined, Error> {
        let mut failed = None;
        let look = |row: &Row<'_>| {
            Ok(visit(row).unwrap_or_else(|error| {
                failed = Some(error);
                ControlFlow::Break(())
            }))
        };
        let examined = match self.transaction {
            Some(transaction) => transaction.each(table, query, look).await?,
            None => self.database.table(table).await?.each(query, look).await?,
        };
        failed.map_or(Ok(examined), Err)
    }

    async fn plan(&self, table: &str, query: &Query) -> Result<Plan, Error> {
        Ok(self.database.table(table).await?.explain(query).await?)
    }

    /// The queries whose first records have the answers, if each of them is bounded.
    async fn ends(
        &self,
        table: &str,
        query: &Query,
        all: &[Aggregate],
    ) -> Result<Option<Vec<(Query, Plan)>>, Error> {
        let mut ends = Vec::new();
        for aggregate in all {
            let Some(query) = aggregate.end_of_order(query) else { return Ok(None) };
            match self.plan(table, &query).await {
                Ok(plan) if plan.class <= Class::Output => ends.push((query, plan)),
                Ok(_) | Err(Error::Refused(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(ends))
    }

    /// How a SELECT would be answered.
    pub(crate) async fn explain(&self, select: &Select) -> Result<Vec<Plan>, Error> {
        let Some(table) = &select.table else { return Ok(Vec::new()) };
        if let Output::All(all) = &select.output
            && let Some(ends) = self.ends(table, &select.query, all).await?
        {
            return Ok(ends.into_iter().map(|(_, plan)| plan).collect());
        }
        Ok(vec![self.plan(table, &select.query).await?])
    }

    /// Runs a SELECT and gives its rows to `rows`.
    pub(crate) async fn select(&self, select: &Select, rows: &mut impl Rows) -> Result<Examined, Error> {
        rows.columns(&select.columns);
        if select.limit == Some(0) {
            return Ok(Examined::default());
        }
        match (&select.table, &select.output) {
            (None, Output::Each(expressions)) => {
                if select.offset == 0 {
                    let _ = rows.row(&values(expressions, &Nothing)?);
                }
                Ok(Examined::default())
            }
            (Some(table), Output::Each(expressions)) => {
                let mut left = select.offset;
                let visit = |row: &Row<'_>| {
                    if left > 0 {
                        left -= 1;
                        return Ok(ControlFlow::Continue(()));
                    }
                    Ok(rows.row(&values(expressions, row)?))
                };
                self.each(table, &select.query, visit).await
            }
            (Some(table), Output::All(all)) => {
                let (tallies, examined) = self.tally(table, &select.query, all).await?;
                if select.offset == 0 {
                    let _ = rows.row(&tallies);
                }
                Ok(examined)
            }
            (None, Output::All(_)) => Ok(Examined::default()),
        }
    }

    async fn tally(
        &self,
        table: &str,
        query: &Query,
        all: &[Aggregate],
    ) -> Result<(Vec<keyloom_key::Value<'static>>, Examined), Error> {
        let mut tallies: Vec<_> = all.iter().map(Aggregate::start).collect();
        let Some(ends) = self.ends(table, query, all).await? else {
            let visit = |row: &Row<'_>| {
                for (aggregate, tally) in all.iter().zip(&mut tallies) {
                    aggregate.add(row, tally)?;
                }
                Ok(ControlFlow::Continue(()))
            };
            let examined = self.each(table, query, visit).await?;
            return Ok((tallies.into_iter().map(|tally| tally.into_value()).collect(), examined));
        };
        // Several reads are of one state only within a transaction, where there are any.
        let own = match self.transaction {
            None if ends.len() > 1 && transacts(self.database) => Some(self.database.begin().await?),
            _ => None,
        };
        let view = View { database: self.database, transaction: own.as_ref().or(self.transaction) };
        let mut examined = Examined::default();
        for ((query, _), (aggregate, tally)) in ends.iter().zip(all.iter().zip(&mut tallies)) {
            let visit = |row: &Row<'_>| aggregate.add(row, tally).map(|()| ControlFlow::Break(()));
            let one = view.each(table, query, visit).await?;
            examined.rows += one.rows;
            examined.bytes += one.bytes;
            examined.seeks += one.seeks;
            examined.returned += one.returned;
            examined.returned_bytes += one.returned_bytes;
        }
        Ok((tallies.into_iter().map(|tally| tally.into_value()).collect(), examined))
    }
}

fn values<'a, S: Scope>(
    expressions: &'a [Expression],
    scope: &'a S,
) -> Result<Vec<keyloom_key::Value<'a>>, Error> {
    expressions.iter().map(|expression| expression.evaluate(scope)).collect()
}
