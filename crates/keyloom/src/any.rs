//! A store that is chosen when the program runs.

use std::ops::ControlFlow;

use keyloom_key::Span;
use keyloom_store::{
    Batch, Capability, Direction, Error, Limits, MemorySnapshot, MemoryStore, Page, Read, Sequence, Store,
};

#[cfg(feature = "cassandra")]
use keyloom_cassandra::{CassandraStore, NoSnapshot};
#[cfg(feature = "lmdb")]
use keyloom_lmdb::{LmdbSnapshot, LmdbStore};
#[cfg(feature = "redb")]
use keyloom_redb::{RedbSnapshot, RedbStore};
#[cfg(feature = "rocksdb")]
use keyloom_rocksdb::{RocksSnapshot, RocksStore};

/// One of the stores, whichever a [`Location`](crate::Location) names.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AnyStore {
    /// In memory.
    Memory(MemoryStore),
    /// In one file.
    #[cfg(feature = "lmdb")]
    Lmdb(LmdbStore),
    /// In one file, without C.
    #[cfg(feature = "redb")]
    Redb(RedbStore),
    /// In a folder.
    #[cfg(feature = "rocksdb")]
    Rocks(RocksStore),
    /// On a Cassandra cluster.
    #[cfg(feature = "cassandra")]
    Cassandra(CassandraStore),
}

/// A state of one of the stores.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnySnapshot {
    /// Of memory.
    Memory(MemorySnapshot),
    /// Of one file.
    #[cfg(feature = "lmdb")]
    Lmdb(LmdbSnapshot),
    /// Of one file, without C.
    #[cfg(feature = "redb")]
    Redb(RedbSnapshot),
    /// Of a folder.
    #[cfg(feature = "rocksdb")]
    Rocks(RocksSnapshot),
    /// Of a cluster, which has none.
    #[cfg(feature = "cassandra")]
    Cassandra(NoSnapshot),
}

/// Asks the store that it is, and waits.
macro_rules! of {
    ($self:ident, $store:ident => $ask:expr) => {
        match $self {
            Self::Memory($store) => $ask.await,
            #[cfg(feature = "lmdb")]
            Self::Lmdb($store) => $ask.await,
            #[cfg(feature = "redb")]
            Self::Redb($store) => $ask.await,
            #[cfg(feature = "rocksdb")]
            Self::Rocks($store) => $ask.await,
            // A cluster's futures are deep; in a box they do not make those around them deeper.
            #[cfg(feature = "cassandra")]
            Self::Cassandra($store) => Box::pin($ask).await,
        }
    };
}

/// Both read in the same way. Who looks is called through a pointer: each store is then compiled for one who looks, not
/// for each of the hundreds that there are.
macro_rules! reads {
    ($any:ident) => {
        impl Read for $any {
            async fn get<T: Send>(
                &self,
                key: &[u8],
                look: impl FnOnce(&[u8]) -> T + Send,
            ) -> Result<Option<T>, Error> {
                let (mut look, mut seen) = (Some(look), None);
                let look: &mut (dyn FnMut(&[u8]) + Send) =
                    &mut |value| seen = look.take().map(|look| look(value));
                of!(self, store => store.get(key, &mut *look))?;
                Ok(seen)
            }

            async fn get_many<K: AsRef<[u8]> + Sync>(
                &self,
                keys: &[K],
                mut look: impl FnMut(usize, Option<&[u8]>) + Send,
            ) -> Result<(), Error> {
                let look: &mut (dyn FnMut(usize, Option<&[u8]>) + Send) = &mut look;
                of!(self, store => store.get_many(keys, look))
            }

            async fn scan(
                &self,
                span: &Span,
                direction: Direction,
                limits: Limits,
                mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
            ) -> Result<Page, Error> {
                let look: &mut (dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send) = &mut look;
                of!(self, store => store.scan(span, direction, limits, look))
            }
        }
    };
}

reads!(AnyStore);
reads!(AnySnapshot);

impl Store for AnyStore {
    type Snapshot = AnySnapshot;

    fn capability(&self) -> Capability {
        match self {
            Self::Memory(store) => store.capability(),
            #[cfg(feature = "lmdb")]
            Self::Lmdb(store) => store.capability(),
            #[cfg(feature = "redb")]
            Self::Redb(store) => store.capability(),
            #[cfg(feature = "rocksdb")]
            Self::Rocks(store) => store.capability(),
            #[cfg(feature = "cassandra")]
            Self::Cassandra(store) => store.capability(),
        }
    }

    async fn get_meanwhile<T: Send, W: Send>(
        &self,
        key: &[u8],
        meanwhile: impl FnOnce() -> W + Send,
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<(W, Option<T>), Error> {
        match self {
            #[cfg(feature = "lmdb")]
            Self::Lmdb(store) => store.get_meanwhile(key, meanwhile, look).await,
            // Others do not use the time.
            other => Ok((meanwhile(), other.get(key, look).await?)),
        }
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        of!(self, store => store.commit(batch))
    }

    async fn flush(&self) -> Result<(), Error> {
        of!(self, store => store.flush())
    }

    async fn catch_up(&self) -> Result<(), Error> {
        of!(self, store => store.catch_up())
    }

    async fn is_behind(&self) -> Result<bool, Error> {
        of!(self, store => store.is_behind())
    }

    async fn stripe(&self, prefix: &[u8], stripes: u16) -> Result<(), Error> {
        of!(self, store => store.stripe(prefix, stripes))
    }

    async fn sequence(&self) -> Result<Sequence, Error> {
        of!(self, store => store.sequence())
    }

    async fn snapshot(&self) -> Result<AnySnapshot, Error> {
        Ok(match self {
            Self::Memory(store) => AnySnapshot::Memory(store.snapshot().await?),
            #[cfg(feature = "lmdb")]
            Self::Lmdb(store) => AnySnapshot::Lmdb(store.snapshot().await?),
            #[cfg(feature = "redb")]
            Self::Redb(store) => AnySnapshot::Redb(store.snapshot().await?),
            #[cfg(feature = "rocksdb")]
            Self::Rocks(store) => AnySnapshot::Rocks(store.snapshot().await?),
            #[cfg(feature = "cassandra")]
            Self::Cassandra(store) => AnySnapshot::Cassandra(store.snapshot().await?),
        })
    }
}
