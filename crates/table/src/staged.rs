//! Writes that are not committed yet, and what was read to decide on them.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use keyloom_key::Span;
use keyloom_store::{Batch, Condition, Direction, Error, Fingerprinter, Limits, Page, Read};

/// A store or a snapshot that remembers what was read of it, as conditions of a commit.
#[derive(Debug)]
pub(crate) struct Recorded<R> {
    below: R,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Each key with its value. One that is read again is here again, until they are more than `room`.
    keys: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    room: usize,
    spans: Vec<Condition>,
}

impl Seen {
    /// Of a key that was read several times, what was read first stays.
    fn distinct(&mut self) {
        self.keys.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.keys.dedup_by(|(one, _), (first, _)| one == first);
    }

    fn see(&mut self, key: &[u8], value: Option<&[u8]>) {
        if self.keys.len() > self.room {
            self.distinct();
            self.room = 2 * self.keys.len() + 16;
        }
        self.keys.push((key.to_vec(), value.map(<[u8]>::to_vec)));
    }
}

impl<R> Recorded<R> {
    pub(crate) fn new(below: R) -> Self {
        Self { below, seen: Mutex::default() }
    }

    fn see(&self, key: &[u8], value: Option<&[u8]>) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).see(key, value);
    }

    /// The keys that were read, each with its value.
    fn keys(&self) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.distinct();
        seen.keys.clone()
    }

    /// A batch of these writes that is committed only if all that was read is as it was.
    pub(crate) fn require(self, writes: Batch) -> Batch {
        let mut seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        seen.distinct();
        let keys = seen.keys.into_iter().map(|(key, value)| match value {
            None => Condition::Absent(key),
            Some(value) => Condition::Is { key, value },
        });
        keys.chain(seen.spans).fold(writes, Batch::require)
    }
}

impl<R: Read> Recorded<R> {
    /// Whether every key that was read still has its value.
    pub(crate) async fn is_unchanged(&self) -> Result<bool, Error> {
        for (key, value) in self.keys() {
            if self.below.get(&key, <[u8]>::to_vec).await? != value {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<R: Read> Read for Recorded<R> {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        let found = self.below.get(key, |value| {
            self.see(key, Some(value));
            look(value)
        });
        let found = found.await?;
        if found.is_none() {
            self.see(key, None);
        }
        Ok(found)
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        mut look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        let recorded = |number: usize, value: Option<&[u8]>| {
            if let Some(key) = keys.get(number) {
                self.see(key.as_ref(), value);
            }
            look(number, value);
        };
        self.below.get_many(keys, recorded).await
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        let mut fingerprint = Fingerprinter::default();
        let page = self.below.scan(span, direction, limits, |key, value| {
            fingerprint.add(key, value);
            look(key, value)
        });
        let page = page.await?;
        // Only the part that was read has to stay as it was.
        let mut read = span.clone();
        match (&page.rest, direction) {
            (None, _) => {}
            (Some(rest), Direction::Forward) => read.end = Some(rest.start.clone()),
            (Some(rest), Direction::Backward) => read.start = rest.end.clone().unwrap_or_default(),
        }
        let condition = Condition::Unchanged { span: read, fingerprint: fingerprint.finish() };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).spans.push(condition);
        Ok(page)
    }
}
