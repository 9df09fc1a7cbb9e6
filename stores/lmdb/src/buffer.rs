//! What is committed and not yet in the file.
//!
//! ```text
//! commit ─→ log ─→ fresh ─→ flushing ─→ file      reads look from left to right, and see the first they find
//! ```
//!
//! Commits gather in `fresh` while `flushing` is written. Commits only enter while this process has the right to write,
//! so that no other process comes between their conditions and their writes. A commit that has to be synced is seen by
//! later conditions at once, and by those who read when its log is synced; one that will be soon is seen by all at once.

use std::iter::empty;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use keyloom_key::Span;
use keyloom_store::{Batch, Direction, Error, Limits, Look, Now, Page, Sequence, check};
use tokio::sync::oneshot;

use crate::engine::{Engine, Reading};
use crate::error::failed;
use crate::generation::Generation;
use crate::log::{Logs, Salts, Tail, Unwritten};
use crate::room::Room;
use crate::view::View;

/// What a commit promises when it is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    /// Nothing is logged.
    Memory,
    /// Its log will soon be on the disk: at most so many writes are not yet.
    Soon { entries: usize },
    /// Its log is with the system.
    Written,
    /// Its log is on the disk.
    Synced,
}

/// Who waits for a commit.
pub(crate) type Waiter = oneshot::Sender<Result<Sequence, Error>>;

/// The buffer of a store.
#[derive(Debug)]
pub(crate) struct Buffer {
    promise: Promise,
    room: Room,
    /// Whether there is anything to see in it: if not, those who read need not wait for anybody.
    occupied: AtomicBool,
    /// The newest state that a snapshot has: versions that it sees are kept.
    kept: AtomicU64,
    state: RwLock<State>,
    /// Open while this process has the right to write. Taken behind the state, never before it.
    logs: Mutex<Option<Logs>>,
    /// One syncs at a time, so that what is written first is visible first.
    syncing: Mutex<()>,
}

#[derive(Debug)]
struct State {
    fresh: Arc<Generation>,
    flushing: Option<Arc<Generation>>,
    /// How much is in each of them.
    filled: Room,
    draining: Room,
    /// Whether this process has the right to write, and lets commits in.
    open: bool,
    /// The sequence of the last commit that was let in, of the last that can be seen, and of the last that can be when the
    /// sync that has begun has ended.
    sequence: Sequence,
    visible: Sequence,
    seen_next: Sequence,
    salts: Salts,
    /// What is not in the log of `fresh` yet, and what is not in that of `flushing`.
    tail: Tail,
    earlier: Option<Unwritten>,
    /// How many writes are being synced now.
    syncing: usize,
    waiters: Vec<(Sequence, Waiter)>,
    /// Whether a log could not be written: nothing comes in until the file has all that is here.
    broken: bool,
    trouble: Option<Trouble>,
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
        /// Whether it is time to sync.
        sync: bool,
    },
    /// It is in, and the waiter will be told when it is synced.
    Waits {
        /// Whether it is time to flush.
        flush: bool,
    },
    /// So much is not synced that it has to wait for that: here is the batch again.
    Late(Batch),
    /// The buffer is not open or has no room: here is the batch again.
    Closed(Batch),
}

impl Buffer {
    pub(crate) fn new(promise: Promise, room: Room) -> Self {
        let state = State {
            fresh: Arc::new(Generation::new(0)),
            flushing: None,
            filled: Room::default(),
            draining: Room::default(),
            open: false,
            sequence: Sequence::default(),
            visible: Sequence::default(),
            seen_next: Sequence::default(),
            salts: Salts::default(),
            tail: Tail::of(0, 0),
            earlier: None,
            syncing: 0,
            waiters: Vec::new(),
            broken: false,
            trouble: None,
        };
        Self {
            promise,
            room,
            occupied: AtomicBool::new(false),
            kept: AtomicU64::new(0),
            state: RwLock::new(state),
            logs: Mutex::default(),
            syncing: Mutex::default(),
        }
    }

    pub(crate) fn promise(&self) -> Promise {
        self.promise
    }

    /// Whether a batch is so large that it goes into the file by itself.
    pub(crate) fn is_large(&self, batch: &Batch) -> bool {
        let late = matches!(self.promise, Promise::Soon { entries } if batch.writes().len() > entries);
        late || self.room.is_passed_by(batch, self.promise != Promise::Memory)
    }

