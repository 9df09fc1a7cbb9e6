//! The cluster itself: every statement of [`Cluster`] in Cassandra's language.
//!
//! ```text
//! connect   a session, the keyspace and its tables, if they are not there    schema
//! ask       a statement until it is answered: patiently where repeating is safe, once where it is not
//! clock     time that goes on whatever happens to the machine
//! gather    rows for one partition go together
//! bytes     ids, lists and states as they are stored
//! pin       conditional writes of a key go to one node, so that nodes do not compete
//! threads   where the connections live and work of many statements is done, whatever executor asks
//! ```

mod ask;
mod bytes;
mod clock;
mod connect;
mod fault;
mod gather;
mod pin;
mod schema;
mod statements;
mod threads;

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use keyloom_key::Span;
use keyloom_store::{Direction, Error};

use crate::cluster::{Applied, Cell, Claim, Cluster, Consistency, Fault, Range, Row, Space};
use crate::config::Config;
use crate::id::Id;

use ask::{Asker, Values};
use bytes::{stored_ids, stored_pairs, stored_state};
use clock::Clock;
use fault::damaged;
use gather::Gather;
use statements::{StoredRow, cell, claim, range, row};
use threads::{Gone, Threads};

/// A deleted record's cell goes by itself after a day, in seconds.
const DELETED: i32 = 24 * 60 * 60;
/// A range deletion is a day ahead, in microseconds: it also takes rows of clients whose clock is ahead of ours.
const AHEAD: i64 = 24 * 60 * 60 * 1_000_000;
/// How many rows go into one batch, and of how many bytes: a partition takes them as one mutation.
const BATCH_ROWS: usize = 100;
const BATCH_BYTES: usize = 128 << 10;
/// A change of one partition must fit into a segment of a node's log with room to spare, in bytes.
const LARGEST: usize = 12 << 20;
/// How many cells are asked for at once.
const AT_ONCE: usize = 128;

/// A cluster, through Cassandra's protocol.
///
/// Its futures can be awaited by any executor. Where it is connected inside a tokio runtime of several threads, its
/// connections live there and end with it; elsewhere they have threads of their own.
#[derive(Debug)]
pub struct Driver {
    asker: Arc<Asker>,
    gather: Arc<Gather>,
    lease: Duration,
    clock: Clock,
    skew: i64,
    threads: Threads,
}

impl Driver {
    /// Connects to a cluster, and makes the keyspace and its tables if they are not there.
    pub async fn connect(config: &Config) -> Result<Self, Error> {
        let threads = Threads::start()?;
        let settings = config.clone();
        let (asker, lease) = threads.run(async move { connect::connect(&settings).await }).await??;
        let (asker, gather) = (Arc::new(asker), Arc::default());
        Ok(Self { asker, gather, lease, clock: Clock::start(), skew: config.skew(), threads })
    }

    /// How long a copy of the map is trusted, by all clients of the keyspace.
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// Asks a statement here, by the connections and clocks where the driver lives.
    async fn ask<T, W>(&self, work: impl FnOnce(Arc<Asker>) -> W) -> Result<T, Fault>
    where
        W: Future<Output = Result<T, Fault>> + Send,
    {
        self.threads.poll(work(self.asker.clone())).await.map_err(gone)?
    }
}

fn gone(gone: Gone) -> Fault {
    Fault::Unknown(gone.to_string())
}

impl Cluster for Driver {
    fn monotonic(&self) -> Duration {
        self.clock.elapsed()
    }

