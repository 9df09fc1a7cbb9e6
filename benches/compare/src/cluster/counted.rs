//! A cluster that counts the statements it is asked.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keyloom_cassandra::{Applied, Cell, Claim, Cluster, Consistency, Driver, Fault, Id, Range, Row, Space};
use keyloom_key::Span;
use keyloom_store::Direction;

/// Statements, by the table that they ask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Statements {
    pub(super) map: u64,
    pub(super) rows: u64,
    pub(super) cells: u64,
    pub(super) conditional: u64,
}

impl Statements {
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            map: self.map - before.map,
            rows: self.rows - before.rows,
            cells: self.cells - before.cells,
            conditional: self.conditional - before.conditional,
        }
    }

    /// Of one of so many works.
    #[allow(clippy::cast_precision_loss, reason = "a figure is rounded anyway")]
    pub(super) fn each(self, works: usize) -> String {
        let each = |count: u64| count as f64 / works.max(1) as f64;
        format!(
            "map {:.2}, rows {:.2}, cells {:.2}, conditional {:.2}",
            each(self.map),
            each(self.rows),
            each(self.cells),
            each(self.conditional)
        )
    }
}

/// The driver, and what it was asked.
pub(super) struct Counted {
    driver: Driver,
    map: AtomicU64,
    rows: AtomicU64,
    cells: AtomicU64,
    conditional: AtomicU64,
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.statements().fmt(f)
    }
}

impl Counted {
    pub(super) fn new(driver: Driver) -> Self {
        let none = AtomicU64::default;
        Self { driver, map: none(), rows: none(), cells: none(), conditional: none() }
    }

    pub(super) fn statements(&self) -> Statements {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Statements {
            map: count(&self.map),
            rows: count(&self.rows),
            cells: count(&self.cells),
            conditional: count(&self.conditional),
        }
    }
}

fn one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Cluster for Counted {
    fn monotonic(&self) -> Duration {
        self.driver.monotonic()
    }

    fn wall(&self) -> i64 {
        self.driver.wall()
    }

    fn random(&self) -> u64 {
        self.driver.random()
    }

    async fn sleep(&self, time: Duration) {
        self.driver.sleep(time).await;
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.driver.spawn(work);
    }

    async fn spaces(&self) -> Result<Vec<Space>, Fault> {
        one(&self.map);
        self.driver.spaces().await
    }

    async fn add_space(&self, space: Space) -> Result<(), Fault> {
        one(&self.map);
        self.driver.add_space(space).await
    }

    async fn range_at(&self, space: Space, key: &[u8], at: Consistency) -> Result<Option<Range>, Fault> {
        one(&self.map);
        self.driver.range_at(space, key, at).await
    }

    async fn range_before(
        &self,
        space: Space,
        key: Option<&[u8]>,
        at: Consistency,
    ) -> Result<Option<Range>, Fault> {
        one(&self.map);
        self.driver.range_before(space, key, at).await
    }

    async fn swap(&self, space: Space, old: &[Range], new: &[Range]) -> Result<Applied, Fault> {
        one(&self.map);
        self.driver.swap(space, old, new).await
    }

    async fn insert(&self, space: Space, shard: Id, rows: &[Row]) -> Result<(), Fault> {
        one(&self.rows);
        self.driver.insert(space, shard, rows).await
    }

    async fn delete(&self, space: Space, shard: Id, rows: &[(Vec<u8>, Id)]) -> Result<(), Fault> {
        one(&self.rows);
        self.driver.delete(space, shard, rows).await
    }

    async fn rows(
        &self,
        space: Space,
        shard: Id,
        span: &Span,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Row>, Fault> {
        one(&self.rows);
        self.driver.rows(space, shard, span, direction, limit).await
    }

    async fn delete_span(&self, space: Space, shard: Id, span: &Span) -> Result<(), Fault> {
        one(&self.rows);
        self.driver.delete_span(space, shard, span).await
    }

    async fn cell(&self, key: &[u8], at: Consistency) -> Result<Option<Cell>, Fault> {
        one(&self.cells);
        self.driver.cell(key, at).await
    }

    async fn cells(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Cell>>, Fault> {
        keys.iter().for_each(|_| one(&self.cells));
        self.driver.cells(keys).await
    }

    async fn set_cell(&self, key: &[u8], expected: Option<Id>, cell: &Cell) -> Result<Applied, Fault> {
        one(&self.conditional);
        self.driver.set_cell(key, expected, cell).await
    }

    async fn claim(&self, key: &[u8], at: Consistency) -> Result<Option<Claim>, Fault> {
        one(&self.cells);
        self.driver.claim(key, at).await
    }

    async fn set_claim(
        &self,
        key: &[u8],
        expected: Option<Id>,
        claim: Option<&Claim>,
    ) -> Result<Applied, Fault> {
        one(&self.conditional);
        self.driver.set_claim(key, expected, claim).await
    }
}
