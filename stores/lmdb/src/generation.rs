//! Commits that are in memory and go into the file together.
//!
//! ```text
//! bytes   │ key │ value │ key │ value │ value │ …    as they came
//! keys    │ where it lies, its newest version │ …    as they first came, and a hash table to find them by
//! order   the same keys, sorted: those that came last join it now and then, and when someone scans
//! ```
//!
//! So a commit costs a copy and an entry of the hash table, which also says of most keys that are not here, and that is
//! nearly all that are asked for, that they are not. The order has a lock of its own: commits go on while keys join it.
//!
//! A key has a version for each commit that someone may still ask for: those who read see the newest that is
//! [visible](crate::buffer), a snapshot the newest of its time, and a condition the newest of all.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::fmt;
use std::ops::Bound;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hashbrown::HashTable;
use keyloom_key::Span;
use keyloom_store::bloom::hash;
use keyloom_store::{Batch, Direction, Sequence};

use crate::arena::{Arena, Place};
use crate::prefetch::fetch;

/// Whole commits, one after the other.
#[derive(Debug)]
pub(crate) struct Generation {
    /// The first keys, each with its number. Taken before the rows, never behind them.
    order: RwLock<Order>,
    rows: RwLock<Rows>,
    /// Held by whoever waits to add rows: who reads for long [lets](Self::let_in) them in, or would always be there first.
    turn: Mutex<()>,
    /// Which of the two logs has them.
    pub(crate) log: usize,
}

type Order = BTreeMap<Ordered<'static>, Here>;

/// Which key it is, and where it lies, so that it can be asked for together with what is known of it.
#[derive(Debug, Clone, Copy)]
struct Here {
    number: u32,
    place: Place,
}

/// A key in the order. Its first bytes stand where the tree has it, so that most comparisons look nowhere else.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ordered<'k> {
    /// With zeros behind a shorter key: among those that are equal here, the keys themselves decide.
    head: [u64; 3],
    key: Cow<'k, [u8]>,
}

impl Ordered<'_> {
    fn into_owned(self) -> Ordered<'static> {
        Ordered { head: self.head, key: Cow::Owned(self.key.into_owned()) }
    }
}

impl<'k> From<&'k [u8]> for Ordered<'k> {
    fn from(key: &'k [u8]) -> Self {
        let mut head = [0; 24];
        match key.first_chunk() {
            Some(first) => head = *first,
            None => head.iter_mut().zip(key).for_each(|(place, byte)| *place = *byte),
        }
        let (words, _) = head.as_chunks();
        let mut words = words.iter().map(|word| u64::from_be_bytes(*word));
        Self { head: std::array::from_fn(|_| words.next().unwrap_or(0)), key: key.into() }
    }
}

/// The rows of a generation.
#[derive(Default)]
pub(crate) struct Rows {
    bytes: Arena,
    keys: Vec<Key>,
    /// The number of each key, and the part of its hash that it is found by.
    numbers: HashTable<(u32, u32)>,
    /// Versions that are not the newest of their key.
    older: Vec<Version>,
    /// The sequences of the first commit and of the last; `None` if there is none.
    first: Option<Sequence>,
    pub(crate) last: Option<Sequence>,
}

#[derive(Debug, Clone, Copy)]
struct Key {
    place: Place,
    newest: Version,
}

/// A value of a key from a commit on.
#[derive(Debug, Clone, Copy)]
struct Version {
    sequence: Sequence,
    /// `None` where the key was deleted.
    value: Option<Place>,
    /// The number of the one before it among the older ones.
    before: Option<u32>,
}

impl Generation {
    /// An empty one.
    pub(crate) fn new(log: usize) -> Self {
        Self { order: RwLock::default(), rows: RwLock::default(), turn: Mutex::default(), log }
    }

