//! The order: rows in shards that split by themselves, written and scanned while they do.
//!
//! ```text
//! key ─→ space ─→ range, by a copy of the map ─→ shard ─→ rows
//!                 Active      inserts and deletions  here
//!                 Announce    inserts                here    deletions  here and there
//!                 Prepare     inserts and deletions  here and there
//!                 Echo        inserts and deletions  here and where they were
//!                 Clear       inserts and deletions  here
//! ```
//!
//! A write counts, and so does what was read, only if it ended while the copy that it went by was trusted; else it is
//! repeated by a fresh one. A row has an id of its own and comes and goes once, so that a repeat changes nothing.

use std::future::Future;
use std::iter;
use std::ops;
use std::sync::Arc;

use futures_util::future::join_all;
use keyloom_key::Span;
use keyloom_store::Direction;

use crate::cache::{Copied, Place};
use crate::cluster::{Cluster, Fault, Range, Row, Space, State};
use crate::id::Id;
use crate::map::{ATTEMPTS, Map};
use crate::measure::{Busy, Written};
use crate::page::{Rows, after, page, shared};
use crate::settings::Settings;

/// How many rows are asked of a shard at once.
const PAGE: usize = 5_000;

/// The rows of a cluster in the order of their keys. Clones share what they know.
pub struct Order<C> {
    pub(crate) shared: Arc<Shared<C>>,
}

impl<C> Clone for Order<C> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

pub(crate) struct Shared<C> {
    pub(crate) cluster: Arc<C>,
    pub(crate) settings: Settings,
    pub(crate) map: Map<C>,
    pub(crate) busy: Busy,
}

impl<C: Cluster> Order<C> {
    /// The order of a cluster. A process needs one, so that it reads the map once for all its tasks.
    pub fn new(cluster: Arc<C>, settings: Settings) -> Self {
        let map = Map::new(cluster.clone(), settings.clone());
        Self { shared: Arc::new(Shared { cluster, settings, map, busy: Busy::default() }) }
    }

    /// The cluster.
    pub fn cluster(&self) -> &Arc<C> {
        &self.shared.cluster
    }

    /// How many ranges of the map are remembered here, at most [`Settings::cache`].
    pub fn remembered(&self) -> usize {
        self.shared.map.remembered()
    }

    /// A fresh id, with the time of now.
    pub fn id(&self) -> Id {
        self.shared.map.id()
    }

    /// Inserts rows. Each has an id that no other row has.
    ///
    /// # Behavior
    /// - Every scan that begins when it has returned sees the rows.
    /// - After an error each row may be there, or come later, until it is [deleted](Self::delete).
    pub async fn insert(&self, rows: Vec<Row>) -> Result<(), Fault> {
        self.write(rows).await
    }

    /// Deletes rows by their keys and ids.
    ///
    /// # Behavior
    /// - No scan that begins when it has returned sees the rows. Their insertion must have returned before the call, with
    ///   whatever outcome: what it left on its way comes to nothing, but one that still runs may come after the deletion.
    /// - A row that is not there is no error.
    pub async fn delete(&self, rows: Vec<(Vec<u8>, Id)>) -> Result<(), Fault> {
        self.write(rows).await
    }

    /// All rows of a key.
    pub async fn read(&self, key: &[u8]) -> Result<Vec<Row>, Fault> {
        let span = Span { start: key.to_vec(), end: Some(after(key)) };
        Ok(self.scan(&span, Direction::Forward, 1).await?.rows)
    }

