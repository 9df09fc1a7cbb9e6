//! A page of a scan: rows of the file, and in front of them those that are in memory.
//!
//! ```text
//! memory   b: deleted          d: "new"   e: "new"
//! file     b: "old"   c: "old" d: "old"
//! page              → c: "old" d: "new"   e: "new"
//! ```

use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};

use keyloom_key::Span;
use keyloom_store::{Counter, Direction, Error, Limits, Page, sealed};

use crate::pages::{Row, compare};
use crate::store::MAX_KEY;

/// A key that is in memory and its value, or `None` if it is deleted.
pub(crate) type Written<'w> = (&'w [u8], Option<&'w [u8]>);

/// Scans a page of `span`: of the `rows` from one bound to another, in the direction, and of what is `ahead` of them.
pub(crate) fn page<'t, 's, 'w, R: Iterator<Item = Result<Row<'t>, Error>>>(
    span: &'s Span,
    direction: Direction,
    limits: Limits,
    mut ahead: impl Iterator<Item = Written<'w>>,
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
    let mut rows = rows(from, until)?;
    // A row of the file that comes behind the next one of memory.
    let mut waiting = None;
    loop {
        let next = ahead.next();
        while let Some(row) = waiting.take().map(Ok).or_else(|| rows.next()) {
            let (key, sealed) = row?;
            if let Some((written, _)) = next {
                match in_direction(direction, key, written) {
                    Ordering::Less => {}
                    // It is written over.
                    Ordering::Equal => break,
                    Ordering::Greater => {
                        waiting = Some((key, sealed));
                        break;
                    }
                }
            }
            let value = sealed::open(key, sealed)?;
            let more = counter.count(key, value);
            if look(key, value).is_break() || !more {
                return Ok(counter.stopped(span, direction, key));
            }
        }
        let Some((key, value)) = next else { return Ok(counter.finished()) };
        if let Some(value) = value {
            let more = counter.count(key, value);
            if look(key, value).is_break() || !more {
                return Ok(counter.stopped(span, direction, key));
            }
        }
    }
}

/// Which of two keys a scan comes to first: `Less` if to `one`.
pub(crate) fn in_direction(direction: Direction, one: &[u8], other: &[u8]) -> Ordering {
    match direction {
        Direction::Forward => compare(one, other),
        Direction::Backward => compare(other, one),
    }
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
