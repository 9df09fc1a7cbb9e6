//! How often something was asked, and how often the answer was no.
//!
//! Each thread counts in a place of its own, without a step that others would wait for: it costs those who ask a nanosecond
//! or two. Threads beyond so many share places, and may then lose a count to one another.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::parked::{PLACES, number};

/// The counts of all threads.
#[derive(Debug, Default)]
pub(crate) struct Tally([Place; PLACES]);

/// The counts of one thread, in a cache line of their own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Place {
    asked: AtomicU64,
    denied: AtomicU64,
}

impl Tally {
    /// Counts an answer.
    #[inline]
    pub(crate) fn count(&self, denied: bool) {
        if let Some(place) = self.0.get(number() % PLACES) {
            add(&place.asked, 1);
            add(&place.denied, u64::from(denied));
        }
    }

    /// How often it was asked, and how often the answer was no.
    pub(crate) fn sums(&self) -> (u64, u64) {
        let sum = |count: fn(&Place) -> &AtomicU64| {
            self.0.iter().map(|place| count(place).load(Ordering::Relaxed)).sum()
        };
        (sum(|place| &place.asked), sum(|place| &place.denied))
    }
}

/// Adds in two steps: one would make the processor wait.
fn add(count: &AtomicU64, more: u64) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}
