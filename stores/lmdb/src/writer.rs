//! The one thread that writes into the file: commits as they come, or what has gathered in the buffer.
//!
//! It takes all commits that wait and gives them one sync. Where commits are buffered or logged it opens the buffer
//! instead, and flushes it; it has the right to write from then on until the buffer is empty again. If another process
//! waits, the buffer is closed and emptied, and the other has its turn.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use keyloom_store::{Batch, Error, Sequence, check};
use tokio::sync::oneshot;

use crate::buffer::{Admission, Buffer, Promise, Waiter};
use crate::early;
use crate::engine::{Engine, Seen};
use crate::error::failed;
use crate::generation::Generation;
use crate::large_pages::LargePages;
use crate::lock::{WriterLock, Writing};
use crate::log::{self, Logs, Salts};
use crate::snapshot::Snapshots;
use crate::transaction::Transaction;

/// The most commits that share a sync: enough to pay for it, few enough to answer soon.
const GROUP: usize = 1_024;
/// The part of a commit's time that the next one may wait for others to share its sync.
pub(crate) const PATIENCE: u32 = 8;
/// A commit that comes alone, so long after the one before it, is synced in the file itself: a log would only be in its way.
const LONE: Duration = Duration::from_millis(20);
/// How often to look whether another process waits for its turn.
const GLANCE: Duration = Duration::from_millis(10);
/// How often a flush is put off while much comes in.
const PUT_OFF: u32 = 3;
/// How long a flush that has failed waits until it is tried again, at least.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// What the thread is asked.
pub(crate) enum Request {
    /// A commit that cannot go to the buffer.
    Commit(Commit),
    /// To bring all that is buffered into the file.
    Flush(oneshot::Sender<Result<(), Error>>),
    /// That it is time to flush, before the interval is over.
    Nudge,
    /// That a transaction was [parked](crate::parked), which has to be let go.
    Parked,
}

/// A commit that waits.
pub(crate) struct Commit {
    pub(crate) batch: Batch,
    pub(crate) answer: Waiter,
}

/// What the thread works on.
pub(crate) struct Writer {
    pub(crate) engine: Engine,
    pub(crate) path: PathBuf,
    pub(crate) lock: WriterLock,
    pub(crate) snapshots: Arc<Snapshots>,
    /// Where commits gather; `None` if each goes into the file.
    pub(crate) buffer: Option<Gathering>,
    /// To tell the thread that syncs that someone waits.
    pub(crate) syncs: Option<Sender<()>>,
}

/// What changes while the thread works.
#[derive(Default)]
struct Shift<'a> {
    turn: Option<Turn<'a>>,
    /// Why nothing can be written any more.
    failed: Option<String>,
    /// When the last commits went into the file by themselves.
    alone: Option<Instant>,
    /// Whether there are logs.
    logged: bool,
}

/// How commits gather.
pub(crate) struct Gathering {
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) interval: Duration,
}

/// The right to write while the buffer is open, and when the next flush is due.
struct Turn<'a> {
    _writing: Writing<'a>,
    due: Instant,
    /// How often the next flush was put off.
    put_off: u32,
}

/// What a commit is answered.
type Answer = (Waiter, Result<Sequence, Error>);

/// What is asked, in its order.
struct Inbox<'a> {
    requests: &'a Receiver<Request>,
    /// What was received and not looked at.
    ahead: VecDeque<Request>,
}

impl Inbox<'_> {
    fn next(&mut self, wait: Duration) -> Result<Request, RecvTimeoutError> {
        self.ahead.pop_front().map_or_else(|| self.requests.recv_timeout(wait), Ok)
    }

    /// Takes the commits that are next, as many as share a sync.
    fn commits(&mut self, group: &mut Vec<Commit>) {
        self.ahead.extend(self.requests.try_iter().take(GROUP));
        while group.len() < GROUP
            && let Some(Request::Commit(_)) = self.ahead.front()
            && let Some(Request::Commit(commit)) = self.ahead.pop_front()
        {
            group.push(commit);
        }
    }

    /// Waits until so many commits are there, or as long as patience lasts. Does not wait for the first.
    fn gather(&mut self, crowd: usize, patience: Duration) {
        let end = Instant::now() + patience;
        while crowd > 1
            && self.ahead.len() < crowd
            && let Ok(next) = self.requests.recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            self.ahead.push_back(next);
        }
    }
}

