//! Asking: until there is an answer, where repeating is safe; once, where it is not.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use scylla::client::execution_profile::ExecutionProfileHandle;
use scylla::client::session::Session;
use scylla::deserialize::row::DeserializeRow;
use scylla::errors::ExecutionError;
use scylla::response::PagingState;
use scylla::response::query_result::QueryResult;
use scylla::serialize::row::SerializeRow;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::bound::BoundStatement;
use scylla::statement::prepared::PreparedStatement;
use scylla::value::{CqlValue, Row as Answer};

use crate::cluster::{Applied, Fault};

use super::fault::{Verdict, fault, verdict};
use super::statements::Statements;

/// The first pause before a statement is repeated; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);
/// How many rows come at a time.
const PAGE: i32 = 500;

/// A session and what it can be asked.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) session: Session,
    pub(super) all: Statements,
    pub(super) conditional: ExecutionProfileHandle,
    pub(super) patience: Patiences,
}

/// How long statements are repeated.
#[derive(Debug)]
pub(super) struct Patiences {
    pub(super) plain: Duration,
    pub(super) conditional: Duration,
}

/// Values of a statement that lie in memory of their own.
pub(super) type Values = Box<dyn SerializeRow + Send + Sync>;

impl Asker {
    /// A statement with its values.
    pub(super) fn bind(
        &self,
        what: &str,
        statement: &PreparedStatement,
        values: &impl SerializeRow,
    ) -> Result<BoundStatement, Fault> {
        statement.clone().bind(values).map_err(|error| Fault::Refused(format!("cannot {what}: {error}")))
    }

    /// Does what may be done more than once.
    pub(super) async fn plain(
        &self,
        what: &str,
        statement: &PreparedStatement,
        values: impl SerializeRow,
    ) -> Result<QueryResult, Fault> {
        let mut bound = self.bind(what, statement, &values)?;
        let mut patience = None;
        loop {
            match self.session.execute_bound_unpaged(&bound).await {
                Ok(answer) => return Ok(answer),
                Err(error) => self.insist(what, &mut bound, &mut patience, error).await?,
            }
        }
    }

