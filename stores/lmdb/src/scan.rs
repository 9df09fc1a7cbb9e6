//! A page of a scan.

use std::ops::{Bound, ControlFlow};

use keyloom_key::Span;
use keyloom_store::{Counter, Direction, Error, Limits, Page, sealed};

use crate::pages::Row;
use crate::store::MAX_KEY;

/// Scans a page of `span`: of the `rows` from one bound to another, in the direction.
pub(crate) fn page<'t, 's, R: Iterator<Item = Result<Row<'t>, Error>>>(
    span: &'s Span,
    direction: Direction,
    limits: Limits,
    rows: impl FnOnce(Bound<&'s [u8]>, Bound<&'s [u8]>) -> Result<R, Error>,
    mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<Page, Error> {
    let mut counter = Counter::new(limits);
    if span.is_empty() {
        return Ok(counter.finished());
    }
    let (start, end) = bounds(span);
    let (from, until) = match direction {
        Direction::Forward => (start, end),
        Direction::Backward => (end, start),
    };
    for row in rows(from, until)? {
        let (key, sealed) = row?;
        let value = sealed::open(key, sealed)?;
        let more = counter.count(key, value);
        if look(key, value).is_break() || !more {
            return Ok(counter.stopped(span, direction, key));
        }
    }
    Ok(counter.finished())
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