    fn wall(&self) -> i64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX).saturating_add(self.skew)
    }

    fn random(&self) -> u64 {
        // Each has a key of its own, which comes from the system.
        RandomState::new().hash_one(0)
    }

    async fn sleep(&self, time: Duration) {
        self.threads.sleep(time).await;
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.threads.spawn(work);
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Fault> {
        self.threads.run(work).await.map_err(gone)
    }

    async fn spaces(&self) -> Result<Vec<Space>, Fault> {
        self.ask(|asker| async move {
            let rows: Vec<(Vec<u8>,)> = asker.rows("read the spaces", &asker.all.spaces, (0i8,)).await?;
            let space = |(bytes,): (Vec<u8>,)| match bytes.as_slice().try_into() {
                Ok(space) => Ok(Space(space)),
                Err(_) => Err(damaged("space", &bytes)),
            };
            rows.into_iter().map(space).collect()
        })
        .await
    }

    async fn add_space(&self, space: Space) -> Result<(), Fault> {
        self.ask(|asker| async move {
            asker.plain("add a space", &asker.all.add_space, (0i8, space.0)).await.map(drop)
        })
        .await
    }

    async fn range_at(
        &self,
        space: Space,
        key: &[u8],
        consistency: Consistency,
    ) -> Result<Option<Range>, Fault> {
        let key = key.to_vec();
        self.ask(|asker| async move {
            let statement = asker.all.range_at.at(consistency);
            asker.row("find a range", statement, (space.0, key)).await?.map(range).transpose()
        })
        .await
    }

    async fn range_before(
        &self,
        space: Space,
        key: Option<&[u8]>,
        consistency: Consistency,
    ) -> Result<Option<Range>, Fault> {
        let key = key.map(<[u8]>::to_vec);
        self.ask(|asker| async move {
            let (what, all) = ("find a range", &asker.all);
            let found = match key {
                Some(key) => asker.row(what, all.range_before.at(consistency), (space.0, key)).await?,
                None => asker.row(what, all.range_last.at(consistency), (space.0,)).await?,
            };
            found.map(range).transpose()
        })
        .await
    }

    async fn swap(&self, space: Space, old: &[Range], new: &[Range]) -> Result<Applied, Fault> {
        // A map covers its space, so the range at the empty key is there if any is.
        if old.is_empty() && new.first().is_none_or(|first| !first.start.is_empty()) {
            return Err(Fault::Refused("the first range of a map starts at the empty key".into()));
        }
        let mut set = Vec::with_capacity(new.len());
        for range in new {
            let before = old.iter().find(|before| before.start == range.start);
            let values: Values = Box::new((
                range.end.clone().unwrap_or_default(),
                *range.shard.bytes(),
                range.epoch.cast_signed(),
                stored_state(&range.state),
                space.0,
                range.start.clone(),
                before.map(|before| before.epoch.cast_signed()),
            ));
            set.push(values);
        }
        let gone = old.iter().filter(|range| new.iter().all(|after| after.start != range.start));
        let gone: Vec<Values> = gone
            .map(|range| Box::new((space.0, range.start.clone(), range.epoch.cast_signed())) as Values)
            .collect();
        self.ask(|asker| async move {
            let set = set.into_iter().map(|values| (&asker.all.set_range, values));
            let gone = gone.into_iter().map(|values| (&asker.all.drop_range, values));
            asker.conditional_batch("change a map", set.chain(gone).collect()).await
        })
        .await
    }

    async fn insert(&self, space: Space, shard: Id, rows: &[Row]) -> Result<(), Fault> {
        let partition = (space, shard);
        let (answer, sends) = self.gather.add(partition, rows.to_vec());
        if sends {
            self.threads.spawn(gather::send(self.asker.clone(), self.gather.clone(), partition));
        }
        answer.await.unwrap_or_else(|_| Err(gone(Gone::Ended)))
    }

    async fn delete(&self, space: Space, shard: Id, rows: &[(Vec<u8>, Id)]) -> Result<(), Fault> {
        let values = |(key, id): &(Vec<u8>, Id)| {
            Box::new((id.time(), space.0, *shard.bytes(), key.clone(), *id.bytes())) as Values
        };
        let batches =
            pieces(rows, |(key, _)| key.len()).map(|rows| rows.iter().map(values).collect()).collect();
        self.ask(|asker| async move { asker.batches("delete rows", &asker.all.delete, batches).await }).await
    }

    async fn rows(
        &self,
        space: Space,
        shard: Id,
        span: &Span,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Row>, Fault> {
        if limit == 0 || span.is_empty() {
            return Ok(Vec::new());
        }
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let span = span.clone();
        self.ask(|asker| async move {
            let (what, all) = ("read rows", &asker.all);
            let (to_end, from) = match direction {
                Direction::Forward => (&all.rows, &all.rows_from),
                Direction::Backward => (&all.rows_backward, &all.rows_from_backward),
            };
            let rows: Vec<StoredRow> = match span.end {
                Some(end) => {
                    asker.rows(what, to_end, (space.0, shard.bytes(), span.start, end, limit)).await?
                }
                None => asker.rows(what, from, (space.0, shard.bytes(), span.start, limit)).await?,
            };
            rows.into_iter().map(row).collect()
        })
        .await
    }

    async fn delete_span(&self, space: Space, shard: Id, span: &Span) -> Result<(), Fault> {
        if span.is_empty() {
            return Ok(());
        }
        let time = self.wall().saturating_add(AHEAD);
        let span = span.clone();
        self.ask(|asker| async move {
            let (what, all) = ("delete a span", &asker.all);
            let shard = shard.bytes();
            match span.end {
                Some(end) => {
                    asker.plain(what, &all.delete_span, (time, space.0, shard, span.start, end)).await
                }
                None => asker.plain(what, &all.delete_from, (time, space.0, shard, span.start)).await,
            }
        })
        .await
        .map(drop)
    }

    async fn cell(&self, key: &[u8], consistency: Consistency) -> Result<Option<Cell>, Fault> {
        let key = key.to_vec();
        self.ask(|asker| async move {
            let statement = asker.all.cell.at(consistency);
            asker.row("read a record", statement, (key,)).await?.map(cell).transpose()
        })
        .await
    }

    async fn cells(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Cell>>, Fault> {
        let keys = keys.to_vec();
        self.ask(|asker| async move {
            let read = keys.into_iter().map(|key| {
                let asker = Arc::clone(&asker);
                // Large until it is boxed, and moved several times.
                Box::pin(async move {
                    let statement = asker.all.cell.at(Consistency::Quorum);
                    asker.row("read records", statement, (key,)).await?.map(cell).transpose()
                })
            });
            stream::iter(read).buffered(AT_ONCE).try_collect().await
        })
        .await
    }

    async fn set_cell(&self, key: &[u8], expected: Option<Id>, cell: &Cell) -> Result<Applied, Fault> {
        let what = "write a record";
        let size = cell.value.as_ref().map_or(0, Vec::len) + 32 * cell.rows.len();
        if size > LARGEST {
            return Err(Fault::Refused(format!("cannot {what} of {size} bytes: {LARGEST} is the most")));
        }
        let seconds = if cell.value.is_some() { 0 } else { DELETED };
        let bound = self.asker.bind(
            what,
            &self.asker.all.set_cell,
            &(
                seconds,
                cell.version.bytes(),
                stored_ids(&cell.past),
                stored_pairs(&cell.rows),
                cell.value.as_deref(),
                key,
                expected.as_ref().map(Id::bytes),
            ),
        )?;
        self.ask(|asker| async move { asker.conditional(what, &bound).await }).await
    }

    async fn claim(&self, key: &[u8], consistency: Consistency) -> Result<Option<Claim>, Fault> {
        let key = key.to_vec();
        self.ask(|asker| async move {
            let statement = asker.all.claim.at(consistency);
            asker.row("read a claim", statement, (key,)).await?.map(claim).transpose()
        })
        .await
    }

    async fn set_claim(
        &self,
        key: &[u8],
        expected: Option<Id>,
        claim: Option<&Claim>,
    ) -> Result<Applied, Fault> {
        let (what, all) = ("write a claim", &self.asker.all);
        let expected = expected.as_ref().map(Id::bytes);
        let bound = match claim {
            Some(claim) => {
                let base = claim.base.as_ref().map_or([].as_slice(), |base| base.bytes().as_slice());
                let values = (claim.id.bytes(), &claim.owner, base, key, expected);
                self.asker.bind(what, &all.set_claim, &values)?
            }
            None => self.asker.bind(what, &all.drop_claim, &(key, expected))?,
        };
        self.ask(|asker| async move { asker.conditional(what, &bound).await }).await
    }
}

/// Runs of rows that make a batch each.
fn pieces<T>(rows: &[T], size: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |row: &&T| {
            bytes += size(row);
            bytes <= BATCH_BYTES
        };
        let count = rest.iter().take(BATCH_ROWS).take_while(fits).count().max(1);
        let (piece, after) = rest.split_at_checked(count)?;
        rest = after;
        Some(piece)
    })
}
