//! The one thread that writes: it takes all commits that wait and gives them one sync.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use keyloom_store::{Condition, Error, Sequence, Write};
use tokio::sync::oneshot;

use crate::condition::{Seen, check};
use crate::engine::Engine;
use crate::error::failed;
use crate::lock::WriterLock;
use crate::snapshot::Snapshots;
use crate::transaction::Transaction;

/// The most commits that share a sync: enough to pay for it, few enough to answer soon.
const GROUP: usize = 1_024;

/// A commit that waits.
pub(crate) struct Commit {
    pub(crate) writes: Vec<Write>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) answer: oneshot::Sender<Result<Sequence, Error>>,
}

/// What the thread works on.
pub(crate) struct Writer {
    pub(crate) engine: Engine,
    pub(crate) lock: WriterLock,
    pub(crate) snapshots: Arc<Snapshots>,
    /// Why nothing can be written any more.
    pub(crate) failed: Option<String>,
}

impl Writer {
    /// Serves commits until nobody can send any more.
    pub(crate) fn run(mut self, commits: &Receiver<Commit>) {
        loop {
            let first = match commits.recv_timeout(self.snapshots.pause()) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => {
                    self.snapshots.expire(&self.engine);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut group = vec![first];
            while group.len() < GROUP
                && let Ok(next) = commits.try_recv()
            {
                group.push(next);
            }
            self.snapshots.expire(&self.engine);
            self.serve(group);
        }
    }

    /// Commits a group and answers each of its members.
    fn serve(&mut self, group: Vec<Commit>) {
        let outcomes = match (&self.failed, self.lock.take()) {
            (Some(reason), _) => Ok(group.iter().map(|_| Err(failed(reason))).collect()),
            (None, Ok(_writing)) => self.commit(&group),
            // All have waited as long as one may.
            (None, Err(Error::Busy(reason))) => {
                Ok(group.iter().map(|_| Err(Error::Busy(reason.clone()))).collect())
            }
            (None, Err(error)) => Err(error),
        };
        match outcomes {
            Ok(outcomes) => {
                for (commit, outcome) in group.into_iter().zip(outcomes) {
                    let _ = commit.answer.send(outcome);
                }
            }
            Err(Error::Unknown(reason)) => {
                self.failed = Some(reason.to_string());
                for commit in group {
                    let _ = commit.answer.send(Err(Error::Unknown(reason.clone())));
                }
            }
            // Nothing of the group was written. One member may have been the cause: try each alone.
            Err(_) if group.len() > 1 => group.into_iter().for_each(|commit| self.serve(vec![commit])),
            Err(error) => {
                if let Some(commit) = group.into_iter().next() {
                    let _ = commit.answer.send(Err(error));
                }
            }
        }
    }

    /// Runs a group in one transaction: what becomes of each member, or why nothing was written.
    fn commit(&self, group: &[Commit]) -> Result<Vec<Result<Sequence, Error>>, Error> {
        let mut txn = Transaction::begin(&self.engine)?;
        let before = self.engine.sequence(&txn)?;
        let mut last = before;
        let mut outcomes = Vec::with_capacity(group.len());
        for Commit { writes, conditions, .. } in group {
            // Conditions are checked before the first write of their batch, so a conflict leaves nothing to undo.
            outcomes.push(match check(&Seen(&self.engine, &txn), conditions) {
                Err(Error::Conflict(condition)) => Err(Error::Conflict(condition)),
                checked => {
                    checked?;
                    for write in writes {
                        txn.write(&write.key, write.value.as_deref())?;
                    }
                    last = Sequence(last.0 + 1);
                    Ok(last)
                }
            });
        }
        if last > before {
            txn.commit(last)?;
        }
        Ok(outcomes)
    }
}

#[cfg(test)]
mod tests;
