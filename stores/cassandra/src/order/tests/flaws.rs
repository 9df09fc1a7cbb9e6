//! Known ways to lose rows: each must be found by the same schedules that the order passes.
//!
//! A flaw is a cluster that does something else than it is asked, so that the order on it behaves like one with the
//! mistake in it. The order itself has no code for that.

use std::future::Future;
use std::sync::Mutex;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::Direction;

use super::storm::{schedule, seeds};
use crate::cluster::{Applied, Cell, Claim, Cluster, Consistency, Fault, Range, Row, Space, State};
use crate::id::Id;
use crate::simulation::Client;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// Writers do not write to both shards while rows are copied.
    NoDualWrite,
    /// Writers do not write to the old shard when the rows have moved.
    NoEcho,
    /// Insertions go to the new shard before all deletions do.
    NoAnnounce,
    /// A change of the map is two writes.
    TwoWrites,
    /// Neighbours are merged into one of their shards.
    OldShard,
    /// A copy of the map is trusted for ever.
    NoLease,
    /// The next step does not wait until everyone knows this one.
    NoWait(Step),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Announce,
    Prepare,
    Echo,
}

struct Flawed {
    client: Client,
    flaw: Flaw,
    /// The last step that a change was found at, and the shard that it copies to.
    last: Mutex<Option<Step>>,
}

impl Flawed {
    fn new(client: Client, flaw: Flaw) -> Self {
        Self { client, flaw, last: Mutex::new(None) }
    }

    fn spoil(&self, range: Option<Range>, consistency: Consistency) -> Option<Range> {
        let mut range = range?;
        let step = match &range.state {
            State::Active | State::Clear { .. } => None,
            State::Announce { .. } => Some(Step::Announce),
            State::Prepare { .. } => Some(Step::Prepare),
            State::Echo { .. } => Some(Step::Echo),
        };
        // Writers and readers see the map at quorum, those who change it at serial consistency.
        match consistency {
            Consistency::Serial => *self.last.lock().unwrap() = step,
            Consistency::Quorum => {
                let hidden = match self.flaw {
                    Flaw::NoDualWrite => matches!(step, Some(Step::Announce | Step::Prepare)),
                    Flaw::NoEcho => step == Some(Step::Echo),
                    Flaw::NoAnnounce => step == Some(Step::Announce),
                    _ => false,
                };
                if hidden {
                    range.state = State::Active;
                }
            }
        }
        Some(range)
    }
}

impl Cluster for Flawed {
    fn monotonic(&self) -> Duration {
        if self.flaw == Flaw::NoLease { Duration::ZERO } else { self.client.monotonic() }
    }

    fn wall(&self) -> i64 {
        self.client.wall()
    }

    fn random(&self) -> u64 {
        self.client.random()
    }

    async fn sleep(&self, time: Duration) {
        let last = *self.last.lock().unwrap();
        let skipped = match self.flaw {
            Flaw::NoWait(step) => last == Some(step),
            _ => false,
        };
        if !skipped {
            self.client.sleep(time).await;
        }
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.client.spawn(work);
    }

    async fn spaces(&self) -> Result<Vec<Space>, Fault> {
        self.client.spaces().await
    }

    async fn add_space(&self, space: Space) -> Result<(), Fault> {
        self.client.add_space(space).await
    }

    async fn range_at(&self, space: Space, key: &[u8], how: Consistency) -> Result<Option<Range>, Fault> {
        Ok(self.spoil(self.client.range_at(space, key, how).await?, how))
    }

    async fn range_before(
        &self,
        space: Space,
        key: Option<&[u8]>,
        how: Consistency,
    ) -> Result<Option<Range>, Fault> {
        Ok(self.spoil(self.client.range_before(space, key, how).await?, how))
    }

