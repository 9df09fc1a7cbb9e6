//! Rows of one shard, by whole keys.

use keyloom_key::Span;
use keyloom_store::Direction;

use crate::cluster::{Cluster, Fault, Row, Space};
use crate::id::Id;

/// Rows, and what is left of the span that they were asked of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// In the order of the scan. All rows of a key are there.
    pub rows: Vec<Row>,
    /// To be scanned next in the same direction; `None` if nothing is left.
    pub rest: Option<Span>,
}

/// The first rows of a shard within a span: at most `limit`, but one key at least with all its rows.
pub(crate) async fn page<C: Cluster>(
    cluster: &C,
    (space, shard): (Space, Id),
    span: &Span,
    direction: Direction,
    limit: usize,
) -> Result<Rows, Fault> {
    // One more shows whether the last key is whole.
    let mut ask = limit.max(1).saturating_add(1);
    loop {
        let mut rows = cluster.rows(space, shard, span, direction, ask).await?;
        let cut = rows.len() >= ask;
        let last = rows.last().map(|row| row.key.clone()).filter(|_| cut);
        let whole = rows.iter().take_while(|row| Some(&row.key) != last.as_ref()).count();
        if cut && whole == 0 {
            ask = ask.saturating_mul(2);
            continue;
        }
        let kept = keys_within(rows.get(..whole).unwrap_or_default(), limit);
        let rest = rows.get(kept).map(|next| match direction {
            Direction::Forward => Span { start: next.key.clone(), end: span.end.clone() },
            Direction::Backward => Span { start: span.start.clone(), end: Some(after(&next.key)) },
        });
        rows.truncate(kept);
        return Ok(Rows { rows, rest });
    }
}

/// How many rows whole keys have that are at most `limit` together, or the first key alone.
fn keys_within(rows: &[Row], limit: usize) -> usize {
    let mut kept = 0;
    for key in rows.chunk_by(|one, other| one.key == other.key) {
        if kept > 0 && kept + key.len() > limit {
            break;
        }
        kept += key.len();
    }
    kept
}

/// The first key behind this one.
pub(crate) fn after(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// The keys that two spans share.
pub(crate) fn shared(one: &Span, other: &Span) -> Span {
    let end = match (&one.end, &other.end) {
        (Some(one), Some(other)) => Some(one.min(other).clone()),
        (one, other) => one.clone().or_else(|| other.clone()),
    };
    Span { start: one.start.clone().max(other.start.clone()), end }
}
