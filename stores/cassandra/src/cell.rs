//! What a record's cell says of its rows and of the writes that want to change it. No I/O.
//!
//! ```text
//! versions of a cell    v1 ── v2 ── v3        a version never comes back
//! a write on base v2           └─ decided     v3 is the write, or the write is lost
//! a row with base v2           └─ decided     the cell lists the row, or the row is dead
//! ```

use twox_hash::XxHash3_128;

use crate::cluster::{Cell, Kind, Row};
use crate::id::Id;

/// How many earlier writes a cell remembers.
pub(crate) const PAST: usize = 16;

/// How long the cell of a deleted record is good for proofs, in microseconds: it goes after a day, on each node by the
/// node's own clock, and then the record is absent once more.
const PROOF: i64 = 12 * 3_600 * 1_000_000;

/// A row as a cell lists it.
pub(crate) type Listed = (u128, Id);

/// The hash by which a cell lists the row of a key.
pub(crate) fn hash(key: &[u8]) -> u128 {
    XxHash3_128::oneshot(key)
}

/// The record's key and the version it had when the row was written; `None` for a member, which has no record.
pub(crate) fn owner(row: &Row) -> Option<(&[u8], Option<Id>)> {
    match &row.kind {
        Kind::Record { base } => Some((&row.key, *base)),
        Kind::Entry { owner, base } => Some((owner, *base)),
        Kind::Member => None,
    }
}

/// What can still become of a row that its record's cell does not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The write that made it may still happen, or nobody can tell that it may not.
    Pending,
    /// The write that made it did not happen, or a later one took the row away: it can go.
    Dead,
    /// It looks dead, and a serial read has to confirm that the record is past the row's base.
    Unsure,
}

impl Cell {
    /// The row that counts for a key.
    pub(crate) fn row_of(&self, key: &[u8]) -> Option<Id> {
        let hash = hash(key);
        self.rows.iter().find(|(listed, _)| *listed == hash).map(|(_, id)| *id)
    }

    /// Whether a row counts.
    pub(crate) fn lists(&self, row: &Row) -> bool {
        self.row_of(&row.key) == Some(row.id)
    }

    /// The cell that a write makes of this one, or of none.
    pub(crate) fn next(
        before: Option<&Self>,
        version: Id,
        rows: Vec<Listed>,
        value: Option<Vec<u8>>,
    ) -> Self {
        let past =
            before.into_iter().flat_map(|cell| [cell.version].into_iter().chain(cell.past.iter().copied()));
        Self { version, past: past.take(PAST).collect(), rows, value }
    }

    /// The same record with another version: writes on the version that it had are shut out.
    pub(crate) fn renewed(before: Option<&Self>, version: Id) -> Self {
        let rows = before.map(|cell| cell.rows.clone()).unwrap_or_default();
        Self::next(before, version, rows, before.and_then(|cell| cell.value.clone()))
    }

    /// What can still become of a row with this base that is not listed. `serial` says how the cell was read, `now` is
    /// the wall clock.
    pub(crate) fn verdict(cell: Option<&Self>, base: Option<Id>, serial: bool, now: i64) -> Verdict {
        // An absent record proves nothing: it may be the base, or a deleted one whose cell has just gone.
        let Some(cell) = cell else { return Verdict::Pending };
        match base {
            Some(base) if cell.version == base => Verdict::Pending,
            Some(base) if serial || cell.past.contains(&base) => Verdict::Dead,
            // A base that is not among the last versions is long past, or newer than what a quorum has.
            Some(_) => Verdict::Unsure,
            None if cell.value.is_some() || now.saturating_sub(cell.version.time()) < PROOF => Verdict::Dead,
            None => Verdict::Pending,
        }
    }
}

/// How a write ended, as a cell read at serial consistency shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It happened.
    Happened,
    /// It has not happened and still can: nothing has come between.
    Open,
    /// It did not happen and never will.
    Lost,
    /// It can no longer happen, and whether it did has been forgotten.
    Forgotten,
}

/// How the write `version` on `base` ended; `rows` are those that it lists and no earlier write did.
pub(crate) fn fate(cell: Option<&Cell>, base: Option<Id>, version: Id, rows: &[Listed]) -> Fate {
    let Some(cell) = cell else {
        return if base.is_none() { Fate::Open } else { Fate::Forgotten };
    };
    let happened = cell.version == version
        || cell.past.contains(&version)
        || rows.iter().any(|row| cell.rows.contains(row));
    let decided = match base {
        Some(base) => cell.past.contains(&base),
        // All that was written since the record was absent is remembered.
        None => cell.past.len() < PAST,
    };
    match happened {
        true => Fate::Happened,
        false if base == Some(cell.version) => Fate::Open,
        false if decided => Fate::Lost,
        false => Fate::Forgotten,
    }
}

#[cfg(test)]
mod tests;
