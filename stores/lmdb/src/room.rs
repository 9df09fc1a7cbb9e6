//! How much is in the buffer, or may be.

use keyloom_store::Batch;

/// How much is in the buffer, or may be.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Room {
    /// How many writes.
    pub(crate) entries: usize,
    /// How many bytes of keys and values.
    pub(crate) bytes: usize,
}

/// The most that a buffer numbers, whatever is asked of it.
const MOST: Room = Room { entries: 1 << 30, bytes: 1 << 31 };

/// A batch that has more is written as fast without a log.
const LARGE: Room = Room { entries: 50_000, bytes: 32 << 20 };

impl Room {
    /// Room for so much.
    pub(crate) fn for_most(entries: usize, bytes: usize) -> Self {
        Self { entries: entries.clamp(1, MOST.entries), bytes: bytes.min(MOST.bytes) }
    }

    /// What a batch takes.
    pub(crate) fn of(batch: &Batch) -> Self {
        Self { entries: batch.writes().len().max(1), bytes: batch.size() }
    }

    /// Both together.
    pub(crate) fn and(self, more: Self) -> Self {
        Self { entries: self.entries + more.entries, bytes: self.bytes + more.bytes }
    }

    /// Whether there is room for so much.
    pub(crate) fn holds(self, much: Self) -> bool {
        much.entries <= self.entries && much.bytes <= self.bytes
    }

    /// Whether so much takes one of so many parts of it.
    pub(crate) fn is_filled(self, parts: usize, much: Self) -> bool {
        much.entries >= self.entries.div_ceil(parts) || much.bytes >= self.bytes.div_ceil(parts)
    }

    /// Whether a batch is so large that it had better not come here. What is logged is written twice.
    pub(crate) fn is_passed_by(self, batch: &Batch, logged: bool) -> bool {
        let half = Self { entries: self.entries / 2, bytes: self.bytes / 2 };
        let batch = Self { entries: batch.writes().len(), bytes: batch.size() };
        if logged { !(half.holds(batch) && LARGE.holds(batch)) } else { !self.holds(batch) }
    }
}

#[cfg(test)]
mod tests;
