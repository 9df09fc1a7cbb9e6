//! What goes wrong, and how often.

use std::time::Duration;

/// How often a statement meets each fault, in 10,000, and how bad it is.
#[derive(Debug, Clone)]
pub struct Faults {
    /// Its outcome is unknown: it took effect, never will, or will later.
    pub unknown: u64,
    /// It takes as long as `pause` to take effect.
    pub slow: u64,
    /// Its client does nothing for as long as `pause`.
    pub freeze: u64,
    /// Its client is gone for good.
    pub crash: u64,
    /// Its client's wall clock jumps to anywhere within `skew`.
    pub jump: u64,
    /// The longest pause.
    pub pause: Duration,
    /// How wrong a wall clock is at most.
    pub skew: Duration,
    /// How much faster or slower than others a monotonic clock runs at most, in 10,000.
    pub drift: u64,
}

impl Faults {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self {
            unknown: 0,
            slow: 0,
            freeze: 0,
            crash: 0,
            jump: 0,
            pause: Duration::ZERO,
            skew: Duration::ZERO,
            drift: 0,
        }
    }

    /// Everything does, with pauses of up to three leases. A drift of 5 % fits a margin of a fifth of the lease.
    pub fn storm(lease: Duration) -> Self {
        Self {
            unknown: 200,
            slow: 200,
            freeze: 100,
            crash: 20,
            jump: 100,
            pause: lease * 3,
            skew: Duration::from_secs(30),
            drift: 500,
        }
    }
}
