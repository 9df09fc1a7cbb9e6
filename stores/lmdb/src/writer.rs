//! The one thread that writes: it takes all commits that wait and gives them one sync.

use std::ops::ControlFlow;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use heed::types::Bytes;
use heed::{Database, Env, RwTxn, WithoutTls};
use keyloom_store::{Condition, Direction, Error, Fingerprinter, Limits, Sequence, Write};
use tokio::sync::oneshot;

use crate::error::engine;
use crate::lock::WriterLock;
use crate::{scan, value};

/// The key of the last sequence among the file's own facts.
pub(crate) const SEQUENCE: &[u8] = b"sequence";

/// The most commits that share a sync: enough to pay for it, few enough to answer soon.
const GROUP: usize = 1_024;

/// A commit that waits.
pub(crate) struct Request {
    pub(crate) writes: Vec<Write>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) answer: oneshot::Sender<Result<Sequence, Error>>,
}

/// What the thread works on.
pub(crate) struct Writer {
    pub(crate) env: Env<WithoutTls>,
    pub(crate) data: Database<Bytes, Bytes>,
    pub(crate) meta: Database<Bytes, Bytes>,
    pub(crate) lock: WriterLock,
}

impl Writer {
    /// Serves commits until nobody can send any more.
    pub(crate) fn run(self, requests: &Receiver<Request>) {
        while let Ok(first) = requests.recv() {
            let mut group = vec![first];
            while group.len() < GROUP
                && let Ok(next) = requests.try_recv()
            {
                group.push(next);
            }
            self.serve(group);
        }
    }

    /// Commits a group and answers each of its members.
    fn serve(&self, group: Vec<Request>) {
        let outcomes = match self.lock.take() {
            Ok(_writing) => self.commit(&group),
            // All have waited as long as one may.
            Err(Error::Busy(reason)) => Ok(group.iter().map(|_| Err(Error::Busy(reason.clone()))).collect()),
            Err(error) => Err(error),
        };
        match outcomes {
            Ok(outcomes) => {
                for (request, outcome) in group.into_iter().zip(outcomes) {
                    let _ = request.answer.send(outcome);
                }
            }
            // Nothing of the group was written. One member may have been the cause: try each alone.
            Err(_) if group.len() > 1 => group.into_iter().for_each(|request| self.serve(vec![request])),
            Err(error) => {
                if let Some(request) = group.into_iter().next() {
                    let _ = request.answer.send(Err(error));
                }
            }
        }
    }

    /// Runs a group in one transaction: what becomes of each member, or why nothing was written.
    fn commit(&self, group: &[Request]) -> Result<Vec<Result<Sequence, Error>>, Error> {
        let mut txn = self.env.write_txn().map_err(engine)?;
        let before = sequence(self.meta, &txn)?;
        let mut last = before;
        let mut outcomes = Vec::with_capacity(group.len());
        for request in group {
            // Conditions are checked before the first write of their batch, so a conflict leaves nothing to undo.
            let mut conflict = None;
            for condition in &request.conditions {
                if !self.holds(&txn, condition)? {
                    conflict = Some(Error::Conflict(condition.to_string().into()));
                    break;
                }
            }
            outcomes.push(match conflict {
                Some(conflict) => Err(conflict),
                None => {
                    self.apply(&mut txn, &request.writes)?;
                    last = Sequence(last.0 + 1);
                    Ok(last)
                }
            });
        }
        if last == before {
            return Ok(outcomes);
        }
        self.meta.put(&mut txn, SEQUENCE, &last.0.to_be_bytes()).map_err(engine)?;
        txn.commit().map_err(engine)?;
        Ok(outcomes)
    }

    fn apply(&self, txn: &mut RwTxn<'_>, writes: &[Write]) -> Result<(), Error> {
        let mut sealed = Vec::new();
        for Write { key, value } in writes {
            match value {
                None => drop(self.data.delete(txn, key).map_err(engine)?),
                Some(value) => {
                    sealed.clear();
                    sealed.extend_from_slice(value);
                    value::seal(key, &mut sealed);
                    self.data.put(txn, key, &sealed).map_err(engine)?;
                }
            }
        }
        Ok(())
    }

    fn holds(&self, txn: &RwTxn<'_>, condition: &Condition) -> Result<bool, Error> {
        let get = |key: &[u8]| match key {
            [] => Ok(None),
            key => match self.data.get(txn, key).map_err(engine)? {
                None => Ok(None),
                Some(sealed) => value::open(key, sealed).map(Some),
            },
        };
        Ok(match condition {
            Condition::Absent(key) => get(key)?.is_none(),
            Condition::Is { key, value } => get(key)? == Some(value),
            Condition::Unchanged { span, fingerprint } => {
                let mut now = Fingerprinter::default();
                let all = Limits { rows: usize::MAX, bytes: usize::MAX, time: Duration::MAX };
                scan::page(self.data, txn, span, Direction::Forward, all, |key, value| {
                    now.add(key, value);
                    ControlFlow::Continue(())
                })?;
                now.finish() == *fingerprint
            }
            other => {
                return Err(Error::Unsupported { store: "lmdb", what: format!("check {other:?}").into() });
            }
        })
    }
}

/// The sequence of the last commit that a transaction sees.
pub(crate) fn sequence(meta: Database<Bytes, Bytes>, txn: &heed::RoTxn<'_>) -> Result<Sequence, Error> {
    let bytes = meta.get(txn, SEQUENCE).map_err(engine)?.unwrap_or(&[0; 8]);
    let number = bytes.try_into().map_err(|_| Error::Damaged("the sequence is not a number".into()))?;
    Ok(Sequence(u64::from_be_bytes(number)))
}
