//! What is in memory at one time, in front of what is in the file.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyloom_key::Span;
use keyloom_store::bloom::hash;
use keyloom_store::{Direction, Error, Limits, Page, Sequence};
use smallvec::SmallVec;

use crate::engine::{Engine, Reading};
use crate::generation::{Ahead, Generation};
use crate::scan::{Written, in_direction};

/// For how many rows of a scan commits have to wait that go to memory: some 0.1 ms.
const HELD: usize = 1_000;

/// Commits that are not in the file, up to one of them.
#[derive(Debug)]
pub(crate) struct View {
    /// The newest first.
    pub(crate) generations: [Option<Arc<Generation>>; 2],
    /// The last commit that is seen.
    pub(crate) time: Sequence,
}

impl View {
    fn generations(&self) -> impl Iterator<Item = &Generation> {
        self.generations.iter().flatten().map(|generation| &**generation)
    }

    pub(crate) fn get<T>(
        &self,
        engine: &Engine,
        reading: &Reading,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, Error> {
        let hash = hash(key);
        for generation in self.generations() {
            if let Some(value) = generation.read().get(key, hash, self.time) {
                return Ok(value.map(look));
            }
        }
        engine.get(reading, key, look)
    }

    /// Does what [`get`](Self::get) does, and `meanwhile` before the value is looked for to the end.
    pub(crate) fn get_meanwhile<T, W>(
        &self,
        engine: &Engine,
        reading: &Reading,
        key: &[u8],
        hash: u64,
        meanwhile: impl FnOnce() -> W,
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<(W, Option<T>), Error> {
        if self.generations().any(|generation| generation.read().get(key, hash, self.time).is_some()) {
            return Ok((meanwhile(), self.get(engine, reading, key, look)?));
        }
        engine.get_meanwhile(reading, key, hash, meanwhile, look)
    }

    pub(crate) fn get_many<K: AsRef<[u8]>>(
        &self,
        engine: &Engine,
        reading: &Reading,
        keys: &[K],
        mut look: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        let is_here = |key: &K| {
            let (key, hash) = (key.as_ref(), hash(key.as_ref()));
            self.generations().any(|generation| generation.read().get(key, hash, self.time).is_some())
        };
        // The file looks for keys side by side, so those that follow upon one another and are not in memory go there together.
        let here: SmallVec<[bool; 32]> = keys.iter().map(is_here).collect();
        let mut first = 0;
        for run in here.chunk_by(PartialEq::eq) {
            let part = keys.get(first..first + run.len()).unwrap_or_default();
            if let [true, ..] = run {
                for (number, key) in (first..).zip(part) {
                    if self.get(engine, reading, key.as_ref(), |value| look(number, Some(value)))?.is_none() {
                        look(number, None);
                    }
                }
            } else {
                engine.get_many(reading, part, |number, value| look(first + number, value))?;
            }
            first += run.len();
        }
        Ok(())
    }

    /// A page of what is in memory and, below it, of the file.
    ///
    /// It is one state however long it takes: versions of this time stay until they are in the file. So commits are let in
    /// between its parts.
    pub(crate) fn page(
        &self,
        engine: &Engine,
        reading: &Reading,
        span: &Span,
        direction: Direction,
        limits: Limits,
        mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Page, Error> {
        let started = (limits.time < Duration::MAX).then(Instant::now);
        let mut time = limits.time;
        let mut all = Page { rows: 0, bytes: 0, rest: None };
        loop {
            let mut flow = ControlFlow::Continue(());
            let part = Limits {
                rows: limits.rows.saturating_sub(all.rows).min(HELD),
                bytes: limits.bytes.saturating_sub(all.bytes),
                time,
            };
            let left = all.rest.as_ref().unwrap_or(span);
            let page = self.part(engine, reading, left, direction, part, |key, value| {
                flow = look(key, value);
                flow
            })?;
            all = Page { rows: all.rows + page.rows, bytes: all.bytes + page.bytes, rest: page.rest };
            if let Some(started) = started {
                time = limits.time.saturating_sub(started.elapsed());
            }
            let is_full = all.rows >= limits.rows || all.bytes >= limits.bytes || time.is_zero();
            if all.rest.is_none() || flow.is_break() || is_full {
                return Ok(all);
            }
            self.generations().for_each(Generation::let_in);
        }
    }

    /// A page during which no commit goes to memory.
    fn part(
        &self,
        engine: &Engine,
        reading: &Reading,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Page, Error> {
        let sorted = self.generations.each_ref().map(|generation| Some(generation.as_ref()?.sorted()));
        match sorted.each_ref().map(|rows| Some(rows.as_ref()?.ahead(span, direction, self.time))) {
            [Some(newer), Some(older)] => {
                let ahead = Over { newer: newer.peekable(), older: older.peekable(), direction };
                engine.page(reading, ahead, span, direction, limits, look)
            }
            [newer, older] => {
                engine.page(reading, newer.or(older).into_iter().flatten(), span, direction, limits, look)
            }
        }
    }
}

/// The rows of two generations as one. Of two with the same key the newer counts.
struct Over<'g> {
    newer: Peekable<Ahead<'g>>,
    older: Peekable<Ahead<'g>>,
    direction: Direction,
}

impl<'g> Iterator for Over<'g> {
    type Item = Written<'g>;

    fn next(&mut self) -> Option<Written<'g>> {
        let order = match (self.newer.peek(), self.older.peek()) {
            (Some((newer, _)), Some((older, _))) => in_direction(self.direction, newer, older),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        if order.is_eq() {
            self.older.next();
        }
        if order.is_gt() { self.older.next() } else { self.newer.next() }
    }
}

#[cfg(test)]
mod tests;
