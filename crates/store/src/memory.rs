//! The memory store: a sorted map whose keys have versions, so that snapshots cost nothing to take.
//!
//! ```text
//! "a"  →  3: "new"   1: "old"          a reader at sequence 2 sees "old"
//! "b"  →  2: deleted 1: "gone"         and no "b"
//! ```
//!
//! A version that no snapshot can see any more is dropped when its key is written next, and a deleted key with it
//! when the last snapshot that could see it is gone.

use std::collections::BTreeMap;
use std::future::{Future, ready};
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use keyloom_key::Span;
use smallvec::SmallVec;

use crate::batch::{Batch, Condition};
use crate::capability::Capability;
use crate::error::Error;
use crate::fingerprint::Fingerprinter;
use crate::scan::{Counter, Direction, Limits, Page};
use crate::store::{Read, Sequence, Store};

/// A store in memory. Clones share it.
///
/// ```
/// use keyloom_store::{Batch, Blocking, MemoryStore};
/// let store = Blocking::new(MemoryStore::new());
/// store.commit(Batch::new().put("a", "1"))?;
/// assert_eq!(store.get(b"a", <[u8]>::to_vec)?.as_deref(), Some(b"1".as_slice()));
/// # Ok::<(), keyloom_store::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    shared: Arc<RwLock<State>>,
    snapshot_age: Option<Duration>,
}

#[derive(Debug, Default)]
struct State {
    sequence: u64,
    keys: BTreeMap<Vec<u8>, Versions>,
    /// The snapshots of each sequence that can be read.
    snapshots: BTreeMap<u64, Taken>,
    /// Keys with versions that only a snapshot needs, or that are deleted.
    stale: Vec<Vec<u8>>,
}

/// Snapshots of one sequence: how many there are, and when the last was taken.
#[derive(Debug)]
struct Taken {
    count: usize,
    last: Instant,
}

/// The versions of a key, newest first; `None` is deleted.
#[derive(Debug, Default)]
struct Versions(SmallVec<[(u64, Option<Vec<u8>>); 1]>);

impl Versions {
    fn at(&self, sequence: u64) -> Option<&[u8]> {
        self.0.iter().find(|(version, _)| *version <= sequence)?.1.as_deref()
    }

    /// Drops every version that no one can see: older than the newest that the oldest reader sees.
    fn trim(&mut self, oldest: u64) {
        if let Some(last) = self.0.iter().position(|(version, _)| *version <= oldest) {
            self.0.truncate(last + 1);
        }
    }

    fn is_gone(&self) -> bool {
        matches!(self.0.as_slice(), [] | [(_, None)])
    }
}

impl State {
    /// The oldest sequence that a reader may ask for.
    fn oldest(&self) -> u64 {
        self.snapshots.keys().next().copied().unwrap_or(self.sequence)
    }

    fn get(&self, key: &[u8], sequence: u64) -> Option<&[u8]> {
        self.keys.get(key)?.at(sequence)
    }

    fn rows<'a>(
        &'a self,
        span: &'a Span,
        sequence: u64,
    ) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a [u8])> {
        let rows = self.keys.range::<[u8], _>(span.bounds());
        rows.filter_map(move |(key, versions)| Some((key.as_slice(), versions.at(sequence)?)))
    }

    fn holds(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Absent(key) => self.get(key, self.sequence).is_none(),
            Condition::Is { key, value } => self.get(key, self.sequence) == Some(value),
            Condition::Unchanged { span, fingerprint } => {
                let mut now = Fingerprinter::default();
                self.rows(span, self.sequence).for_each(|(key, value)| now.add(key, value));
                now.finish() == *fingerprint
            }
        }
    }

    fn write(&mut self, key: &[u8], value: Option<&[u8]>) {
        let (sequence, oldest) = (self.sequence, self.oldest());
        let deletes = value.is_none();
        let versions = self.keys.entry(key.to_vec()).or_default();
        versions.0.insert(0, (sequence, value.map(<[u8]>::to_vec)));
        versions.trim(oldest);
        if deletes || versions.0.len() > 1 {
            self.stale.push(key.to_vec());
        }
    }

    /// Forgets snapshots that are too old to be read.
    fn expire(&mut self, age: Duration) {
        self.snapshots.retain(|_, taken| taken.last.elapsed() <= age);
    }

    /// Drops what no reader can see any more.
    fn sweep(&mut self) {
        let oldest = self.oldest();
        for key in std::mem::take(&mut self.stale) {
            let Some(versions) = self.keys.get_mut(&key) else { continue };
            versions.trim(oldest);
            if versions.is_gone() {
                self.keys.remove(&key);
            } else if versions.0.len() > 1 {
                self.stale.push(key);
            }
        }
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store whose snapshots can be read for so long. Without, they can be for ever.
    pub fn with_snapshot_age(age: Duration) -> Self {
        Self { snapshot_age: Some(age), ..Self::default() }
    }

    // A panic while the lock is held leaves the state whole: it is only changed by steps that cannot fail.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.shared.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.shared.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn commit_now(&self, batch: &Batch) -> Result<Sequence, Error> {
        batch.check_keys(usize::MAX)?;
        let mut state = self.write();
        let mut conditions = batch.conditions_after(Sequence(state.sequence)).iter();
        if let Some(failed) = conditions.find(|condition| !state.holds(condition)) {
            return Err(Error::Conflict(Box::new(failed.clone())));
        }
        if let Some(age) = self.snapshot_age {
            state.expire(age);
        }
        state.sequence += 1;
        batch.writes().for_each(|(key, value)| state.write(key, value));
        if state.snapshots.is_empty() {
            state.sweep();
        }
        Ok(Sequence(state.sequence))
    }
}

