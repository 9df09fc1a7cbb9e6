//! Spans of keys: where a read begins and where it ends.

use std::ops::Bound;

/// A run of keys: from `start`, which belongs to it, up to `end`, which does not.
///
/// ```
/// use keyloom_key::Span;
/// let span = Span::prefix(b"U1\x00\x01".as_slice());
/// assert!(span.contains(b"U1\x00\x01rest"));
/// assert!(!span.contains(b"U10\x00\x01rest"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first key that may belong to it.
    pub start: Vec<u8>,
    /// The first key beyond it; `None` if it has no end.
    pub end: Option<Vec<u8>>,
}

impl Span {
    /// Every key that starts with `prefix`.
    pub fn prefix(prefix: impl Into<Vec<u8>>) -> Self {
        let start = prefix.into();
        let end = prefix_end(start.as_slice());
        Self { start, end }
    }

    /// Whether `key` belongs to it.
    pub fn contains(&self, key: &[u8]) -> bool {
        *self.start <= *key && self.end.as_deref().is_none_or(|end| key < end)
    }

    /// Whether no key belongs to it.
    pub fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.start)
    }

    /// The span as the bounds of a range, as `BTreeMap::range` takes them.
    ///
    /// An empty span gives an empty range and never one that is turned round.
    pub fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let end = match &self.end {
            None => Bound::Unbounded,
            Some(end) => Bound::Excluded(end.max(&self.start).as_slice()),
        };
        (Bound::Included(&self.start), end)
    }
}

/// Returns the smallest key greater than every key that starts with `prefix`.
///
/// Returns `None` when there is none: `prefix` is empty or all `0xFF`.
///
/// ```
/// use keyloom_key::prefix_end;
/// assert_eq!(prefix_end([0x03, 0xAA, 0xFF]), Some(vec![0x03, 0xAB]));
/// assert_eq!(prefix_end([0xFF, 0xFF]), None);
/// assert_eq!(prefix_end([]), None);
/// ```
pub fn prefix_end(prefix: impl Into<Vec<u8>>) -> Option<Vec<u8>> {
    let mut end = prefix.into();
    let last = end.iter().rposition(|&byte| byte != 0xFF)?;
    end.truncate(last + 1);
    *end.last_mut()? += 1;
    Some(end)
}
