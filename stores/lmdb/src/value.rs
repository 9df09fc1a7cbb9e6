//! Values as they lie in the file: with a checksum behind them.
//!
//! ```text
//! │ value │ CRC-32 of key and value, 4 bytes │
//! ```

use std::io::Write;

use keyloom_store::Error;

/// How much longer a value is in the file.
pub(crate) const SEAL: usize = 4;

fn checksum(key: &[u8], value: &[u8]) -> [u8; SEAL] {
    let mut hasher = crc32fast::Hasher::new();
    // The key too: a value that lies under another key is damage.
    hasher.update(key);
    hasher.update(value);
    hasher.finalize().to_be_bytes()
}

/// Writes a value with its checksum.
pub(crate) fn seal(key: &[u8], value: &[u8], into: &mut impl Write) -> std::io::Result<()> {
    into.write_all(value)?;
    into.write_all(&checksum(key, value))
}

/// The value, if its checksum is right.
pub(crate) fn open<'a>(key: &[u8], sealed: &'a [u8]) -> Result<&'a [u8], Error> {
    match sealed.split_last_chunk() {
        Some((value, found)) if *found == checksum(key, value) => Ok(value),
        _ => Err(Error::Damaged(
            format!("the value of key {} is not what was written", key.escape_ascii()).into(),
        )),
    }
}
