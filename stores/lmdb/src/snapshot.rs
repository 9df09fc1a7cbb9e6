//! Snapshots, and how the file is let go when they are past their age or their process has died.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, ready};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use keyloom_key::Span;
use keyloom_store::{Direction, Error, Limits, Page, Read};

use crate::engine::{Engine, Reading};
use crate::store::LmdbStore;
use crate::view::View;

/// The snapshots of this process that can be read.
#[derive(Debug)]
pub(crate) struct Snapshots {
    age: Duration,
    living: Mutex<Living>,
}

#[derive(Debug)]
struct Living {
    /// How many there have been.
    taken: u64,
    /// By their number: the oldest first.
    held: BTreeMap<u64, Weak<Held>>,
    /// When those of dead processes were last let go.
    buried: Instant,
}

/// A state that the file keeps.
struct Held {
    taken: Instant,
    /// `None` when it is past its age.
    state: Mutex<Option<Kept>>,
}

/// What is in the file, and what was in memory in front of it.
type Kept = (Reading, Option<View>);

impl Held {
    fn lock(&self) -> MutexGuard<'_, Option<Kept>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("taken", &self.taken).finish_non_exhaustive()
    }
}

impl Snapshots {
    pub(crate) fn new(age: Duration) -> Self {
        let living = Living { taken: 0, held: BTreeMap::new(), buried: Instant::now() };
        Self { age, living: Mutex::new(living) }
    }

    pub(crate) fn age(&self) -> Duration {
        self.age
    }

    /// How long a thread that has nothing else to do may wait before it [lets go](Self::expire) of some.
    pub(crate) fn pause(&self) -> Duration {
        self.age.max(Duration::from_millis(100))
    }

    fn living(&self) -> MutexGuard<'_, Living> {
        self.living.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of those past their age, and now and then of those of processes that died, so that writes that follow
    /// can use their pages.
    pub(crate) fn expire(&self, engine: &Engine) {
        let is_old = |held: &Weak<Held>| held.upgrade().is_none_or(|held| held.taken.elapsed() > self.age);
        let mut living = self.living();
        if living.buried.elapsed() >= self.pause() {
            living.buried = Instant::now();
            // If it fails they stay until the next time.
            let _ = engine.env.clear_stale_readers();
        }
        if living.held.first_key_value().is_none_or(|(_, oldest)| !is_old(oldest)) {
            return;
        }
        living.held.retain(|_, held| {
            let Some(held) = held.upgrade() else { return false };
            if held.taken.elapsed() <= self.age {
                return true;
            }
            // One that is being read has to wait for the next time.
            let Ok(mut state) = held.state.try_lock() else { return true };
            *state = None;
            false
        });
    }
}

/// A [`LmdbStore`] as it was.
///
/// While it can be read, the file keeps every page that it can see, and grows.
#[derive(Debug)]
pub struct LmdbSnapshot {
    number: u64,
    held: Arc<Held>,
    // Behind the transaction, so that it is dropped after it.
    store: LmdbStore,
}

impl Drop for LmdbSnapshot {
    fn drop(&mut self) {
        self.store.snapshots().living().held.remove(&self.number);
        if let Some((reading, _)) = self.held.lock().take() {
            self.store.park(reading);
        }
    }
}

impl LmdbSnapshot {
    pub(crate) fn take(store: &LmdbStore) -> Result<Self, Error> {
        let kept = store.keep()?;
        let held = Arc::new(Held { taken: Instant::now(), state: Mutex::new(Some(kept)) });
        let mut living = store.snapshots().living();
        living.taken += 1;
        let number = living.taken;
        living.held.insert(number, Arc::downgrade(&held));
        drop(living);
        Ok(Self { number, held, store: store.clone() })
    }

    fn read<T>(&self, read: impl FnOnce(&Engine, &Kept) -> Result<T, Error>) -> Result<T, Error> {
        let age = self.store.snapshots().age();
        let mut state = self.held.lock();
        if self.held.taken.elapsed() > age {
            *state = None;
        }
        read(self.store.engine(), state.as_ref().ok_or(Error::Expired(age))?)
    }
}

impl Read for LmdbSnapshot {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        ready(self.read(|engine, (reading, view)| engine.get_in(reading, view.as_ref(), key, look)))
    }

    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        ready(self.read(|engine, (reading, view)| engine.get_many_in(reading, view.as_ref(), keys, look)))
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        ready(self.read(|engine, (reading, view)| {
            engine.page_in(reading, view.as_ref(), span, direction, limits, look)
        }))
    }
}

#[cfg(test)]
mod tests;
