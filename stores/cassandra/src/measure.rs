//! Shards that have become too large are split, and small neighbours are merged, beside the writes that made them so.
//!
//! A writer does not know how large a shard is: others write to it too. So it looks at a shard now and then, the more
//! often the more it writes: on average twice while a whole shard is written, whoever writes it. Nothing is remembered.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use keyloom_key::Span;
use keyloom_store::Direction;

use crate::cache::{Copied, Place};
use crate::cluster::{Cluster, Fault, Range, Space, State};
use crate::order::Order;
use crate::page::page;

/// How many shards a client looks after at once.
const WORKERS: usize = 16;

/// How often the work on a shard is taken up again after a fault. Afterwards whoever writes there takes it up.
const RETRIES: u32 = 5;

/// After so many waits a change that stays as it is has been left by whoever began it.
const LEFT: u32 = 8;

/// How many rows are read at once.
const PAGE: usize = 500;

/// A whole shard, in the parts that sizes are counted in.
const WHOLE: usize = 1_000;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    Inserted,
    Deleted,
}

/// Ranges that are being looked after, by their starts.
pub(crate) type Busy = Mutex<BTreeSet<(Space, Vec<u8>)>>;

/// How large a range is, and where its middle is.
struct Size {
    /// In parts of a whole shard: of its rows or of its bytes, whichever is more.
    parts: usize,
    middle: Option<Vec<u8>>,
}

impl<C: Cluster> Order<C> {
    /// Looks after a range that was written to, now and then.
    pub(crate) fn written(
        &self,
        space: Space,
        copy: &Copied,
        written: Written,
        (rows, bytes): (usize, usize),
    ) {
        let settings = &self.shared.settings;
        let chance = |amount: usize, whole: usize| {
            let whole = u64::try_from(whole).unwrap_or(u64::MAX).max(1);
            self.cluster().random() % whole < u64::try_from(amount).unwrap_or(u64::MAX).saturating_mul(2)
        };
        // What is being changed already is left to whoever does it.
        if copy.range.state == State::Active
            && (chance(rows, settings.split_rows) || chance(bytes, settings.split_bytes))
        {
            self.look_after(space, copy, written);
        }
    }

    /// Goes on with what was left undone.
    pub(crate) fn met(&self, space: Space, copy: &Copied) {
        let age = self.cluster().monotonic().saturating_sub(copy.seen);
        if copy.range.state != State::Active && age > self.shared.settings.wait() * LEFT {
            self.look_after(space, copy, Written::Inserted);
        }
    }

    fn look_after(&self, space: Space, copy: &Copied, written: Written) {
        let name = (space, copy.range.start.clone());
        let mut busy = self.shared.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if busy.len() >= WORKERS || !busy.insert(name.clone()) {
            return;
        }
        drop(busy);
        let work = Work { order: self.clone(), name };
        self.cluster().spawn(async move {
            let Work { order, name: (space, start) } = &work;
            for retry in 1..=RETRIES {
                match order.improve(*space, start, written).await {
                    Err(Fault::Unknown(_)) => {
                        order.cluster().sleep(order.shared.settings.lease * retry).await;
                    }
                    Ok(()) | Err(Fault::Refused(_)) => break,
                }
            }
        });
    }

    /// Finishes what was begun with a range, and splits or merges it.
    async fn improve(&self, space: Space, key: &[u8], written: Written) -> Result<(), Fault> {
        let mut keys = vec![key.to_vec()];
        while let Some(key) = keys.pop() {
            self.finish(space, &key).await?;
            let Some(range) = self.shared.map.settled(space, Place::At(&key)).await? else { continue };
            let size = self.measure(space, &range).await?;
            match size.middle {
                Some(middle) if size.parts > WHOLE => {
                    self.split(&middle).await?;
                    // Meanwhile much may have come, and perhaps nobody writes any more.
                    keys.extend([range.start, middle]);
                }
                _ if written == Written::Deleted && self.merge_small(space, &range, size.parts).await? => {
                    keys.push(range.start);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Merges a range with a neighbour if both together are so small that they need not be split again soon, and returns
    /// whether they were.
    async fn merge_small(&self, space: Space, range: &Range, parts: usize) -> Result<bool, Fault> {
        let before = (!range.start.is_empty()).then_some(Place::Before(Some(&range.start)));
        for place in range.end.as_deref().map(Place::At).into_iter().chain(before) {
            if parts < WHOLE / 2
                && let Some(other) = self.shared.map.settled(space, place).await?
                && other.state == State::Active
                && parts + self.measure(space, &other).await?.parts < WHOLE / 2
            {
                self.merge(&range.start.clone().max(other.start)).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads a range, as far as four whole shards would reach.
    async fn measure(&self, space: Space, range: &Range) -> Result<Size, Fault> {
        let settings = &self.shared.settings;
        let (mut rows, mut bytes) = (0_usize, 0_usize);
        let parts = |rows: usize, bytes: usize| {
            let part = |amount: usize, whole: usize| amount.saturating_mul(WHOLE) / whole.max(1);
            part(rows, settings.split_rows).max(part(bytes, settings.split_bytes))
        };
        // Keys that the range could be split at, some way apart, and how much lies before each.
        let mut places: Vec<(Vec<u8>, usize)> = Vec::new();
        let mut rest = Some(Span { start: range.start.clone(), end: range.end.clone() });
        while let Some(span) = rest
            && parts(rows, bytes) <= 4 * WHOLE
        {
            let shard = (space, range.shard);
            let found = page(self.cluster().as_ref(), shard, &span, Direction::Forward, PAGE).await?;
            for key in found.rows.chunk_by(|one, other| one.key == other.key) {
                let before = parts(rows, bytes);
                if let Some(row) = key.first()
                    && before >= places.last().map_or(1, |(_, last)| last + WHOLE / 32)
                {
                    places.push((row.key.clone(), before));
                }
                rows += key.len();
                bytes += key.iter().map(|row| row.key.len() + row.value.len()).sum::<usize>();
            }
            rest = found.rest;
        }
        let parts = parts(rows, bytes);
        let middle = places.into_iter().min_by_key(|(_, before)| (2 * before).abs_diff(parts));
        Ok(Size { parts, middle: middle.map(|(key, _)| key) })
    }
}

/// Work on a range, which ends when it is dropped.
struct Work<C> {
    order: Order<C>,
    name: (Space, Vec<u8>),
}

impl<C> Drop for Work<C> {
    fn drop(&mut self) {
        self.order.shared.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}