    // A panic while a lock is held leaves whole rows: they are changed by steps that cannot fail.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Rows> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Rows> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.rows.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for those who wait to add rows. The caller has none of them.
    pub(crate) fn let_in(&self) {
        drop(self.turn.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn order(&self) -> RwLockWriteGuard<'_, Order> {
        self.order.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the keys that are here now into their order.
    pub(crate) fn sort(&self) {
        let mut order = self.order();
        // Copied, so that commits need not wait until all are in their places.
        let mut loose = self.read().keys_from(order.len());
        loose.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        order.extend(loose);
    }

    /// Its rows when all of them are in their order.
    pub(crate) fn sorted(&self) -> Sorted<'_> {
        loop {
            let order = self.order.read().unwrap_or_else(PoisonError::into_inner);
            let rows = self.read();
            if rows.len() == order.len() {
                return Sorted { order, rows };
            }
            drop((order, rows));
            self.sort();
        }
    }

    /// Forgets all commits after this one.
    pub(crate) fn forget_after(&self, last: Sequence) {
        let mut order = self.order();
        self.write().forget_after(last);
        order.clear();
    }
}

/// Rows in their order. While someone has them, nothing is added.
#[derive(Debug)]
pub(crate) struct Sorted<'g> {
    order: RwLockReadGuard<'g, Order>,
    rows: RwLockReadGuard<'g, Rows>,
}

impl Sorted<'_> {
    /// The sequence of the last commit; `None` if there is none.
    pub(crate) fn last(&self) -> Option<Sequence> {
        self.rows.last
    }

    /// The newest versions, in the order of their keys.
    pub(crate) fn newest(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let newest = |number| self.rows.at(self.rows.numbered(number)?, Sequence(u64::MAX));
        self.order.iter().filter_map(move |(ordered, here)| Some((&*ordered.key, newest(here.number)?)))
    }

    /// What there is of a span at this time.
    pub(crate) fn ahead<'a>(&'a self, span: &'a Span, direction: Direction, time: Sequence) -> Ahead<'a> {
        let order: &'a BTreeMap<Ordered<'a>, Here> = &self.order;
        let (start, end): (Bound<&[u8]>, Bound<&[u8]>) = span.bounds();
        let order = order.range((start.map(Ordered::from), end.map(Ordered::from)));
        Ahead::new(&self.rows, order, direction, time)
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
            self.write(key, value, sequence, needed);
        }
        self.first.get_or_insert(sequence);
        self.last = Some(sequence);
    }

    /// Takes in a write of a commit.
    pub(crate) fn write(&mut self, key: &[u8], value: Option<&[u8]>, sequence: Sequence, needed: Sequence) {
        let hash = hash(key);
        match self.number(key, hash) {
            Some(number) => {
                let value = value.map(|value| self.bytes.add(value));
                let next = u32::try_from(self.older.len()).ok();
                let Some(Key { newest, .. }) = self.keys.get_mut(number) else { return };
                let mut before = newest.before;
                if newest.sequence <= needed {
                    self.older.push(*newest);
                    before = next;
                }
                *newest = Version { sequence, value, before };
            }
            None => {
                // There is room for far fewer.
                let Ok(number) = u32::try_from(self.keys.len()) else { return };
                let place = self.bytes.add(key);
                let value = value.map(|value| self.bytes.add(value));
                self.keys.push(Key { place, newest: Version { sequence, value, before: None } });
                let tag = tag(hash);
                self.numbers.insert_unique(spread(tag), (tag, number), |(tag, _)| spread(*tag));
            }
        }
    }

    /// The number of a key that is here.
    fn number(&self, key: &[u8], hash: u64) -> Option<usize> {
        let tag = tag(hash);
        let is_key = |(other, number): &(u32, u32)| *other == tag && self.key(*number) == Some(key);
        self.numbers.find(spread(tag), is_key).and_then(|(_, number)| usize::try_from(*number).ok())
    }

    fn numbered(&self, number: u32) -> Option<&Key> {
        self.keys.get(usize::try_from(number).ok()?)
    }

    fn key(&self, number: u32) -> Option<&[u8]> {
        Some(self.bytes.get(self.numbered(number)?.place))
    }

    /// How many keys it has.
    fn len(&self) -> usize {
        self.keys.len()
    }

    /// Copies of the keys from this number on.
    fn keys_from(&self, number: usize) -> Vec<(Ordered<'static>, Here)> {
        let keys = self.keys.iter().zip(0..).skip(number);
        let here = |(&Key { place, .. }, number)| {
            (Ordered::from(self.bytes.get(place)).into_owned(), Here { number, place })
        };
        keys.map(here).collect()
    }

    fn forget_after(&mut self, last: Sequence) {
        let kept = std::mem::take(self);
        if kept.last.is_none() {
            return;
        }
        for (number, key) in (0..).zip(&kept.keys) {
            let mut versions: Vec<&Version> =
                kept.versions(key).filter(|version| version.sequence <= last).collect();
            versions.reverse();
            for version in versions {
                let value = version.value.map(|place| kept.bytes.get(place));
                self.write(kept.key(number).unwrap_or_default(), value, version.sequence, Sequence(u64::MAX));
            }
        }
        self.first = kept.first.filter(|first| *first <= last);
        self.last = kept.last.filter(|_| self.first.is_some()).map(|had| had.min(last));
    }

    /// The versions of a key, the newest first.
    fn versions<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = &'a Version> {
        let before = |version: &&Version| self.older.get(usize::try_from(version.before?).ok()?);
        std::iter::successors(Some(&key.newest), before)
    }

    /// The value of a key at this time: `None` if it was not written until then.
    fn at(&self, key: &Key, time: Sequence) -> Option<Option<&[u8]>> {
        let version = self.versions(key).find(|version| version.sequence <= time)?;
        Some(version.value.map(|place| self.bytes.get(place)))
    }

    /// Asks for the bytes of a key and of its newest value.
    fn fetch(&self, key: &Key) {
        fetch(self.bytes.get(key.place));
        fetch(key.newest.value.map(|value| self.bytes.get(value)).unwrap_or_default());
    }

    /// What it has of `key` at this time: `None` if nothing, `Some(None)` if it is deleted.
    pub(crate) fn get(&self, key: &[u8], hash: u64, time: Sequence) -> Option<Option<&[u8]>> {
        self.at(self.keys.get(self.number(key, hash)?)?, time)
    }
}

