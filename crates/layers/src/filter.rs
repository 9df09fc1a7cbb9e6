//! The filter of a store: filled by and by, made anew when it is full, and given up when there are more keys than fit.
//!
//! A commit inserts its keys before it is handed to the store, so whatever can be read is in the filter. What was there
//! before comes in by pages: a key that is there throughout is met by the scan, and one that is written meanwhile is
//! inserted by its commit. Only a commit that was on its way when a new filter began could be missed by both: it has
//! inserted its keys into the old one, and may become visible behind the scan. So the scan begins when the last of those
//! has ended.

use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use keyloom_key::Span;
use keyloom_store::bloom::{Bloom, hash};
use keyloom_store::{Direction, Error, Limits, Read};

use crate::layers::FilterOptions;

/// How many keys come in at a time.
const PAGE: usize = 128;

/// Which keys are not there.
#[derive(Debug)]
pub(crate) struct Filter {
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    /// The most bytes that both may take.
    most: usize,
    /// The one that has every key.
    whole: Option<Arc<Bloom>>,
    /// The one that is being filled.
    fresh: Option<Fresh>,
    /// How many filters have begun.
    generation: usize,
    /// Commits on their way, of this generation and of the one before.
    on_their_way: [usize; 2],
    /// The keys of commits that were given up: whether and when they come to be is not known, so every filter has them.
    given_up: Vec<u64>,
    /// Whether there are more keys than fit: then there is no filter any more.
    overflown: bool,
}

#[derive(Debug)]
struct Fresh {
    bloom: Arc<Bloom>,
    /// What is to be scanned; `None` while someone is at it.
    rest: Option<Span>,
}

/// What was told of a commit that is on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane(usize);

/// What is known of the filter.
#[derive(Default)]
pub(crate) struct Size {
    pub(crate) keys: usize,
    pub(crate) bytes: usize,
    pub(crate) whole: bool,
    pub(crate) overflown: bool,
}

impl Filter {
    pub(crate) fn new(FilterOptions { keys, bytes }: FilterOptions) -> Self {
        let mut state = State {
            most: bytes,
            whole: None,
            fresh: None,
            generation: 0,
            on_their_way: [0; 2],
            given_up: Vec::new(),
            overflown: false,
        };
        state.begin_fresh(keys.min(Bloom::capacity_of(bytes)));
        Self { state: RwLock::new(state) }
    }

    // A panic while the lock is held leaves the state whole: it is only changed by steps that cannot fail.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the key may be there; `None` if it cannot be told yet.
    pub(crate) fn may_contain(&self, hash: u64) -> Option<bool> {
        self.read().whole.as_ref().map(|bloom| bloom.may_contain(hash))
    }

    /// A commit of these keys is about to begin.
    pub(crate) fn begin(&self, hashes: &[u64]) -> Lane {
        let mut state = self.write();
        let lane = state.generation % 2;
        state.count(lane, |count| count + 1);
        let blooms = state.blooms();
        drop(state);
        blooms.iter().flatten().for_each(|bloom| hashes.iter().for_each(|hash| bloom.insert(*hash)));
        Lane(lane)
    }

    /// The commit has ended, or was given up.
    pub(crate) fn end(&self, Lane(lane): Lane, hashes: &[u64], given_up: bool) {
        let mut state = self.write();
        if given_up {
            let blooms = state.blooms();
            blooms.iter().flatten().for_each(|bloom| hashes.iter().for_each(|hash| bloom.insert(*hash)));
            state.given_up.extend_from_slice(hashes);
        }
        state.count(lane, |count| count.saturating_sub(1));
    }

    /// Takes another page of keys in, if a filter is being filled or has to be. Returns whether one was.
    pub(crate) async fn grow(&self, store: &impl Read) -> bool {
        let Some(mut turn) = self.turn() else { return false };
        let bloom = Arc::clone(&turn.bloom);
        let look = |key: &[u8], _: &[u8]| {
            bloom.insert(hash(key));
            ControlFlow::Continue(())
        };
        match store.scan(&turn.rest, Direction::Forward, Limits::rows(PAGE), look).await {
            Ok(page) => turn.end(page.rest),
            // The key is there, whatever its value.
            Err(Error::DamagedValue(key)) => {
                bloom.insert(hash(&key));
                let behind = Span { start: [&key, [0].as_slice()].concat(), end: turn.rest.end.clone() };
                turn.end(Some(behind));
            }
            // Whoever needs the store is told; here another time will do.
            Err(_) => return false,
        }
        true
    }

