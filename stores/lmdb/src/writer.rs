//! The one thread that writes: it takes all commits that wait and gives them one sync.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use keyloom_store::{Batch, Error, Sequence};
use tokio::sync::oneshot;

use crate::condition::{Seen, check};
use crate::engine::Engine;
use crate::error::failed;
use crate::lock::WriterLock;
use crate::snapshot::Snapshots;
use crate::transaction::Transaction;

/// The most commits that share a sync: enough to pay for it, few enough to answer soon.
const GROUP: usize = 1_024;
/// The part of a commit's time that the next one may wait for others to share its sync.
const PATIENCE: u32 = 8;

/// A commit that waits.
pub(crate) struct Commit {
    pub(crate) batch: Batch,
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

/// What a commit is answered.
type Answer = (oneshot::Sender<Result<Sequence, Error>>, Result<Sequence, Error>);

impl Writer {
    /// Serves commits until nobody can send any more.
    pub(crate) fn run(mut self, commits: &Receiver<Commit>) {
        let mut group = Vec::new();
        loop {
            if group.is_empty() {
                match commits.recv_timeout(self.snapshots.pause()) {
                    Ok(first) => group.push(first),
                    Err(RecvTimeoutError::Timeout) => {
                        self.snapshots.expire(&self.engine);
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                group.extend(commits.try_iter().take(GROUP - 1));
            }
            self.snapshots.expire(&self.engine);
            let start = Instant::now();
            let answers = self.serve(std::mem::take(&mut group));
            // Who is answered now mostly comes again at once: to wait a moment for them all costs less than another sync.
            let (patience, answered) = (start.elapsed() / PATIENCE, answers.len());
            group.extend(commits.try_iter().take(GROUP));
            let crowd = GROUP.min(answered + group.len());
            answers.into_iter().for_each(|(to, outcome)| drop(to.send(outcome)));
            gather(commits, &mut group, crowd, patience);
        }
    }

    /// Commits a group; what each of its members is to be answered.
    fn serve(&mut self, group: Vec<Commit>) -> Vec<Answer> {
        let outcomes = match (&self.failed, self.lock.take()) {
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
                self.failed = Some(reason.to_string());
                group.iter().map(|_| Err(Error::Unknown(reason.clone()))).collect()
            }
            // Nothing of the group was written. One member may have been the cause: try each alone.
            Err(_) if group.len() > 1 => {
                return group.into_iter().flat_map(|commit| self.serve(vec![commit])).collect();
            }
            Err(error) => vec![Err(error)],
        };
        group.into_iter().map(|commit| commit.answer).zip(outcomes).collect()
    }

    /// Runs a group in one transaction: what becomes of each member, or why nothing was written.
    fn commit(&self, group: &[Commit]) -> Result<Vec<Result<Sequence, Error>>, Error> {
        let mut txn = Transaction::begin(&self.engine)?;
        let before = self.engine.sequence(&txn)?;
        let mut last = before;
        let mut outcomes = Vec::with_capacity(group.len());
        for Commit { batch, .. } in group {
            // Conditions are checked before the first write of their batch, so a conflict leaves nothing to undo.
            outcomes.push(match check(&Seen(&self.engine, &txn), batch.conditions()) {
                Err(Error::Conflict(condition)) => Err(Error::Conflict(condition)),
                checked => {
                    checked?;
                    for (key, value) in batch.writes() {
                        txn.write(key, value)?;
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

/// Waits until so many commits are there, or as long as patience lasts. Does not wait for the first.
fn gather(commits: &Receiver<Commit>, group: &mut Vec<Commit>, crowd: usize, patience: Duration) {
    if crowd < 2 {
        return;
    }
    let end = Instant::now() + patience;
    while group.len() < crowd
        && let Ok(next) = commits.recv_timeout(end.saturating_duration_since(Instant::now()))
    {
        group.push(next);
    }
}

#[cfg(test)]
mod tests;
