//! What a commit promises when it returns.

use std::time::Duration;

/// What a commit promises when it returns. A store that cannot keep a promise refuses it when it is opened.
///
/// ```
/// use std::time::Duration;
/// use keyloom_store::Durability;
/// assert_eq!(Durability::default(), Durability::Synced);
/// let wider = Durability::Buffered { entries: 10_000, interval: Duration::from_millis(50) };
/// assert_ne!(Durability::buffered(), wider);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The commit survives the machine. Commits that wait at the same time share one sync.
    #[default]
    Synced,
    /// The commit is in memory, where this process sees it, and is written and synced soon.
    ///
    /// A crash loses the last commits, whole ones, and never more than `entries` writes of them.
    Buffered {
        /// The most writes that may wait to be synced; a commit beyond that waits too. A larger batch waits alone.
        entries: usize,
        /// How long a commit may wait until the next sync begins.
        interval: Duration,
    },
    /// The commit survives the process, and not the machine.
    Written,
}

impl Durability {
    /// [`Buffered`](Self::Buffered) with at most 1,000 writes and 5 ms.
    pub const fn buffered() -> Self {
        Self::Buffered { entries: 1_000, interval: Duration::from_millis(5) }
    }
}
