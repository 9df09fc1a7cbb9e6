//! A Bloom filter of a fixed size, which many threads fill and ask at once.
//!
//! All bits of a key are in one line of the processor's cache, one in each of its words: to ask for a key is to wait for
//! memory once.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use twox_hash::XxHash3_64;

/// Bits for each key: one in a hundred keys that are not there is taken for one that is.
const BITS: usize = 10;
/// How many words a line has, each with a bit of its own for a key.
const WORDS: usize = 8;
/// How many bits a line has.
const LINE: usize = 64 * WORDS;

/// What a hash is multiplied with for the bit in each word: odd numbers without a pattern.
const SALTS: [u64; WORDS] = [
    0x9E37_79B9_7F4A_7C15,
    0xBF58_476D_1CE4_E5B9,
    0x94D0_49BB_1331_11EB,
    0xD6E8_FEB8_6659_FD93,
    0xA076_1D64_78BD_642F,
    0xE703_7ED1_A0B4_28DB,
    0x8EBC_6AF0_9C88_C6E3,
    0x5899_65CC_7537_4CC3,
];

/// The hash of a key, for filters and for whoever else looks for keys by a number.
pub fn hash(key: &[u8]) -> u64 {
    XxHash3_64::oneshot(key)
}

/// Which keys are not there: ten bits for each that is.
///
/// ```
/// use keyloom_store::bloom::{Bloom, hash};
/// let bloom = Bloom::new(1_000);
/// bloom.insert(hash(b"user:1"));
/// assert!(bloom.may_contain(hash(b"user:1")));
/// assert!(!bloom.may_contain(hash(b"user:2")));
/// ```
#[derive(Debug)]
pub struct Bloom {
    lines: Box<[Line]>,
    capacity: usize,
    keys: AtomicUsize,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Line([AtomicU64; WORDS]);

impl Bloom {
    /// For so many keys. With more of them it says of more keys than it should that they may be there.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        let lines = capacity.saturating_mul(BITS).div_ceil(LINE);
        let lines = std::iter::repeat_with(Line::default).take(lines).collect();
        Self { lines, capacity, keys: AtomicUsize::new(0) }
    }

    /// How many keys one of so many bytes is for.
    pub fn capacity_of(bytes: usize) -> usize {
        bytes.saturating_mul(8) / BITS
    }

    /// How many keys it is for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many different keys it has; one in a hundred may not be counted.
    pub fn keys(&self) -> usize {
        self.keys.load(Ordering::Relaxed)
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    /// The words of a key and the bit in each.
    #[inline]
    fn probes(&self, hash: u64) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let line = (u128::from(hash) * self.lines.len() as u128) >> 64;
        let line = usize::try_from(line).ok().and_then(|line| self.lines.get(line));
        let words = line.map(|Line(words)| words.as_slice()).unwrap_or_default();
        words.iter().zip(SALTS).map(move |(word, salt)| (word, 1 << (hash.wrapping_mul(salt) >> 58)))
    }

    /// Adds the key with this [hash].
    pub fn insert(&self, hash: u64) {
        let mut new = false;
        for (word, bit) in self.probes(hash) {
            if word.load(Ordering::Relaxed) & bit == 0 {
                new |= word.fetch_or(bit, Ordering::Release) & bit == 0;
            }
        }
        if new {
            self.keys.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the key with this [hash] may be there; if not, it was never inserted.
    #[inline]
    pub fn may_contain(&self, hash: u64) -> bool {
        self.probes(hash).all(|(word, bit)| word.load(Ordering::Acquire) & bit != 0)
    }
}

#[cfg(test)]
mod tests;
