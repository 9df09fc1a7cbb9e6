//! Text and bytes, escaped so that order survives and fields cannot run together.
//!
//! ```text
//! ""      │00│01│
//! "ab"    │61│62│00│01│
//! "a\0b"  │61│00│FF│62│00│01│
//! ```
//!
//! A zero is followed by `FF`, the end is `00 01`. The end takes two bytes: after a lone `00`, a next field
//! that begins with `FF` would read as an escaped zero. Most text has no zero, so the work is in finding none:
//! four 8-byte words that overlap cover up to 32 bytes without a branch on the length.

use std::borrow::Cow;

const ZERO: u8 = 0x00;
const ESCAPED: u8 = 0xFF;
pub(crate) const END: [u8; 2] = [ZERO, 0x01];

const HIGH: u64 = 0x8080_8080_8080_8080;
const REST: u64 = !HIGH;

/// The high bit of each byte of `word` that is zero, and no other bit.
#[inline(always)]
fn zeros(word: u64) -> u64 {
    !(((word & REST) + REST) | word | REST)
}

/// What a scan found: bits that are set if there is a zero byte, and if there is one beyond ASCII.
#[derive(Clone, Copy)]
pub(crate) struct Scan {
    zero: u64,
    high: u64,
}

impl Scan {
    #[inline(always)]
    pub(crate) fn has_zero(self) -> bool {
        self.zero != 0
    }

    #[inline(always)]
    pub(crate) fn is_ascii(self) -> bool {
        self.high == 0
    }
}

/// Looks at every byte once for a zero and for ASCII.
#[inline(always)]
pub(crate) fn scan(bytes: &[u8]) -> Scan {
    let n = bytes.len();
    if let Some(from_last) = n.checked_sub(8)
        && n <= 32
        && let Some(a) = word(bytes, 0)
        && let Some(b) = word(bytes, from_last.min(8))
        && let Some(c) = word(bytes, from_last.saturating_sub(8))
        && let Some(d) = word(bytes, from_last)
    {
        return Scan { zero: zeros(a) | zeros(b) | zeros(c) | zeros(d), high: (a | b | c | d) & HIGH };
    }
    scan_any(bytes)
}

/// Eight bytes as a word, in the machine's own order: a scan asks which bytes there are, not where.
#[inline(always)]
#[allow(clippy::host_endian_bytes, reason = "the order of the bytes does not matter here")]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_ne_bytes(*word))
}

#[cold]
#[inline(never)]
fn scan_any(bytes: &[u8]) -> Scan {
    let (words, rest) = bytes.as_chunks::<8>();
    // Padding with ones is neither a zero nor beyond ASCII.
    let mut last = [1; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    words.iter().chain([&last]).map(|word| u64::from_be_bytes(*word)).fold(
        Scan { zero: 0, high: 0 },
        |scan, word| Scan { zero: scan.zero | zeros(word), high: scan.high | word & HIGH },
    )
}

/// The position of the first zero byte.
#[inline(always)]
fn find_zero(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let found = zeros(u64::from_be_bytes(*word));
        if found != 0 {
            return Some(index * 8 + usize::try_from(found.leading_zeros() / 8).ok()?);
        }
    }
    rest.iter().position(|&byte| byte == ZERO).map(|at| words.len() * 8 + at)
}

/// Appends `bytes` escaped, without the end, every byte XORed with `flip`.
#[cold]
#[inline(never)]
pub(crate) fn escape(bytes: &[u8], flip: u8, out: &mut Vec<u8>) {
    // Escape before complementing: a descending string must still end before its own prefix.
    for &byte in bytes {
        out.push(byte ^ flip);
        if byte == ZERO {
            out.push(ESCAPED ^ flip);
        }
    }
}

/// What was read: the bytes, how many bytes of the key they took with their end, and whether they are ASCII.
pub(crate) struct Read<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    pub(crate) taken: usize,
    pub(crate) ascii: bool,
}

/// Reads escaped bytes that stand as they are at the front of `input`.
///
/// `rest` is how many bytes must follow them, where that is known: then the end is found without a search.
/// On failure, the offset of what is wrong.
#[inline(always)]
pub(crate) fn read(input: &[u8], rest: Option<usize>) -> Result<Read<'_>, usize> {
    if let Some(rest) = rest
        && let Some(at) = input.len().checked_sub(rest + END.len())
        && let (Some(bytes), Some(end)) = (input.get(..at), input.get(at..))
        && end.first_chunk() == Some(&END)
    {
        let scan = scan(bytes);
        if !scan.has_zero() {
            return Ok(Read { bytes: Cow::Borrowed(bytes), taken: at + END.len(), ascii: scan.is_ascii() });
        }
    }
    read_by_search(input)
}

fn read_by_search(input: &[u8]) -> Result<Read<'_>, usize> {
    let at = find_zero(input).ok_or(input.len())?;
    let (bytes, end) = input.split_at(at);
    if end.first_chunk() == Some(&END) {
        return Ok(Read { bytes: Cow::Borrowed(bytes), taken: at + END.len(), ascii: bytes.is_ascii() });
    }
    unescape(input, 0, at)
}

/// Reads escaped bytes whose every byte was XORed with `flip`; the first `plain` of them hold no zero.
#[cold]
#[inline(never)]
pub(crate) fn unescape(input: &[u8], flip: u8, plain: usize) -> Result<Read<'_>, usize> {
    let mut bytes: Vec<u8> = input.iter().take(plain).map(|byte| byte ^ flip).collect();
    let mut at = plain;
    loop {
        let byte = input.get(at).ok_or(at)? ^ flip;
        at += 1;
        bytes.push(byte);
        if byte == ZERO {
            let next = input.get(at).ok_or(at)? ^ flip;
            if next == ESCAPED {
                at += 1;
            } else if [ZERO, next] == END {
                bytes.pop();
                let ascii = bytes.is_ascii();
                return Ok(Read { bytes: Cow::Owned(bytes), taken: at + 1, ascii });
            } else {
                return Err(at);
            }
        }
    }
}
