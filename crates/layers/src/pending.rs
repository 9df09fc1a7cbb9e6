//! A commit on its way: what the filter and the cache were told of it, and have to be told when it ends.

use keyloom_store::bloom::hash;
use keyloom_store::{Batch, Error};

use crate::cache::Marked;
use crate::filter::Lane;
use crate::front::Front;

/// A commit on its way. One that is dropped before its end is known may still happen.
pub(crate) struct Pending<'a> {
    front: &'a Front,
    hashes: Vec<u64>,
    lane: Option<Lane>,
    marked: Option<Marked>,
    ended: bool,
}

impl<'a> Pending<'a> {
    /// Tells the filter and the cache which keys a commit is about to write.
    pub(crate) fn begin(front: &'a Front, batch: &Batch) -> Self {
        let keys = || batch.writes().map(|(key, _)| key);
        let hashes: Vec<u64> = if front.watches() { keys().map(hash).collect() } else { Vec::new() };
        let lane = front.filter.as_ref().map(|filter| filter.begin(&hashes));
        let marked = front.cache.as_ref().map(|cache| cache.begin(keys().zip(hashes.iter().copied())));
        Self { front, hashes, lane, marked, ended: false }
    }

    /// Tells them how it ended.
    pub(crate) fn end<T>(mut self, outcome: &Result<T, Error>) {
        // Whatever else went wrong, the store may have kept some of it.
        self.ended = matches!(
            outcome,
            Ok(_) | Err(Error::Conflict(_) | Error::Refused(_) | Error::Unsupported { .. } | Error::Busy(_))
        );
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let (Some(filter), Some(lane)) = (&self.front.filter, self.lane) {
            filter.end(lane, &self.hashes, !self.ended);
        }
        if let (Some(cache), Some(marked)) = (&self.front.cache, &self.marked) {
            cache.end(marked, !self.ended);
        }
    }
}
