//! Lengths within a value: seven bits a byte, the most significant first, the top bit set on all but the last.
//!
//! ```text
//! 7 │07│     127 │7F│     128 │81│00│     300 │82│2C│
//! ```

use crate::error::Error;

/// The most that a length can be: no value is longer.
const MAX: usize = u32::MAX as usize;

/// Appends the number.
#[inline]
pub(super) fn write(value: usize, out: &mut Vec<u8>) {
    let mut shift = (usize::BITS - value.leading_zeros()).saturating_sub(1) / 7 * 7;
    while shift > 0 {
        out.push(group(value >> shift) | 0x80);
        shift -= 7;
    }
    out.push(group(value));
}

/// Puts the number of the bytes behind `at` into the one byte kept free there, and moves them where it takes more.
pub(super) fn write_at(at: usize, out: &mut Vec<u8>) {
    let length = out.len().saturating_sub(at + 1);
    if length > 0x7F {
        let end = out.len();
        write(length, out);
        // The length now stands behind the value: turn them round, the free byte going last.
        let bytes = out.len() - end;
        if let Some(turned) = out.get_mut(at..) {
            turned.rotate_right(bytes);
        }
        out.remove(at + bytes);
    } else if let Some(place) = out.get_mut(at) {
        *place = group(length);
    }
}

#[allow(clippy::cast_possible_truncation, reason = "only seven bits are left")]
fn group(value: usize) -> u8 {
    (value & 0x7F) as u8
}

/// Reads a number from the front, and gives the bytes behind it. `at` is where it begins, for errors.
#[inline]
pub(super) fn read(bytes: &[u8], at: usize) -> Result<(usize, &[u8]), Error> {
    let wrong =
        || Error::bytes(at, "a length that is cut off, too large, or not in as few bytes as it takes");
    let mut value = 0_usize;
    let mut rest = bytes;
    while let Some((&byte, behind)) = rest.split_first() {
        if value > MAX >> 7 || (value == 0 && byte == 0x80) {
            break;
        }
        value = value << 7 | usize::from(byte & 0x7F);
        rest = behind;
        if byte < 0x80 {
            return Ok((value, rest));
        }
    }
    Err(wrong())
}
