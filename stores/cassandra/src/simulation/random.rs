//! Random numbers that follow from a seed.

/// A source of numbers: the same for the same seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The source of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        // A counter whose bits are stirred well: its numbers repeat only after 2⁶⁴.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below this; 0 if there is none.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number().checked_rem(limit).unwrap_or(0)
    }

    /// True so many times in 10,000.
    pub fn chance(&mut self, of_10_000: u64) -> bool {
        self.below(10_000) < of_10_000
    }
}
