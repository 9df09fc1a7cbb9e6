//! Stores for programs that are not async: each call waits for its answer.

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use keyloom_key::Span;

use crate::batch::Batch;
use crate::capability::Capability;
use crate::error::Error;
use crate::scan::{Direction, Limits, Page};
use crate::store::{Read, Sequence, Store};

/// Waits for a future and returns what it gives.
///
/// Not inside an async program, whose threads must not wait. One that is ready at once, as most reads of a store in
/// this process are, costs nothing beyond its own work.
///
/// ```
/// assert_eq!(keyloom_store::wait(async { 1 + 1 }), 2);
/// ```
pub fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => pollster::block_on(future),
    }
}

/// [`wait`] as a method of every future.
///
/// Not inside an async program, whose threads must not wait.
///
/// ```
/// use keyloom_store::{Batch, MemoryStore, Store, Wait};
/// let sequence = MemoryStore::new().commit(Batch::new().put("a", "1")).wait()?;
/// assert_eq!(sequence.0, 1);
/// # Ok::<(), keyloom_store::Error>(())
/// ```
pub trait Wait: Future + Sized {
    /// Waits, and returns what the future gives.
    fn wait(self) -> Self::Output {
        wait(self)
    }
}

impl<F: Future> Wait for F {}

/// A store, or a snapshot of one, whose calls wait.
///
/// Not for use inside an async program, whose threads must not wait.
#[derive(Debug, Clone)]
pub struct Blocking<S>(S);

impl<S> Blocking<S> {
    /// The store with calls that wait.
    pub fn new(store: S) -> Self {
        Self(store)
    }

    /// The store itself.
    pub fn inner(&self) -> &S {
        &self.0
    }
}

impl<S: Read> Blocking<S> {
    /// [`Read::get`].
    pub fn get<T: Send>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T + Send) -> Result<Option<T>, Error> {
        self.0.get(key, look).wait()
    }

    /// [`Read::get_many`].
    pub fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        self.0.get_many(keys, look).wait()
    }

    /// [`Read::scan`].
    pub fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        self.0.scan(span, direction, limits, look).wait()
    }
}

impl<S: Store> Blocking<S> {
    /// [`Store::capability`].
    pub fn capability(&self) -> Capability {
        self.0.capability()
    }

    /// [`Store::commit`].
    pub fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        self.0.commit(batch).wait()
    }

    /// [`Store::catch_up`].
    pub fn catch_up(&self) -> Result<(), Error> {
        self.0.catch_up().wait()
    }

    /// [`Store::is_behind`].
    pub fn is_behind(&self) -> Result<bool, Error> {
        self.0.is_behind().wait()
    }

    /// [`Store::flush`].
    pub fn flush(&self) -> Result<(), Error> {
        self.0.flush().wait()
    }

    /// [`Store::stripe`].
    pub fn stripe(&self, prefix: &[u8], stripes: u16) -> Result<(), Error> {
        self.0.stripe(prefix, stripes).wait()
    }

    /// [`Store::sequence`].
    pub fn sequence(&self) -> Result<Sequence, Error> {
        self.0.sequence().wait()
    }

    /// [`Store::snapshot`].
    pub fn snapshot(&self) -> Result<Blocking<S::Snapshot>, Error> {
        self.0.snapshot().wait().map(Blocking)
    }
}
