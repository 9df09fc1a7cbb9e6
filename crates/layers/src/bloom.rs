//! A Bloom filter of a fixed size, which many threads fill and ask at once.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use twox_hash::XxHash3_64;

/// Bits for each key: with seven probes, one in 120 keys that are not there is taken for one that is.
const BITS: usize = 10;
const PROBES: u64 = 7;

/// The hash of a key, for the filter and the cache.
pub(crate) fn hash(key: &[u8]) -> u64 {
    XxHash3_64::oneshot(key)
}

/// Seven bits for each key.
#[derive(Debug)]
pub(crate) struct Bloom {
    words: Box<[AtomicU64]>,
    capacity: usize,
    keys: AtomicUsize,
}

impl Bloom {
    /// For so many keys.
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        let words = capacity.saturating_mul(BITS).div_ceil(64);
        let words = std::iter::repeat_with(AtomicU64::default).take(words).collect();
        Self { words, capacity, keys: AtomicUsize::new(0) }
    }

    /// How many keys it is for.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many different keys it has; one in a hundred may not be counted.
    pub(crate) fn keys(&self) -> usize {
        self.keys.load(Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.words.len() * 8
    }

    /// The words of a key and the bit in each. The second hash is the first with its halves exchanged: what places a
    /// probe is the upper bits.
    fn probes(&self, hash: u64) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let bits = (self.words.len() as u128) << 6;
        let step = hash.rotate_left(32) | 1;
        (0..PROBES).filter_map(move |probe| {
            let place = hash.wrapping_add(step.wrapping_mul(probe));
            let bit = (u128::from(place) * bits) >> 64;
            let word = self.words.get(usize::try_from(bit >> 6).ok()?)?;
            Some((word, 1 << (bit & 63)))
        })
    }

    pub(crate) fn insert(&self, hash: u64) {
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

    /// Whether the key may be there; if not, it was never inserted.
    pub(crate) fn may_contain(&self, hash: u64) -> bool {
        self.probes(hash).all(|(word, bit)| word.load(Ordering::Acquire) & bit != 0)
    }
}

#[cfg(test)]
mod tests;