    /// The first rows of a span, in the order of their keys; those of one key in the order of their ids. Backward both
    /// are reversed.
    ///
    /// # Behavior
    /// - Sees every row whose insertion had returned before the call, and none whose deletion had.
    /// - Takes at most `limit` rows, but one key at least; all rows of a key come together.
    /// - What is left is a span: scanning that, and so on, yields every row that was there throughout exactly once.
    pub async fn scan(&self, span: &Span, direction: Direction, limit: usize) -> Result<Rows, Fault> {
        let mut rows = Vec::new();
        let mut rest = Some(span.clone()).filter(|span| !span.is_empty());
        let mut spaces = None;
        let mut attempts = 0;
        while let Some(left) = &rest {
            let wanted = limit.saturating_sub(rows.len());
            if wanted == 0 && !rows.is_empty() {
                break;
            }
            let Some((space, local)) = self.local(left, direction, &mut spaces).await? else {
                rest = None;
                break;
            };
            let place = match direction {
                Direction::Forward => Place::At(&local.start),
                Direction::Backward => Place::Before(local.end.as_deref()),
            };
            let Some(copy) = self.shared.map.find(space, place).await? else {
                rest = beyond(left, &local, direction);
                continue;
            };
            self.met(space, &copy);
            let Range { start, end, shard, .. } = copy.range.as_ref();
            let local = shared(&local, &Span { start: start.clone(), end: end.clone() });
            let found =
                page(self.cluster().as_ref(), (space, *shard), &local, direction, wanted.min(PAGE)).await?;
            if !self.shared.map.trusted(&copy) {
                attempts += 1;
                if attempts == ATTEMPTS {
                    return Err(slow());
                }
                continue;
            }
            // One key has more rows than are wanted yet: it comes first in the next page.
            if found.rows.len() > wanted && !rows.is_empty() {
                break;
            }
            let full = found.rest.is_some() && wanted <= PAGE;
            rest = match (found.rest, direction) {
                (None, _) => beyond(left, &local, direction),
                (Some(rest), Direction::Forward) => Some(Span { start: rest.start, end: left.end.clone() }),
                (Some(rest), Direction::Backward) => Some(Span { start: left.start.clone(), end: rest.end }),
            };
            rows.extend(found.rows);
            if full {
                break;
            }
        }
        Ok(Rows { rows, rest })
    }

    /// The part of a span that is in the first space on the way, and that space.
    async fn local(
        &self,
        span: &Span,
        direction: Direction,
        spaces: &mut Option<Vec<Space>>,
    ) -> Result<Option<(Space, Span)>, Fault> {
        let first = Space::of(&span.start);
        let inside = |space: Space| (space, shared(span, &space.span()));
        if shared(span, &first.span()).end == span.end {
            return Ok(Some(inside(first)));
        }
        if spaces.is_none() {
            *spaces = Some(self.cluster().spaces().await?);
        }
        let spaces = spaces.iter().flatten().copied().map(inside);
        let mut spaces = spaces.filter(|(_, span)| !span.is_empty());
        Ok(match direction {
            Direction::Forward => spaces.next(),
            Direction::Backward => spaces.next_back(),
        })
    }

    async fn write<W: Write>(&self, mut items: Vec<W>) -> Result<(), Fault> {
        items.sort_unstable_by(|one, other| one.key().cmp(other.key()));
        let mut left: Vec<_> = iter::once(0..items.len()).collect();
        for _ in 0..ATTEMPTS {
            let mut parts = Vec::new();
            for piece in left {
                parts.extend(self.parts(&items, piece).await?);
            }
            let writes = parts.iter().map(|(space, copy, part)| {
                self.part(*space, copy, items.get(part.clone()).unwrap_or_default())
            });
            let ended = join_all(writes).await;
            left = Vec::new();
            for ((_, _, part), counts) in parts.into_iter().zip(ended) {
                if !counts? {
                    left.push(part);
                }
            }
            if left.is_empty() {
                return Ok(());
            }
        }
        Err(slow())
    }

    /// Sorted rows by their ranges.
    async fn parts<W: Write>(
        &self,
        items: &[W],
        piece: ops::Range<usize>,
    ) -> Result<Vec<(Space, Copied, ops::Range<usize>)>, Fault> {
        let mut parts = Vec::new();
        let mut begin = piece.start;
        while let Some(items) = items.get(begin..piece.end)
            && let Some(first) = items.first()
        {
            let space = Space::of(first.key());
            let copy = self.shared.map.find_or_create(space, Place::At(first.key())).await?;
            let here = items.partition_point(|item| {
                Space::of(item.key()) == space && Place::At(item.key()).is_in(&copy.range)
            });
            parts.push((space, copy, begin..begin + here));
            begin += here;
        }
        Ok(parts)
    }

