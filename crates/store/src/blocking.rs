//! Stores for programs that are not async: each call waits for its answer.

use std::ops::ControlFlow;

use keyloom_key::Span;

use crate::batch::Batch;
use crate::capability::Capability;
use crate::error::Error;
use crate::scan::{Direction, Limits, Page};
use crate::store::{Read, Sequence, Store};

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
        pollster::block_on(self.0.get(key, look))
    }

    /// [`Read::get_many`].
    pub fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        pollster::block_on(self.0.get_many(keys, look))
    }

    /// [`Read::scan`].
    pub fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        pollster::block_on(self.0.scan(span, direction, limits, look))
    }
}

impl<S: Store> Blocking<S> {
    /// [`Store::capability`].
    pub fn capability(&self) -> Capability {
        self.0.capability()
    }

    /// [`Store::commit`].
    pub fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        pollster::block_on(self.0.commit(batch))
    }

    /// [`Store::sequence`].
    pub fn sequence(&self) -> Result<Sequence, Error> {
        pollster::block_on(self.0.sequence())
    }

    /// [`Store::snapshot`].
    pub fn snapshot(&self) -> Result<Blocking<S::Snapshot>, Error> {
        pollster::block_on(self.0.snapshot()).map(Blocking)
    }
}
