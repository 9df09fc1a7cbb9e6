//! Which keys the file does not have.
//!
//! Most inserts are of keys that are not there, and to look for one takes longer than all else that an insert does: its
//! leaf is in no cache. A [`Bloom`] filter of the file's keys says so without a look. It is begun when gets have found
//! nothing often enough, and filled by the thread that writes when it has nothing else to do: whoever does not ask for what
//! is not there pays nothing.
//!
//! It is never asked about a state of the file that it does not know. The states that it knows are LMDB's transactions
//! `from..=until`, and it has every key of each: what was there when it was begun has come in by the scan, and every
//! transaction of this process adds the keys that it puts before it commits. A transaction of another process is not in
//! there: then it is begun anew. One thread fills it and writes, so neither comes between the other's steps.

use std::ops::Bound;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyloom_store::bloom::{Bloom, hash};
use keyloom_store::{Direction, Error};

use crate::config::FilterOptions;
use crate::pages::Tree;
use crate::tally::Tally;

/// How many keys come in at a time.
const PAGE: usize = if cfg!(test) { 128 } else { 4_096 };

/// The filter of a file's keys, or what there is of it.
#[derive(Debug)]
pub(crate) struct Filter {
    options: FilterOptions,
    /// How many gets have still to find nothing before it is begun.
    patience: AtomicI64,
    asked: Arc<Tally>,
    state: Mutex<State>,
}

/// The keys of a file at some time, and perhaps more.
#[derive(Debug)]
pub(crate) struct Keys {
    bloom: Bloom,
    asked: Arc<Tally>,
}

impl Keys {
    /// Whether there is no key with this hash.
    #[inline]
    pub(crate) fn lacks(&self, hash: u64) -> bool {
        let lacks = !self.bloom.may_contain(hash);
        self.asked.count(lacks);
        lacks
    }
}

/// How large the filter of a file is, and what it has done since the file was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FilterStats {
    /// How often it was asked for a key, by inserts and by threads that mostly find nothing.
    pub asked: u64,
    /// How often it knew that the key is not there.
    pub answered: u64,
    /// The keys that it has; 0 if it was not begun.
    pub keys: u64,
    /// The bytes that it takes for them.
    pub bytes: u64,
    /// Whether it has all keys of the file: until then it is not asked.
    pub whole: bool,
}

#[derive(Debug, Default)]
struct State {
    known: Option<Known>,
    /// How often it was given up.
    given_up: u32,
}

/// Keys of the file.
#[derive(Debug)]
struct Known {
    keys: Arc<Keys>,
    /// The last key that has come in, while not all have.
    filled: Option<Vec<u8>>,
    /// While it is being filled, the state that it was begun in; then the first that it has all keys of.
    from: usize,
    until: usize,
}

/// What a transaction adds the keys to that it puts.
#[derive(Debug)]
pub(crate) struct Adding<'a> {
    filter: &'a Filter,
    keys: Option<Arc<Keys>>,
    transaction: usize,
}

impl Filter {
    pub(crate) fn new(options: FilterOptions) -> Self {
        let patience = i64::try_from(options.after).unwrap_or(i64::MAX);
        let asked = Arc::default();
        Self { options, patience: AtomicI64::new(patience), asked, state: Mutex::default() }
    }

    // A panic while the lock is held leaves the state whole: it is only changed by steps that cannot fail.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The keys of the file as this transaction left it, and perhaps more; `None` if they are not known.
    pub(crate) fn keys(&self, transaction: usize) -> Option<Arc<Keys>> {
        let state = self.lock();
        let known = state.known.as_ref().filter(|known| known.filled.is_none())?;
        (known.from..=known.until).contains(&transaction).then(|| Arc::clone(&known.keys))
    }

    /// How large it is, and what it has done.
    pub(crate) fn stats(&self) -> FilterStats {
        let (asked, answered) = self.asked.sums();
        let state = self.lock();
        let of = |size: fn(&Bloom) -> usize| {
            state.known.as_ref().map_or(0, |known| size(&known.keys.bloom)).try_into().unwrap_or(u64::MAX)
        };
        let whole = state.known.as_ref().is_some_and(|known| known.filled.is_none());
        FilterStats { asked, answered, keys: of(Bloom::keys), bytes: of(Bloom::bytes), whole }
    }

