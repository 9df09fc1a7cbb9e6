//! The statements, prepared once.

use scylla::client::session::Session;
use scylla::errors::PrepareError;
use scylla::statement::prepared::PreparedStatement;

use crate::cluster::{Cell, Claim, Consistency, Fault, Kind, Range, Row};

use super::bytes::{id, ids, maybe_id, pairs, state};
use super::connect::Levels;
use super::fault::damaged;

/// All statements. A `?` for each value, in the order that the methods of the driver give them.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) spaces: PreparedStatement,
    pub(super) add_space: PreparedStatement,
    pub(super) range_at: Read,
    pub(super) range_before: Read,
    pub(super) range_last: Read,
    pub(super) set_range: PreparedStatement,
    pub(super) drop_range: PreparedStatement,
    pub(super) insert: PreparedStatement,
    pub(super) delete: PreparedStatement,
    pub(super) rows: PreparedStatement,
    pub(super) rows_backward: PreparedStatement,
    pub(super) rows_from: PreparedStatement,
    pub(super) rows_from_backward: PreparedStatement,
    pub(super) delete_span: PreparedStatement,
    pub(super) delete_from: PreparedStatement,
    pub(super) cell: Read,
    pub(super) set_cell: PreparedStatement,
    pub(super) claim: Read,
    pub(super) set_claim: PreparedStatement,
    pub(super) drop_claim: PreparedStatement,
}

/// A statement that reads at either consistency.
#[derive(Debug)]
pub(super) struct Read {
    quorum: PreparedStatement,
    serial: PreparedStatement,
}

impl Read {
    /// The statement at this consistency.
    pub(super) fn at(&self, consistency: Consistency) -> &PreparedStatement {
        match consistency {
            Consistency::Quorum => &self.quorum,
            Consistency::Serial => &self.serial,
        }
    }
}

impl Statements {
    /// Prepares all of them, for the tables of the keyspace `k`.
    pub(super) async fn prepare(session: &Session, levels: &Levels, k: &str) -> Result<Self, PrepareError> {
        let range = format!("SELECT start_key, end_key, shard, epoch, state FROM {k}.map WHERE space = ?");
        let row = format!(
            "SELECT key, id, kind, owner, base, value FROM {k}.rows WHERE space = ? AND shard = ? AND key >= ?"
        );
        let plain = |text| plain(session, levels, text);
        let read = |text| read(session, levels, text);
        let conditional = |text| conditional(session, levels, text);
        Ok(Self {
            spaces: plain(format!("SELECT space FROM {k}.spaces WHERE part = ?")).await?,
            add_space: plain(format!("INSERT INTO {k}.spaces (part, space) VALUES (?, ?)")).await?,
            range_at: read(format!("{range} AND start_key <= ? ORDER BY start_key DESC LIMIT 1")).await?,
            range_before: read(format!("{range} AND start_key < ? ORDER BY start_key DESC LIMIT 1")).await?,
            range_last: read(format!("{range} ORDER BY start_key DESC LIMIT 1")).await?,
            set_range: conditional(
                format!("UPDATE {k}.map SET end_key = ?, shard = ?, epoch = ?, state = ? \
                 WHERE space = ? AND start_key = ? IF epoch = ?"),
            )
            .await?,
            drop_range: conditional(
                format!("DELETE FROM {k}.map WHERE space = ? AND start_key = ? IF epoch = ?"),
            )
            .await?,
            insert: plain(
                format!("INSERT INTO {k}.rows (space, shard, key, id, kind, owner, base, value) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?"),
            )
            .await?,
            delete: plain(
                format!("DELETE FROM {k}.rows USING TIMESTAMP ? WHERE space = ? AND shard = ? AND key = ? AND id = ?"),
            )
            .await?,
            rows: plain(format!("{row} AND key < ? ORDER BY key ASC, id ASC LIMIT ?")).await?,
            rows_backward: plain(format!("{row} AND key < ? ORDER BY key DESC, id DESC LIMIT ?")).await?,
            rows_from: plain(format!("{row} ORDER BY key ASC, id ASC LIMIT ?")).await?,
            rows_from_backward: plain(format!("{row} ORDER BY key DESC, id DESC LIMIT ?")).await?,
            delete_span: plain(
                format!("DELETE FROM {k}.rows USING TIMESTAMP ? WHERE space = ? AND shard = ? AND key >= ? AND key < ?"),
            )
            .await?,
            delete_from: plain(
                format!("DELETE FROM {k}.rows USING TIMESTAMP ? WHERE space = ? AND shard = ? AND key >= ?"),
            )
            .await?,
            cell: read(format!("SELECT version, past, counted, value FROM {k}.cells WHERE key = ?")).await?,
            set_cell: conditional(
                format!("UPDATE {k}.cells USING TTL ? SET version = ?, past = ?, counted = ?, value = ? \
                 WHERE key = ? IF version = ?"),
            )
            .await?,
            claim: read(format!("SELECT id, owner, base FROM {k}.claims WHERE key = ?")).await?,
            set_claim: conditional(
                format!("UPDATE {k}.claims SET id = ?, owner = ?, base = ? WHERE key = ? IF id = ?"),
            )
            .await?,
            drop_claim: conditional(format!("DELETE FROM {k}.claims WHERE key = ? IF id = ?")).await?,
        })
    }
}

