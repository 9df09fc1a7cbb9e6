//! How long the prefixes are by which pages are dropped.
//!
//! A page of a scan belongs to the slot of a prefix that all keys of its span have, so a commit has to mark the slots of
//! its keys' prefixes: not of every length, but of those that pages have. A length comes into use when a scan asks for it:
//! from then on commits are told, and when the last one that was not told has ended, pages may have it. What was written
//! before is not in the slots of that length, so a state that is older than it has no pages.
//!
//! ```text
//! told   4 12 20    commits that begin now mark the prefixes of these lengths
//! ready  4 12       so does every commit on its way
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::slots::{AtomicMoment, Moment, Slots};

/// The most lengths: each costs every write of a key.
const MOST: u32 = 16;
/// The longest.
const LONGEST: usize = 63;

/// The lengths in use, each a bit.
#[derive(Debug, Default)]
pub(crate) struct Lengths {
    ready: AtomicU64,
    /// When the last became ready: whatever ends later was told of it.
    since: AtomicMoment,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    told: u64,
    /// Where commits that begin now are counted.
    lane: usize,
    /// Commits on their way: those that were told all, and in the other lane those that may not have been.
    on_their_way: [usize; 2],
    /// A commit may come to be at any time, and knows no length that comes into use now.
    lost: bool,
}

/// What a commit was told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    lane: usize,
    lengths: u64,
}

impl Told {
    /// The lengths, ascending.
    pub(crate) fn lengths(self) -> impl Iterator<Item = usize> {
        let mut left = self.lengths;
        std::iter::from_fn(move || {
            let length = left.trailing_zeros();
            left &= left.checked_sub(1)?;
            usize::try_from(length).ok()
        })
    }
}

impl Lengths {
    // A panic while the lock is held leaves the state whole: it is only changed by steps that cannot fail.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The longest length up to this that pages may have, those of a state too. Asks for this one, if it is none.
    pub(crate) fn up_to(&self, length: usize, state: Option<Moment>, slots: &Slots) -> Option<usize> {
        let bit = 1 << length.min(LONGEST);
        let mut ready = self.ready.load(Ordering::Acquire);
        if ready & bit == 0 && ready.count_ones() < MOST && length > 0 {
            ready = self.ask(bit, slots);
        }
        if state.is_some_and(|state| state < self.since.load()) {
            return None;
        }
        (ready & (bit | (bit - 1))).checked_ilog2().and_then(|longest| usize::try_from(longest).ok())
    }

    fn ask(&self, bit: u64, slots: &Slots) -> u64 {
        let mut state = self.state();
        let ready = self.ready.load(Ordering::Acquire);
        // One at a time: there are two lanes.
        if state.told != ready || state.told & bit != 0 {
            return ready;
        }
        state.told |= bit;
        state.lane = 1 - state.lane;
        self.settle(&state, slots)
    }

    /// All that commits are told is ready, unless one is on its way that was not.
    fn settle(&self, state: &State, slots: &Slots) -> u64 {
        let ready = self.ready.load(Ordering::Acquire);
        let untold = state.on_their_way.get(1 - state.lane).copied().unwrap_or_default();
        if untold > 0 || state.lost || ready == state.told {
            return ready;
        }
        // Before it is ready: whoever sees the length sees since when.
        self.since.store(slots.now());
        self.ready.store(state.told, Ordering::Release);
        state.told
    }

    /// A commit is about to mark its slots.
    pub(crate) fn begin(&self) -> Told {
        let mut state = self.state();
        let lane = state.lane;
        state.count(lane, |count| count + 1);
        Told { lane, lengths: state.told }
    }

    /// The commit has ended, or nobody knows whether it will.
    pub(crate) fn end(&self, told: Told, lost: bool, slots: &Slots) {
        let mut state = self.state();
        state.count(told.lane, |count| count.saturating_sub(1));
        state.lost |= lost;
        self.settle(&state, slots);
    }
}

impl State {
    fn count(&mut self, lane: usize, change: impl Fn(usize) -> usize) {
        if let Some(count) = self.on_their_way.get_mut(lane) {
            *count = change(*count);
        }
    }
}

#[cfg(test)]
mod tests;
