//! What a span held, in sixteen bytes, so that a transaction can ask whether it still does.

use twox_hash::XxHash3_64;

/// The number of keys that were seen and a hash of them and their values.
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

/// Takes a fingerprint key by key, in any order: a scan may run either way.
#[derive(Default)]
pub struct Fingerprinter {
    rows: u64,
    hash: u64,
}

impl Fingerprinter {
    /// Takes in a key and its value.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        self.rows += 1;
        // One upon the other, so that no key runs into its value.
        let row = XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(key), value);
        self.hash = self.hash.wrapping_add(row);
    }

    /// The fingerprint of all that was taken in.
    pub fn finish(self) -> Fingerprint {
        Fingerprint { rows: self.rows, hash: self.hash }
    }
}
