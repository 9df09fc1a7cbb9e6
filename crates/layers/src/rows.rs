//! The rows of a page, kept to be shown again.

use std::ops::ControlFlow;

use keyloom_key::Span;
use keyloom_store::{Counter, Direction, Limits, Page};

/// Rows of one state, from where the scan of a span begins.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Keys and values, one behind the other.
    bytes: Vec<u8>,
    /// How long each key is, and its value.
    places: Vec<(u32, u32)>,
    /// Whether the span has no more.
    whole: bool,
}

impl Rows {
    /// Whether a scan with these limits would end within them, or at their end.
    ///
    /// A page that was cut by its time, or by whoever looked, has not what its own limits ask, and is of no use to anyone
    /// who asks the same.
    pub(crate) fn answer(&self, limits: Limits) -> bool {
        self.whole || self.places.len() >= limits.rows || self.bytes.len() >= limits.bytes
    }

    /// Shows them as a scan of the store does.
    pub(crate) fn show(
        &self,
        (span, direction, limits): (&Span, Direction, Limits),
        mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Page {
        let mut counter = Counter::new(limits);
        let mut rest = self.bytes.as_slice();
        for &(key, value) in &self.places {
            let (shown, behind) = rest.split_at_checked(key as usize).unwrap_or_default();
            let (value, behind) = behind.split_at_checked(value as usize).unwrap_or_default();
            let more = counter.count(shown, value);
            if look(shown, value).is_break() || !more {
                return counter.stopped(span, direction, shown);
            }
            rest = behind;
        }
        counter.finished()
    }

    /// The bytes of memory that they take.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + size_of_val(self.places.as_slice())
    }
}

/// Rows that are taken down while they are shown to another.
#[derive(Debug)]
pub(crate) struct Copied {
    rows: Rows,
    most: usize,
}

impl Copied {
    /// None yet, and no more than so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { rows: Rows { bytes: Vec::new(), places: Vec::new(), whole: false }, most }
    }

    /// Takes a row down; with one too many, none is kept.
    pub(crate) fn row(&mut self, key: &[u8], value: &[u8]) {
        let size = self.rows.size() + key.len() + value.len() + size_of::<(u32, u32)>();
        let place = (u32::try_from(key.len()), u32::try_from(value.len()));
        match place {
            (Ok(key_length), Ok(value_length)) if size <= self.most => {
                self.rows.bytes.extend_from_slice(key);
                self.rows.bytes.extend_from_slice(value);
                self.rows.places.push((key_length, value_length));
            }
            _ => *self = Self::new(0),
        }
    }

    /// All of the page, if it is worth keeping.
    pub(crate) fn of(mut self, page: &Page, limits: Limits) -> Option<Rows> {
        self.rows.whole = page.rest.is_none();
        let all = self.rows.places.len() == page.rows;
        self.rows.bytes.shrink_to_fit();
        self.rows.places.shrink_to_fit();
        Some(self.rows).filter(|rows| all && rows.answer(limits))
    }
}

#[cfg(test)]
mod tests;
