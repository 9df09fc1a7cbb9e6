//! What the cluster holds, with the rules by which Cassandra joins writes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use keyloom_key::Span;
use keyloom_store::Direction;

use crate::cluster::{Applied, Cell, Claim, Range, Row, Space};
use crate::id::Id;

/// How long a deleted record's cell stays, in microseconds.
pub(crate) const DAY: u64 = 24 * 60 * 60 * 1_000_000;

/// What is stored, without the writes that are still on their way.
#[derive(Default)]
pub struct Stored {
    /// The time, in microseconds.
    pub(crate) now: u64,
    spaces: BTreeSet<Space>,
    maps: BTreeMap<Space, BTreeMap<Vec<u8>, Range>>,
    shards: BTreeMap<(Space, Id), Shard>,
    cells: BTreeMap<Vec<u8>, (Cell, u64)>,
    claims: BTreeMap<Vec<u8>, Claim>,
}

/// A partition of rows.
#[derive(Default)]
struct Shard {
    rows: BTreeMap<(Vec<u8>, Id), Place>,
    /// Range deletions with their times. They stay: a row of an earlier time is dead, whenever it comes.
    cleared: Vec<(Span, i64)>,
}

/// Both a row's insertion and its deletion have the time of its id, and of two writes with one time the deletion counts.
#[derive(Default)]
struct Place {
    inserted: Option<Row>,
    deleted: bool,
}

impl Shard {
    fn row<'a>(&self, id: Id, place: &'a Place) -> Option<&'a Row> {
        let row = place.inserted.as_ref().filter(|_| !place.deleted)?;
        let dead = self.cleared.iter().any(|(span, time)| span.contains(&row.key) && id.time() <= *time);
        (!dead).then_some(row)
    }
}

impl Stored {
    /// The map of a space.
    pub fn map(&self, space: Space) -> Vec<Range> {
        self.maps.get(&space).into_iter().flat_map(|map| map.values().cloned()).collect()
    }

    /// The spaces that are known.
    pub fn spaces(&self) -> Vec<Space> {
        self.spaces.iter().copied().collect()
    }

    /// The rows of a shard that can be read, whether or not the map says that they belong to it.
    pub fn shard(&self, space: Space, shard: Id) -> Vec<Row> {
        let all = Span { start: Vec::new(), end: None };
        self.rows(space, shard, &all, Direction::Forward, usize::MAX)
    }

    /// The shards that have rows.
    pub fn shards(&self) -> Vec<(Space, Id)> {
        let filled = |name: &&(Space, Id)| !self.shard(name.0, name.1).is_empty();
        self.shards.keys().filter(filled).copied().collect()
    }

    /// Every cell that there is, by its key.
    pub fn cells(&self) -> Vec<(Vec<u8>, Cell)> {
        self.cells.keys().filter_map(|key| Some((key.clone(), self.cell(key)?))).collect()
    }

    /// Every claim that there is, by its key.
    pub fn claims(&self) -> Vec<(Vec<u8>, Claim)> {
        self.claims.iter().map(|(key, claim)| (key.clone(), claim.clone())).collect()
    }

    pub(crate) fn add_space(&mut self, space: Space) {
        self.spaces.insert(space);
    }

    pub(crate) fn range_at(&self, space: Space, key: &[u8]) -> Option<Range> {
        let ranges = self.maps.get(&space)?.range::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
        ranges.last().map(|(_, range)| range.clone())
    }

    pub(crate) fn range_before(&self, space: Space, key: Option<&[u8]>) -> Option<Range> {
        let map = self.maps.get(&space)?;
        let mut ranges = map.values().rev();
        ranges.find(|range| key.is_none_or(|key| *range.start < *key)).cloned()
    }

    pub(crate) fn swap(&mut self, space: Space, old: &[Range], new: &[Range]) -> Applied {
        let map = self.maps.entry(space).or_default();
        let holds = match old {
            [] => map.is_empty(),
            old => old.iter().all(|old| map.get(&old.start).is_some_and(|range| range.epoch == old.epoch)),
        };
        if !holds {
            return Applied::No;
        }
        for range in old {
            map.remove(&range.start);
        }
        map.extend(new.iter().map(|range| (range.start.clone(), range.clone())));
        Applied::Yes
    }

    pub(crate) fn insert(&mut self, space: Space, shard: Id, rows: Vec<Row>) {
        let shard = self.shards.entry((space, shard)).or_default();
        for row in rows {
            let place = shard.rows.entry((row.key.clone(), row.id)).or_default();
            place.inserted = Some(row);
        }
    }

    pub(crate) fn delete(&mut self, space: Space, shard: Id, rows: Vec<(Vec<u8>, Id)>) {
        let shard = self.shards.entry((space, shard)).or_default();
        for row in rows {
            shard.rows.entry(row).or_default().deleted = true;
        }
    }

    pub(crate) fn delete_span(&mut self, space: Space, shard: Id, span: Span, time: i64) {
        self.shards.entry((space, shard)).or_default().cleared.push((span, time));
    }

    pub(crate) fn rows(
        &self,
        space: Space,
        shard: Id,
        span: &Span,
        direction: Direction,
        limit: usize,
    ) -> Vec<Row> {
        let Some(shard) = self.shards.get(&(space, shard)).filter(|_| !span.is_empty()) else {
            return Vec::new();
        };
        let least = Id::from_bytes([0; 16]);
        let from = (span.start.clone(), least);
        let rows = match &span.end {
            Some(end) => shard.rows.range(from..(end.clone(), least)),
            None => shard.rows.range(from..),
        };
        let alive = rows.filter_map(|((_, id), place)| shard.row(*id, place));
        match direction {
            Direction::Forward => alive.take(limit).cloned().collect(),
            Direction::Backward => alive.rev().take(limit).cloned().collect(),
        }
    }

    pub(crate) fn cell(&self, key: &[u8]) -> Option<Cell> {
        let (cell, written) = self.cells.get(key)?;
        let gone = cell.value.is_none() && self.now - written > DAY;
        (!gone).then(|| cell.clone())
    }

    pub(crate) fn set_cell(&mut self, key: Vec<u8>, expected: Option<Id>, cell: Cell) -> Applied {
        if self.cell(&key).map(|cell| cell.version) != expected {
            return Applied::No;
        }
        self.cells.insert(key, (cell, self.now));
        Applied::Yes
    }

    pub(crate) fn claim(&self, key: &[u8]) -> Option<Claim> {
        self.claims.get(key).cloned()
    }

    pub(crate) fn set_claim(&mut self, key: Vec<u8>, expected: Option<Id>, claim: Option<Claim>) -> Applied {
        if self.claims.get(&key).map(|claim| claim.id) != expected {
            return Applied::No;
        }
        match claim {
            Some(claim) => self.claims.insert(key, claim),
            None => self.claims.remove(&key),
        };
        Applied::Yes
    }
}
