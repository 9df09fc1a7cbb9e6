//! Writes that are not in a store yet, read as if they were.
//!
//! ```text
//! overlay   b: deleted          d: "new"   e: "new"
//! store     b: "old"   c: "old" d: "old"
//! read               → c: "old" d: "new"   e: "new"
//! ```
//!
//! A transaction sees its own writes by it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::iter::Peekable;
use std::ops::ControlFlow;

use keyloom_key::Span;

use crate::batch::Batch;
use crate::error::Error;
use crate::scan::{Counter, Direction, Limits, Page};
use crate::store::Read;

/// Writes by key, to be read in front of a store. Of several writes to one key the last counts.
///
/// ```
/// use keyloom_store::{Batch, MemoryStore, Overlay, Read, Store, Wait};
///
/// let store = MemoryStore::new();
/// store.commit(Batch::new().put("a", "1").put("b", "1")).wait()?;
///
/// let mut overlay = Overlay::new();
/// overlay.put("a", "2");
/// overlay.delete("b");
/// let both = overlay.over(&store);
/// assert_eq!(both.get(b"a", <[u8]>::to_vec).wait()?.as_deref(), Some(b"2".as_slice()));
/// assert_eq!(both.get(b"b", <[u8]>::to_vec).wait()?, None);
/// # Ok::<(), keyloom_store::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overlay {
    keys: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Overlay {
    /// An overlay that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a key a value.
    pub fn put(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.keys.insert(key.into(), Some(value.into()));
    }

    /// Hides a key.
    pub fn delete(&mut self, key: impl Into<Vec<u8>>) {
        self.keys.insert(key.into(), None);
    }

    /// Takes in the writes of a batch.
    pub fn write_all(&mut self, batch: &Batch) {
        let writes = batch.writes().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)));
        self.keys.extend(writes);
    }

    /// What is written of `key`: `None` if nothing is, `Some(None)` if it is deleted.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.keys.get(key).map(Option::as_deref)
    }

    /// The keys that are written, in order, each with its value, or `None` if it is deleted.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], Option<&[u8]>)> {
        self.keys.iter().map(|(key, value)| (key.as_slice(), value.as_deref()))
    }

    /// The writes, in the order of their keys.
    pub fn into_batch(self) -> Batch {
        let mut batch = Batch::new();
        self.iter().for_each(|(key, value)| batch.write(key, value));
        batch
    }

    /// How many keys are written.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// What is below, with these writes in front of it.
    pub fn over<'a, R: Read>(&'a self, below: &'a R) -> Overlaid<'a, R> {
        Overlaid { overlay: self, below }
    }

    fn ahead(&self, span: &Span, direction: Direction) -> Ahead<'_> {
        Ahead { rows: self.keys.range::<[u8], _>(span.bounds()), direction }
    }
}

/// A store, or a snapshot of one, with an [`Overlay`] in front of it.
#[derive(Debug, Clone, Copy)]
pub struct Overlaid<'a, R> {
    overlay: &'a Overlay,
    below: &'a R,
}

impl<R: Read> Read for Overlaid<'_, R> {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        match self.overlay.get(key) {
            Some(value) => Ok(value.map(look)),
            None => self.below.get(key, look).await,
        }
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        mut look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        // One call, so that all are of one state.
        let missing = |key: &&K| self.overlay.get(key.as_ref()).is_none();
        let asked: Vec<&K> = keys.iter().filter(missing).collect();
        let mut next = 0;
        let mut written = |look: &mut dyn FnMut(usize, Option<&[u8]>)| {
            while let Some(value) = keys.get(next).and_then(|key| self.overlay.get(key.as_ref())) {
                look(next, value);
                next += 1;
            }
            next += 1;
            next - 1
        };
        // What is written over goes before the next key from below, so that all come in their order.
        self.below
            .get_many(&asked, |_, value| {
                let number = written(&mut look);
                look(number, value);
            })
            .await?;
        written(&mut look);
        Ok(())
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        let ahead = self.overlay.ahead(span, direction);
        let mut merge = Merge::new(ahead, self.overlay.len(), span, direction, limits, look);
        let mut left = Cow::Borrowed(span);
        loop {
            let below = merge.below;
            let page = self.below.scan(&left, direction, below, |key, value| merge.row(key, value)).await?;
            match merge.turn(page) {
                ControlFlow::Break(page) => return Ok(page),
                ControlFlow::Continue(rest) => left = Cow::Owned(rest),
            }
        }
    }
}

