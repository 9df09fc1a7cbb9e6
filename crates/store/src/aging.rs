//! States that can be read until they are past an age, and are let go then, used or not.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use crate::error::Error;

/// The states of a store that can be read.
///
/// A store keeps one of these, calls [`expire`](Self::expire) now and then, and makes each of its snapshots around an
/// [`Aged`].
#[derive(Debug)]
pub struct Aging<T> {
    age: Duration,
    living: Arc<Mutex<Living<T>>>,
}

#[derive(Debug)]
struct Living<T> {
    /// How many there have been.
    taken: u64,
    /// By their number: the oldest first.
    held: BTreeMap<u64, Weak<Held<T>>>,
}

struct Held<T> {
    taken: Instant,
    /// `None` when it is past its age.
    state: RwLock<Option<T>>,
}

impl<T> fmt::Debug for Held<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("taken", &self.taken).finish_non_exhaustive()
    }
}

/// A state that is let go when it is past its age.
#[derive(Debug)]
pub struct Aged<T> {
    age: Duration,
    number: u64,
    held: Arc<Held<T>>,
    living: Arc<Mutex<Living<T>>>,
}

fn lock<T>(living: &Mutex<Living<T>>) -> MutexGuard<'_, Living<T>> {
    living.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Aging<T> {
    /// None yet; each can be read for so long.
    pub fn new(age: Duration) -> Self {
        Self { age, living: Arc::new(Mutex::new(Living { taken: 0, held: BTreeMap::new() })) }
    }

    /// How long each can be read.
    pub fn age(&self) -> Duration {
        self.age
    }

    /// How long a thread that has nothing else to do may wait before it [lets go](Self::expire) of some.
    pub fn pause(&self) -> Duration {
        self.age.max(Duration::from_millis(100))
    }

    /// Holds a state from now on.
    pub fn hold(&self, state: T) -> Aged<T> {
        let held = Arc::new(Held { taken: Instant::now(), state: RwLock::new(Some(state)) });
        let mut living = lock(&self.living);
        living.taken += 1;
        let number = living.taken;
        living.held.insert(number, Arc::downgrade(&held));
        Aged { age: self.age, number, held, living: Arc::clone(&self.living) }
    }

    /// Lets go of those past their age.
    pub fn expire(&self) {
        let mut living = lock(&self.living);
        let old: Vec<u64> = living
            .held
            .iter()
            .take_while(|(_, held)| held.upgrade().is_none_or(|held| held.taken.elapsed() > self.age))
            .map(|(number, _)| *number)
            .collect();
        let mut gone = Vec::new();
        for number in old {
            let held = living.held.get(&number).and_then(Weak::upgrade);
            // One that is being read has to wait for the next time.
            match held.as_ref().map(|held| held.state.try_write()) {
                Some(Ok(mut state)) => gone.extend(state.take()),
                Some(Err(_)) => continue,
                None => {}
            }
            living.held.remove(&number);
        }
        // What is let go may take a while; nobody has to wait for it.
        drop(living);
        drop(gone);
    }
}

impl<T> Aged<T> {
    /// Reads it; [`Error::Expired`] past its age.
    pub fn read<U>(&self, read: impl FnOnce(&T) -> Result<U, Error>) -> Result<U, Error> {
        if self.held.taken.elapsed() > self.age {
            // Others may be reading it still: then the last of them or the next look lets it go.
            if let Ok(mut state) = self.held.state.try_write() {
                *state = None;
            }
            return Err(Error::Expired(self.age));
        }
        let state = self.held.state.read().unwrap_or_else(PoisonError::into_inner);
        read(state.as_ref().ok_or(Error::Expired(self.age))?)
    }
}

impl<T> Drop for Aged<T> {
    fn drop(&mut self) {
        lock(&self.living).held.remove(&self.number);
    }
}

#[cfg(test)]
mod tests;