impl Writer {
    /// Serves until nobody can ask any more, and then brings what is left into the file.
    pub(crate) fn run(self, requests: &Receiver<Request>) {
        let mut inbox = Inbox { requests, ahead: VecDeque::new() };
        let mut shift = Shift::default();
        loop {
            let wait = match &shift.turn {
                _ if self.engine.is_filling() => Duration::ZERO,
                None => self.snapshots.pause().min(self.engine.parked.pause()),
                Some(Turn { due, .. }) => due.saturating_duration_since(Instant::now()).min(GLANCE),
            };
            let request = inbox.next(wait);
            self.snapshots.expire(&self.engine);
            if !matches!(request, Ok(Request::Parked)) {
                self.engine.parked.clear();
            }
            match request {
                Ok(Request::Parked) => {}
                Err(RecvTimeoutError::Timeout)
                    if self.engine.is_filling() && (shift.turn.is_none() || !self.is_time(&mut shift)) =>
                {
                    self.engine.fill();
                }
                Err(RecvTimeoutError::Timeout) if !self.is_time(&mut shift) => {
                    if let (Some(Gathering { buffer, .. }), Some(_)) = (&self.buffer, &shift.turn) {
                        buffer.sort();
                    }
                }
                Ok(Request::Commit(first)) => {
                    let mut group = vec![first];
                    inbox.commits(&mut group);
                    self.serve(&mut shift, group, &mut inbox);
                }
                Ok(Request::Flush(answer)) => {
                    let _ = answer.send(self.flush_all(&mut shift));
                }
                Ok(Request::Nudge) | Err(RecvTimeoutError::Timeout) => {
                    if let (Err(error), Some(gathering)) = (self.flush(&mut shift), &self.buffer) {
                        gathering.buffer.report(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    // Nobody is left who could be told; `flush` is for those who must know.
                    let flushed = self.flush_all(&mut shift);
                    if flushed.is_ok() && shift.turn.is_none() && shift.logged {
                        self.remove_logs();
                    }
                    return;
                }
            }
        }
    }

    /// Whether a flush is due, or another process waits for its turn.
    fn is_time(&self, shift: &mut Shift<'_>) -> bool {
        let (Some(turn), Some(Gathering { buffer, interval })) = (&mut shift.turn, &self.buffer) else {
            return true;
        };
        if turn.due <= Instant::now() && turn.put_off < PUT_OFF && buffer.is_filling() {
            turn.put_off += 1;
            turn.due = Instant::now() + *interval;
        }
        turn.due <= Instant::now() || self.lock.is_wanted()
    }

    /// The logs go with the process that wrote them, unless another is at them.
    fn remove_logs(&self) {
        if let Some(_writing) = self.lock.take_now()
            && log::recover(&self.engine, &self.path).is_ok()
        {
            log::remove(&self.path);
        }
    }

    /// Commits a group: into the buffer, or each into the file.
    fn serve<'a>(&'a self, shift: &mut Shift<'a>, group: Vec<Commit>, inbox: &mut Inbox<'_>) {
        let (lone, now) = (group.len() == 1, Instant::now());
        let quiet = shift.alone.is_none_or(|last| now.duration_since(last) > LONE);
        let gathering = self.buffer.as_ref().filter(|Gathering { buffer, .. }| {
            // What only has to be written is soonest in the log.
            let straight = shift.turn.is_none() && lone && quiet && buffer.promise() == Promise::Synced;
            !straight && !group.iter().any(|commit| buffer.is_large(&commit.batch))
        });
        let begun = gathering.map_or(Ok(false), |gathering| self.begin_turn(shift, gathering));
        if let (Some(Gathering { buffer, .. }), Ok(true)) = (gathering, &begun) {
            for Commit { batch, answer } in group {
                let mut answer = Some(answer);
                let admitted = self.admit(shift, buffer, batch, &mut answer);
                if let Some(answer) = answer {
                    let _ = answer.send(admitted);
                }
            }
            return;
        }
        // Nothing may stand between these and what came before them.
        if let Err(error) = begun.and_then(|_| self.end_turn(shift)) {
            group.into_iter().for_each(|commit| drop(commit.answer.send(Err(again(&error)))));
            return;
        }
        let answers = self.commit_all(shift, group);
        // Who is answered now mostly comes again at once: to wait a moment for them all costs less than another sync.
        let patience = now.elapsed() / PATIENCE;
        shift.alone = Some(Instant::now());
        let crowd = GROUP.min(answers.len() + inbox.ahead.len());
        answers.into_iter().for_each(|(to, outcome)| drop(to.send(outcome)));
        if self.buffer.is_none() {
            inbox.gather(crowd, patience);
        }
    }

    /// Commits a group into the file; what each of its members is to be answered.
    fn commit_all(&self, shift: &mut Shift<'_>, group: Vec<Commit>) -> Vec<Answer> {
        let outcomes = match (&shift.failed, self.begin()) {
            (Some(reason), _) => Ok(group.iter().map(|_| Err(failed(reason))).collect()),
            (None, Ok(_writing)) => self.commit(&group),
            // All have waited as long as one may.
            (None, Err(Error::Busy(reason))) => {
                Ok(group.iter().map(|_| Err(Error::Busy(reason.clone()))).collect())
            }
            (None, Err(error)) => Err(error),
        };
        let outcomes = match outcomes {
            Ok(outcomes) => outcomes,
            Err(Error::Unknown(reason)) => {
                self.note(shift, &Error::Unknown(reason.clone()));
                group.iter().map(|_| Err(Error::Unknown(reason.clone()))).collect()
            }
            // Nothing of the group was written. One member may have been the cause: try each alone.
            Err(_) if group.len() > 1 => {
                return group.into_iter().flat_map(|commit| self.commit_all(shift, vec![commit])).collect();
            }
            Err(error) => vec![Err(error)],
        };
        group.into_iter().map(|commit| commit.answer).zip(outcomes).collect()
    }

    /// Remembers an error after which nothing can be written any more.
    fn note(&self, shift: &mut Shift<'_>, error: &Error) {
        if let Error::Unknown(reason) = error {
            shift.failed = Some(reason.to_string());
            if let Some(Gathering { buffer, .. }) = &self.buffer {
                buffer.fail(reason.to_string());
            }
        }
    }

    /// Waits for the right to write, and brings what a process that died while it had it has left into the file.
    fn begin(&self) -> Result<Writing<'_>, Error> {
        let writing = self.lock.take()?;
        log::recover(&self.engine, &self.path)?;
        Ok(writing)
    }

