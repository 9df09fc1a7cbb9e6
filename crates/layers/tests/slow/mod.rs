//! A store that takes its time: between any two of its steps something else may happen.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_key::Span;
use keyloom_store::{Batch, Capability, Direction, Error, Limits, Page, Read, Sequence, Store};

/// A store, and what happens before and after each of its steps.
#[derive(Clone)]
pub(crate) struct Slow<S> {
    store: S,
    between: Arc<dyn Fn(Step) + Send + Sync>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    BeforeRead,
    AfterRead,
    BeforeCommit,
    /// It can be seen, and is not acknowledged.
    AfterCommit,
    BeforeSnapshot,
    AfterSnapshot,
}

impl<S> Slow<S> {
    pub(crate) fn new(store: S, between: impl Fn(Step) + Send + Sync + 'static) -> Self {
        Self { store, between: Arc::new(between) }
    }
}

impl<S: fmt::Debug> fmt::Debug for Slow<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl<S: Read> Read for Slow<S> {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        (self.between)(Step::BeforeRead);
        let found = self.store.get(key, look).await;
        (self.between)(Step::AfterRead);
        found
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        (self.between)(Step::BeforeRead);
        let found = self.store.get_many(keys, look).await;
        (self.between)(Step::AfterRead);
        found
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        (self.between)(Step::BeforeRead);
        let page = self.store.scan(span, direction, limits, look).await;
        (self.between)(Step::AfterRead);
        page
    }
}

impl<S: Store> Store for Slow<S> {
    type Snapshot = Slow<S::Snapshot>;

    fn capability(&self) -> Capability {
        self.store.capability()
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        (self.between)(Step::BeforeCommit);
        let outcome = self.store.commit(batch).await;
        (self.between)(Step::AfterCommit);
        outcome
    }

    async fn sequence(&self) -> Result<Sequence, Error> {
        self.store.sequence().await
    }

    async fn snapshot(&self) -> Result<Self::Snapshot, Error> {
        (self.between)(Step::BeforeSnapshot);
        let store = self.store.snapshot().await?;
        (self.between)(Step::AfterSnapshot);
        Ok(Slow { store, between: Arc::clone(&self.between) })
    }
}
