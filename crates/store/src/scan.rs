//! Scans: a span, a direction, and how much of it one page may take.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use keyloom_key::Span;

/// Which way a scan runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// From the smallest key up.
    #[default]
    Forward,
    /// From the greatest key down.
    Backward,
}

impl Direction {
    /// Which of two keys a scan comes to first: `Less` if to `one`.
    pub(crate) fn compare(self, one: &[u8], other: &[u8]) -> Ordering {
        match self {
            Self::Forward => one.cmp(other),
            Self::Backward => other.cmp(one),
        }
    }
}

/// How much one page may take. Whichever limit is met first ends it; a page takes one row at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most rows.
    pub rows: usize,
    /// The most bytes of keys and values.
    pub bytes: usize,
    /// The most time.
    pub time: Duration,
}

impl Default for Limits {
    /// 10,000 rows, 4 MiB, one second.
    fn default() -> Self {
        Self { rows: 10_000, bytes: 4 << 20, time: Duration::from_secs(1) }
    }
}

impl Limits {
    /// At most this many rows, and otherwise the default.
    pub fn rows(rows: usize) -> Self {
        Self { rows, ..Self::default() }
    }
}

/// What a scan did: how much it saw, and what of the span is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Rows that were seen.
    pub rows: usize,
    /// Bytes of the keys and values that were seen.
    pub bytes: usize,
    /// What is left of the span, to be scanned next in the same direction; `None` if nothing is.
    pub rest: Option<Span>,
}

/// Counts a page's rows and says when it ends. Every store uses it, so that all end alike.
#[derive(Debug)]
pub struct Counter {
    limits: Limits,
    /// When the page started, if its time is limited: the clock is dear beside a row.
    started: Option<Instant>,
    rows: usize,
    bytes: usize,
}

impl Counter {
    /// For a page that starts now.
    pub fn new(limits: Limits) -> Self {
        let started = (limits.time < Duration::MAX).then(Instant::now);
        Self { limits, started, rows: 0, bytes: 0 }
    }

    /// Counts a row; says whether the page may take another.
    pub fn count(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.rows += 1;
        self.bytes += key.len() + value.len();
        // A look at the clock with every 64th row is often enough.
        let late = self.rows.is_multiple_of(64)
            && self.started.is_some_and(|started| started.elapsed() >= self.limits.time);
        self.rows < self.limits.rows && self.bytes < self.limits.bytes && !late
    }

    /// The page of a scan that came to the end of its span.
    pub fn finished(&self) -> Page {
        Page { rows: self.rows, bytes: self.bytes, rest: None }
    }

    /// The page of a scan that stopped after the row with key `last`.
    pub fn stopped(&self, span: &Span, direction: Direction, last: &[u8]) -> Page {
        let rest = match direction {
            Direction::Forward => Span { start: [last, &[0]].concat(), end: span.end.clone() },
            Direction::Backward => Span { start: span.start.clone(), end: Some(last.to_vec()) },
        };
        let rest = (!rest.is_empty()).then_some(rest);
        Page { rows: self.rows, bytes: self.bytes, rest }
    }
}
