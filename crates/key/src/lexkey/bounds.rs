//! The specification's helpers for keys of a partition and a row.
//!
//! ```text
//! primary key   P 00 R
//! lower bound   P 00 L
//! upper bound   P 00 U FF, or P FF without a U
//! ```

use std::cmp::Ordering;

use super::{END, SEPARATOR};
use crate::error::Error;
use crate::span::Span;

/// Appends the partition, `00` and the row.
///
/// Both are bytes already, often keys themselves. A partition with a `00` in it comes back shorter from
/// [`decode_primary_key`]: numbers have many, so let the partition be text.
///
/// ```
/// use keyloom_key::lexkey::{decode_primary_key, primary_key};
/// let mut key = Vec::new();
/// primary_key(b"partition", b"row", &mut key);
/// assert_eq!(key, b"partition\x00row");
/// assert_eq!(decode_primary_key(&key)?, (b"partition".as_slice(), b"row".as_slice()));
/// # Ok::<(), keyloom_key::Error>(())
/// ```
pub fn primary_key(partition: &[u8], row: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(partition);
    out.push(SEPARATOR);
    out.extend_from_slice(row);
}

/// Splits a primary key at its first `00`.
///
/// Either side may be empty. A key without a `00` is an error.
pub fn decode_primary_key(key: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let mut sides = key.splitn(2, |&byte| byte == SEPARATOR);
    match (sides.next(), sides.next()) {
        (Some(partition), Some(row)) => Ok((partition, row)),
        _ => Err(Error::bytes(key.len(), "no 00 between partition and row: this is no primary key")),
    }
}

/// The specification's bounds of the rows from `lower` to `upper` in a partition; `None` is the empty one.
///
/// They hold more than their names say. An upper bound takes in every row that starts with it. Without one
/// the span of partition `U1` also contains those of partition `U10`.
/// [`KeyFormat::prefix`](crate::KeyFormat::prefix) and [`KeyFormat::range`](crate::KeyFormat::range) are the
/// tight ones.
///
/// ```
/// use keyloom_key::lexkey::range_bounds;
/// let span = range_bounds(Some(b"part"), b"start", b"end");
/// assert_eq!(span.start, b"part\x00start");
/// assert_eq!(span.end.as_deref(), Some(b"part\x00end\xff".as_slice()));
/// assert!(range_bounds(Some(b"U1"), b"", b"").contains(b"U10\x00row"));
/// ```
pub fn range_bounds(partition: Option<&[u8]>, lower: &[u8], upper: &[u8]) -> Span {
    let partition = partition.unwrap_or_default();
    let mut start = Vec::with_capacity(partition.len() + 1 + lower.len());
    primary_key(partition, lower, &mut start);
    let mut end = Vec::with_capacity(partition.len() + 2 + upper.len());
    if upper.is_empty() {
        end.extend_from_slice(partition);
    } else {
        primary_key(partition, upper, &mut end);
    }
    end.push(END);
    Span { start, end: Some(end) }
}

/// Compares two keys byte by byte, as every store does.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    a.cmp(b)
}
