//! What is committed and not yet in the file, when commits are [buffered](keyloom_store::Durability::Buffered).
//!
//! ```text
//! commit ─→ fresh ─→ flushing ─→ file        reads look in this order, and see the first they find
//! ```
//!
//! Commits gather in `fresh` while `flushing` is written. Commits only enter while this process has the right to write,
//! so that no other process comes between their conditions and their writes.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use heed::RoTxn;
use keyloom_key::Span;
use keyloom_store::{Batch, Direction, Error, Limits, Look, Overlay, Page, Sequence, Write};

use crate::condition::{Now, check};
use crate::engine::Engine;
use crate::error::failed;

/// The buffer of a store.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// The most writes that may be in it.
    entries: usize,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    fresh: Generation,
    flushing: Arc<Generation>,
    /// Whether this process has the right to write, and lets commits in.
    open: bool,
    /// The sequence of the last commit, while the buffer is open or holds any.
    sequence: Sequence,
    trouble: Option<Trouble>,
}

/// Whole commits that are flushed as one.
#[derive(Debug, Default)]
pub(crate) struct Generation {
    pub(crate) overlay: Overlay,
    /// The sequence of its last commit; `None` if there is none.
    pub(crate) last: Option<Sequence>,
    entries: usize,
}

/// A flush that failed.
#[derive(Debug)]
enum Trouble {
    /// It will be tried again: the next call is told.
    Passing(Error),
    /// Nothing can be written any more: every call is told.
    Lasting(String),
}

/// What became of a commit.
pub(crate) enum Admission {
    /// It is in.
    Done {
        sequence: Sequence,
        /// Whether it is time to flush.
        flush: bool,
    },
    /// The buffer is not open or has no room: here is the batch again.
    Closed(Batch),
}

impl Buffer {
    pub(crate) fn new(entries: usize) -> Self {
        Self { entries: entries.max(1), state: RwLock::default() }
    }

    // A panic while the lock is held leaves the state whole: it is only changed by steps that cannot fail.
    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is buffered, unless a flush has failed and nobody was told.
    ///
    /// A transaction begun while this is held sees at least all that has left the buffer.
    pub(crate) fn read(&self) -> Result<RwLockReadGuard<'_, State>, Error> {
        loop {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            if state.trouble.is_none() {
                return Ok(state);
            }
            drop(state);
            self.write().complain()?;
        }
    }

    /// Lets a commit in if its conditions hold.
    pub(crate) fn admit(&self, engine: &Engine, batch: Batch) -> Result<Admission, Error> {
        let mut state = self.write();
        state.complain()?;
        let entries = batch.writes().len().max(1);
        let waiting = state.entries();
        if !state.open || (waiting > 0 && waiting + entries > self.entries) {
            return Ok(Admission::Closed(batch));
        }
        if !batch.conditions().is_empty() {
            check(&Front { state: &state, engine, txn: &*engine.read()? }, batch.conditions())?;
        }
        let sequence = Sequence(state.sequence.0 + 1);
        state.sequence = sequence;
        let fresh = &mut state.fresh;
        for (key, value) in batch.writes() {
            fresh.overlay.write(Write { key: key.to_vec(), value: value.map(<[u8]>::to_vec) });
        }
        let before = fresh.entries;
        fresh.entries += entries;
        fresh.last = Some(sequence);
        // Half of the room is left for what comes in during the flush. Said once, when the half is passed.
        let half = self.entries.div_ceil(2);
        Ok(Admission::Done { sequence, flush: before < half && fresh.entries >= half })
    }

    /// Lets commits in, which follow `last`. The caller has the right to write.
    pub(crate) fn open(&self, last: Sequence) {
        let mut state = self.write();
        state.open = true;
        state.sequence = last;
    }

    /// Lets no more commits in.
    pub(crate) fn close(&self) {
        self.write().open = false;
    }

    /// Lets no more commits in if nothing is buffered, and says whether that is so.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut state = self.write();
        let empty = state.entries() == 0;
        state.open &= !empty;
        empty
    }

    /// The commits to flush next: the earliest ones. They stay in the buffer until they are [flushed](Self::flushed).
    pub(crate) fn next(&self) -> Option<Arc<Generation>> {
        let mut state = self.write();
        if state.flushing.last.is_none() {
            state.flushing = Arc::new(std::mem::take(&mut state.fresh));
        }
        state.flushing.last.map(|_| Arc::clone(&state.flushing))
    }

    /// The commits of the last [`next`](Self::next) are in the file.
    pub(crate) fn flushed(&self) {
        self.write().flushing = Arc::default();
    }

    /// A flush has failed, and nobody was told: the next call will be.
    pub(crate) fn report(&self, error: Error) {
        let mut state = self.write();
        if !matches!(state.trouble, Some(Trouble::Lasting(_))) {
            state.trouble = Some(Trouble::Passing(error));
        }
    }

    /// Nothing can be written any more: every call will be told.
    pub(crate) fn fail(&self, reason: String) {
        self.write().trouble = Some(Trouble::Lasting(reason));
    }

    /// Whether nothing can be written any more.
    pub(crate) fn has_failed(&self) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        matches!(state.trouble, Some(Trouble::Lasting(_)))
    }
}

impl State {
    fn complain(&mut self) -> Result<(), Error> {
        match self.trouble.take() {
            None => Ok(()),
            Some(Trouble::Passing(error)) => Err(error),
            Some(Trouble::Lasting(reason)) => {
                let error = failed(&reason);
                self.trouble = Some(Trouble::Lasting(reason));
                Err(error)
            }
        }
    }

    fn entries(&self) -> usize {
        self.fresh.entries + self.flushing.entries
    }

    /// The sequence of the last commit, if it is not in the file yet.
    pub(crate) fn sequence(&self) -> Option<Sequence> {
        (self.entries() > 0).then_some(self.sequence)
    }

    /// What is buffered of `key`: `None` if nothing is, `Some(None)` if it is deleted.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.fresh.overlay.get(key).or_else(|| self.flushing.overlay.get(key))
    }

    /// A page of what is buffered and, below it, of the file.
    pub(crate) fn page(
        &self,
        engine: &Engine,
        txn: &RoTxn<'_>,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: &mut Look<'_>,
    ) -> Result<Page, Error> {
        self.fresh.overlay.scan(span, direction, limits, look, |span, limits, look| {
            self.flushing.overlay.scan(span, direction, limits, look, |span, limits, look| {
                engine.page(txn, span, direction, limits, look)
            })
        })
    }
}

/// What is buffered in front of the file, for conditions.
struct Front<'a> {
    state: &'a State,
    engine: &'a Engine,
    txn: &'a RoTxn<'a>,
}

impl Now for Front<'_> {
    fn get<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error> {
        match self.state.get(key) {
            Some(value) => Ok(value.map(look)),
            None => self.engine.get(self.txn, key, look),
        }
    }

    fn page(&self, span: &Span, limits: Limits, look: &mut Look<'_>) -> Result<Page, Error> {
        self.state.page(self.engine, self.txn, span, Direction::Forward, limits, look)
    }
}