    // A panic while a lock is held leaves the state whole: it is only changed by steps that cannot fail.
    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn logs(&self) -> MutexGuard<'_, Option<Logs>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, unless a flush has failed and nobody was told.
    fn read(&self) -> Result<RwLockReadGuard<'_, State>, Error> {
        loop {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            if state.trouble.is_none() {
                return Ok(state);
            }
            drop(state);
            self.write().complain()?;
        }
    }

    /// What is in the file now, and what is to be seen in front of it.
    pub(crate) fn look(&self, engine: &Engine) -> Result<(Reading, Option<View>), Error> {
        // What leaves the buffer after this look is in the file before the next.
        if !self.occupied.load(Ordering::Acquire) {
            return Ok((engine.read()?, None));
        }
        let state = self.read()?;
        // Begun while nothing can leave the buffer: so the file has all that is not in the view.
        Ok((engine.read()?, state.view(state.visible)))
    }

    /// The same for a snapshot: what it sees is kept. `begin` makes its transaction.
    pub(crate) fn keep<T>(
        &self,
        begin: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, Option<View>), Error> {
        if !self.occupied.load(Ordering::Acquire) {
            return Ok((begin()?, None));
        }
        let state = self.read()?;
        self.kept.fetch_max(state.visible.0, Ordering::Relaxed);
        Ok((begin()?, state.view(state.visible)))
    }

    /// The sequence of the last commit that can be seen, if it is not in the file yet.
    pub(crate) fn sequence(&self) -> Result<Option<Sequence>, Error> {
        if !self.occupied.load(Ordering::Acquire) {
            return Ok(None);
        }
        let state = self.read()?;
        Ok((state.held().entries > 0).then_some(state.visible))
    }

    /// Lets a commit in if its conditions hold. The waiter is taken if it has to wait for a sync.
    pub(crate) fn admit(
        &self,
        engine: &Engine,
        batch: Batch,
        waiter: &mut Option<Waiter>,
    ) -> Result<Admission, Error> {
        let mut guard = self.write();
        guard.complain()?;
        let (held, more) = (guard.held(), Room::of(&batch));
        if !guard.open || (held.entries > 0 && !self.room.holds(held.and(more))) {
            return Ok(Admission::Closed(batch));
        }
        if let Promise::Soon { entries } = self.promise
            && guard.unsynced() + more.entries > entries
        {
            return Ok(Admission::Late(batch));
        }
        let conditions = batch.conditions_after(guard.sequence);
        if !conditions.is_empty() {
            let reading = engine.read()?;
            let front = Front { view: guard.view(guard.sequence), engine, reading: &reading };
            check(&front, conditions)?;
            engine.parked.put(reading);
        }
        let sequence = Sequence(guard.sequence.0 + 1);
        let state = &mut *guard;
        let mut sync = false;
        match self.promise {
            Promise::Memory => {}
            Promise::Synced => state.tail.append(&batch, sequence),
            Promise::Soon { entries } => {
                let before = state.tail.left.writes;
                state.tail.append(&batch, sequence);
                // Said twice: when there is something to sync, and when there is so much that it should not wait.
                let half = entries.div_ceil(2);
                sync = before == 0 || (before < half && state.tail.left.writes >= half);
            }
            Promise::Written => {
                state.tail.append(&batch, sequence);
                let mut logs = self.logs();
                let written = logs.as_mut().map_or(Ok(()), |logs| logs.append(&[&state.tail.left], false));
                drop(logs);
                if let Err(error) = written {
                    state.give_up();
                    return Err(same(&error));
                }
                state.tail.left.clear();
            }
        }
        self.occupied.store(true, Ordering::Release);
        let needed = Sequence(self.kept.load(Ordering::Relaxed)).max(state.visible).max(state.seen_next);
        state.fresh.write().commit(&batch, sequence, needed);
        let before = state.filled;
        state.filled = before.and(more);
        // Half of the room is left for what comes in during the flush. Said once, when the half is passed.
        let flush = !self.room.is_filled(2, before) && self.room.is_filled(2, state.filled);
        state.sequence = sequence;
        match (self.promise, waiter.take()) {
            (Promise::Synced, Some(waiter)) => {
                state.waiters.push((sequence, waiter));
                Ok(Admission::Waits { flush })
            }
            (_, given) => {
                *waiter = given;
                state.visible = sequence;
                Ok(Admission::Done { sequence, flush, sync })
            }
        }
    }

    /// Writes and syncs what is not in the logs yet, and tells those who wait for it. Returns how many there were, and
    /// whether it could be.
    pub(crate) fn sync(&self) -> (usize, Result<(), Error>) {
        let _turn = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.write();
        let (last, mut waiters) = (state.sequence, std::mem::take(&mut state.waiters));
        let left = [state.earlier.take(), Some(state.tail.left.take())];
        let records: Vec<_> = left.into_iter().flatten().filter(|records| records.writes > 0).collect();
        state.syncing = records.iter().map(|records| records.writes).sum();
        state.seen_next = last;
        drop(state);
        let synced = match (records.is_empty(), self.logs().as_mut()) {
            (false, Some(logs)) => logs.append(&records.iter().collect::<Vec<_>>(), true),
            _ => Ok(()),
        };
        let mut state = self.write();
        state.syncing = 0;
        match &synced {
            Ok(()) => state.visible = state.visible.max(last),
            // Nothing is taken back that was promised, if not to be there at once: it is tried again.
            Err(_) if matches!(self.promise, Promise::Soon { .. }) => state.put_back(records),
            // Those who came in meanwhile may build on what is lost.
            Err(_) => {
                state.give_up();
                waiters.append(&mut state.waiters);
            }
        }
        drop(state);
        let count = waiters.len();
        for (sequence, waiter) in waiters {
            let _ = waiter.send(match &synced {
                Ok(()) => Ok(sequence),
                Err(error) => Err(same(error)),
            });
        }
        (count, synced.map_err(|error| same(&error)))
    }

    /// Has someone told when all that is in now is synced.
    pub(crate) fn tell_synced(&self, waiter: Waiter) {
        let mut state = self.write();
        let last = state.sequence;
        state.waiters.push((last, waiter));
    }

    /// Whether a sync should not wait for more to come.
    pub(crate) fn is_pressing(&self) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let half =
            matches!(self.promise, Promise::Soon { entries } if state.unsynced() >= entries.div_ceil(2));
        half || !state.waiters.is_empty()
    }

    /// Waits until all that was let in is on the disk; whether it is. If not, the file has to have it: what a sync that has
    /// failed did not write, the next one may not either, and say that it did.
    pub(crate) fn sync_written(&self) -> bool {
        if self.state.read().unwrap_or_else(PoisonError::into_inner).broken {
            return false;
        }
        let synced = match self.logs().as_mut() {
            None => Ok(()),
            Some(logs) => logs.sync(0).and_then(|()| logs.sync(1)),
        };
        if synced.is_err() {
            self.write().give_up();
        }
        synced.is_ok()
    }

    /// Lets commits in, which follow `last`. The caller has the right to write.
    pub(crate) fn open(&self, last: Sequence, logs: Option<Logs>, salts: Salts) {
        let mut state = self.write();
        *self.logs() = logs;
        state.salts = salts;
        let [salt, _] = salts.0;
        state.fresh = Arc::new(Generation::new(0));
        state.filled = Room::default();
        state.tail = Tail::of(0, salt);
        (state.sequence, state.visible, state.seen_next) = (last, last, last);
        state.open = true;
    }

    /// Lets no more commits in.
    pub(crate) fn close(&self) {
        self.write().open = false;
    }

    /// Lets no more commits in if nothing is buffered, and says whether that is so.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut state = self.write();
        if state.held().entries > 0 || state.broken {
            return false;
        }
        state.open = false;
        *self.logs() = None;
        self.occupied.store(state.trouble.is_some(), Ordering::Release);
        true
    }

    /// The commits to flush next: the earliest ones. They stay in the buffer until they are [flushed](Self::flushed).
    pub(crate) fn next(&self) -> Option<Arc<Generation>> {
        let mut state = self.write();
        if state.flushing.is_none() && (state.filled.entries > 0 || state.broken) {
            let log = 1 - state.fresh.log;
            let next = Arc::new(Generation::new(log));
            state.flushing = Some(std::mem::replace(&mut state.fresh, next));
            state.draining = std::mem::take(&mut state.filled);
            let tail = Tail::of(log, state.salts.of(log));
            state.earlier = Some(std::mem::replace(&mut state.tail, tail).left);
        }
        let flushing = state.flushing.clone()?;
        drop(state);
        if self.promise == Promise::Synced {
            // What is told to be written must not be taken back when its log fails. Those who wait are told.
            let _ = self.sync();
        }
        Some(flushing)
    }

    /// The salts that the file has to have with the commits that are being flushed: their log is read no more.
    pub(crate) fn next_salts(&self) -> Option<Salts> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let flushing = state.flushing.as_ref().filter(|_| self.promise != Promise::Memory)?;
        let fresh = Salts::fresh();
        // After a failure nothing of either log may be read again, when the file has all that is in them.
        let both = state.broken && state.filled.entries == 0;
        Some(if both { fresh } else { state.salts.with(flushing.log, fresh) })
    }

    /// The commits of the last [`next`](Self::next) are in the file, which has these salts.
    pub(crate) fn flushed(&self, salts: Option<Salts>) {
        // What is in the file need not go to its log any more, and must not when that begins anew.
        let turn = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.write();
        let flushed = state.flushing.take();
        state.earlier = None;
        state.draining = Room::default();
        if let (Some(flushed), Some(salts)) = (&flushed, salts) {
            // A log that has failed meanwhile may have something of what was refused, until its salt is another too.
            let both = (0..2).all(|log| salts.of(log) != state.salts.of(log));
            state.salts = salts;
            if let Some(logs) = self.logs().as_mut() {
                logs.clear(flushed.log);
            }
            if state.broken && both && state.filled.entries == 0 {
                state.broken = false;
                let log = state.fresh.log;
                state.tail = Tail::of(log, salts.of(log));
                if let Some(logs) = self.logs().as_mut() {
                    logs.clear(log);
                }
            }
        }
        drop((state, turn));
        // Thousands of small pieces are given back, for which nobody should wait.
        drop(flushed);
    }

    /// A flush has failed, and nobody was told: the next call will be.
    pub(crate) fn report(&self, error: Error) {
        let mut state = self.write();
        if !matches!(state.trouble, Some(Trouble::Lasting(_))) {
            state.trouble = Some(Trouble::Passing(error));
            self.occupied.store(true, Ordering::Release);
        }
    }

    /// Nothing can be written any more: every call will be told.
    pub(crate) fn fail(&self, reason: String) {
        let mut state = self.write();
        let waiters = std::mem::take(&mut state.waiters);
        waiters.into_iter().for_each(|(_, waiter)| drop(waiter.send(Err(failed(&reason)))));
        state.trouble = Some(Trouble::Lasting(reason));
        self.occupied.store(true, Ordering::Release);
    }

    /// Brings what has come in into its order, so that those who scan, and the flush, need not.
    pub(crate) fn sort(&self) {
        let fresh = Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner).fresh);
        fresh.sort();
    }

    /// Whether so much has come in that a flush had better wait for more: its cost is in the pages that it touches, and
    /// two writes that touch the same page cost the same as one.
    pub(crate) fn is_filling(&self) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        self.promise != Promise::Memory && self.room.is_filled(8, state.filled)
    }

    /// Whether this process has the right to write, and lets commits in.
    pub(crate) fn is_open(&self) -> bool {
        self.state.read().unwrap_or_else(PoisonError::into_inner).open
    }

    /// Whether nothing can be written any more.
    pub(crate) fn has_failed(&self) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        matches!(state.trouble, Some(Trouble::Lasting(_)))
    }
}

