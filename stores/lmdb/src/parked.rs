//! Read transactions that wait for the next read.
//!
//! To begin one takes a place among all readers of the file, and in it a look for the table. While nothing is committed,
//! the last one shows the newest state as well, so it is used again. One that is parked keeps its state in the file, as a
//! snapshot does: the thread that writes lets go of all of them before it writes, and soon if it has nothing to write, for
//! another process may.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use crate::engine::Reading;

/// How many may be parked. Threads beyond so many share places.
pub(crate) const PLACES: usize = 16;
/// How long one may be parked, unless the thread that writes is busy.
const AGE: Duration = Duration::from_millis(100);

/// A place for one transaction, in a cache line of its own: each thread has another.
#[derive(Default)]
#[repr(align(64))]
struct Place(Mutex<Option<Reading>>);

/// Where read transactions are parked.
#[derive(Default)]
pub(crate) struct Parked {
    places: [Place; PLACES],
    /// Whether one may have been parked since all were let go.
    any: AtomicBool,
}

impl fmt::Debug for Parked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parked").field("any", &self.any).finish_non_exhaustive()
    }
}

impl Parked {
    /// This thread's place, unless another that shares it is at it.
    fn place(&self) -> Option<MutexGuard<'_, Option<Reading>>> {
        let place = self.places.get(number() % PLACES)?;
        match place.0.try_lock() {
            Ok(place) => Some(place),
            Err(TryLockError::Poisoned(place)) => Some(place.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The transaction that this thread parked, whatever state it shows.
    pub(crate) fn take(&self) -> Option<Reading> {
        self.place()?.take()
    }

    /// Parks a transaction. Returns whether it is the first since all were let go: then someone should see to it that it
    /// is let go too.
    pub(crate) fn put(&self, reading: Reading) -> bool {
        let Some(mut place) = self.place() else { return false };
        *place = Some(reading);
        drop(place);
        !self.any.load(Ordering::Relaxed) && !self.any.swap(true, Ordering::Relaxed)
    }

    /// Lets go of all of them.
    pub(crate) fn clear(&self) {
        // First: whoever parks one behind this says so again.
        self.any.store(false, Ordering::Relaxed);
        for Place(place) in &self.places {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// How long a thread that has nothing else to do may wait before it lets go of them.
    pub(crate) fn pause(&self) -> Duration {
        if self.any.load(Ordering::Relaxed) { AGE } else { Duration::MAX }
    }
}

/// This thread's number, counted from the first that asked.
pub(crate) fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    }
    NUMBER.get().unwrap_or_else(|| {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        NUMBER.set(Some(number));
        number
    })
}

#[cfg(test)]
mod tests;