    /// Writes rows of one range wherever its state says, and returns whether that counts.
    async fn part<W: Write>(&self, space: Space, copy: &Copied, part: &[W]) -> Result<bool, Fault> {
        let places = W::places(&copy.range, part);
        let writes =
            places.into_iter().map(|(shard, part)| W::send(self.cluster().as_ref(), space, shard, part));
        for ended in join_all(writes).await {
            ended?;
        }
        self.met(space, copy);
        self.written(space, copy, W::WRITTEN, (part.len(), part.iter().map(W::size).sum()));
        Ok(self.shared.map.trusted(copy))
    }
}

/// What is left of a span behind the part that was read.
fn beyond(span: &Span, read: &Span, direction: Direction) -> Option<Span> {
    let rest = match direction {
        Direction::Forward => Span { start: read.end.clone()?, end: span.end.clone() },
        Direction::Backward => Span { start: span.start.clone(), end: Some(read.start.clone()) },
    };
    Some(rest).filter(|rest| !rest.is_empty())
}

fn slow() -> Fault {
    let what = "the cluster answers more slowly than the map's lease: try again, or make the lease longer";
    Fault::Unknown(what.to_owned())
}

/// What is written to rows: they are inserted or deleted.
trait Write: Send + Sync {
    const WRITTEN: Written;

    fn key(&self) -> &[u8];

    /// How many bytes its key and value have.
    fn size(&self) -> usize;

    /// The shards that sorted rows of a range are written to, each with its rows.
    fn places<'a>(range: &Range, part: &'a [Self]) -> Vec<(Id, &'a [Self])>
    where
        Self: Sized;

    fn send<C: Cluster>(
        cluster: &C,
        space: Space,
        shard: Id,
        part: &[Self],
    ) -> impl Future<Output = Result<(), Fault>> + Send
    where
        Self: Sized;
}

impl Write for Row {
    const WRITTEN: Written = Written::Inserted;

    fn key(&self) -> &[u8] {
        &self.key
    }

    fn size(&self) -> usize {
        self.key.len() + self.value.len()
    }

    fn places<'a>(range: &Range, part: &'a [Self]) -> Vec<(Id, &'a [Self])> {
        match &range.state {
            State::Announce { .. } => vec![(range.shard, part)],
            _ => everywhere(range, part),
        }
    }

    async fn send<C: Cluster>(cluster: &C, space: Space, shard: Id, part: &[Self]) -> Result<(), Fault> {
        cluster.insert(space, shard, part).await
    }
}

impl Write for (Vec<u8>, Id) {
    const WRITTEN: Written = Written::Deleted;

    fn key(&self) -> &[u8] {
        &self.0
    }

    fn size(&self) -> usize {
        self.0.len()
    }

    fn places<'a>(range: &Range, part: &'a [Self]) -> Vec<(Id, &'a [Self])> {
        everywhere(range, part)
    }

    async fn send<C: Cluster>(cluster: &C, space: Space, shard: Id, part: &[Self]) -> Result<(), Fault> {
        cluster.delete(space, shard, part).await
    }
}

/// The shard of a range, and the others that its state names, each with its part of sorted rows.
fn everywhere<'a, W: Write>(range: &Range, part: &'a [W]) -> Vec<(Id, &'a [W])> {
    let within = |span: &Span| {
        let start = part.partition_point(|item| *item.key() < *span.start);
        let end = part.partition_point(|item| span.end.as_deref().is_none_or(|end| item.key() < end));
        part.get(start..end).unwrap_or_default()
    };
    let mut places = vec![(range.shard, part)];
    match &range.state {
        State::Active | State::Clear { .. } => {}
        State::Announce { to, from, .. } | State::Prepare { to, from, .. } => {
            places.push((*to, within(&Span { start: from.clone(), end: None })));
        }
        State::Echo { to } => places.extend(to.iter().map(|(shard, span)| (*shard, within(span)))),
    }
    places.retain(|(_, part)| !part.is_empty());
    places
}

#[cfg(test)]
mod tests;