/// An error once more, for each who waits.
fn same(error: &Error) -> Error {
    match error {
        Error::Full(reason) => Error::Full(reason.clone()),
        // What was in the log is taken back, and it is not used any more.
        other => Error::Full(format!("the log could not be written: {other}").into()),
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

    /// Takes back all that is not in a log, and lets nothing in until the file has the rest.
    fn give_up(&mut self) {
        for generation in self.flushing.iter().chain([&self.fresh]) {
            generation.forget_after(self.visible);
        }
        if self.fresh.read().last.is_none() {
            self.filled = Room::default();
        }
        if self.flushing.as_ref().is_some_and(|flushing| flushing.read().last.is_none()) {
            self.draining = Room::default();
        }
        (self.sequence, self.seen_next) = (self.visible, self.visible);
        self.tail.left.clear();
        self.earlier = None;
        self.open = false;
        self.broken = true;
    }

    /// Puts records back that could not be written.
    fn put_back(&mut self, records: Vec<Unwritten>) {
        for records in records {
            if records.log == self.tail.left.log {
                self.tail.left.put_back(records);
            } else {
                self.earlier
                    .get_or_insert_with(|| Unwritten { log: records.log, ..Unwritten::default() })
                    .put_back(records);
            }
        }
    }

    /// How many writes are not in a log that is synced.
    fn unsynced(&self) -> usize {
        self.tail.left.writes + self.earlier.as_ref().map_or(0, |earlier| earlier.writes) + self.syncing
    }

    /// How much is in the buffer.
    fn held(&self) -> Room {
        self.filled.and(self.draining)
    }

    /// What is to be seen at this time; `None` if nothing is buffered.
    fn view(&self, time: Sequence) -> Option<View> {
        let fresh = (self.filled.entries > 0).then(|| Arc::clone(&self.fresh));
        let flushing = self.flushing.as_ref().filter(|_| self.draining.entries > 0).map(Arc::clone);
        (fresh.is_some() || flushing.is_some()).then_some(View { generations: [fresh, flushing], time })
    }
}

/// What is buffered in front of the file, for conditions.
struct Front<'a> {
    view: Option<View>,
    engine: &'a Engine,
    reading: &'a Reading,
}

impl Now for Front<'_> {
    fn get<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error> {
        match &self.view {
            None => self.engine.get(self.reading, key, look),
            Some(view) => view.get(self.engine, self.reading, key, look),
        }
    }

    fn page(&self, span: &Span, limits: Limits, look: &mut Look<'_>) -> Result<Page, Error> {
        match &self.view {
            None => self.engine.page(self.reading, empty(), span, Direction::Forward, limits, look),
            Some(view) => view.page(self.engine, self.reading, span, Direction::Forward, limits, look),
        }
    }
}

#[cfg(test)]
mod tests;