    /// Notes that a get has found nothing.
    pub(crate) fn missed(&self) {
        if self.patience.load(Ordering::Relaxed) > 0 {
            self.patience.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether it should be [filled](Self::fill) where this is the last transaction.
    pub(crate) fn is_wanted(&self, last: usize) -> bool {
        let is_lacking = |known: &Known| known.filled.is_some() || known.until < last;
        self.patience.load(Ordering::Relaxed) <= 0 && self.lock().known.as_ref().is_none_or(is_lacking)
    }

    /// Takes in some more keys of the file as the last transaction left it; begins if there is nothing yet.
    pub(crate) fn fill(&self, tree: &Tree<'_>, last: usize) {
        let mut state = self.lock();
        if state.known.is_none() {
            let capacity = self.capacity(tree.entries());
            state.known = capacity.map(|capacity| Known::new(self.empty(capacity), last));
        }
        // There are more keys than fit, or another process has written.
        let Some(known) = state.known.as_ref().filter(|known| known.until >= last) else {
            return self.give_up(&mut state);
        };
        let Known { keys, filled: Some(filled), .. } = known else { return };
        let (keys, filled) = (Arc::clone(keys), filled.clone());
        // Nobody waits for what may have to come from the disk.
        drop(state);
        let filled = fill(&keys.bloom, filled, tree);
        let mut state = self.lock();
        match (filled, &mut state.known) {
            (Ok(filled), Some(known)) => known.came_in(filled),
            // Whoever reads what is damaged is told; here another time will do.
            _ => self.give_up(&mut state),
        }
        state.make_room();
    }

    /// Waits longer before it is begun again.
    pub(crate) fn put_off(&self) {
        self.give_up(&mut self.lock());
    }

    fn give_up(&self, state: &mut State) {
        state.known = None;
        state.given_up = (state.given_up + 1).min(16);
        let patience = i64::try_from(self.options.after.max(1)).unwrap_or(i64::MAX);
        self.patience.store(patience.saturating_mul(1 << state.given_up), Ordering::Relaxed);
    }

    /// How many keys the filter of a file with so many is for: as many again may come, if they fit. `None` if it has too
    /// many already.
    fn capacity(&self, entries: u64) -> Option<usize> {
        let (entries, most) = (usize::try_from(entries).ok()?, Bloom::capacity_of(self.options.bytes));
        (entries <= most).then(|| entries.saturating_mul(2).max(1_024).min(most))
    }

    /// No keys, with room for so many.
    fn empty(&self, capacity: usize) -> Arc<Keys> {
        Arc::new(Keys { bloom: Bloom::new(capacity), asked: Arc::clone(&self.asked) })
    }

    /// Begins a transaction that adds the keys that it puts.
    pub(crate) fn adding(&self, transaction: usize) -> Adding<'_> {
        let mut state = self.lock();
        if state.known.as_ref().is_some_and(|known| known.until + 1 != transaction) {
            // There was one of another process.
            self.give_up(&mut state);
        }
        let keys = state.known.as_ref().map(|known| Arc::clone(&known.keys));
        Adding { filter: self, keys, transaction }
    }
}

impl State {
    /// Has it begun anew if it has so many keys that it says too often that one may be there.
    fn make_room(&mut self) {
        self.known.take_if(|known| known.keys.bloom.keys() > known.keys.bloom.capacity());
    }
}

impl Known {
    fn new(keys: Arc<Keys>, transaction: usize) -> Self {
        Self { keys, filled: Some(Vec::new()), from: transaction, until: transaction }
    }

    /// Keys have come in, up to this one or all.
    fn came_in(&mut self, filled: Option<Vec<u8>>) {
        if filled.is_none() {
            self.from = self.until;
        }
        self.filled = filled;
    }
}

/// Takes in the keys behind this one, and returns the last; `None` if there are no more.
fn fill(keys: &Bloom, mut filled: Vec<u8>, tree: &Tree<'_>) -> Result<Option<Vec<u8>>, Error> {
    let from = if filled.is_empty() { Bound::Unbounded } else { Bound::Excluded(filled.as_slice()) };
    let mut last = None;
    for row in tree.rows(from, Bound::Unbounded, Direction::Forward)?.take(PAGE) {
        let (key, _) = row?;
        keys.insert(hash(key));
        last = Some(key);
    }
    Ok(last.map(|last| {
        filled.clear();
        filled.extend_from_slice(last);
        filled
    }))
}

impl Adding<'_> {
    /// Adds a key that is put.
    pub(crate) fn add(&self, key: &[u8]) {
        if let Some(keys) = &self.keys {
            keys.bloom.insert(hash(key));
        }
    }

    /// The transaction is committed.
    pub(crate) fn committed(self) {
        let mut state = self.filter.lock();
        // If there is one, it has the keys: none is begun while a transaction is on its way.
        if let Some(known) = &mut state.known {
            known.until = self.transaction;
        }
        state.make_room();
    }
}

#[cfg(test)]
mod tests;
