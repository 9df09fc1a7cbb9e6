//! A record and its entries, changed as one though they lie in many partitions.
//!
//! ```text
//! 1  claims of unique entries      by LWT
//! 2  rows that are new             plainly: no reader counts them yet
//! 3  the record's cell             by LWT on the version that was read: lists the rows that count from now on
//! 4  rows that are old             deleted: no reader counts them any more
//! ```
//!
//! The third step decides. Whoever stops before it leaves rows that nobody counts, whoever stops after it too.

use std::time::Duration;

use futures_util::future::join_all;
use keyloom_store::{Condition, Error};

use crate::cell::{Fate, Listed, fate, hash};
use crate::claim::{Claimed, Taking};
use crate::cluster::{Applied, Cell, Cluster, Consistency, Fault, Kind, Row};
use crate::commit::Change;
use crate::id::Id;
use crate::lease::{conflict, holds, key};
use crate::mistake::Mistake;
use crate::store::{ClusterStore, failed};

/// How often a write is tried anew when others overtake it.
const ATTEMPTS: u32 = 64;

/// How often the cluster is asked for the outcome of a write.
const QUESTIONS: u32 = 8;

/// How old what was read of a record may be when the record is written. The cell of a deleted record goes after a day,
/// and nobody may then still believe that it was never there.
const STALE: Duration = Duration::from_secs(3_600);

/// What a write is going to do to a record, on what it has read of it.
#[derive(Debug)]
struct Intent {
    base: Option<Id>,
    /// The cell as it will be.
    cell: Cell,
    /// Rows that come.
    new: Vec<Row>,
    /// Rows that go.
    old: Vec<(Vec<u8>, Id)>,
}

/// How an attempt ended.
enum Attempt {
    Done,
    /// Another write came between: the record as it is now.
    Overtaken(Option<Cell>),
}

/// How the decisive step ended.
enum Decision {
    Happened,
    Lost(Option<Cell>),
}

impl<C: Cluster> ClusterStore<C> {
    /// Changes a record and its entries as one.
    pub(crate) async fn write_record(&self, change: &Change<'_>) -> Result<(), Error> {
        let mut read = self.cluster().monotonic();
        // Whoever requires that the record is absent need not ask: the write itself finds out.
        let new = |condition: &&Condition| matches!(condition, Condition::Absent(key) if *key == change.key);
        let mut cell = match change.conditions.iter().copied().find(new) {
            Some(_) if change.value.is_some_and(|value| value.is_some()) => None,
            _ => self.cell(change.key, Consistency::Quorum).await.map_err(failed)?,
        };
        for attempt in 0..ATTEMPTS {
            match self.attempt(change, cell.as_ref(), read).await? {
                Attempt::Done => return Ok(()),
                Attempt::Overtaken(now) => {
                    (cell, read) = (now, self.cluster().monotonic());
                    self.pause(attempt.saturating_sub(1)).await;
                }
            }
        }
        Err(Error::Busy(format!("others write the record {} all the time", change.key.escape_ascii()).into()))
    }

    async fn attempt(
        &self,
        change: &Change<'_>,
        cell: Option<&Cell>,
        read: Duration,
    ) -> Result<Attempt, Error> {
        let until = self.judge_leased(&change.leased).await?;
        if !self.judge_own(change, cell).await? {
            return self.overtaken(change.key).await;
        }
        let Some(intent) = self.intent(change, cell)? else { return Ok(Attempt::Done) };
        let mut claimed = Vec::new();
        for row in intent.new.iter().filter(|row| row.id.is_marked() && kept_claim(cell, row).is_none()) {
            let taking = Taking { key: &row.key, id: row.id, owner: change.key, base: intent.base };
            let outcome = self.claim(&taking).await;
            match outcome {
                Ok(Claimed::Mine { replaced }) => claimed.push((taking, replaced)),
                Ok(Claimed::Taken | Claimed::Overtaken) | Err(_) => {
                    for (taking, replaced) in &claimed {
                        // One that replaced a claim of the same record may be what another write of it relies on.
                        if !replaced || self.errs(Mistake::SharedRelease) {
                            self.release(taking.key, taking.id).await;
                        }
                    }
                }
            }
            match outcome.map_err(failed)? {
                Claimed::Mine { .. } => {}
                Claimed::Overtaken => return self.overtaken(change.key).await,
                Claimed::Taken => {
                    return Err(Error::Conflict(Box::new(Condition::Absent(row.key.clone()))));
                }
            }
        }
        if let Err(fault) = self.order().insert(intent.new.clone()).await {
            self.undo(&intent, None).await;
            return Err(failed(fault));
        }
        if self.errs(Mistake::EarlyDelete) {
            self.finish(&intent).await;
        }
        match self.decide(change, &intent, read, until).await? {
            Decision::Happened => {
                self.finish(&intent).await;
                Ok(Attempt::Done)
            }
            Decision::Lost(now) => {
                self.undo(&intent, now.as_ref()).await;
                for (taking, _) in &claimed {
                    // Another write of the same record may rely on it.
                    let has = now.as_ref().is_none_or(|now| now.row_of(taking.key).is_some());
                    if !has || self.errs(Mistake::CarelessRelease) {
                        self.release(taking.key, taking.id).await;
                    }
                }
                Ok(Attempt::Overtaken(now))
            }
        }
    }

