//! A store that takes its time: what it has done can be seen before it says so.

use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::{Batch, Capability, Direction, Error, Limits, Page, Read, Sequence, Store};

#[derive(Debug)]
pub(crate) struct Slow<S>(pub(crate) S);

/// Long enough for others to read what is about to be overtaken, and then to see it and look for that again.
fn dawdle() {
    thread::sleep(Duration::from_micros(150));
}

impl<S: Read> Read for Slow<S> {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        dawdle();
        let found = self.0.get(key, look).await;
        dawdle();
        found
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        dawdle();
        let found = self.0.get_many(keys, look).await;
        dawdle();
        found
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        dawdle();
        let page = self.0.scan(span, direction, limits, look).await;
        dawdle();
        page
    }
}

impl<S: Store> Store for Slow<S> {
    type Snapshot = Slow<S::Snapshot>;

    fn capability(&self) -> Capability {
        self.0.capability()
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        dawdle();
        let outcome = self.0.commit(batch).await;
        dawdle();
        outcome
    }

    async fn sequence(&self) -> Result<Sequence, Error> {
        self.0.sequence().await
    }

    async fn snapshot(&self) -> Result<Self::Snapshot, Error> {
        dawdle();
        let snapshot = self.0.snapshot().await.map(Slow);
        dawdle();
        snapshot
    }
}
