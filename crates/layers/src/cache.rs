//! The cache: what gets have found, as long as nobody has written it.
//!
//! Every key belongs to a slot, which counts the commits that have begun with one of its keys and those that have not
//! ended. A read notes the count, reads the store, and leaves what it found with its note; an entry is used only while
//! its slot has not moved. So a read that began before a commit may leave what is old, and nobody uses it.
//!
//! ```text
//! slot │ commits begun, 40 bits │ on their way, 24 bits │
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quick_cache::sync;

use crate::layers::CacheOptions;

/// One commit that has begun and is on its way.
const BEGUN: u64 = (1 << 24) + 1;
const ON_THEIR_WAY: u64 = (1 << 24) - 1;
/// What an entry takes beside its key and value.
const OVERHEAD: usize = 96;

/// Values by their keys.
#[derive(Debug)]
pub(crate) struct Cache {
    entries: sync::Cache<Box<[u8]>, Entry, Weight>,
    slots: Box<[AtomicU64]>,
    time_to_live: Duration,
}

/// What a slot was before the store was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Note(u64);

/// What the cache says of a key.
pub(crate) enum Cached {
    /// Its value, or `None` if it is not there.
    Known(Option<Arc<[u8]>>),
    /// Nothing: read the store, and leave what it says with this note.
    Unknown(Note),
    /// Nothing, and it is being written: read the store.
    Moving,
}

#[derive(Debug, Clone)]
struct Entry {
    value: Option<Arc<[u8]>>,
    note: Note,
    read: Instant,
}

#[derive(Debug, Clone)]
struct Weight;

impl quick_cache::Weighter<Box<[u8]>, Entry> for Weight {
    fn weight(&self, key: &Box<[u8]>, entry: &Entry) -> u64 {
        let value = entry.value.as_ref().map_or(0, |value| value.len());
        (key.len() + value + OVERHEAD) as u64
    }
}

impl Cache {
    pub(crate) fn new(CacheOptions { bytes, time_to_live }: CacheOptions) -> Self {
        let entries = sync::Cache::with_weighter(bytes / 256, bytes as u64, Weight);
        // A commit moves all keys of a slot, so there are many: they take a hundredth of the cache, and 8 MiB at most.
        let slots = (bytes / 1_024).clamp(64, 1 << 20).next_power_of_two();
        Self {
            entries,
            slots: std::iter::repeat_with(AtomicU64::default).take(slots).collect(),
            time_to_live,
        }
    }

    fn slot(&self, hash: u64) -> Option<&AtomicU64> {
        let number = usize::try_from(hash).unwrap_or(usize::MAX) & (self.slots.len() - 1);
        self.slots.get(number)
    }

    /// Looks for a key.
    pub(crate) fn get(&self, key: &[u8], hash: u64) -> Cached {
        // Before the entry: if nothing has begun by now, what the entry says is so.
        let now = self.slot(hash).map_or(ON_THEIR_WAY, |slot| slot.load(Ordering::Acquire));
        if now & ON_THEIR_WAY != 0 {
            return Cached::Moving;
        }
        let note = Note(now);
        match self.entries.get(key) {
            Some(entry) if entry.note == note && entry.read.elapsed() < self.time_to_live => {
                Cached::Known(entry.value)
            }
            _ => Cached::Unknown(note),
        }
    }

    /// Leaves what the store has said.
    pub(crate) fn leave(&self, key: &[u8], value: Option<Arc<[u8]>>, note: Note) {
        self.entries.insert(key.into(), Entry { value, note, read: Instant::now() });
    }

    /// A commit of these keys is about to begin.
    pub(crate) fn begin(&self, hashes: &[u64]) {
        for slot in hashes.iter().filter_map(|hash| self.slot(*hash)) {
            slot.fetch_add(BEGUN, Ordering::AcqRel);
        }
    }

    /// The commit has ended.
    pub(crate) fn end(&self, hashes: &[u64]) {
        for slot in hashes.iter().filter_map(|hash| self.slot(*hash)) {
            slot.fetch_sub(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn entries(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.entries.weight()
    }
}

#[cfg(test)]
mod tests;