    async fn overtaken(&self, key: &[u8]) -> Result<Attempt, Error> {
        Ok(Attempt::Overtaken(self.cell(key, Consistency::Serial).await.map_err(failed)?))
    }

    /// Judges what must hold of the record and of the entries that change; says whether what was read is still so.
    async fn judge_own(&self, change: &Change<'_>, cell: Option<&Cell>) -> Result<bool, Error> {
        for condition in &change.conditions {
            let Some(key) = key(condition) else { return Err(conflict(condition)) };
            let listed = cell.and_then(|cell| cell.row_of(key));
            let held = if key == change.key {
                holds(condition, cell.and_then(|cell| cell.value.as_deref()))
            } else if let Some(id) = listed {
                // Its own entry: the row that the cell lists has the value.
                let rows = self.order().read(key).await.map_err(failed)?;
                let Some(row) = rows.iter().find(|row| row.id == id) else { return Ok(false) };
                holds(condition, Some(&row.value))
            } else if change.entries.get(key).is_some_and(Option::is_some) {
                // No entry of its own. Whether it is another's, the claim will find out.
                matches!(condition, Condition::Absent(_))
            } else {
                holds(condition, self.value(key).await?.as_deref())
            };
            if !held {
                return Err(conflict(condition));
            }
        }
        Ok(true)
    }

    /// What has to be done; `None` if nothing.
    fn intent(&self, change: &Change<'_>, cell: Option<&Cell>) -> Result<Option<Intent>, Error> {
        let base = cell.map(|cell| cell.version);
        let before = cell.and_then(|cell| cell.value.clone());
        let value = change.value.map_or_else(|| before.clone(), |value| value.map(<[u8]>::to_vec));
        let puts = change.entries.values().any(Option::is_some);
        if value.is_none() && puts {
            return Err(Error::Refused(
                format!("entries of the record {}, which is not there", change.key.escape_ascii()).into(),
            ));
        }
        let (mut new, mut old) = (Vec::new(), Vec::new());
        let mut rows: Vec<Listed> = cell.map(|cell| cell.rows.clone()).unwrap_or_default();
        if value.is_some() && cell.and_then(|cell| cell.row_of(change.key)).is_none() {
            let id = self.order().id().unmarked();
            new.push(Row { key: change.key.to_vec(), id, kind: Kind::Record { base }, value: Vec::new() });
        }
        if value.is_none() {
            // Entries that the batch does not name go too: no reader counts them without the record.
            rows.clear();
            old.extend(cell.and_then(|cell| cell.row_of(change.key)).map(|id| (change.key.to_vec(), id)));
        }
        for (key, write) in &change.entries {
            let listed = cell.and_then(|cell| cell.row_of(key));
            rows.retain(|(listed, _)| *listed != hash(key));
            old.extend(listed.map(|id| (key.to_vec(), id)));
            if let Some(value) = write {
                let unique = listed.is_some_and(Id::is_marked)
                    || change
                        .conditions
                        .iter()
                        .any(|condition| matches!(condition, Condition::Absent(required) if required == key));
                let id = if unique { self.order().id().marked() } else { self.order().id().unmarked() };
                let kind = Kind::Entry { owner: change.key.to_vec(), base };
                new.push(Row { key: key.to_vec(), id, kind, value: value.to_vec() });
            }
        }
        rows.extend(new.iter().map(|row| (hash(&row.key), row.id)));
        if new.is_empty() && old.is_empty() && value == before {
            return Ok(None);
        }
        Ok(Some(Intent { base, cell: Cell::next(cell, self.order().id(), rows, value), new, old }))
    }

