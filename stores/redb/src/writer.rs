//! The one thread that writes: it takes all commits that wait into one transaction, with one sync.
//!
//! A member whose conditions do not hold is told so and the others go on. If the transaction fails, nothing was written,
//! and each is tried alone, so that one that cannot be written does not take the others with it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use keyloom_store::{Aging, Batch, Durability, Error, Sequence, check, sealed};
use redb::Database;
use tokio::sync::oneshot;

use crate::error::{engine, failed};
use crate::scan::Seen;
use crate::view::{DATA, META, Newest, SEQUENCE, View};

/// The most commits that share a sync: enough to pay for it, few enough to answer soon.
const GROUP: usize = 1_024;

/// What the thread is asked.
pub(crate) enum Request {
    Commit(Commit),
    /// To sync all that is committed.
    Flush(oneshot::Sender<Result<(), Error>>),
}

/// A commit that waits.
pub(crate) struct Commit {
    pub(crate) batch: Batch,
    pub(crate) answer: oneshot::Sender<Result<Sequence, Error>>,
}

/// What the thread works on.
pub(crate) struct Writer {
    pub(crate) newest: Arc<Newest>,
    pub(crate) snapshots: Arc<Aging<Arc<View>>>,
    pub(crate) durability: Durability,
    // Last, so that nobody reads from it when it is closed.
    pub(crate) database: Database,
}

/// What is committed and not synced.
#[derive(Default)]
struct Unsynced {
    writes: usize,
    /// When it is to be synced.
    due: Option<Instant>,
    /// Why nothing can be written any more.
    failed: Option<String>,
}

impl Writer {
    /// Serves until nobody can ask any more, and then syncs what is left.
    pub(crate) fn run(self, requests: &Receiver<Request>) {
        let mut unsynced = Unsynced::default();
        loop {
            let wait = unsynced.due.map_or(self.snapshots.pause(), |due| {
                due.saturating_duration_since(Instant::now()).min(self.snapshots.pause())
            });
            let first = requests.recv_timeout(wait);
            self.snapshots.expire();
            let mut group = Vec::new();
            let mut flushes = Vec::new();
            let ended = matches!(first, Err(RecvTimeoutError::Disconnected));
            for request in first.into_iter().chain(requests.try_iter().take(GROUP)) {
                match request {
                    Request::Commit(commit) => group.push(commit),
                    Request::Flush(answer) => flushes.push(answer),
                }
            }
            if !group.is_empty() {
                self.commit_all(group, &mut unsynced);
            }
            let is_due = unsynced.due.is_some_and(|due| due <= Instant::now());
            if ended || is_due || !flushes.is_empty() {
                let synced = self.sync(&mut unsynced);
                for answer in flushes {
                    let _ = answer.send(match &synced {
                        Ok(()) => Ok(()),
                        Err(error) => Err(Error::Failed(error.to_string().into())),
                    });
                }
            }
            if ended {
                return;
            }
        }
    }

    /// Commits a group and answers its members.
    fn commit_all(&self, group: Vec<Commit>, unsynced: &mut Unsynced) {
        let outcomes = match &unsynced.failed {
            Some(reason) => Ok(group.iter().map(|_| Err(failed(reason))).collect()),
            None => self.commit(&group, unsynced),
        };
        let outcomes = match outcomes {
            Ok(outcomes) => outcomes,
            Err(Error::Unknown(reason)) => {
                unsynced.failed = Some(reason.to_string());
                group.iter().map(|_| Err(Error::Unknown(reason.clone()))).collect()
            }
            // Nothing of the group was written. One member may have been the cause: try each alone.
            Err(_) if group.len() > 1 => {
                return group.into_iter().for_each(|commit| self.commit_all(vec![commit], unsynced));
            }
            Err(error) => vec![Err(error)],
        };
        for (commit, outcome) in group.into_iter().zip(outcomes) {
            let _ = commit.answer.send(outcome);
        }
    }

    /// Runs a group in one transaction: what becomes of each member, or why nothing was written.
    fn commit(
        &self,
        group: &[Commit],
        unsynced: &mut Unsynced,
    ) -> Result<Vec<Result<Sequence, Error>>, Error> {
        let mut txn = self.database.begin_write().map_err(engine)?;
        let writes = group.iter().map(|commit| commit.batch.writes().len().max(1)).sum::<usize>();
        let wait = match self.durability {
            Durability::Buffered { entries, interval } if unsynced.writes + writes <= entries => {
                txn.set_durability(redb::Durability::None).map_err(engine)?;
                Some(interval)
            }
            _ => None,
        };
        let before = self.newest.get().sequence;
        let mut last = before;
        let mut outcomes = Vec::with_capacity(group.len());
        let mut data = txn.open_table(DATA).map_err(engine)?;
        let mut row = Vec::new();
        for Commit { batch, .. } in group {
            // Conditions are checked before the first write of their batch, so a conflict leaves nothing to undo.
            outcomes.push(match check(&Seen(&data), batch.conditions_after(last)) {
                Err(Error::Conflict(condition)) => Err(Error::Conflict(condition)),
                checked => {
                    checked?;
                    for (key, value) in batch.writes() {
                        match value {
                            None => drop(data.remove(key).map_err(engine)?),
                            Some(value) => {
                                row.clear();
                                sealed::seal(key, value, &mut row)
                                    .map_err(|error| Error::Failed(error.to_string().into()))?;
                                drop(data.insert(key, row.as_slice()).map_err(engine)?);
                            }
                        }
                    }
                    last = Sequence(last.0 + 1);
                    Ok(last)
                }
            });
        }
        drop(data);
        if last == before {
            txn.abort().map_err(engine)?;
            return Ok(outcomes);
        }
        self.finish(txn, last)?;
        match wait {
            None => *unsynced = Unsynced::default(),
            Some(interval) => {
                unsynced.writes += writes;
                // A day is beyond any use, and can be added to any moment.
                let interval = interval.min(Duration::from_secs(86_400));
                unsynced.due.get_or_insert_with(|| Instant::now() + interval);
            }
        }
        Ok(outcomes)
    }

    /// Syncs what is committed.
    fn sync(&self, unsynced: &mut Unsynced) -> Result<(), Error> {
        if let Some(reason) = &unsynced.failed {
            return Err(failed(reason));
        }
        if unsynced.writes == 0 {
            return Ok(());
        }
        let synced = self.database.begin_write().map_err(engine);
        // A transaction that is synced takes all before it with it.
        let synced = synced.and_then(|txn| self.finish(txn, self.newest.get().sequence));
        match &synced {
            Ok(()) => *unsynced = Unsynced::default(),
            // Nothing can be told to those who were answered; who comes next is.
            Err(error) => {
                *unsynced = Unsynced { failed: Some(error.to_string()), ..Unsynced::default() };
            }
        }
        synced
    }

    /// Commits a transaction with the sequence of the last commit in it, and shows it to those who read.
    fn finish(&self, txn: redb::WriteTransaction, last: Sequence) -> Result<(), Error> {
        let mut meta = txn.open_table(META).map_err(engine)?;
        drop(meta.insert(SEQUENCE, last.0.to_be_bytes().as_slice()).map_err(engine)?);
        drop(meta);
        let unknown = |error: &dyn std::fmt::Display| {
            Error::Unknown(format!("the end of the commit could not be written: {error}").into())
        };
        txn.commit().map_err(|error| unknown(&error))?;
        self.newest.set(View::take(&self.database).map_err(|error| unknown(&error))?);
        Ok(())
    }
}