    /// What is to be scanned next, for one at a time.
    fn turn(&self) -> Option<Turn<'_>> {
        let full = |state: &State| state.whole.as_ref().is_some_and(|whole| whole.keys() > whole.capacity());
        {
            let state = self.read();
            if state.fresh.is_none() && !full(&state) {
                return None;
            }
        }
        let mut state = self.write();
        if state.fresh.is_none() && full(&state) {
            // As large as before: it may be full of keys that are gone.
            let capacity = state.whole.as_ref().map_or(1, |whole| whole.capacity());
            state.begin_fresh(capacity);
        }
        let before = state.on_their_way.get((state.generation + 1) % 2).copied().unwrap_or_default();
        let fresh = state.fresh.as_mut().filter(|_| before == 0)?;
        let rest = fresh.rest.take()?;
        Some(Turn { filter: self, bloom: Arc::clone(&fresh.bloom), rest, ended: false })
    }

    pub(crate) fn is_whole(&self) -> bool {
        let state = self.read();
        state.fresh.is_none() && state.whole.is_some()
    }

    pub(crate) fn size(&self) -> Size {
        let state = self.read();
        let blooms = state.blooms();
        let bytes = blooms.iter().flatten().map(|bloom| bloom.bytes()).sum();
        let keys = blooms.iter().flatten().next().map_or(0, |bloom| bloom.keys());
        Size { keys, bytes, whole: state.whole.is_some(), overflown: state.overflown }
    }
}

impl State {
    fn blooms(&self) -> [Option<Arc<Bloom>>; 2] {
        [self.whole.clone(), self.fresh.as_ref().map(|fresh| Arc::clone(&fresh.bloom))]
    }

    fn count(&mut self, lane: usize, change: impl Fn(usize) -> usize) {
        if let Some(count) = self.on_their_way.get_mut(lane) {
            *count = change(*count);
        }
    }

    /// Begins a filter for so many keys. Nothing of the generation before the last is on its way then: its scan has begun.
    fn begin_fresh(&mut self, capacity: usize) {
        let bloom = Arc::new(Bloom::new(capacity));
        // Without one until the new one is filled, if there is no room for both.
        self.whole.take_if(|whole| whole.bytes().saturating_add(bloom.bytes()) > self.most);
        self.given_up.iter().for_each(|hash| bloom.insert(*hash));
        self.generation += 1;
        self.fresh = Some(Fresh { bloom, rest: Some(Span::prefix(Vec::new())) });
    }

    /// Begins one with room for more keys; gives up if it would take too many bytes.
    fn begin_larger(&mut self, than: usize) {
        let most = Bloom::capacity_of(self.most);
        if than < most {
            return self.begin_fresh(than.saturating_mul(2).min(most));
        }
        (self.whole, self.fresh, self.overflown) = (None, None, true);
    }
}

/// The right to fill the filter. A turn that is given up in the middle leaves its page to the next.
struct Turn<'a> {
    filter: &'a Filter,
    bloom: Arc<Bloom>,
    rest: Span,
    ended: bool,
}

impl Turn<'_> {
    /// The page is in, and this is left.
    fn end(&mut self, rest: Option<Span>) {
        self.ended = true;
        let mut state = self.filter.write();
        let Some(fresh) = state.fresh.as_mut() else { return };
        // A quarter is left for what comes in later.
        if fresh.bloom.keys() > fresh.bloom.capacity() / 4 * 3 {
            let capacity = fresh.bloom.capacity();
            state.begin_larger(capacity);
        } else if rest.is_some() {
            fresh.rest = rest;
        } else {
            state.whole = state.fresh.take().map(|fresh| fresh.bloom);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.ended
            && let Some(fresh) = self.filter.write().fresh.as_mut()
        {
            fresh.rest = Some(self.rest.clone());
        }
    }
}

#[cfg(test)]
mod tests;
