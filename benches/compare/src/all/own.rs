//! Keyloom on its stores.

use std::path::Path;
use std::time::{Duration, Instant};

use keyloom::MemoryStore;
use keyloom::lmdb::{LmdbStore, Options};
use keyloom::redb::RedbStore;
use keyloom::store::{Durability, Store};
use keyloom_workload::{Error, Keyloom, Order, Questions, Reads as _, Tally, Work, write_with};

use super::peer::{Fingerprint, Peer, Promise};

/// Keyloom on one of its stores.
pub(crate) struct Own<S> {
    /// Nothing only while the store is opened with another promise.
    keyloom: Option<Keyloom<S>>,
    durability: Durability,
    open: Box<dyn Fn(Durability) -> Result<S, Error>>,
    modes: fn(Promise) -> Option<(Durability, &'static str)>,
}

pub(crate) fn on_lmdb(folder: &Path, orders: &[Order]) -> Result<Own<LmdbStore>, Error> {
    let path = folder.join("keyloom-lmdb");
    let open =
        move |durability| Ok(LmdbStore::open_with(&path, Options { durability, ..Options::default() })?);
    let modes = |promise| {
        Some(match promise {
            Promise::Synced => (Durability::Synced, "keyloom-lmdb"),
            Promise::Written => (Durability::Written, "keyloom-lmdb"),
            // 1,000 writes or 5 ms are gone with the process.
            Promise::Less => (Durability::buffered(), "keyloom-buffered"),
        })
    };
    Own::load(open, modes, orders)
}

pub(crate) fn on_redb(folder: &Path, orders: &[Order]) -> Result<Own<RedbStore>, Error> {
    let path = folder.join("keyloom-redb");
    let open = move |durability| {
        let options = keyloom::redb::Options { durability, ..Default::default() };
        Ok(RedbStore::open_with(&path, options)?)
    };
    let modes = |promise| match promise {
        Promise::Synced => Some((Durability::Synced, "keyloom-redb")),
        Promise::Written | Promise::Less => None,
    };
    Own::load(open, modes, orders)
}

#[cfg(feature = "rocksdb")]
pub(crate) fn on_rocksdb(
    folder: &Path,
    orders: &[Order],
) -> Result<Own<keyloom::rocksdb::RocksStore>, Error> {
    let path = folder.join("keyloom-rocksdb");
    let open = move |durability| {
        // As much as RocksDB by hand has.
        let options = keyloom::rocksdb::Options { durability, cache: 1 << 30, ..Default::default() };
        Ok(keyloom::rocksdb::RocksStore::open_with(&path, options)?)
    };
    let modes = |promise| match promise {
        Promise::Synced => Some((Durability::Synced, "keyloom-rocksdb")),
        Promise::Written => Some((Durability::Written, "keyloom-rocksdb")),
        Promise::Less => None,
    };
    Own::load(open, modes, orders)
}

pub(crate) fn in_memory(orders: &[Order]) -> Result<Own<MemoryStore>, Error> {
    let store = MemoryStore::new();
    let modes = |promise| (promise == Promise::Less).then_some((Durability::Synced, "keyloom-memory"));
    Own::load(move |_| Ok(store.clone()), modes, orders)
}

impl<S: Store> Own<S> {
    /// Opens a store and loads orders as they come.
    fn load(
        open: impl Fn(Durability) -> Result<S, Error> + 'static,
        modes: fn(Promise) -> Option<(Durability, &'static str)>,
        orders: &[Order],
    ) -> Result<Self, Error> {
        let keyloom = Keyloom::open(open(Durability::Synced)?)?;
        keyloom.load(orders)?;
        Ok(Self { keyloom: Some(keyloom), durability: Durability::Synced, open: Box::new(open), modes })
    }

    fn keyloom(&self) -> Result<&Keyloom<S>, Error> {
        self.keyloom.as_ref().ok_or_else(|| "the store could not be opened again".into())
    }
}

impl<S: Store> Peer for Own<S> {
    fn read(&mut self, work: Work, questions: &Questions) -> Result<Option<(Duration, Tally)>, Error> {
        let keyloom = self.keyloom()?;
        let start = Instant::now();
        let tally = questions.ask(work, keyloom)?;
        Ok(Some((start.elapsed(), tally)))
    }

    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error> {
        let Some((durability, name)) = (self.modes)(promise) else { return Ok(None) };
        if self.durability != durability {
            self.durability = durability;
            self.rest()?;
        }
        Ok(Some(name))
    }

    /// Closed and opened again.
    fn rest(&mut self) -> Result<(), Error> {
        self.keyloom = None;
        self.keyloom = Some(Keyloom::open((self.open)(self.durability)?)?);
        Ok(())
    }

    fn write(&mut self, clients: usize, orders: &[Order]) -> Result<Duration, Error> {
        let keyloom = self.keyloom()?;
        let start = Instant::now();
        write_with(clients, keyloom, orders)?;
        Ok(start.elapsed())
    }

    fn check(&mut self, orders: &[Order]) -> Result<Tally, Error> {
        self.keyloom()?.get(orders)
    }

    fn fingerprint(&mut self) -> Result<Option<u64>, Error> {
        let mut fingerprint = Fingerprint::default();
        self.keyloom()?.bytes(|key, value| fingerprint.add(key, value))?;
        Ok(Some(fingerprint.0))
    }
}
