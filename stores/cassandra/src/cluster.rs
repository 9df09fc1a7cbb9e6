//! What the protocols ask of a cluster: a few statements, each within one partition, and a clock.
//!
//! ```text
//! spaces  ()                           → space                         which spaces there may be rows in
//! map     (space), start               → end, shard, epoch, state      where the rows of a space lie
//! rows    (space, shard), key, id      → kind, owner, base, value      in order; a row never changes, it comes and goes
//! cells   (key)                        → version, past, counted, value a record: one partition each, changed by LWT
//! claims  (key)                        → id, owner, base               who has a unique value, changed by LWT
//! ```
//!
//! [`Cluster`] is implemented by the driver and by the simulation. Everything above it is the same code.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::Direction;

use crate::id::Id;

/// The first four bytes of a key, filled up with zeros: a table or an index has a number of its own there. Each space has
/// a map of its own, in one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Space(pub [u8; 4]);

impl Space {
    /// The space of a key. A greater key is never in a smaller space.
    pub fn of(key: &[u8]) -> Self {
        let mut space = [0; 4];
        space.iter_mut().zip(key).for_each(|(place, byte)| *place = *byte);
        Self(space)
    }

    /// The keys of the space.
    pub fn span(self) -> Span {
        // Zeros at the end are what shorter keys are filled up with, so the shortest of them comes first.
        let first = |space: u32| {
            let mut key = space.to_be_bytes().to_vec();
            key.truncate(key.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
            key
        };
        let number = u32::from_be_bytes(self.0);
        Span { start: first(number), end: number.checked_add(1).map(first) }
    }
}

/// A run of the keys of a space, and the shard that has their rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The first key. The first range of a space starts at the empty key.
    pub start: Vec<u8>,
    /// The first key beyond it; `None` for the last range of the space.
    pub end: Option<Vec<u8>>,
    /// The shard: an id that is never given twice.
    pub shard: Id,
    /// How often the range has changed. A change requires the epoch that it read.
    pub epoch: u64,
    /// What is being done with it.
    pub state: State,
}

/// What is being done with a range, in the order that it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Active,
    /// It is about to be split or moved: what is deleted from `from` on is deleted in `to` as well. Nothing is inserted
    /// there before every client does so, or a row could come to `to` whose deletion does not.
    Announce {
        /// The fresh shard.
        to: Id,
        /// The first key that goes there.
        from: Vec<u8>,
        /// When this began, in microseconds of the wall clock: one that is too old is abandoned, never resumed.
        since: i64,
    },
    /// Rows from `from` on are inserted into `to` and deleted there as well, and read here.
    Prepare {
        /// The fresh shard.
        to: Id,
        /// The first key that goes there.
        from: Vec<u8>,
        /// When this began.
        since: i64,
    },
    /// It has been split off or moved: its rows are written to `to`, where they were, as well, and read here.
    Echo {
        /// The shards that had them, for a merge more than one: each with the keys that it had.
        to: Vec<(Id, Span)>,
    },
    /// Nobody reads or writes `of` any more: it is to be deleted.
    Clear {
        /// Shards, each with the keys that it had.
        of: Vec<(Id, Span)>,
    },
}

/// A row of the order. It never changes: it is inserted once and deleted once, both with the time in its id, so that
/// neither a late repeat nor a copy can undo a deletion (of two writes with the same time the deletion counts).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: Vec<u8>,
    /// Its own, with the time of the write.
    pub id: Id,
    /// What it stands for.
    pub kind: Kind,
    /// Its value; a record's is in its cell.
    pub value: Vec<u8>,
}

/// What a row stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The record whose key this is, if its cell names the row.
    Record {
        /// The version that the record had when the row was written.
        base: Option<Id>,
    },
    /// An entry of a record, if the record's cell names the row.
    Entry {
        /// The record's key.
        owner: Vec<u8>,
        /// The version that the record had when the row was written.
        base: Option<Id>,
    },
    /// A member of a set: it is there by itself.
    Member,
}

/// A record: what its partition holds. It is there as long as someone could depend on its version, also when deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The write that made it so.
    pub version: Id,
    /// The writes before it, the last one first, as many as are kept: whoever does not know whether his write happened
    /// finds it here.
    pub past: Vec<Id>,
    /// The rows that count: the record's own and its entries, each by the hash of its key.
    pub rows: Vec<(u128, Id)>,
    /// The value; `None` if the record is deleted.
    pub value: Option<Vec<u8>>,
}

/// Who has a unique value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Its own.
    pub id: Id,
    /// The record's key.
    pub owner: Vec<u8>,
    /// The version that the record had when the claim was made.
    pub base: Option<Id>,
}