    /// Runs a group in one transaction: what becomes of each member, or why nothing was written.
    fn commit(&self, group: &[Commit]) -> Result<Vec<Result<Sequence, Error>>, Error> {
        let large_pages =
            LargePages::prepare(&self.path, group.iter().map(|commit| bytes_of(&commit.batch)).sum());
        let _early = early::sync(&self.path, group.iter().map(|commit| commit.batch.size()).sum());
        let mut txn = Transaction::begin(&self.engine)?;
        let before = self.engine.sequence(&txn)?;
        let mut last = before;
        let mut outcomes = Vec::with_capacity(group.len());
        for Commit { batch, .. } in group {
            // Conditions are checked before the first write of their batch, so a conflict leaves nothing to undo.
            outcomes.push(match check(&Seen(&self.engine, &txn), batch.conditions_after(last)) {
                Err(Error::Conflict(condition)) => Err(Error::Conflict(condition)),
                checked => {
                    checked?;
                    txn.write(batch)?;
                    last = Sequence(last.0 + 1);
                    Ok(last)
                }
            });
        }
        if last > before {
            txn.commit(last, None)?;
        } else {
            drop(txn);
        }
        if let Some(large_pages) = large_pages {
            large_pages.trim(self.engine.length());
        }
        Ok(outcomes)
    }

