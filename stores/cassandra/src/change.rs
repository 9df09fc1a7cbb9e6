//! Splits, moves and merges, step by step: rows go to a fresh shard while they are written and read.
//!
//! ```text
//!  Active    [a                z) P
//!  Announce  [a                z) P     deletions from m on go to C too        wait
//!  Prepare   [a                z) P     insertions too                         wait, copy P from m on to C
//!  one swap  [a      m) P  [m  z) C     Echo: writes go to P too               wait
//!            [a      m) P  [m  z) C     Clear: P from m on is nobody's         delete it
//!  Active    [a      m) P  [m  z) C
//! ```
//!
//! - To wait is to let every copy of the map expire that does not have the last step. To delete needs none: nobody reads
//!   that any more, and what is still written there lies under the deletion, whose time is ahead.
//! - A move is a split at the range's start. A merge is several moves into one shard, each step one swap.
//! - The shard is always a fresh one: in a partition that ever had a range deletion, copies would lie under it.
//! - Whoever finds a step done waits himself and does the next, so anyone can go on where another stopped. Of two who do
//!   the same, one swaps; what both copy or delete is the same.
//! - A change that began too long ago goes from Announce or Prepare to Clear.

use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::Direction;

use crate::cache::Place;
use crate::cluster::{Cluster, Fault, Range, Space, State};
use crate::id::Id;
use crate::order::Order;
use crate::page::page;

/// How many rows are copied at once.
const COPY: usize = 500;

/// How often a change is begun anew that others undo, or abandon because a clock is wrong.
const BEGINNINGS: usize = 4;

impl<C: Cluster> Order<C> {
    /// Splits the range of a key there: the key is the first of a range when it returns.
    pub async fn split(&self, key: &[u8]) -> Result<(), Fault> {
        let (space, map) = (Space::of(key), &self.shared.map);
        let mut begun = 0;
        while begun < BEGINNINGS {
            match map.settled(space, Place::At(key)).await? {
                None => map.create(space, &[]).await?,
                Some(range) if range.state != State::Active => self.finish(space, key).await?,
                Some(range) if range.start == key => return Ok(()),
                Some(range) => {
                    begun += 1;
                    let new = self.announce(&range, map.id(), key);
                    map.swap(space, &[range], &[new]).await?;
                }
            }
        }
        Err(undone("split", key))
    }

    /// Joins the range that starts at a key with the one before it: no range starts there when it returns.
    pub async fn merge(&self, key: &[u8]) -> Result<(), Fault> {
        let (space, map) = (Space::of(key), &self.shared.map);
        let mut begun = 0;
        while begun < BEGINNINGS {
            let Some(range) = map.settled(space, Place::At(key)).await? else { return Ok(()) };
            if range.state != State::Active {
                self.finish(space, key).await?;
                continue;
            }
            if range.start != key || key.is_empty() {
                return Ok(());
            }
            let Some(before) = map.settled(space, Place::Before(Some(key))).await? else { return Ok(()) };
            if before.state != State::Active {
                self.finish(space, &before.start).await?;
                continue;
            }
            begun += 1;
            let to = map.id();
            let new = [&before, &range].map(|range| self.announce(range, to, &range.start));
            map.swap(space, &[before, range], &new).await?;
        }
        Err(undone("merge", key))
    }

    /// Moves the rows of a key's range to a fresh shard.
    pub async fn relocate(&self, key: &[u8]) -> Result<(), Fault> {
        let (space, map) = (Space::of(key), &self.shared.map);
        let (mut old, mut begun) = (None, 0);
        while begun < BEGINNINGS {
            let Some(range) = map.settled(space, Place::At(key)).await? else { return Ok(()) };
            if range.state != State::Active {
                self.finish(space, key).await?;
                continue;
            }
            if *old.get_or_insert(range.shard) != range.shard {
                return Ok(());
            }
            begun += 1;
            let new = self.announce(&range, map.id(), &range.start);
            map.swap(space, &[range], &[new]).await?;
        }
        Err(undone("move", key))
    }

    /// Finishes what is being done with the range of a key.
    pub(crate) async fn finish(&self, space: Space, key: &[u8]) -> Result<(), Fault> {
        let mut key = key.to_vec();
        while let Some(next) = self.step(space, &key).await? {
            key = next;
        }
        Ok(())
    }

    /// Does the next step of what is being done with the range of a key, and returns the key whose range is next; `None`
    /// if there is nothing to do.
    async fn step(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let began = self.cluster().monotonic();
        let Some(range) = self.shared.map.settled(space, Place::At(key)).await? else { return Ok(None) };
        let next = match &range.state {
            State::Active => return Ok(None),
            State::Announce { from, .. } | State::Prepare { from, .. } => from.clone(),
            State::Echo { .. } | State::Clear { .. } => range.start.clone(),
        };
        let group = self.group(space, range).await?;
        let old = group.iter().any(|range| self.is_too_old(&range.state));
        if !old {
            if !group.iter().any(|range| matches!(range.state, State::Clear { .. })) {
                self.cluster().sleep(self.shared.settings.wait()).await;
            }
            for range in &group {
                self.rows_of_step(space, range, began).await?;
            }
        }
        if let Some(new) = if old { abandoned(&group) } else { advanced(&group) } {
            self.shared.map.swap(space, &group, &new).await?;
        }
        Ok(Some(next))
    }

