//! The one thread that writes when commits are buffered: it flushes them, many with one sync.
//!
//! It has the right to write from the first commit that enters an empty buffer until the buffer is empty again. If another
//! process waits, the buffer is closed and emptied, and the other has its turn.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use keyloom_store::{Batch, Error, Sequence};
use tokio::sync::oneshot;

use crate::buffer::{Admission, Buffer, Generation};
use crate::engine::Engine;
use crate::error::failed;
use crate::lock::{WriterLock, Writing};
use crate::snapshot::Snapshots;
use crate::transaction::Transaction;

/// How long a flush that has failed waits until it is tried again, at least.
const PAUSE: Duration = Duration::from_millis(50);

/// What the thread is asked.
pub(crate) enum Request {
    /// A commit that found the buffer closed.
    Commit { batch: Batch, answer: oneshot::Sender<Result<Sequence, Error>> },
    /// To flush all that is buffered.
    Flush(oneshot::Sender<Result<(), Error>>),
    /// That it is time to flush, before the interval is over.
    Nudge,
}

/// What the thread works on.
pub(crate) struct Flusher {
    pub(crate) engine: Engine,
    pub(crate) lock: WriterLock,
    pub(crate) buffer: Arc<Buffer>,
    /// How long commits gather.
    pub(crate) interval: Duration,
    pub(crate) snapshots: Arc<Snapshots>,
}

/// The right to write, and when the next flush is due.
struct Turn<'a> {
    _writing: Writing<'a>,
    due: Instant,
}

impl Flusher {
    /// Flushes until nobody can send any more, and then what is left.
    pub(crate) fn run(self, requests: &Receiver<Request>) {
        let mut turn = None;
        loop {
            let request = match &turn {
                None => requests.recv_timeout(self.snapshots.pause()),
                Some(Turn { due, .. }) => {
                    requests.recv_timeout(due.saturating_duration_since(Instant::now()))
                }
            };
            self.snapshots.expire(&self.engine);
            match request {
                Ok(Request::Commit { batch, answer }) => {
                    let _ = answer.send(self.commit(&mut turn, batch));
                }
                Ok(Request::Flush(answer)) => {
                    let _ = answer.send(self.flush_all(&mut turn));
                }
                Ok(Request::Nudge) | Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = self.flush(&mut turn) {
                        self.buffer.report(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    // Nobody is left who could be told; `flush` is for those who must know.
                    let _ = self.flush_all(&mut turn);
                    return;
                }
            }
        }
    }

    /// Opens the buffer, or makes room in it, and lets a commit in.
    fn commit<'a>(&'a self, turn: &mut Option<Turn<'a>>, mut batch: Batch) -> Result<Sequence, Error> {
        loop {
            if turn.is_none() {
                let writing = self.lock.take()?;
                self.buffer.open(self.engine.sequence(&*self.engine.read()?)?);
                *turn = Some(Turn { _writing: writing, due: Instant::now() + self.interval });
            }
            match self.buffer.admit(&self.engine, batch)? {
                Admission::Done { sequence, flush } => {
                    if let Some(turn) = turn.as_mut().filter(|_| flush) {
                        turn.due = Instant::now();
                    }
                    return Ok(sequence);
                }
                Admission::Closed(again) => batch = again,
            }
            self.flush(turn)?;
        }
    }

    /// Flushes all that is buffered now.
    fn flush_all<'a>(&'a self, turn: &mut Option<Turn<'a>>) -> Result<(), Error> {
        // What a flush that has failed left, and what has come in since.
        self.flush(turn)?;
        self.flush(turn)
    }

    /// Flushes the earliest commits, and gives back the right to write if it is not needed any more.
    fn flush<'a>(&'a self, turn: &mut Option<Turn<'a>>) -> Result<(), Error> {
        let Some(held) = turn else { return Ok(()) };
        if self.buffer.has_failed() {
            *turn = None;
            return Ok(());
        }
        if let Some(generation) = self.buffer.next() {
            match self.write(&generation) {
                Ok(()) => self.buffer.flushed(),
                Err(Error::Unknown(reason)) => {
                    let error = failed(&reason);
                    self.buffer.fail(reason.into_owned());
                    *turn = None;
                    return Err(error);
                }
                Err(error) => {
                    held.due = Instant::now() + self.interval.max(PAUSE);
                    return Err(error);
                }
            }
        }
        held.due = Instant::now() + self.interval;
        if self.buffer.close_if_empty() {
            *turn = None;
        } else if self.lock.is_wanted() {
            // What came in during this flush goes first; nothing more comes in.
            self.buffer.close();
            held.due = Instant::now();
        }
        Ok(())
    }

    /// Commits a generation with one sync.
    fn write(&self, generation: &Generation) -> Result<(), Error> {
        let Some(last) = generation.last else { return Ok(()) };
        let mut txn = Transaction::begin(&self.engine)?;
        for (key, value) in generation.overlay.iter() {
            txn.write(key, value)?;
        }
        txn.commit(last)
    }
}
