//! A commit on its way: what the filter and the cache were told of it, and have to be told when it ends.

use keyloom_store::Error;

use crate::bloom::hash;
use crate::filter::Lane;
use crate::layered::Front;

/// A commit on its way. One that is dropped before its end is known may still happen.
pub(crate) struct Pending<'a> {
    front: &'a Front,
    hashes: Vec<u64>,
    lane: Option<Lane>,
    ended: bool,
}

impl<'a> Pending<'a> {
    /// Tells the filter and the cache which keys a commit is about to write.
    pub(crate) fn begin<'k>(front: &'a Front, keys: impl Iterator<Item = &'k [u8]>) -> Self {
        let hashes: Vec<u64> = if front.watches() { keys.map(hash).collect() } else { Vec::new() };
        let lane = front.filter.as_ref().map(|filter| filter.begin(&hashes));
        if let Some(cache) = &front.cache {
            cache.begin(&hashes);
        }
        Self { front, hashes, lane, ended: false }
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
        // The slots of one that was given up stay as they are: nothing of theirs is cached again.
        if let Some(cache) = self.front.cache.as_ref().filter(|_| self.ended) {
            cache.end(&self.hashes);
        }
    }
}
