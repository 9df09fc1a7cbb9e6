//! Pages out of a read transaction.

use std::ops::{Bound, ControlFlow};

use heed::types::Bytes;
use heed::{Database, RoTxn};
use keyloom_key::Span;
use keyloom_store::{Counter, Direction, Error, Limits, Page, sealed};

use crate::error::engine;
use crate::prefetch::Pages;
use crate::store::MAX_KEY;

/// A key and its value as they lie in the file.
type Row<'t> = (&'t [u8], &'t [u8]);

/// Scans a page of `span`.
pub(crate) fn page<'t>(
    data: Database<Bytes, Bytes>,
    txn: &'t RoTxn<'_>,
    span: &Span,
    direction: Direction,
    limits: Limits,
    mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<Page, Error> {
    let mut counter = Counter::new(limits);
    if span.is_empty() {
        return Ok(counter.finished());
    }
    let (range, mut pages) = (bounds(span), Pages::default());
    let mut row = |found: heed::Result<Row<'t>>| -> Result<ControlFlow<&'t [u8]>, Error> {
        let (key, sealed) = found.map_err(engine)?;
        pages.read(key, direction);
        let value = sealed::open(key, sealed)?;
        let more = counter.count(key, value);
        let go_on = look(key, value).is_continue() && more;
        Ok(if go_on { ControlFlow::Continue(()) } else { ControlFlow::Break(key) })
    };
    let mut stopped = None;
    match direction {
        Direction::Forward => {
            for found in data.range(txn, &range).map_err(engine)? {
                if let ControlFlow::Break(last) = row(found)? {
                    stopped = Some(last);
                    break;
                }
            }
        }
        Direction::Backward => {
            for found in data.rev_range(txn, &range).map_err(engine)? {
                if let ControlFlow::Break(last) = row(found)? {
                    stopped = Some(last);
                    break;
                }
            }
        }
    }
    Ok(match stopped {
        None => counter.finished(),
        Some(last) => counter.stopped(span, direction, last),
    })
}

/// The bounds of a span as LMDB can look for them: it knows no empty key, and none that is too long.
fn bounds(span: &Span) -> (Bound<&[u8]>, Bound<&[u8]>) {
    // Of the keys that can be there, those from an overlong bound on are those behind its beginning.
    let start = match span.start.get(..MAX_KEY) {
        Some(beginning) if span.start.len() > MAX_KEY => Bound::Excluded(beginning),
        _ if span.start.is_empty() => Bound::Unbounded,
        _ => Bound::Included(span.start.as_slice()),
    };
    let end = match span.end.as_deref() {
        None => Bound::Unbounded,
        Some(end) => match end.get(..MAX_KEY) {
            Some(beginning) if end.len() > MAX_KEY => Bound::Included(beginning),
            _ => Bound::Excluded(end),
        },
    };
    (start, end)
}