impl Read for MemoryStore {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        let state = self.read();
        ready(Ok(state.get(key, state.sequence).map(look)))
    }

    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        let state = self.read();
        get_many(&state, state.sequence, keys, look);
        ready(Ok(()))
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        let state = self.read();
        ready(Ok(scan(&state, state.sequence, span, direction, limits, look)))
    }
}

impl Store for MemoryStore {
    type Snapshot = MemorySnapshot;

    fn capability(&self) -> Capability {
        Capability {
            atomic_batch: true,
            record_batch: true,
            conditions: true,
            snapshot: true,
            snapshot_age: self.snapshot_age,
            ordered: true,
            exclusive: true,
            ..Capability::least("memory")
        }
    }

    fn commit(&self, batch: Batch) -> impl Future<Output = Result<Sequence, Error>> + Send {
        ready(self.commit_now(&batch))
    }

    fn sequence(&self) -> impl Future<Output = Result<Sequence, Error>> + Send {
        ready(Ok(Sequence(self.read().sequence)))
    }

    fn snapshot(&self) -> impl Future<Output = Result<MemorySnapshot, Error>> + Send {
        let mut state = self.write();
        let sequence = state.sequence;
        let now = Instant::now();
        let taken = state.snapshots.entry(sequence).or_insert(Taken { count: 0, last: now });
        *taken = Taken { count: taken.count + 1, last: now };
        ready(Ok(MemorySnapshot { store: self.clone(), sequence, taken: now }))
    }
}

/// A [`MemoryStore`] as it was.
#[derive(Debug)]
pub struct MemorySnapshot {
    store: MemoryStore,
    sequence: u64,
    taken: Instant,
}

impl MemorySnapshot {
    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> Result<T, Error> {
        let state = self.store.read();
        match self.store.snapshot_age {
            // Under the lock: no commit can drop what is being read.
            Some(age) if self.taken.elapsed() > age => Err(Error::Expired(age)),
            _ => Ok(read(&state)),
        }
    }
}

impl Drop for MemorySnapshot {
    fn drop(&mut self) {
        let mut state = self.store.write();
        // It is not there if it has expired.
        if let Some(taken) = state.snapshots.get_mut(&self.sequence) {
            taken.count -= 1;
            if taken.count == 0 {
                state.snapshots.remove(&self.sequence);
                state.sweep();
            }
        }
    }
}

impl Read for MemorySnapshot {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        ready(self.read(|state| state.get(key, self.sequence).map(look)))
    }

    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        ready(self.read(|state| get_many(state, self.sequence, keys, look)))
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        ready(self.read(|state| scan(state, self.sequence, span, direction, limits, look)))
    }
}

fn get_many<K: AsRef<[u8]>>(
    state: &State,
    sequence: u64,
    keys: &[K],
    mut look: impl FnMut(usize, Option<&[u8]>),
) {
    keys.iter().enumerate().for_each(|(number, key)| look(number, state.get(key.as_ref(), sequence)));
}

fn scan(
    state: &State,
    sequence: u64,
    span: &Span,
    direction: Direction,
    limits: Limits,
    mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Page {
    let mut counter = Counter::new(limits);
    let mut rows = state.rows(span, sequence);
    loop {
        let row = match direction {
            Direction::Forward => rows.next(),
            Direction::Backward => rows.next_back(),
        };
        let Some((key, value)) = row else { return counter.finished() };
        let more = counter.count(key, value);
        if look(key, value).is_break() || !more {
            return counter.stopped(span, direction, key);
        }
    }
}

#[cfg(test)]
mod tests;
