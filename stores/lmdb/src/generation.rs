//! Commits that are in memory and go into the file together.
//!
//! A key has a version for each commit that someone may still ask for: those who read see the newest that is
//! [visible](crate::buffer), a snapshot the newest of its time, and a condition the newest of all. A filter in front says
//! of most keys that are not here, which is nearly all that are asked for, that they are not.

use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::fmt;
use std::ops::Bound;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use keyloom_key::Span;
use keyloom_store::{Batch, Direction, Sequence};
use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64;

/// Whole commits, one after the other.
#[derive(Debug)]
pub(crate) struct Generation {
    rows: RwLock<Rows>,
    /// Which of the two logs has them.
    pub(crate) log: usize,
}

/// The rows of a generation.
pub(crate) struct Rows {
    keys: BTreeMap<Vec<u8>, Versions>,
    filter: Filter,
    /// The sequence of the last commit; `None` if there is none.
    pub(crate) last: Option<Sequence>,
    /// How many writes the commits have, and how many bytes.
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
}

/// The values of a key, the newest last; `None` where it was deleted.
#[derive(Debug, Default)]
struct Versions(SmallVec<[(Sequence, Option<Vec<u8>>); 1]>);

impl Versions {
    /// The value at this time: `None` if it was not written until then.
    fn at(&self, time: Sequence) -> Option<Option<&[u8]>> {
        let version = self.0.iter().rev().find(|(sequence, _)| *sequence <= time)?;
        Some(version.1.as_deref())
    }
}

impl Generation {
    /// An empty one, made for so many writes.
    pub(crate) fn new(entries: usize, log: usize) -> Self {
        let filter = Filter::new(entries);
        let rows = Rows { keys: BTreeMap::new(), filter, last: None, entries: 0, bytes: 0 };
        Self { rows: RwLock::new(rows), log }
    }

    // A panic while the lock is held leaves whole rows: they are changed by steps that cannot fail.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Rows> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Rows> {
        self.rows.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("keys", &self.keys.len())
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

impl Rows {
    /// Takes in a commit. Versions after `needed` that it replaces are forgotten.
    pub(crate) fn commit(&mut self, batch: &Batch, sequence: Sequence, needed: Sequence) {
        for (key, value) in batch.writes() {
            self.filter.add(key);
            let version = (sequence, value.map(<[u8]>::to_vec));
            let Versions(versions) = self.keys.entry(key.to_vec()).or_default();
            match versions.last_mut() {
                Some(last) if last.0 > needed => *last = version,
                _ => versions.push(version),
            }
        }
        self.last = Some(sequence);
        self.entries += batch.writes().len().max(1);
        self.bytes += batch.size();
    }

    /// Forgets all commits after this one.
    pub(crate) fn forget_after(&mut self, last: Sequence) {
        self.keys.retain(|_, Versions(versions)| {
            versions.retain(|(sequence, _)| *sequence <= last);
            !versions.is_empty()
        });
        self.last = self.last.filter(|_| !self.keys.is_empty()).map(|had| had.min(last));
        if self.last.is_none() {
            (self.entries, self.bytes) = (0, 0);
        }
    }

    /// What it has of `key` at this time: `None` if nothing, `Some(None)` if it is deleted.
    pub(crate) fn get(&self, key: &[u8], hash: u64, time: Sequence) -> Option<Option<&[u8]>> {
        if !self.filter.may_have(hash) {
            return None;
        }
        self.keys.get(key)?.at(time)
    }

    /// The newest versions, in the order of their keys.
    pub(crate) fn newest(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.keys.iter().filter_map(|(key, Versions(versions))| {
            versions.last().map(|(_, value)| (key.as_slice(), value.as_deref()))
        })
    }

    /// How many keys it has.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// What it has of a span at this time; `None` if nothing.
    pub(crate) fn ahead(&self, span: &Span, direction: Direction, time: Sequence) -> Option<Ahead<'_>> {
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = span.bounds();
        let rows = self.keys.range::<[u8], _>(bounds);
        rows.clone().next().is_some().then_some(Ahead { rows, direction, time })
    }
}

/// The hash by which filters know a key.
pub(crate) fn hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}

/// Rows of a span, in the direction of a scan: each key with its value, or `None` if it is deleted.
#[derive(Debug)]
pub(crate) struct Ahead<'a> {
    rows: Range<'a, Vec<u8>, Versions>,
    direction: Direction,
    time: Sequence,
}

impl<'a> Iterator for Ahead<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (key, versions) = match self.direction {
                Direction::Forward => self.rows.next()?,
                Direction::Backward => self.rows.next_back()?,
            };
            if let Some(value) = versions.at(self.time) {
                return Some((key, value));
            }
        }
    }
}

/// A Bloom filter: four bits a key, all in one word, 16 bits of room for each of the keys that it is made for.
struct Filter {
    words: Vec<u64>,
}

/// The most keys that a filter is made for: half a mebibyte of room.
const MOST: usize = 1 << 18;

impl Filter {
    fn new(keys: usize) -> Self {
        Self { words: vec![0; keys.clamp(64, MOST).next_power_of_two() / 4] }
    }

    /// The word of a hash, and its bits there.
    fn place(&self, hash: u64) -> (usize, u64) {
        let mask = u64::try_from(self.words.len()).unwrap_or(1) - 1;
        let word = usize::try_from((hash >> 32) & mask).unwrap_or(0);
        let bits = [hash, hash >> 6, hash >> 12, hash >> 18].into_iter();
        (word, bits.fold(0, |bits, bit| bits | 1 << (bit & 63)))
    }

    fn add(&mut self, key: &[u8]) {
        let (word, bits) = self.place(hash(key));
        if let Some(word) = self.words.get_mut(word) {
            *word |= bits;
        }
    }

    fn may_have(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        self.words.get(word).is_some_and(|word| word & bits == bits)
    }
}

#[cfg(test)]
mod tests;
