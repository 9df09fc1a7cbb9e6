//! Values and pages out of a table, of a state that stays or of one that is being written.

use std::ops::ControlFlow;

use keyloom_key::Span;
use keyloom_store::{Counter, Direction, Error, Limits, Look, Now, Page, sealed};
use redb::ReadableTable;

use crate::error::engine;

/// Lends the value of a key.
pub(crate) fn get<T>(
    data: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
    look: impl FnOnce(&[u8]) -> T,
) -> Result<Option<T>, Error> {
    let found = data.get(key).map_err(engine)?;
    found.map(|found| sealed::open(key, found.value()).map(look)).transpose()
}

/// Scans a page of `span`.
pub(crate) fn page(
    data: &impl ReadableTable<&'static [u8], &'static [u8]>,
    span: &Span,
    direction: Direction,
    limits: Limits,
    mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<Page, Error> {
    let mut counter = Counter::new(limits);
    if span.is_empty() {
        return Ok(counter.finished());
    }
    let mut rows = data.range::<&[u8]>(span.bounds()).map_err(engine)?;
    loop {
        let row = match direction {
            Direction::Forward => rows.next(),
            Direction::Backward => rows.next_back(),
        };
        let Some(row) = row else { return Ok(counter.finished()) };
        let (key, found) = row.map_err(engine)?;
        let (key, value) = (key.value(), sealed::open(key.value(), found.value())?);
        let more = counter.count(key, value);
        if look(key, value).is_break() || !more {
            return Ok(counter.stopped(span, direction, key));
        }
    }
}

/// A table that conditions are checked against.
pub(crate) struct Seen<'a, D>(pub(crate) &'a D);

impl<D: ReadableTable<&'static [u8], &'static [u8]>> Now for Seen<'_, D> {
    fn get<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error> {
        get(self.0, key, look)
    }

    fn page(&self, span: &Span, limits: Limits, look: &mut Look<'_>) -> Result<Page, Error> {
        page(self.0, span, Direction::Forward, limits, look)
    }
}
