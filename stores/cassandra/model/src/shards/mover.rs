//! The steps of a split or a merge.

use super::{Broken, Map, Phase, Place, Shards, State};

/// What a mover does next. Each step carries the map that the mover saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Mover {
    Look,
    Announce(Map),
    /// One swap to the next phase, after a wait: Announce → Prepare, Echo → Clear.
    Advance(Map),
    Copy(Map),
    Swap(Map),
    SwapRest(Map),
    Clear(Map),
    Done,
}

impl Shards {
    /// What a mover does about the map that it sees; nothing about a hole.
    fn look(&self, mover: usize, state: &State) -> Option<Mover> {
        let (key, map) = (self.moving()[0], state.map);
        let place = map.places[key]?;
        let taken = state.taken >> self.fresh(mover) & 1 == 1;
        Some(match place.state {
            Phase::Active if place.shard == self.origin(key) && !taken => Mover::Announce(map),
            Phase::Active => Mover::Done,
            Phase::Announce { .. } | Phase::Echo { .. } => Mover::Advance(map),
            Phase::Prepare { .. } => Mover::Copy(map),
            Phase::Clear { .. } => Mover::Clear(map),
        })
    }

    /// Makes one state of many that go on alike: a look changes nothing, a mover whose condition cannot hold any more does
    /// nothing but look again, and a statement whose effect is there has ended.
    pub(super) fn settle(&self, state: &mut State) {
        if !self.is(Broken::NoEpoch) && !self.is(Broken::TwoWrites) {
            for mover in [0, 1] {
                let lost = match state.movers[mover] {
                    Mover::Look => true,
                    Mover::Announce(seen) | Mover::Advance(seen) | Mover::Swap(seen) => {
                        seen.version != state.map.version
                    }
                    _ => false,
                };
                if lost {
                    state.movers[mover] = self.look(mover, state).unwrap_or(Mover::Look);
                }
            }
        }
        for (number, shard) in state.shards.iter().enumerate() {
            state.inserts[number] &= !shard.inserted;
            state.deletes[number] &= !shard.deleted;
            if !self.is(Broken::CopiedAsNew) {
                state.copies[number] &= !shard.inserted;
            }
        }
    }

    /// Takes the mover's next step; none while it has to wait.
    pub(super) fn step(&self, mover: usize, state: &mut State) -> Option<()> {
        state.movers[mover] = match state.movers[mover] {
            Mover::Look => self.look(mover, state)?,
            Mover::Announce(seen) => {
                let to = self.fresh(mover);
                let first =
                    if self.is(Broken::NoAnnounce) { Phase::Prepare { to } } else { Phase::Announce { to } };
                self.swap(state, seen, |_, place| Some(Place { state: first, ..place }));
                state.taken |= 1 << to;
                Mover::Look
            }
            Mover::Advance(seen) if self.waited(state, seen) => {
                self.swap(state, seen, |_, place| {
                    let state = match place.state {
                        Phase::Announce { to } => Phase::Prepare { to },
                        Phase::Echo { to } => Phase::Clear { of: to },
                        other => other,
                    };
                    Some(Place { state, ..place })
                });
                Mover::Look
            }
            Mover::Copy(seen) if self.waited(state, seen) => {
                for &key in self.moving() {
                    if let Some(Place { shard, state: Phase::Prepare { to } }) = seen.places[key] {
                        state.copies[to] |= state.shards[shard].rows(key);
                    }
                }
                Mover::Swap(seen)
            }
            Mover::Swap(seen) => {
                let under_way = seen.places.iter().flatten().any(|place| match place.state {
                    Phase::Prepare { to } => state.copies[to] != 0,
                    _ => false,
                });
                if under_way {
                    return None;
                }
                if self.is(Broken::TwoWrites) {
                    self.swap(state, seen, |_, _| None);
                    Mover::SwapRest(seen)
                } else {
                    self.swap(state, seen, |_, place| Some(moved(place)));
                    Mover::Look
                }
            }
            Mover::SwapRest(seen) => {
                let hole = Map { version: seen.version + 1, ..seen };
                self.swap(state, hole, |_, place| Some(moved(place)));
                Mover::Look
            }
            // Also by one that is late: nobody comes back to a shard that was left.
            Mover::Clear(seen) if self.waited(state, seen) => {
                for &key in self.moving() {
                    if let Some(Place { state: Phase::Clear { of }, .. }) = seen.places[key] {
                        state.shards[of].cleared |= 1 << key;
                    }
                }
                self.swap(state, seen, |_, place| Some(Place { state: Phase::Active, ..place }));
                Mover::Look
            }
            Mover::Advance(_) | Mover::Copy(_) | Mover::Clear(_) | Mover::Done => return None,
        };
        Some(())
    }

    /// Gives a change up, as if it were too old: the fresh shard is cleared, and the next one takes another.
    pub(super) fn abandon(&self, mover: usize, state: &mut State) -> Option<()> {
        let (Mover::Copy(seen) | Mover::Advance(seen)) = state.movers[mover] else { return None };
        let (Phase::Announce { to } | Phase::Prepare { to }) = seen.places[1]?.state else { return None };
        self.swap(state, seen, |_, place| Some(Place { state: Phase::Clear { of: to }, ..place }));
        state.movers[mover] = Mover::Look;
        Some(())
    }
}

/// The place after the swap.
fn moved(place: Place) -> Place {
    match place.state {
        Phase::Prepare { to } => Place { shard: to, state: Phase::Echo { to: place.shard } },
        _ => place,
    }
}
