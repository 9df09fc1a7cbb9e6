//! Ways to get the protocol wrong. Tests switch one on to show that they would find it; otherwise none is.

use crate::cluster::Cluster;
use crate::store::ClusterStore;

/// A way to get the protocol wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// A reader deletes a row that its record does not list, also if the write may still happen.
    EagerReader,
    /// A claim is taken over without shutting out its owner's write.
    RashClaim,
    /// A claim is given back though the record has the value by another of its writes.
    CarelessRelease,
    /// A claim that replaced one of another write of the record is given back though that write may happen.
    SharedRelease,
    /// A write that was overtaken replaces a claim of its record's later write.
    StaleClaim,
    /// A write whose outcome is not known is taken for lost if a repeat is not done.
    BlindRepeat,
    /// A loser deletes all rows of the keys that it wrote.
    GreedyLoser,
    /// Old rows are deleted before the record is written.
    EarlyDelete,
    /// A condition is not judged again when the lease is over.
    LongLease,
    /// A key whose row was replaced while it was read is taken for absent.
    OneLook,
}

impl<C: Cluster> ClusterStore<C> {
    #[cfg(not(test))]
    pub(crate) fn errs(&self, _mistake: Mistake) -> bool {
        false
    }

    #[cfg(test)]
    pub(crate) fn errs(&self, mistake: Mistake) -> bool {
        self.0.mistake == Some(mistake)
    }
}