    /// Copies or deletes what must be before a range takes its next step.
    async fn rows_of_step(&self, space: Space, range: &Range, began: Duration) -> Result<(), Fault> {
        match &range.state {
            State::Prepare { to, from, .. } => {
                let mut rest = Some(Span { start: from.clone(), end: range.end.clone() });
                while let Some(span) = rest {
                    let shard = (space, range.shard);
                    let found = page(self.cluster().as_ref(), shard, &span, Direction::Forward, COPY).await?;
                    // Deletions in the new shard must not be forgotten before copies come.
                    if self.cluster().monotonic().saturating_sub(began) > self.shared.settings.abandon {
                        return Err(Fault::Unknown(
                            "copying a shard took too long: it begins anew".to_owned(),
                        ));
                    }
                    if !found.rows.is_empty() {
                        self.cluster().insert(space, *to, &found.rows).await?;
                    }
                    rest = found.rest;
                }
            }
            State::Clear { of } => {
                for (shard, span) in of {
                    self.cluster().delete_span(space, *shard, span).await?;
                }
            }
            State::Active | State::Announce { .. } | State::Echo { .. } => {}
        }
        Ok(())
    }

    /// A range with its neighbours that go to the same shard.
    async fn group(&self, space: Space, range: Range) -> Result<Vec<Range>, Fault> {
        let map = &self.shared.map;
        let Some(to) = moves_to(&range) else { return Ok(vec![range]) };
        let (mut first, mut end) = (range.start.clone(), range.end.clone());
        let mut group = vec![range];
        while !first.is_empty()
            && let Some(before) = map.settled(space, Place::Before(Some(&first))).await?
            && moves_to(&before) == Some(to)
        {
            first = before.start.clone();
            group.insert(0, before);
        }
        while let Some(start) = &end
            && let Some(next) = map.settled(space, Place::At(start)).await?
            && moves_to(&next) == Some(to)
        {
            end = next.end.clone();
            group.push(next);
        }
        Ok(group)
    }

    /// A range whose rows from a key on are to go to a fresh shard.
    fn announce(&self, range: &Range, to: Id, from: &[u8]) -> Range {
        let state = State::Announce { to, from: from.to_vec(), since: self.cluster().wall() };
        Range { state, epoch: range.epoch + 1, ..range.clone() }
    }

    fn is_too_old(&self, state: &State) -> bool {
        match state {
            State::Announce { since, .. } | State::Prepare { since, .. } => {
                // Also if it seems to begin later than now: a clock is wrong, and it may be old.
                let age = self.cluster().wall().abs_diff(*since);
                u128::from(age) > self.shared.settings.abandon.as_micros()
            }
            State::Active | State::Echo { .. } | State::Clear { .. } => false,
        }
    }
}

fn undone(what: &str, key: &[u8]) -> Fault {
    let key = key.escape_ascii();
    Fault::Unknown(format!(
        "others undid or abandoned the {what} at {key}: try again, and look at the clocks"
    ))
}

/// The shard that all rows of a range are to go to, not only some.
fn moves_to(range: &Range) -> Option<Id> {
    match &range.state {
        State::Announce { to, from, .. } | State::Prepare { to, from, .. } if *from == range.start => {
            Some(*to)
        }
        _ => None,
    }
}

/// What comes of ranges when what their states say is done; `None` if they were read while another changed them.
fn advanced(group: &[Range]) -> Option<Vec<Range>> {
    let epoch = group.iter().map(|range| range.epoch).max()? + 1;
    let (first, last) = (group.first()?, group.last()?);
    if let State::Prepare { to, from, .. } = &first.state {
        let left = Range { end: Some(from.clone()), epoch, state: State::Active, ..first.clone() };
        let moved = group.iter().map(|range| match &range.state {
            State::Prepare { from, .. } => {
                Some((range.shard, Span { start: from.clone(), end: range.end.clone() }))
            }
            _ => None,
        });
        let state = State::Echo { to: moved.collect::<Option<_>>()? };
        let right = Range { start: from.clone(), end: last.end.clone(), shard: *to, epoch, state };
        return Some(
            [left, right].into_iter().filter(|range| range.end.as_ref() != Some(&range.start)).collect(),
        );
    }
    let next = group.iter().map(|range| {
        let state = match range.state.clone() {
            State::Announce { to, from, since } => State::Prepare { to, from, since },
            State::Echo { to } => State::Clear { of: to },
            State::Clear { .. } => State::Active,
            State::Prepare { .. } | State::Active => return None,
        };
        Some(Range { epoch, state, ..range.clone() })
    });
    next.collect()
}

/// What comes of ranges when what was begun is given up: the shard that it was for goes.
fn abandoned(group: &[Range]) -> Option<Vec<Range>> {
    let epoch = group.iter().map(|range| range.epoch).max()? + 1;
    let cleared = group.iter().map(|range| match range.state.clone() {
        State::Announce { to, from, .. } | State::Prepare { to, from, .. } => {
            let of = vec![(to, Span { start: from, end: range.end.clone() })];
            Some(Range { epoch, state: State::Clear { of }, ..range.clone() })
        }
        _ => None,
    });
    cleared.collect()
}