    async fn swap(&self, space: Space, old: &[Range], new: &[Range]) -> Result<Applied, Fault> {
        let mut new = new.to_vec();
        match (self.flaw, old, &mut *new) {
            (Flaw::TwoWrites, [_], [left, _]) => {
                let between = left.clone();
                let applied = self.client.swap(space, old, std::slice::from_ref(&between)).await?;
                if applied == Applied::No {
                    return Ok(Applied::No);
                }
                left.epoch += 1;
                return self.client.swap(space, &[between], &new).await;
            }
            (Flaw::OldShard, [_, _], [one, other]) => {
                let shard = one.shard;
                for range in [one, other] {
                    if let State::Announce { to, .. } = &mut range.state {
                        *to = shard;
                    }
                }
            }
            _ => {}
        }
        self.client.swap(space, old, &new).await
    }

    async fn insert(&self, space: Space, shard: Id, rows: &[Row]) -> Result<(), Fault> {
        self.client.insert(space, shard, rows).await
    }

    async fn delete(&self, space: Space, shard: Id, rows: &[(Vec<u8>, Id)]) -> Result<(), Fault> {
        self.client.delete(space, shard, rows).await
    }

    async fn rows(
        &self,
        space: Space,
        shard: Id,
        span: &Span,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Row>, Fault> {
        self.client.rows(space, shard, span, direction, limit).await
    }

    async fn delete_span(&self, space: Space, shard: Id, span: &Span) -> Result<(), Fault> {
        if self.flaw == Flaw::OldShard {
            // Whoever merges into a shard does not delete what is there.
            let now = self.client.range_at(space, &span.start, Consistency::Quorum).await?;
            if now.is_some_and(|range| range.shard == shard) {
                return Ok(());
            }
        }
        self.client.delete_span(space, shard, span).await
    }

    async fn cell(&self, key: &[u8], consistency: Consistency) -> Result<Option<Cell>, Fault> {
        self.client.cell(key, consistency).await
    }

    async fn cells(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Cell>>, Fault> {
        self.client.cells(keys).await
    }

    async fn set_cell(&self, key: &[u8], expected: Option<Id>, cell: &Cell) -> Result<Applied, Fault> {
        self.client.set_cell(key, expected, cell).await
    }

    async fn claim(&self, key: &[u8], consistency: Consistency) -> Result<Option<Claim>, Fault> {
        self.client.claim(key, consistency).await
    }

    async fn set_claim(
        &self,
        key: &[u8],
        expected: Option<Id>,
        claim: Option<&Claim>,
    ) -> Result<Applied, Fault> {
        self.client.set_claim(key, expected, claim).await
    }
}

/// Runs schedules until one finds the flaw.
fn is_found(flaw: Flaw) {
    let seeds = seeds(2_000, 5_000);
    let found = seeds.iter().find_map(|seed| {
        let wrong = schedule(*seed, |client| Flawed::new(client, flaw)).err()?;
        Some((*seed, wrong))
    });
    match found {
        Some((seed, wrong)) => println!("{flaw:?} is found by seed {seed}: {wrong}"),
        None => panic!("{flaw:?} is not found by {} schedules", seeds.len()),
    }
}

#[test]
fn no_dual_write() {
    is_found(Flaw::NoDualWrite);
}

#[test]
fn no_echo() {
    is_found(Flaw::NoEcho);
}

#[test]
fn insertions_before_deletions() {
    is_found(Flaw::NoAnnounce);
}

#[test]
fn swap_by_two_writes() {
    is_found(Flaw::TwoWrites);
}

#[test]
fn merge_into_an_old_shard() {
    is_found(Flaw::OldShard);
}

#[test]
fn no_lease() {
    is_found(Flaw::NoLease);
}

#[test]
fn copies_before_all_deletions_are_announced() {
    is_found(Flaw::NoWait(Step::Announce));
}

#[test]
fn copies_before_all_writes_go_to_both() {
    is_found(Flaw::NoWait(Step::Prepare));
}

#[test]
fn old_rows_deleted_before_all_readers_have_moved() {
    is_found(Flaw::NoWait(Step::Echo));
}
