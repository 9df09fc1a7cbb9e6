//! A cluster in memory that answers at once: for tests that run on threads, with nothing going wrong.

use std::future::Future;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use keyloom_key::Span;
use keyloom_store::{Direction, wait};

use crate::cluster::{Applied, Cell, Claim, Cluster, Consistency, Fault, Range, Row, Space};
use crate::id::Id;
use crate::simulation::executor::lock;
use crate::simulation::random::Random;
use crate::simulation::state::Stored;

/// A cluster in memory that answers at once, whose clients are threads.
pub struct Local {
    stored: Mutex<Stored>,
    random: Mutex<Random>,
    started: Instant,
}

impl Default for Local {
    /// A cluster with nothing in it.
    fn default() -> Self {
        Self {
            stored: Mutex::default(),
            random: Mutex::new(Random::new(wall().unsigned_abs())),
            started: Instant::now(),
        }
    }
}

fn wall() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl Cluster for Local {
    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn wall(&self) -> i64 {
        wall()
    }

    fn random(&self) -> u64 {
        lock(&self.random).number()
    }

    async fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        std::thread::spawn(move || wait(work));
    }

    async fn spaces(&self) -> Result<Vec<Space>, Fault> {
        Ok(lock(&self.stored).spaces())
    }

    async fn add_space(&self, space: Space) -> Result<(), Fault> {
        lock(&self.stored).add_space(space);
        Ok(())
    }

    async fn range_at(&self, space: Space, key: &[u8], _: Consistency) -> Result<Option<Range>, Fault> {
        Ok(lock(&self.stored).range_at(space, key))
    }

    async fn range_before(
        &self,
        space: Space,
        key: Option<&[u8]>,
        _: Consistency,
    ) -> Result<Option<Range>, Fault> {
        Ok(lock(&self.stored).range_before(space, key))
    }

    async fn swap(&self, space: Space, old: &[Range], new: &[Range]) -> Result<Applied, Fault> {
        Ok(lock(&self.stored).swap(space, old, new))
    }

    async fn insert(&self, space: Space, shard: Id, rows: &[Row]) -> Result<(), Fault> {
        lock(&self.stored).insert(space, shard, rows.to_vec());
        Ok(())
    }

    async fn delete(&self, space: Space, shard: Id, rows: &[(Vec<u8>, Id)]) -> Result<(), Fault> {
        lock(&self.stored).delete(space, shard, rows.to_vec());
        Ok(())
    }

    async fn rows(
        &self,
        space: Space,
        shard: Id,
        span: &Span,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Row>, Fault> {
        Ok(lock(&self.stored).rows(space, shard, span, direction, limit))
    }

    async fn delete_span(&self, space: Space, shard: Id, span: &Span) -> Result<(), Fault> {
        lock(&self.stored).delete_span(space, shard, span.clone(), wall());
        Ok(())
    }

    async fn cell(&self, key: &[u8], _: Consistency) -> Result<Option<Cell>, Fault> {
        Ok(lock(&self.stored).cell(key))
    }

    async fn cells(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Cell>>, Fault> {
        let stored = lock(&self.stored);
        Ok(keys.iter().map(|key| stored.cell(key)).collect())
    }

    async fn set_cell(&self, key: &[u8], expected: Option<Id>, cell: &Cell) -> Result<Applied, Fault> {
        Ok(lock(&self.stored).set_cell(key.to_vec(), expected, cell.clone()))
    }

    async fn claim(&self, key: &[u8], _: Consistency) -> Result<Option<Claim>, Fault> {
        Ok(lock(&self.stored).claim(key))
    }

    async fn set_claim(
        &self,
        key: &[u8],
        expected: Option<Id>,
        claim: Option<&Claim>,
    ) -> Result<Applied, Fault> {
        Ok(lock(&self.stored).set_claim(key.to_vec(), expected, claim.cloned()))
    }
}
