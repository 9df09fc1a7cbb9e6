//! What every store does. The lists under *Behavior* are the table of contents of the behaviour suite.

use std::future::{Future, ready};
use std::ops::ControlFlow;

use keyloom_key::Span;

use crate::batch::Batch;
use crate::capability::Capability;
use crate::error::Error;
use crate::scan::{Direction, Limits, Page};

/// How many commits there have been: it grows with each, and a commit has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sequence(pub u64);

/// Reading sorted bytes, of the newest state or of a snapshot.
///
/// Bytes are lent to a closure and never copied on the way. A closure must not call the store: it may hold a lock.
pub trait Read: Send + Sync {
    /// Lends the value of `key` to `look`.
    ///
    /// # Behavior
    /// - Sees every commit that was acknowledged before the call.
    /// - A key that is not there gives `None`, and `look` is not called.
    /// - An empty value is as good as any; the empty key is never there.
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send;

    /// Lends the values of `keys` to `look`, each with the number of its key.
    ///
    /// # Behavior
    /// - Calls `look` once for each key, in their order, also for one that is not there and for one that is asked twice.
    /// - All values are of one state of the store, if it has snapshots.
    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Lends the keys of `span` and their values to `look`, in their order, until a limit is met or `look` breaks.
    ///
    /// # Behavior
    /// - Yields every key committed before the call, once; backward yields the same keys, reversed.
    /// - An empty or inverted span yields nothing and is no error.
    /// - A page is of one state of the store, if it has snapshots. What is left is the page's
    ///   [`rest`](Page::rest): scanning that, and so on, yields every key that was there throughout exactly once.
    /// - Takes one row at least, however small the limits.
    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send;
}

impl<R: Read> Read for &R {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        (**self).get(key, look)
    }

    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        (**self).get_many(keys, look)
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        (**self).scan(span, direction, limits, look)
    }
}

/// A store of sorted bytes.
pub trait Store: Read {
    /// A state of the store that stays as it is.
    type Snapshot: Read;

    /// What the store can do.
    fn capability(&self) -> Capability;

    /// Commits a batch if its conditions hold, and returns its place among all commits.
    ///
    /// # Behavior
    /// - All writes happen, or none: a condition that does not hold is [`Error::Conflict`], an empty key, or a key or
    ///   value over the limit, [`Error::Refused`].
    /// - Conditions see every earlier commit, and no other commit comes between them and the writes.
    /// - Of several writes to one key the last counts. Deleting what is not there is no error.
    /// - Each commit has a greater sequence than the ones before it, an empty one too.
    fn commit(&self, batch: Batch) -> impl Future<Output = Result<Sequence, Error>> + Send;

    /// Does what [`get`](Read::get) does, and `meanwhile` while the value may be on its way.
    ///
    /// A store need not use the time: then it is done first.
    ///
    /// # Behavior
    /// - Calls `meanwhile` once, before `look`, and whether the key is there or not.
    fn get_meanwhile<T: Send, W: Send>(
        &self,
        key: &[u8],
        meanwhile: impl FnOnce() -> W + Send,
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<(W, Option<T>), Error>> + Send {
        async move {
            let done = meanwhile();
            Ok((done, self.get(key, look).await?))
        }
    }

    /// Waits until every commit that was acknowledged before the call survives the machine.
    ///
    /// Does nothing where commits do so anyway, or where nothing survives.
    ///
    /// # Behavior
    /// - Changes nothing that can be read.
    fn flush(&self) -> impl Future<Output = Result<(), Error>> + Send {
        ready(Ok(()))
    }

    /// Makes all that others had committed before the call readable.
    ///
    /// Does nothing where that is always so. Where other processes share the store, what they have committed may be read
    /// a moment later without this.
    ///
    /// # Behavior
    /// - Changes nothing that this process has committed.
    fn catch_up(&self) -> impl Future<Output = Result<(), Error>> + Send {
        ready(Ok(()))
    }

    /// Whether others may have committed what cannot be read here yet: [`catch_up`](Self::catch_up) makes it readable, or a
    /// moment does.
    ///
    /// If it is not so, there is nothing; if it is, there may be.
    fn is_behind(&self) -> impl Future<Output = Result<bool, Error>> + Send {
        ready(Ok(false))
    }

    /// Tells that behind `prefix`, in the next byte, stands which of so many stripes a key is in.
    ///
    /// A store may keep stripes apart, if nothing with this prefix was written yet. Most stores do nothing.
    ///
    /// # Behavior
    /// - Changes nothing that can be read, whatever is there and whatever follows.
    fn stripe(&self, _prefix: &[u8], _stripes: u16) -> impl Future<Output = Result<(), Error>> + Send {
        ready(Ok(()))
    }

    /// The sequence of the last commit.
    fn sequence(&self) -> impl Future<Output = Result<Sequence, Error>> + Send;

    /// The store as it is now, to be read while others write.
    ///
    /// # Behavior
    /// - Sees what was committed before the call and nothing that comes after it.
    /// - Past the store's [`snapshot_age`](Capability::snapshot_age) every read of it is [`Error::Expired`].
    fn snapshot(&self) -> impl Future<Output = Result<Self::Snapshot, Error>> + Send;
}
