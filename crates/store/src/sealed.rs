//! Values as they lie in a file whose engine does not check what it reads: with a checksum behind them.
//!
//! ```text
//! │ value │ checksum of key and value, 4 bytes │
//! ```
//!
//! The checksum is half of the value's XXH3 and half of the key's, one upon the other: on records of some hundred bytes
//! it costs less than a CRC-32, and neither hash waits for the other.

use std::io::Write;

use twox_hash::XxHash3_64;

use crate::error::Error;

/// How much longer a value is with its checksum.
pub const SEAL: usize = 4;

fn checksum(key: &[u8], value: &[u8]) -> [u8; SEAL] {
    // The key too: a value that lies under another key is damage.
    let both = XxHash3_64::oneshot(value) ^ XxHash3_64::oneshot(key).rotate_left(32);
    let [_, _, _, _, low @ ..] = both.to_be_bytes();
    low
}

/// Writes a value with its checksum.
pub fn seal(key: &[u8], value: &[u8], into: &mut impl Write) -> std::io::Result<()> {
    into.write_all(value)?;
    into.write_all(&checksum(key, value))
}

/// The value, if its checksum is right; [`Error::DamagedValue`] if not.
pub fn open<'a>(key: &[u8], sealed: &'a [u8]) -> Result<&'a [u8], Error> {
    match sealed.split_last_chunk() {
        Some((value, found)) if *found == checksum(key, value) => Ok(value),
        _ => Err(Error::DamagedValue(key.into())),
    }
}