/// A statement that may be repeated: a row's insertion and its deletion both have the time in the row's id. It is given
/// little time at first, and then asked [more patiently](super::ask::Asker::plain).
async fn plain(session: &Session, levels: &Levels, text: String) -> Result<PreparedStatement, PrepareError> {
    let mut statement = session.prepare(text).await?;
    statement.set_request_timeout(Some(levels.quick));
    // What columns an answer has need not be told with each: tables of one form never change.
    statement.set_use_cached_result_metadata(true);
    Ok(statement)
}

/// A statement that reads.
async fn read(session: &Session, levels: &Levels, text: String) -> Result<Read, PrepareError> {
    let quorum = plain(session, levels, text).await?;
    let mut serial = quorum.clone();
    serial.set_consistency(levels.serial_read);
    Ok(Read { quorum, serial })
}

/// A statement with a condition. Where nothing is, a column is null. None of them is an INSERT: what an UPDATE wrote is
/// gone with its last column, so a deleted record's cell leaves nothing behind when its time is over.
async fn conditional(
    session: &Session,
    levels: &Levels,
    text: String,
) -> Result<PreparedStatement, PrepareError> {
    let mut statement = session.prepare(text).await?;
    statement.set_execution_profile_handle(Some(levels.conditional.clone()));
    Ok(statement)
}

/// A range as [`Statements::range_at`] reads it: start, end, shard, epoch, state.
pub(super) type StoredRange = (Vec<u8>, Vec<u8>, Vec<u8>, i64, Vec<u8>);

pub(super) fn range((start, end, shard, epoch, stored): StoredRange) -> Result<Range, Fault> {
    let end = (!end.is_empty()).then_some(end);
    Ok(Range { start, end, shard: id(&shard)?, epoch: epoch.cast_unsigned(), state: state(&stored)? })
}

/// A row as [`Statements::rows`] reads it: key, id, kind, owner, base, value.
pub(super) type StoredRow = (Vec<u8>, Vec<u8>, i8, Vec<u8>, Vec<u8>, Vec<u8>);

pub(super) fn row((key, row, kind, owner, base, value): StoredRow) -> Result<Row, Fault> {
    let base = maybe_id(&base)?;
    let kind = match kind {
        0 => Kind::Record { base },
        1 => Kind::Entry { owner, base },
        2 => Kind::Member,
        _ => return Err(damaged("kind of row", &kind.to_be_bytes())),
    };
    Ok(Row { key, id: id(&row)?, kind, value })
}

/// A row's kind as it is stored: a number, the owner, the base. Empty, not null: a null is a deletion to Cassandra, and
/// every scan would read over it.
pub(super) fn stored_kind(kind: &Kind) -> (i8, Vec<u8>, Vec<u8>) {
    let (number, owner, base) = match kind {
        Kind::Record { base } => (0, None, *base),
        Kind::Entry { owner, base } => (1, Some(owner.clone()), *base),
        Kind::Member => (2, None, None),
    };
    (number, owner.unwrap_or_default(), base.map(|base| base.bytes().to_vec()).unwrap_or_default())
}

/// A cell as [`Statements::cell`] reads it: version, past, counted, value.
pub(super) type StoredCell = (Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>);

pub(super) fn cell((version, past, counted, value): StoredCell) -> Result<Cell, Fault> {
    Ok(Cell {
        version: id(&version)?,
        past: ids(&past.unwrap_or_default())?,
        rows: pairs(&counted.unwrap_or_default())?,
        value,
    })
}

/// A claim as [`Statements::claim`] reads it: id, owner, base.
pub(super) type StoredClaim = (Vec<u8>, Vec<u8>, Vec<u8>);

pub(super) fn claim((own, owner, base): StoredClaim) -> Result<Claim, Fault> {
    Ok(Claim { id: id(&own)?, owner, base: maybe_id(&base)? })
}
