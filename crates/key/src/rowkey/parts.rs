//! Keys read component by component, and cut at their separators.

use std::borrow::Cow;
use std::ops::Range;

use super::component::{Component, split};
use crate::error::Error;
use crate::field::Width;

/// The components of a key, numbered from 0.
///
/// A trailing separator is followed by an empty component. The empty key has no components here, for nothing
/// says that there should be one; where fields are declared, it is one empty component.
///
/// To read a part of a key, give that part: `RowKeyParts::new(&key[5..])`.
///
/// ```
/// use keyloom_key::rowkey::RowKeyParts;
/// let parts = RowKeyParts::new(b"aaa\x00\x00b\x00\x01\x00\x00")?;
/// assert_eq!(parts.len(), 3);
/// assert_eq!(parts.get_str(1)?, "b\0");
/// assert_eq!(parts.get_str(2)?, "");
/// assert_eq!(parts.get(3), None);
/// # Ok::<(), keyloom_key::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RowKeyParts<'a> {
    components: Vec<Component<'a>>,
    key: &'a [u8],
}

impl<'a> RowKeyParts<'a> {
    /// Splits a key. A zero that is neither escaped nor a separator is an error that says where.
    pub fn new(key: &'a [u8]) -> Result<Self, Error> {
        let components = if key.is_empty() { Vec::new() } else { split(key).collect::<Result<_, _>>()? };
        Ok(Self { components, key })
    }

    /// The number of components.
    pub fn len(&self) -> usize {
        self.components.len()
    }

    /// Whether there is no component.
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }

    /// A component's bytes, borrowed if they have no zero; `None` beyond the last one.
    pub fn get(&self, index: usize) -> Option<Cow<'a, [u8]>> {
        self.components.get(index).map(|component| component.unescape())
    }

    /// A component as text.
    pub fn get_str(&self, index: usize) -> Result<Cow<'a, str>, Error> {
        self.component(index)?.text()
    }

    /// A component as a signed integer of this width.
    pub fn get_int(&self, index: usize, width: Width) -> Result<i64, Error> {
        self.component(index)?.int(width)
    }

    /// A component as a signed integer of eight bytes.
    pub fn get_int64(&self, index: usize) -> Result<i64, Error> {
        self.get_int(index, Width::W64)
    }

    /// A component as an unsigned integer of this width.
    pub fn get_uint(&self, index: usize, width: Width) -> Result<u64, Error> {
        self.component(index)?.uint(width)
    }

    /// A component as a varint.
    pub fn get_varint(&self, index: usize) -> Result<u64, Error> {
        self.component(index)?.varint()
    }

    fn component(&self, index: usize) -> Result<Component<'a>, Error> {
        self.components.get(index).copied().ok_or_else(|| {
            let reason = format!("no component {index}: the key has {}, numbered from 0", self.len());
            Error::bytes(self.key.len(), reason)
        })
    }
}

/// The last component as it stands in the key, escapes included; `None` if the key is malformed.
///
/// The empty key is its own last component.
///
/// ```
/// use keyloom_key::rowkey::{last_component, without_last};
/// let key = b"aaa\x00\x00bbb";
/// assert_eq!(last_component(key), Some(b"bbb".as_slice()));
/// assert_eq!(without_last(key), Some(b"aaa".as_slice()));
/// assert_eq!(without_last(b"aaa"), None);
/// ```
pub fn last_component(key: &[u8]) -> Option<&[u8]> {
    last_two(key).map(|(_, last)| last.bytes)
}

/// The key without its last component and the separator before it.
///
/// `None` if there is only one component, or if the key is malformed.
pub fn without_last(key: &[u8]) -> Option<&[u8]> {
    let (before, _) = last_two(key)?;
    key.get(..before?.end())
}

/// The last component but one, if there is one, and the last; `None` if the key is malformed.
fn last_two(key: &[u8]) -> Option<(Option<Component<'_>>, Component<'_>)> {
    split(key).try_fold(None, |seen: Option<(_, Component<'_>)>, component| {
        Some(Some((seen.map(|(_, last)| last), component.ok()?)))
    })?
}

/// The components with these numbers, from 0, as they stand in the key: a key of their own.
///
/// `None` if the range is empty or reaches beyond the last component, or if the key is malformed.
///
/// ```
/// use keyloom_key::rowkey::components;
/// let key = b"a\x00\x00b\x00\x00c";
/// assert_eq!(components(key, 1..3), Some(b"b\x00\x00c".as_slice()));
/// assert_eq!(components(key, 1..4), None);
/// ```
pub fn components(key: &[u8], range: Range<usize>) -> Option<&[u8]> {
    let (mut start, mut end) = (None, None);
    for (index, component) in split(key).enumerate() {
        let component = component.ok()?;
        if index == range.start {
            start = Some(component.offset);
        }
        if index + 1 == range.end {
            end = Some(component.end());
        }
    }
    key.get(start?..end?)
}
