//! How a value is written: as it is, by LZ4 or by Zstd, and it says which.
//!
//! ```text
//! (empty)                              an empty value
//! │00│ value │                         as it is: every value of less than 64 bytes, and whatever does not shrink
//! │01│ length, 4 bytes │ LZ4 block │   the length is that of the value, most significant byte first
//! │02│ length, 4 bytes │ Zstd frame │
//! ```

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use zstd::bulk::{Compressor, Decompressor};

/// Values shorter than this are never compressed: there is little to gain, and what they are stored as is known without
/// a look at the store.
pub(crate) const LEAST: usize = 64;

const RAW: u8 = 0;
const LZ4: u8 = 1;
const ZSTD: u8 = 2;

/// How new values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As they are, in a store where others may be compressed.
    None,
    /// By LZ4: little time.
    Lz4,
    /// By Zstd, level 3: little room.
    Zstd,
}

impl Compression {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::None, Self::Lz4, Self::Zstd];

    /// Its name: `none`, `lz4` or `zstd`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no compression of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCompression(String);

impl fmt::Display for UnknownCompression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no compression {}: it is none, lz4 or zstd", self.0)
    }
}

impl std::error::Error for UnknownCompression {}

impl FromStr for Compression {
    type Err = UnknownCompression;

    fn from_str(name: &str) -> Result<Self, UnknownCompression> {
        let known = Self::ALL.into_iter().find(|known| known.name() == name);
        known.ok_or_else(|| UnknownCompression(name.to_owned()))
    }
}

thread_local! {
    // Making one takes longer than a value does.
    static ZSTD_IN: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static ZSTD_OUT: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Writes a value behind what `stored` has.
pub(crate) fn encode(compression: Compression, value: &[u8], stored: &mut Vec<u8>) {
    let start = stored.len();
    if value.is_empty() {
        return;
    }
    if let (true, Ok(length)) = (value.len() >= LEAST, u32::try_from(value.len())) {
        let mut head = |kind| {
            stored.push(kind);
            stored.extend_from_slice(&length.to_be_bytes());
        };
        match compression {
            Compression::None => {}
            Compression::Lz4 => {
                head(LZ4);
                stored.extend_from_slice(&lz4_flex::block::compress(value));
            }
            Compression::Zstd => {
                head(ZSTD);
                if !zstd_encode(value, stored) {
                    stored.truncate(start);
                }
            }
        }
        if (1..=value.len()).contains(&(stored.len() - start)) {
            return;
        }
    }
    stored.truncate(start);
    stored.push(RAW);
    stored.extend_from_slice(value);
}

/// Whether this is how a value is stored that is too short to be compressed.
pub(crate) fn is_short(stored: &[u8]) -> bool {
    stored.len() <= LEAST && stored.first().is_none_or(|kind| *kind == RAW)
}

/// The value that is stored so, in `room` if it has to be put together; `None` if nothing is ever written so.
pub(crate) fn decode<'a>(stored: &'a [u8], room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let (kind, rest) = match stored.split_first() {
        None => return Some(&[]),
        Some((&RAW, value)) => return Some(value),
        Some((kind, rest)) => (*kind, rest),
    };
    let (length, packed) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    room.clear();
    // A length that is damaged may ask for more than there is.
    room.try_reserve_exact(length).ok()?;
    match kind {
        LZ4 => {
            room.resize(length, 0);
            let written = lz4_flex::block::decompress_into(packed, room).ok()?;
            (written == length).then_some(room)
        }
        ZSTD => {
            let written = zstd_decode(packed, length, room)?;
            (written == length && room.len() == length).then_some(room)
        }
        _ => None,
    }
}

fn zstd_encode(value: &[u8], stored: &mut Vec<u8>) -> bool {
    ZSTD_IN.with_borrow_mut(|kept| {
        if kept.is_none() {
            *kept = Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL).ok();
        }
        let packed = kept.as_mut().and_then(|compressor| compressor.compress(value).ok());
        packed.map(|packed| stored.extend_from_slice(&packed)).is_some()
    })
}

fn zstd_decode(packed: &[u8], length: usize, room: &mut Vec<u8>) -> Option<usize> {
    ZSTD_OUT.with_borrow_mut(|kept| {
        if kept.is_none() {
            *kept = Decompressor::new().ok();
        }
        *room = kept.as_mut()?.decompress(packed, length).ok()?;
        Some(room.len())
    })
}

#[cfg(test)]
mod tests;