    /// Opens the buffer, or makes room in it, and lets a commit in.
    fn admit<'a>(
        &'a self,
        shift: &mut Shift<'a>,
        buffer: &Buffer,
        mut batch: Batch,
        answer: &mut Option<Waiter>,
    ) -> Result<Sequence, Error> {
        loop {
            if let Some(gathering) = &self.buffer
                && !self.begin_turn(shift, gathering)?
            {
                // No log can be made any more. Its answer says what became of it.
                let alone = answer.take().map(|answer| Commit { batch, answer });
                let answers = self.commit_all(shift, alone.into_iter().collect());
                answers.into_iter().for_each(|(to, outcome)| drop(to.send(outcome)));
                return Ok(Sequence::default());
            }
            let (sequence, flush, sync) = match buffer.admit(&self.engine, batch, answer)? {
                Admission::Done { sequence, flush, sync } => (sequence, flush, sync),
                // Who waits is told by the thread that syncs, and not here.
                Admission::Waits { flush } => (Sequence::default(), flush, true),
                Admission::Late(again) => {
                    batch = again;
                    let (_, synced) = buffer.sync();
                    synced?;
                    continue;
                }
                Admission::Closed(again) => {
                    batch = again;
                    self.flush(shift)?;
                    continue;
                }
            };
            if let Some(syncs) = self.syncs.as_ref().filter(|_| sync) {
                let _ = syncs.send(());
            }
            if let Some(turn) = shift.turn.as_mut().filter(|_| flush) {
                turn.due = Instant::now();
            }
            return Ok(sequence);
        }
    }

    /// Takes the right to write and opens the buffer, with its logs, unless it is open. Returns whether it is: where no log
    /// can be made, because the folder cannot be written to, there is none.
    fn begin_turn<'a>(&'a self, shift: &mut Shift<'a>, gathering: &Gathering) -> Result<bool, Error> {
        if let Some(reason) = &shift.failed {
            return Err(failed(reason));
        }
        if shift.turn.is_some() {
            return Ok(true);
        }
        let Gathering { buffer, interval } = gathering;
        let writing = self.begin()?;
        let reading = self.engine.read()?;
        let (last, salts) = (self.engine.sequence(&reading.txn)?, self.engine.salts(&reading.txn)?);
        drop(reading);
        if buffer.promise() == Promise::Memory {
            buffer.open(last, None, Salts::default());
        } else {
            let written = buffer.promise() == Promise::Written;
            let Ok(logs) = Logs::open(&self.path, written) else { return Ok(false) };
            let salts = match salts {
                Some(salts) => salts,
                None => {
                    let salts = Salts::fresh();
                    let committed = Transaction::begin(&self.engine)?.commit(last, Some(salts));
                    committed.inspect_err(|error| self.note(shift, error))?;
                    salts
                }
            };
            shift.logged = true;
            buffer.open(last, Some(logs), salts);
        }
        shift.turn = Some(Turn { _writing: writing, due: Instant::now() + *interval, put_off: 0 });
        Ok(true)
    }

    /// Flushes all that is buffered now, here or in another process.
    fn flush_all<'a>(&'a self, shift: &mut Shift<'a>) -> Result<(), Error> {
        if shift.turn.is_none() && log::exist(&self.path) {
            return self.begin().map(drop);
        }
        // What a flush that has failed left, and what has come in since.
        self.flush(shift)?;
        self.flush(shift)
    }

    /// Closes the buffer and gives back the right to write, when all is in the file.
    fn end_turn<'a>(&'a self, shift: &mut Shift<'a>) -> Result<(), Error> {
        if let Some(Gathering { buffer, .. }) = &self.buffer {
            buffer.close();
        }
        while shift.turn.is_some() {
            self.flush(shift)?;
        }
        Ok(())
    }

    /// Flushes the earliest commits, and gives back the right to write if it is not needed any more.
    fn flush<'a>(&'a self, shift: &mut Shift<'a>) -> Result<(), Error> {
        let (Some(turn), Some(Gathering { buffer, interval })) = (&mut shift.turn, &self.buffer) else {
            return Ok(());
        };
        if buffer.has_failed() {
            shift.turn = None;
            return Ok(());
        }
        if let Some(generation) = buffer.next() {
            let salts = buffer.next_salts();
            match self.write(&generation, salts) {
                Ok(()) => buffer.flushed(salts),
                Err(Error::Unknown(reason)) => {
                    let error = failed(&reason);
                    self.note(shift, &Error::Unknown(reason));
                    shift.turn = None;
                    return Err(error);
                }
                Err(error) => {
                    turn.due = Instant::now() + (*interval).max(PAUSE);
                    return Err(error);
                }
            }
        }
        (turn.due, turn.put_off) = (Instant::now() + *interval, 0);
        if buffer.close_if_empty() {
            shift.turn = None;
        } else if self.lock.is_wanted() {
            // What came in during this flush goes first; nothing more comes in.
            buffer.close();
            turn.due = Instant::now();
        }
        Ok(())
    }

    /// Commits a generation with one sync.
    fn write(&self, generation: &Generation, salts: Option<Salts>) -> Result<(), Error> {
        let rows = generation.sorted();
        let mut txn = Transaction::begin(&self.engine)?;
        txn.write_all(rows.newest())?;
        let last = rows.last().map_or_else(|| self.engine.sequence(&txn), Ok)?;
        // Those who read may go on; nothing is added to a generation that is being flushed.
        drop(rows);
        txn.commit(last, salts)
    }
}

/// How many bytes a batch takes at the most where it is put behind everything else.
fn bytes_of(batch: &Batch) -> usize {
    // A row has a head, a place and a checksum; behind the last one of a page there is no room for another.
    let rows = batch.size() + 16 * batch.writes().len();
    rows + rows / 8
}

/// An error once more, for each who waits. What it was about is said in the same words.
fn again(error: &Error) -> Error {
    match error {
        Error::Busy(reason) => Error::Busy(reason.clone()),
        Error::Full(reason) => Error::Full(reason.clone()),
        other => Error::Failed(other.to_string().into()),
    }
}

#[cfg(test)]
mod tests;