    /// After the first error a statement is asked of a second node when the first is slow, and as often as patience
    /// allows. Before, that would only cost: nearly every statement is answered at once.
    async fn insist<'w>(
        &self,
        what: &'w str,
        bound: &mut BoundStatement,
        patience: &mut Option<Patience<'w>>,
        error: ExecutionError,
    ) -> Result<(), Fault> {
        match patience {
            Some(patience) => patience.wait(error).await,
            None => {
                bound.set_is_idempotent(true);
                bound.set_request_timeout(None);
                *patience = Some(self.patience(what, Repeat::Always));
                Ok(())
            }
        }
    }

    /// One row, if there is one.
    pub(super) async fn row<R: for<'r> DeserializeRow<'r, 'r>>(
        &self,
        what: &str,
        statement: &PreparedStatement,
        values: impl SerializeRow,
    ) -> Result<Option<R>, Fault> {
        let result = self.plain(what, statement, values).await?.into_rows_result();
        result.map_err(unreadable(what))?.maybe_first_row().map_err(unreadable(what))
    }

    /// Rows, page by page.
    pub(super) async fn rows<R: for<'r> DeserializeRow<'r, 'r>>(
        &self,
        what: &str,
        statement: &PreparedStatement,
        values: impl SerializeRow,
    ) -> Result<Vec<R>, Fault> {
        let mut bound = self.bind(what, statement, &values)?;
        bound.set_page_size(PAGE);
        let mut all = Vec::new();
        let mut place = PagingState::start();
        let mut patience = None;
        loop {
            let (result, next) = match self.session.execute_bound_single_page(&bound, place.clone()).await {
                Ok(page) => page,
                Err(error) => {
                    self.insist(what, &mut bound, &mut patience, error).await?;
                    continue;
                }
            };
            let result = result.into_rows_result().map_err(unreadable(what))?;
            for row in result.rows::<R>().map_err(unreadable(what))? {
                all.push(row.map_err(unreadable(what))?);
            }
            match next.into_paging_control_flow() {
                ControlFlow::Break(()) => return Ok(all),
                ControlFlow::Continue(next) => place = next,
            }
        }
    }

    /// The same statement with many values, as batches of one partition.
    pub(super) async fn batches(
        &self,
        what: &str,
        statement: &PreparedStatement,
        batches: Vec<Vec<Values>>,
    ) -> Result<(), Fault> {
        for values in batches {
            if let [values] = values.as_slice() {
                self.plain(what, statement, values).await?;
                continue;
            }
            let statements = values.iter().map(|_| statement.clone().into()).collect();
            let mut batch = Batch::new_with_statements(BatchType::Unlogged, statements);
            batch.set_is_idempotent(true);
            self.batch(self.patience(what, Repeat::Always), &batch, &values).await?;
        }
        Ok(())
    }

    /// A conditional write.
    pub(super) async fn conditional(&self, what: &str, bound: &BoundStatement) -> Result<Applied, Fault> {
        let mut patience = self.patience(what, Repeat::IfNotDone);
        loop {
            match self.session.execute_bound_unpaged(bound).await {
                Ok(answer) => return applied(what, answer),
                Err(error) => patience.wait(error).await?,
            }
        }
    }

    /// Conditional writes of one partition that are done as one.
    pub(super) async fn conditional_batch(
        &self,
        what: &str,
        statements: Vec<(&PreparedStatement, Values)>,
    ) -> Result<Applied, Fault> {
        let (statements, values): (Vec<_>, Vec<_>) =
            statements.into_iter().map(|(statement, values)| (statement.clone().into(), values)).unzip();
        let mut batch = Batch::new_with_statements(BatchType::Unlogged, statements);
        batch.set_execution_profile_handle(Some(self.conditional.clone()));
        applied(what, self.batch(self.patience(what, Repeat::IfNotDone), &batch, &values).await?)
    }

    async fn batch(
        &self,
        mut patience: Patience<'_>,
        batch: &Batch,
        values: &Vec<Values>,
    ) -> Result<QueryResult, Fault> {
        loop {
            match self.session.batch(batch, values).await {
                Ok(answer) => return Ok(answer),
                Err(error) => patience.wait(error).await?,
            }
        }
    }

    fn patience<'w>(&self, what: &'w str, repeat: Repeat) -> Patience<'w> {
        let time = match repeat {
            Repeat::Always => self.patience.plain,
            Repeat::IfNotDone => self.patience.conditional,
        };
        Patience::new(what, repeat, time)
    }
}

/// When a statement is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    Always,
    /// A conditional write, only if it was certainly not done.
    IfNotDone,
}

/// How long a statement is repeated.
pub(super) struct Patience<'w> {
    what: &'w str,
    repeat: Repeat,
    end: Instant,
    pause: Duration,
}

impl<'w> Patience<'w> {
    pub(super) fn new(what: &'w str, repeat: Repeat, time: Duration) -> Self {
        Self { what, repeat, end: Instant::now() + time, pause: PAUSE }
    }

    /// Waits until the statement is worth repeating, or says why it is not.
    pub(super) async fn wait(&mut self, error: ExecutionError) -> Result<(), Fault> {
        let safe = match verdict(&error) {
            Verdict::NotDone => true,
            Verdict::Unknown => self.repeat == Repeat::Always,
            Verdict::Refused => false,
        };
        if !safe || Instant::now() + self.pause > self.end {
            return Err(fault(self.what, &error));
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST);
        Ok(())
    }
}

/// Whether a conditional write was done: the first column says so. What else is there depends on the answer.
fn applied(what: &str, result: QueryResult) -> Result<Applied, Fault> {
    let result = result.into_rows_result().map_err(unreadable(what))?;
    let answer: Answer = result.first_row().map_err(unreadable(what))?;
    match answer.columns.first() {
        Some(Some(CqlValue::Boolean(true))) => Ok(Applied::Yes),
        Some(Some(CqlValue::Boolean(false))) => Ok(Applied::No),
        _ => Err(Fault::Unknown(format!("cannot {what}: the cluster does not say whether it was done"))),
    }
}

fn unreadable<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> Fault {
    move |error| Fault::Refused(format!("cannot {what}: the answer is not as expected: {error}"))
}
