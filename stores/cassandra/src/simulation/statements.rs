//! The statements of a client.

use std::future::Future;
use std::time::Duration;

use futures_util::future::join_all;
use keyloom_key::Span;
use keyloom_store::Direction;

use crate::cluster::{Applied, Cell, Claim, Cluster, Consistency, Fault, Range, Row, Space};
use crate::id::Id;
use crate::simulation::client::Client;
use crate::simulation::executor::Partition;
use crate::simulation::state::DAY;

/// The partition whose doubts a read ends.
fn settled(consistency: Consistency, partition: Partition) -> Option<Partition> {
    (consistency == Consistency::Serial).then_some(partition)
}

impl Cluster for Client {
    fn monotonic(&self) -> Duration {
        self.monotonic_time()
    }

    fn wall(&self) -> i64 {
        self.wall_time()
    }

    fn random(&self) -> u64 {
        self.core().world().random.number()
    }

    async fn sleep(&self, time: Duration) {
        self.later(time).await;
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.core().spawn(self.number(), false, work);
    }

    async fn spaces(&self) -> Result<Vec<Space>, Fault> {
        self.ask("spaces", None, |stored| stored.spaces()).await
    }

    async fn add_space(&self, space: Space) -> Result<(), Fault> {
        self.write("add_space", move |stored| stored.add_space(space)).await
    }

    async fn range_at(
        &self,
        space: Space,
        key: &[u8],
        consistency: Consistency,
    ) -> Result<Option<Range>, Fault> {
        let key = key.to_vec();
        let settle = settled(consistency, Partition::Map(space.0));
        self.ask("range_at", settle, move |stored| stored.range_at(space, &key)).await
    }

    async fn range_before(
        &self,
        space: Space,
        key: Option<&[u8]>,
        consistency: Consistency,
    ) -> Result<Option<Range>, Fault> {
        let key = key.map(<[u8]>::to_vec);
        let settle = settled(consistency, Partition::Map(space.0));
        self.ask("range_before", settle, move |stored| stored.range_before(space, key.as_deref())).await
    }

    async fn swap(&self, space: Space, old: &[Range], new: &[Range]) -> Result<Applied, Fault> {
        let (old, new) = (old.to_vec(), new.to_vec());
        let partition = Partition::Map(space.0);
        self.change("swap", partition, move |stored| stored.swap(space, &old, &new)).await
    }

    async fn insert(&self, space: Space, shard: Id, rows: &[Row]) -> Result<(), Fault> {
        let rows = rows.to_vec();
        self.write("insert", move |stored| stored.insert(space, shard, rows)).await
    }

    async fn delete(&self, space: Space, shard: Id, rows: &[(Vec<u8>, Id)]) -> Result<(), Fault> {
        let rows = rows.to_vec();
        self.write("delete", move |stored| stored.delete(space, shard, rows)).await
    }

    async fn rows(
        &self,
        space: Space,
        shard: Id,
        span: &Span,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Row>, Fault> {
        let span = span.clone();
        self.ask("rows", None, move |stored| stored.rows(space, shard, &span, direction, limit)).await
    }

    async fn delete_span(&self, space: Space, shard: Id, span: &Span) -> Result<(), Fault> {
        let (span, time) = (span.clone(), self.wall_time() + DAY.cast_signed());
        self.write("delete_span", move |stored| stored.delete_span(space, shard, span, time)).await
    }

    async fn cell(&self, key: &[u8], consistency: Consistency) -> Result<Option<Cell>, Fault> {
        let key = key.to_vec();
        let settle = settled(consistency, Partition::Cell(key.clone()));
        self.ask("cell", settle, move |stored| stored.cell(&key)).await
    }

    async fn cells(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Cell>>, Fault> {
        // Each is a partition of its own, read at a moment of its own.
        let reads = keys.iter().cloned().map(|key| self.ask("cells", None, move |stored| stored.cell(&key)));
        join_all(reads).await.into_iter().collect()
    }

    async fn set_cell(&self, key: &[u8], expected: Option<Id>, cell: &Cell) -> Result<Applied, Fault> {
        let (key, cell) = (key.to_vec(), cell.clone());
        let partition = Partition::Cell(key.clone());
        self.change("set_cell", partition, move |stored| stored.set_cell(key, expected, cell)).await
    }

    async fn claim(&self, key: &[u8], consistency: Consistency) -> Result<Option<Claim>, Fault> {
        let key = key.to_vec();
        let settle = settled(consistency, Partition::Claim(key.clone()));
        self.ask("claim", settle, move |stored| stored.claim(&key)).await
    }

    async fn set_claim(
        &self,
        key: &[u8],
        expected: Option<Id>,
        claim: Option<&Claim>,
    ) -> Result<Applied, Fault> {
        let (key, claim) = (key.to_vec(), claim.cloned());
        let partition = Partition::Claim(key.clone());
        self.change("set_claim", partition, move |stored| stored.set_claim(key, expected, claim)).await
    }
}
