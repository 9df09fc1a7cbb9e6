//! Components: where they end, and the escape within them.
//!
//! ```text
//! ("a\0", "b")   │61│00│01│ 00 00 │62│
//! ```
//!
//! At a zero the next byte decides: `01` makes it a zero of the component, `00` ends the component. So a key
//! is read from its start: from its end, in `00 00 00 01`, it is not plain which zeros belong together.

use std::borrow::Cow;

use crate::error::Error;

pub(super) const SEPARATOR: [u8; 2] = [0x00, 0x00];
const ESCAPED: u8 = 0x01;

/// Appends a component, with an `01` behind each zero.
pub(super) fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    for run in bytes.split_inclusive(|&byte| byte == 0) {
        out.extend_from_slice(run);
        if run.last() == Some(&0) {
            out.push(ESCAPED);
        }
    }
}

/// A component as it stands in the key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Component<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) offset: usize,
    pub(super) escaped: bool,
}

impl<'a> Component<'a> {
    /// What was escaped; borrowed if it has no zero.
    pub(super) fn unescape(self) -> Cow<'a, [u8]> {
        if !self.escaped {
            return Cow::Borrowed(self.bytes);
        }
        let mut plain = Vec::with_capacity(self.bytes.len());
        // Every run but the first stands behind a zero, so it starts with that zero's 01.
        for (index, run) in self.bytes.split_inclusive(|&byte| byte == 0).enumerate() {
            plain.extend_from_slice(run.get(usize::from(index > 0)..).unwrap_or_default());
        }
        Cow::Owned(plain)
    }

    /// Where the component ends in the key.
    pub(super) fn end(self) -> usize {
        self.offset + self.bytes.len()
    }
}

/// The components of a key: at least one, which is empty if the key is. Stops at the first error.
pub(super) fn split(key: &[u8]) -> Split<'_> {
    Split { rest: Some(key), offset: 0 }
}

pub(super) struct Split<'a> {
    rest: Option<&'a [u8]>,
    offset: usize,
}

impl<'a> Iterator for Split<'a> {
    type Item = Result<Component<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        let offset = self.offset;
        let (mut length, mut escaped) = (0, false);
        loop {
            let ahead = rest.get(length..).unwrap_or_default();
            let Some(zero) = ahead.iter().position(|&byte| byte == 0) else {
                return Some(Ok(Component { bytes: rest, offset, escaped }));
            };
            length += zero;
            match ahead.get(zero + 1) {
                Some(0) => break,
                Some(&ESCAPED) => escaped = true,
                Some(byte) => {
                    let reason = format!("{byte:02x} behind a 00, where 01 makes it a zero and 00 an end");
                    return Some(Err(Error::bytes(offset + length + 1, reason)));
                }
                None => {
                    let reason = "the key ends with a lone 00: 00 01 is a zero, 00 00 a separator";
                    return Some(Err(Error::bytes(offset + length, reason)));
                }
            }
            length += 2;
        }
        let (bytes, behind) = rest.split_at_checked(length)?;
        self.rest = behind.get(SEPARATOR.len()..);
        self.offset = offset + length + SEPARATOR.len();
        Some(Ok(Component { bytes, offset, escaped }))
    }
}