/// A page in the making: the overlay's rows wait, and each goes before the first row from below that is behind it.
struct Merge<'a, I: Iterator, F> {
    span: &'a Span,
    direction: Direction,
    /// What is asked of below.
    below: Limits,
    waiting: Peekable<I>,
    counter: Counter,
    /// The key of the row at which the page ended.
    last: Option<Vec<u8>>,
    look: F,
}

impl<'s, 'a, I, F> Merge<'s, I, F>
where
    I: Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
    F: FnMut(&[u8], &[u8]) -> ControlFlow<()>,
{
    fn new(ahead: I, hidden: usize, span: &'s Span, direction: Direction, limits: Limits, look: F) -> Self {
        // Only rows that are seen count, so below may take as many more as can be hidden. What bytes these have is
        // not known; the rows bound them.
        let rows = limits.rows.max(1).saturating_add(hidden);
        let below = Limits { rows, bytes: usize::MAX, ..limits };
        let waiting = ahead.peekable();
        Self { span, direction, below, waiting, counter: Counter::new(limits), last: None, look }
    }

    /// Takes the next row from below.
    fn row(&mut self, key: &[u8], value: &[u8]) -> ControlFlow<()> {
        while let Some(&(ahead, written)) = self.waiting.peek() {
            let order = self.direction.compare(ahead, key);
            if order.is_gt() {
                break;
            }
            self.waiting.next();
            let seen = self.written(ahead, written);
            // What is written over is not seen.
            if order.is_eq() || seen.is_break() {
                return seen;
            }
        }
        self.see(key, value)
    }

    fn written(&mut self, key: &[u8], value: Option<&[u8]>) -> ControlFlow<()> {
        value.map_or(ControlFlow::Continue(()), |value| self.see(key, value))
    }

    fn see(&mut self, key: &[u8], value: &[u8]) -> ControlFlow<()> {
        let more = self.counter.count(key, value);
        if (self.look)(key, value).is_continue() && more {
            return ControlFlow::Continue(());
        }
        self.last = Some(key.to_vec());
        ControlFlow::Break(())
    }

    /// Decides, after a page from below: this page ends, or below is to go on with what it left.
    fn turn(&mut self, page: Page) -> ControlFlow<Page, Span> {
        let left = page.rest;
        let seen = |key: &[u8]| left.as_ref().is_none_or(|left| !left.contains(key));
        while self.last.is_none()
            && let Some((key, value)) = self.waiting.next_if(|(key, _)| seen(key))
        {
            // It says what `last` says.
            let _ = self.written(key, value);
        }
        if let Some(last) = &self.last {
            return ControlFlow::Break(self.counter.stopped(self.span, self.direction, last));
        }
        let page = self.counter.finished();
        match left {
            // All that below took was hidden, and a page must have a row. It may still be of a later state.
            Some(left) if page.rows == 0 => ControlFlow::Continue(left),
            left => ControlFlow::Break(Page { rest: left, ..page }),
        }
    }
}

/// The overlay's rows of a span, in the direction of a scan.
struct Ahead<'a> {
    rows: Range<'a, Vec<u8>, Option<Vec<u8>>>,
    direction: Direction,
}

impl<'a> Iterator for Ahead<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = match self.direction {
            Direction::Forward => self.rows.next()?,
            Direction::Backward => self.rows.next_back()?,
        };
        Some((key, value.as_deref()))
    }
}

#[cfg(test)]
mod tests;
