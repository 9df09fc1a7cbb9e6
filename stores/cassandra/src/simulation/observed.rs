//! A cluster whose statements are told to someone before they are asked: to count them, or to do something in between.

use std::future::Future;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::Direction;

use crate::cluster::{Applied, Cell, Claim, Cluster, Consistency, Fault, Range, Row, Space};
use crate::id::Id;

/// What a statement asks of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To read or change the map, or the list of spaces.
    Map,
    /// To read rows of a shard.
    Rows,
    /// To insert or delete rows of a shard.
    Write,
    /// To read the cell of a record, or a claim.
    Cell,
    /// To write one of these if it is as expected.
    Conditional,
}

/// A cluster that calls `tell` before each statement.
#[derive(Debug)]
pub struct Observed<C, F> {
    cluster: C,
    tell: F,
}

impl<C: Cluster, F: Fn(Asked) + Send + Sync + 'static> Observed<C, F> {
    /// Tells of the statements that `cluster` is asked.
    pub fn new(cluster: C, tell: F) -> Self {
        Self { cluster, tell }
    }

    fn asked(&self, asked: Asked) -> &C {
        (self.tell)(asked);
        &self.cluster
    }
}

impl<C: Cluster, F: Fn(Asked) + Send + Sync + 'static> Cluster for Observed<C, F> {
    fn monotonic(&self) -> Duration {
        self.cluster.monotonic()
    }

    fn wall(&self) -> i64 {
        self.cluster.wall()
    }

    fn random(&self) -> u64 {
        self.cluster.random()
    }

    async fn sleep(&self, time: Duration) {
        self.cluster.sleep(time).await;
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.cluster.spawn(work);
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Fault> {
        self.cluster.run(work).await
    }

    async fn spaces(&self) -> Result<Vec<Space>, Fault> {
        self.asked(Asked::Map).spaces().await
    }

    async fn add_space(&self, space: Space) -> Result<(), Fault> {
        self.asked(Asked::Map).add_space(space).await
    }

    async fn range_at(&self, space: Space, key: &[u8], at: Consistency) -> Result<Option<Range>, Fault> {
        self.asked(Asked::Map).range_at(space, key, at).await
    }

    async fn range_before(
        &self,
        space: Space,
        key: Option<&[u8]>,
        at: Consistency,
    ) -> Result<Option<Range>, Fault> {
        self.asked(Asked::Map).range_before(space, key, at).await
    }

    async fn swap(&self, space: Space, old: &[Range], new: &[Range]) -> Result<Applied, Fault> {
        self.asked(Asked::Map).swap(space, old, new).await
    }

    async fn insert(&self, space: Space, shard: Id, rows: &[Row]) -> Result<(), Fault> {
        self.asked(Asked::Write).insert(space, shard, rows).await
    }

    async fn delete(&self, space: Space, shard: Id, rows: &[(Vec<u8>, Id)]) -> Result<(), Fault> {
        self.asked(Asked::Write).delete(space, shard, rows).await
    }

    async fn rows(
        &self,
        space: Space,
        shard: Id,
        span: &Span,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Row>, Fault> {
        self.asked(Asked::Rows).rows(space, shard, span, direction, limit).await
    }

    async fn delete_span(&self, space: Space, shard: Id, span: &Span) -> Result<(), Fault> {
        self.asked(Asked::Write).delete_span(space, shard, span).await
    }

    async fn cell(&self, key: &[u8], at: Consistency) -> Result<Option<Cell>, Fault> {
        self.asked(Asked::Cell).cell(key, at).await
    }

    async fn cells(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Cell>>, Fault> {
        keys.iter().for_each(|_| (self.tell)(Asked::Cell));
        self.cluster.cells(keys).await
    }

    async fn set_cell(&self, key: &[u8], expected: Option<Id>, cell: &Cell) -> Result<Applied, Fault> {
        self.asked(Asked::Conditional).set_cell(key, expected, cell).await
    }

    async fn claim(&self, key: &[u8], at: Consistency) -> Result<Option<Claim>, Fault> {
        self.asked(Asked::Cell).claim(key, at).await
    }

    async fn set_claim(
        &self,
        key: &[u8],
        expected: Option<Id>,
        claim: Option<&Claim>,
    ) -> Result<Applied, Fault> {
        self.asked(Asked::Conditional).set_claim(key, expected, claim).await
    }
}