/// The part of a hash that is kept.
fn tag(hash: u64) -> u32 {
    u32::try_from(hash >> 32).unwrap_or(0)
}

/// The hash that the table goes by: it looks at the first bits and at the last.
fn spread(tag: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(tag)
}

/// Rows of a span, in the direction of a scan: each key with its value, or `None` if it is deleted.
#[derive(Debug)]
pub(crate) struct Ahead<'a> {
    rows: &'a Rows,
    order: Range<'a, Ordered<'a>, Here>,
    /// The next rows, whose memory is on its way, in a ring: the first is at this place.
    next: [Option<&'a Key>; FETCHED],
    first: usize,
    direction: Direction,
    time: Sequence,
}

/// How many rows are asked for before they are needed, and how much of each: behind a key its first value lies.
const FETCHED: usize = 4;
const FETCHED_BYTES: usize = 192;

impl<'a> Ahead<'a> {
    fn new(
        rows: &'a Rows,
        order: Range<'a, Ordered<'a>, Here>,
        direction: Direction,
        time: Sequence,
    ) -> Self {
        let mut ahead = Self { rows, order, next: [None; FETCHED], first: 0, direction, time };
        for _ in 0..FETCHED {
            ahead.step();
        }
        ahead
    }

    /// Takes the first of the next rows, and another joins them.
    fn step(&mut self) -> Option<&'a Key> {
        let joins = match self.direction {
            Direction::Forward => self.order.next(),
            Direction::Backward => self.order.next_back(),
        };
        let joins = joins.and_then(|(_, here)| {
            fetch(self.rows.bytes.from(here.place, FETCHED_BYTES));
            self.rows.numbered(here.number)
        });
        if let Some(key) = joins {
            fetch(std::slice::from_ref(key));
        }
        let first = std::mem::replace(self.next.get_mut(self.first)?, joins);
        self.first = (self.first + 1) % FETCHED;
        first
    }
}

impl<'a> Iterator for Ahead<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let key = self.step()?;
            if let Some(Some(next)) = self.next.get(self.first) {
                self.rows.fetch(next);
            }
            if let Some(value) = self.rows.at(key, self.time) {
                return Some((self.rows.bytes.get(key.place), value));
            }
        }
    }
}

#[cfg(test)]
mod tests;