/// Which state is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// Every write that was acknowledged.
    Quorum,
    /// The same, and a conditional write whose outcome is unknown is finished or shut out first.
    Serial,
}

/// How a conditional write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It was written.
    Yes,
    /// The condition did not hold, and nothing was written.
    No,
}

/// A statement that did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It may have been done, or may still be. Statements without a condition can be repeated.
    Unknown(String),
    /// It was not done and a repeat would fare no better: refused, not allowed, no such keyspace.
    Refused(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(reason) | Self::Refused(reason) => f.write_str(reason),
        }
    }
}

/// A cluster, as one client sees it.
///
/// Plain statements are at quorum and idempotent: an implementation repeats them itself a few times before it says
/// [`Fault::Unknown`]. Conditional statements are never repeated blindly.
pub trait Cluster: Send + Sync + 'static {
    /// Time that has passed since some moment: it never goes back and runs at the rate of others' clocks.
    fn monotonic(&self) -> Duration;

    /// Microseconds since 1970 by a clock that may be wrong.
    fn wall(&self) -> i64;

    /// A random number.
    fn random(&self) -> u64;

    /// Waits.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// Runs work beside the caller's. It may end with the process at any step.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static);

    /// Does work of many statements, and waits for it. An implementation may do it beside the caller's, where it is
    /// cheaper to hear of answers: then it goes on when nobody waits for it any more.
    fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = Result<T, Fault>> + Send {
        async { Ok(work.await) }
    }

    /// The spaces that may have a map, in their order.
    fn spaces(&self) -> impl Future<Output = Result<Vec<Space>, Fault>> + Send;

    /// Makes a space known, before its map is made with [`swap`](Self::swap): so no map is unknown.
    fn add_space(&self, space: Space) -> impl Future<Output = Result<(), Fault>> + Send;

    /// The last range of the map that starts at or before `key`; `None` if the space has no map.
    fn range_at(
        &self,
        space: Space,
        key: &[u8],
        consistency: Consistency,
    ) -> impl Future<Output = Result<Option<Range>, Fault>> + Send;

    /// The last range that starts before `key`, or the last of all.
    fn range_before(
        &self,
        space: Space,
        key: Option<&[u8]>,
        consistency: Consistency,
    ) -> impl Future<Output = Result<Option<Range>, Fault>> + Send;

    /// Replaces ranges of a map by others in one conditional write: each of `old` must have its epoch; where `old` is
    /// empty, the space must have no map.
    fn swap(
        &self,
        space: Space,
        old: &[Range],
        new: &[Range],
    ) -> impl Future<Output = Result<Applied, Fault>> + Send;

    /// Inserts rows into a shard, each with the time in its id.
    fn insert(&self, space: Space, shard: Id, rows: &[Row])
    -> impl Future<Output = Result<(), Fault>> + Send;

    /// Deletes rows of a shard, each with the time in its id.
    fn delete(
        &self,
        space: Space,
        shard: Id,
        rows: &[(Vec<u8>, Id)],
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// The first rows of a shard within a span, by key and then id; backward both are reversed. Less than `limit` rows
    /// are all that there are.
    fn rows(
        &self,
        space: Space,
        shard: Id,
        span: &Span,
        direction: Direction,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Row>, Fault>> + Send;

    /// Deletes a span of a shard with one range deletion whose time is a day ahead, so that a clock that is behind leaves
    /// nothing. No row is inserted there ever after.
    fn delete_span(
        &self,
        space: Space,
        shard: Id,
        span: &Span,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// The cell of a key.
    fn cell(
        &self,
        key: &[u8],
        consistency: Consistency,
    ) -> impl Future<Output = Result<Option<Cell>, Fault>> + Send;

    /// The cells of keys, in their order.
    fn cells(&self, keys: &[Vec<u8>]) -> impl Future<Output = Result<Vec<Option<Cell>>, Fault>> + Send;

    /// Writes a cell if its version is the expected one, or if there is none. A deleted record's cell goes by itself
    /// after a day.
    fn set_cell(
        &self,
        key: &[u8],
        expected: Option<Id>,
        cell: &Cell,
    ) -> impl Future<Output = Result<Applied, Fault>> + Send;

    /// The claim on a unique value.
    fn claim(
        &self,
        key: &[u8],
        consistency: Consistency,
    ) -> impl Future<Output = Result<Option<Claim>, Fault>> + Send;

    /// Replaces the claim of this id, or none, by another, or none.
    fn set_claim(
        &self,
        key: &[u8],
        expected: Option<Id>,
        claim: Option<&Claim>,
    ) -> impl Future<Output = Result<Applied, Fault>> + Send;
}