    /// Writes the cell, and finds out whether it was written.
    async fn decide(
        &self,
        change: &Change<'_>,
        intent: &Intent,
        read: Duration,
        mut until: Duration,
    ) -> Result<Decision, Error> {
        let listed: Vec<Listed> = intent.new.iter().map(|row| (hash(&row.key), row.id)).collect();
        // Whether the write may be on its way since an answer did not come.
        let mut sent = false;
        for question in 0..QUESTIONS {
            let now = self.cluster().monotonic();
            if !sent && now.saturating_sub(read) > STALE {
                return self.lost(change.key, intent).await;
            }
            if now >= until && !self.errs(Mistake::LongLease) {
                // What it relied on is too old to be relied on. A write that is on its way cannot be called back.
                match self.judge_leased(&change.leased).await {
                    Ok(later) => until = later,
                    Err(error) if sent => return Err(unknown(&error.to_string())),
                    Err(error) => {
                        self.undo(intent, None).await;
                        return Err(error);
                    }
                }
            }
            match self.cluster().set_cell(change.key, intent.base, &intent.cell).await {
                Ok(Applied::Yes) => {
                    // On its way for longer than a statement may be: others no longer waited for it.
                    let late = self.cluster().monotonic() >= until.saturating_add(self.settings().statement);
                    if late && let Err(error) = self.judge_leased(&change.leased).await {
                        return Err(unknown(&error.to_string()));
                    }
                    return Ok(Decision::Happened);
                }
                Ok(Applied::No) if !sent => return self.lost(change.key, intent).await,
                Ok(Applied::No) => {}
                Err(Fault::Refused(reason)) if !sent => {
                    self.undo(intent, None).await;
                    return Err(Error::Failed(reason.into()));
                }
                Err(_) => sent = true,
            }
            if self.errs(Mistake::BlindRepeat) {
                sent = false;
                continue;
            }
            let cell = match self.cell(change.key, Consistency::Serial).await {
                Ok(cell) => cell,
                Err(fault) => return Err(unknown(&fault.to_string())),
            };
            match fate(cell.as_ref(), intent.base, intent.cell.version, &listed) {
                Fate::Happened => return Ok(Decision::Happened),
                Fate::Lost => return Ok(Decision::Lost(cell)),
                Fate::Forgotten => {
                    self.undo(intent, cell.as_ref()).await;
                    return Err(unknown("others have written the record too often since"));
                }
                Fate::Open => self.pause(question).await,
            }
        }
        Err(unknown("the cluster did not take the write in several attempts"))
    }

    /// A write that was certainly not done.
    async fn lost(&self, key: &[u8], intent: &Intent) -> Result<Decision, Error> {
        match self.cell(key, Consistency::Serial).await {
            Ok(cell) => Ok(Decision::Lost(cell)),
            Err(fault) => {
                self.undo(intent, None).await;
                Err(failed(fault))
            }
        }
    }

    /// Deletes the rows of a write that was not done, and of no other. A row that the record has after all stays.
    async fn undo(&self, intent: &Intent, now: Option<&Cell>) {
        let mine = intent.new.iter().filter(|row| !now.is_some_and(|now| now.lists(row)));
        let mut rows: Vec<_> = mine.map(|row| (row.key.clone(), row.id)).collect();
        if self.errs(Mistake::GreedyLoser) {
            for row in &intent.new {
                let all = self.order().read(&row.key).await.unwrap_or_default();
                rows.extend(all.into_iter().map(|row| (row.key, row.id)));
            }
        }
        // What is left lying is not counted by readers.
        let _ = self.order().delete(rows).await;
    }

    /// Deletes what a write replaced.
    async fn finish(&self, intent: &Intent) {
        let kept = |key: &[u8]| intent.new.iter().any(|row| row.key == key);
        let claims = intent.old.iter().filter(|(key, id)| id.is_marked() && !kept(key));
        join_all(claims.map(|(key, id)| self.release(key, *id))).await;
        let _ = self.order().delete(intent.old.clone()).await;
    }
}

/// The claim that a record has on the key of a row already.
fn kept_claim(cell: Option<&Cell>, row: &Row) -> Option<Id> {
    cell.and_then(|cell| cell.row_of(&row.key)).filter(|id| id.is_marked())
}

fn unknown(reason: &str) -> Error {
    Error::Unknown(format!("whether the record was written is not known: {reason}").into())
}
