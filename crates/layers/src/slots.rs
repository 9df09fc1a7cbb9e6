//! Which keys are being written, and when they last were.
//!
//! Every key and every prefix belongs to a slot, which counts the commits on their way that write there, and has the number
//! of the last that ended: commits are numbered in the order in which they end. Who reads the store notes the slot
//! before, and what he has read is so as long as the slot is as he noted it. A commit marks its slots before the store has
//! it, so nothing old is used once the new can be seen.
//!
//! ```text
//! slot │ the last that ended, 48 bits │ on their way, 16 bits │
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

const ON_THEIR_WAY: u64 = (1 << 16) - 1;

/// The slots of all keys.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Box<[AtomicU64]>,
    ended: AtomicU64,
}

/// A slot that nobody was writing to, as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Note {
    slot: usize,
    state: u64,
}

/// A point in the order of commits: all up to it had ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Moment(u64);

/// A [`Moment`] that threads share.
#[derive(Debug, Default)]
pub(crate) struct AtomicMoment(AtomicU64);

impl AtomicMoment {
    pub(crate) fn load(&self) -> Moment {
        Moment(self.0.load(Ordering::Acquire))
    }

    pub(crate) fn store(&self, Moment(moment): Moment) {
        self.0.store(moment, Ordering::Release);
    }
}

impl Slots {
    /// So many, which is a power of two.
    pub(crate) fn new(count: usize) -> Self {
        let slots = std::iter::repeat_with(AtomicU64::default).take(count).collect();
        Self { slots, ended: AtomicU64::new(0) }
    }

    /// The slot of a hash.
    pub(crate) fn of(&self, hash: u64) -> usize {
        usize::try_from(hash).unwrap_or(usize::MAX) & (self.slots.len() - 1)
    }

    /// Notes a slot; `None` while it is being written to, or if it was since a moment that is asked for: then what is
    /// there now is not what was there then.
    pub(crate) fn note(&self, slot: usize, since: Option<Moment>) -> Option<Note> {
        let state = self.slots.get(slot)?.load(Ordering::Acquire);
        let later = since.is_some_and(|Moment(since)| state >> 16 > since);
        (state & ON_THEIR_WAY == 0 && !later).then_some(Note { slot, state })
    }

    /// The moment before what is read next.
    pub(crate) fn now(&self) -> Moment {
        Moment(self.ended.load(Ordering::Acquire))
    }

    fn change(&self, slots: &[usize], change: impl Fn(u64) -> u64) {
        for slot in slots.iter().filter_map(|slot| self.slots.get(*slot)) {
            let changed = |state| (state & ON_THEIR_WAY != ON_THEIR_WAY).then(|| change(state));
            // A slot that is full of commits stays so: nothing of it is cached again, whatever they do.
            let _full = slot.fetch_update(Ordering::AcqRel, Ordering::Acquire, changed);
        }
    }

    /// A commit is about to write to these slots, each of which is named once.
    pub(crate) fn begin(&self, slots: &[usize]) {
        self.change(slots, |state| state + 1);
    }

    /// The commit has ended.
    pub(crate) fn end(&self, slots: &[usize]) {
        let number = self.ended.fetch_add(1, Ordering::AcqRel) + 1;
        // One that ended later may have been here before.
        self.change(slots, |state| ((state >> 16).max(number) << 16) | ((state & ON_THEIR_WAY) - 1));
    }

    /// Whether and when the commit ends is not known.
    pub(crate) fn lose(&self, slots: &[usize]) {
        self.change(slots, |state| state | ON_THEIR_WAY);
    }
}

#[cfg(test)]
mod tests;
