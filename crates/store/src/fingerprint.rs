//! What a span held, in sixteen bytes, so that a transaction can ask whether it still does.

use xxhash_rust::xxh3::Xxh3;

/// The number of keys that were seen and a hash of them and their values, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    rows: u64,
    hash: u64,
}

impl Fingerprint {
    /// Of a span that holds nothing.
    pub fn empty() -> Self {
        Fingerprinter::default().finish()
    }

    /// How many keys there were.
    pub fn rows(self) -> u64 {
        self.rows
    }
}

/// Takes a fingerprint key by key, in ascending order.
#[derive(Default)]
pub struct Fingerprinter {
    rows: u64,
    state: Xxh3,
}

impl Fingerprinter {
    /// Takes in the next key and its value.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        self.rows += 1;
        // Lengths first, so that no two rows run together.
        for part in [key, value] {
            self.state.update(&part.len().to_be_bytes());
            self.state.update(part);
        }
    }

    /// The fingerprint of all that was taken in.
    pub fn finish(self) -> Fingerprint {
        Fingerprint { rows: self.rows, hash: self.state.digest() }
    }
}
