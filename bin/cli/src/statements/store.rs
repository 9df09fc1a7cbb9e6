//! The store of a session: it is made by the first write, and reads until someone wants it to stop.

use std::ops::ControlFlow;
use std::sync::OnceLock;

use keyloom::key::Span;
use keyloom::layers::LayeredSnapshot;
use keyloom::store::{Batch, Capability, Direction, Error, Limits, Page, Read, Sequence, Store};
use keyloom::{AnySnapshot, Error as TableError, Location, Url, UrlStore};

use super::Stop;
use crate::cmd::stats::opened;

/// A store that may not be there yet: it is empty until something is written, and made then.
#[derive(Debug)]
pub(crate) struct SessionStore {
    url: Url,
    open: OnceLock<UrlStore>,
    empty: UrlStore,
    stop: Stop,
}

/// A state of it.
#[derive(Debug)]
pub(crate) struct SessionSnapshot {
    snapshot: LayeredSnapshot<AnySnapshot>,
    stop: Stop,
}

impl SessionStore {
    /// Opens what is there.
    pub(crate) fn new(url: Url, stop: Stop) -> Result<Self, Error> {
        let empty = Url::from(Location::Memory).store().map_err(of_store)?;
        let store = Self { url, open: OnceLock::new(), empty, stop };
        store.now()?;
        Ok(store)
    }

    /// Whether there is no file yet.
    pub(crate) fn is_missing(&self) -> bool {
        self.open.get().is_none()
    }

    /// How it is opened, and what that has done so far.
    pub(crate) fn opened(&self) -> String {
        match self.open.get().map(|store| opened(self.url.settings, store)) {
            None => format!("{}: there is no such file yet\n", self.url.location),
            Some(text) if text.is_empty() => "opened as it comes: no settings, no layers\n".to_owned(),
            Some(text) => text,
        }
    }

    /// What is there now: another process may have made the file.
    fn now(&self) -> Result<&UrlStore, Error> {
        match self.open.get() {
            Some(store) => Ok(store),
            None if self.url.location.exists() || self.url.location == Location::Memory => self.made(),
            None => Ok(&self.empty),
        }
    }

    /// The store, which is made if it is not there.
    fn made(&self) -> Result<&UrlStore, Error> {
        if self.open.get().is_none() {
            let store = self.url.store().map_err(of_store)?;
            // All that open a file in a process share it: it does not matter whose comes first.
            let _ = self.open.set(store);
        }
        Ok(self.open.get().unwrap_or(&self.empty))
    }
}

fn of_store(error: TableError) -> Error {
    match error {
        TableError::Store(error) => error,
        error => Error::Refused(error.to_string().into()),
    }
}

impl Stop {
    fn check(&self) -> Result<(), Error> {
        if self.is_asked() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Scans, and looks at every row whether it should stop.
    async fn scan(
        &self,
        read: &impl Read,
        (span, direction, limits): (&Span, Direction, Limits),
        mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        self.check()?;
        let look = |key: &[u8], value: &[u8]| {
            if self.is_asked() { ControlFlow::Break(()) } else { look(key, value) }
        };
        let page = read.scan(span, direction, limits, look).await?;
        self.check()?;
        Ok(page)
    }
}

impl Read for SessionStore {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        self.stop.check()?;
        self.now()?.get(key, look).await
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        self.stop.check()?;
        self.now()?.get_many(keys, look).await
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        self.stop.scan(self.now()?, (span, direction, limits), look).await
    }
}

impl Read for SessionSnapshot {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        self.stop.check()?;
        self.snapshot.get(key, look).await
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        self.stop.check()?;
        self.snapshot.get_many(keys, look).await
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        self.stop.scan(&self.snapshot, (span, direction, limits), look).await
    }
}

impl Store for SessionStore {
    type Snapshot = SessionSnapshot;

    fn capability(&self) -> Capability {
        self.open.get().unwrap_or(&self.empty).capability()
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        self.stop.check()?;
        self.made()?.commit(batch).await
    }

    async fn flush(&self) -> Result<(), Error> {
        self.now()?.flush().await
    }

    async fn catch_up(&self) -> Result<(), Error> {
        self.now()?.catch_up().await
    }

    async fn is_behind(&self) -> Result<bool, Error> {
        self.now()?.is_behind().await
    }

    async fn stripe(&self, prefix: &[u8], stripes: u16) -> Result<(), Error> {
        self.made()?.stripe(prefix, stripes).await
    }

    async fn sequence(&self) -> Result<Sequence, Error> {
        self.now()?.sequence().await
    }

    async fn snapshot(&self) -> Result<SessionSnapshot, Error> {
        let snapshot = self.now()?.snapshot().await?;
        Ok(SessionSnapshot { snapshot, stop: self.stop.clone() })
    }
}

#[cfg(test)]
mod tests;
