//! Runs a plan: reads its spans, fetches, filters, sorts, and counts what that costs.
//!
//! ```text
//! access ─→ (entry) ─→ fetch ─→ (row) ─→ filter ─→ sort ─→ visit
//! ```
//!
//! Where the rows come from the primary key in its order, they are lent to the visitor as they lie in the store.

mod access;
mod consume;
mod most;
mod pending;
mod sort;

use std::ops::ControlFlow;
use std::time::Duration;

use keyloom_key::Timestamp;
use keyloom_plan::{Access, Budget, Order, Plan, Position};
use keyloom_schema::{Table, Tree};
use keyloom_store::Read;

use crate::error::Error;
use crate::row::Row;
use consume::Consumer;

/// What a query cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Examined {
    /// Rows of the plan's tree that were read.
    pub rows: u64,
    /// Bytes of all that was read.
    pub bytes: u64,
    /// How often the store had to look for the place to read from: spans, pages, and records fetched by key.
    pub seeks: u64,
    /// Records that were returned.
    pub returned: u64,
    /// Bytes of their keys and values.
    pub returned_bytes: u64,
}

/// How much one page may take. Whichever limit is met first ends it; where to go on is its cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// The most records returned.
    pub records: u64,
    /// The most rows examined.
    pub rows: u64,
    /// The most bytes examined.
    pub bytes: u64,
    /// The most time.
    pub time: Duration,
}

impl Default for PageLimits {
    /// 1,000 records, 100,000 rows, 16 MiB, one second.
    fn default() -> Self {
        Self { records: 1_000, rows: 100_000, bytes: 16 << 20, time: Duration::from_secs(1) }
    }
}

impl PageLimits {
    /// At most this many records, and otherwise the default.
    pub fn records(records: u64) -> Self {
        Self { records, ..Self::default() }
    }
}

/// A plan that runs.
pub(crate) struct Run<'a, R> {
    pub(crate) read: &'a R,
    pub(crate) table: &'a Table,
    pub(crate) plan: &'a Plan,
    /// The keys that are read: the plan's own, or those of the values that are given with it.
    pub(crate) access: &'a Access,
    /// Where an earlier page ended.
    pub(crate) after: Option<&'a Position>,
    pub(crate) now: Timestamp,
    pub(crate) budget: Budget,
    /// Ends the run with a position instead of an error; without, the run answers all or fails.
    pub(crate) page: Option<PageLimits>,
    /// Whether all that is read is of one state: then an entry leads to its record.
    pub(crate) one_state: bool,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) examined: Examined,
    /// Where to go on, if the plan has more.
    pub(crate) rest: Option<Position>,
}

impl<'a, R: Read> Run<'a, R> {
    /// Runs the plan and shows its rows to `visit`, until it breaks.
    pub(crate) async fn run(
        self,
        visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error> + Send,
    ) -> Result<Ran, Error> {
        // Below, the limit is looked at behind each row: the first would be one too many.
        if self.plan.limit == Some(0) {
            return Ok(Ran { examined: Examined::default(), rest: None });
        }
        let tree = tree(self.table, self.plan)?;
        let mut consumer = Consumer::new(&self, tree, visit)?;
        match self.access {
            Access::InTurn(stretches) => self.in_turn(stretches, &mut consumer).await?,
            Access::Merged(stretches) => self.merged(stretches, &mut consumer).await?,
            Access::Skip { places, parts, inner, .. } => {
                self.skip(tree, places, *parts, inner, &mut consumer).await?;
            }
        }
        match self.plan.order {
            Order::Free => consumer.finish(),
            Order::Sort(_) => consumer.finish_sorted(),
        }
    }
}

/// The tree that a plan reads.
fn tree<'t>(table: &'t Table, plan: &Plan) -> Result<&'t Tree, Error> {
    let indexes = table.indexes().iter().map(|index| index.tree());
    let mut trees = std::iter::once(table.primary()).chain(indexes);
    trees.find(|tree| tree.id() == plan.tree).ok_or_else(|| {
        let index = plan.index.as_deref().unwrap_or("the primary key");
        Error::Missing(format!("{index} of {} any more: plan the query anew", table.name()).into())
    })
}
