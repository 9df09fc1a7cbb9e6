//! What a query reads: a snapshot, or the store itself where it has none.

use std::ops::ControlFlow;

use keyloom_key::Span;
use keyloom_store::{Direction, Error, Limits, Page, Read, Store};

/// One state of a store, or the store as it changes.
pub(crate) enum View<'s, S: Store> {
    Snapshot(S::Snapshot),
    Store(&'s S),
}

impl<'s, S: Store> View<'s, S> {
    /// The best that the store offers.
    pub(crate) async fn of(store: &'s S) -> Result<Self, Error> {
        match store.capability().snapshot {
            true => store.snapshot().await.map(Self::Snapshot),
            false => Ok(Self::Store(store)),
        }
    }
}

impl<S: Store> Read for View<'_, S> {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        match self {
            Self::Snapshot(snapshot) => snapshot.get(key, look).await,
            Self::Store(store) => store.get(key, look).await,
        }
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        match self {
            Self::Snapshot(snapshot) => snapshot.get_many(keys, look).await,
            Self::Store(store) => store.get_many(keys, look).await,
        }
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        match self {
            Self::Snapshot(snapshot) => snapshot.scan(span, direction, limits, look).await,
            Self::Store(store) => store.scan(span, direction, limits, look).await,
        }
    }
}
