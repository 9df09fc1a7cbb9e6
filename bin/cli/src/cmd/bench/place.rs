//! Where the orders of a benchmark are kept.

use std::path::{Path, PathBuf};

use keyloom::layers::{Layered, Layers};
use keyloom::lmdb::{LmdbStore, Options};
use keyloom::store::Durability;
use keyloom::{AnyStore, MemoryStore, Url, UrlStore, Wait};
use keyloom_workload::{Error, Keyloom};

use crate::failure::Failure;
use crate::open;

/// The stores that are measured where none are named.
pub(super) const DEFAULT: &str = "memory,lmdb";
/// The stores of this build.
const ALL: &str = if cfg!(all(feature = "redb", feature = "rocksdb")) {
    "memory, lmdb, redb, rocksdb"
} else if cfg!(feature = "redb") {
    "memory, lmdb, redb"
} else if cfg!(feature = "rocksdb") {
    "memory, lmdb, rocksdb"
} else {
    "memory, lmdb"
};

/// A store to be measured.
pub(super) struct Place {
    /// As it was called.
    pub(super) name: String,
    kind: Kind,
}

enum Kind {
    Memory(MemoryStore),
    /// A folder of its own, and how a file in it is opened.
    File(PathBuf, fn(&Path, Durability) -> Result<AnyStore, Error>),
    /// A database that somebody has: it must have no tables, and has none again in the end.
    Url(Box<Url>),
}

const TABLE: &str = "orders";

impl Place {
    pub(super) fn of(name: &str, folder: &Path) -> Result<Self, Failure> {
        let kind = match name {
            "memory" => Kind::Memory(MemoryStore::new()),
            "lmdb" => Kind::File(folder.join(name), lmdb),
            #[cfg(feature = "redb")]
            "redb" => Kind::File(folder.join(name), redb),
            #[cfg(feature = "rocksdb")]
            "rocksdb" => Kind::File(folder.join(name), rocksdb),
            _ if name.contains([':', '/', '.']) => {
                let url = open::locate(name)?;
                let database = url.open().wait()?;
                if !database.tables().is_empty() {
                    return Err(Failure::Failed(format!(
                        "{name} has tables: name a database that is empty, or a store: {ALL}"
                    )));
                }
                Kind::Url(Box::new(url))
            }
            _ => {
                return Err(Failure::Misuse(format!(
                    "there is no store `{name}` in this build: {ALL}, or a URL"
                )));
            }
        };
        Ok(Self { name: name.to_owned(), kind })
    }

    /// The store, empty.
    pub(super) fn fresh(&mut self) -> Result<Keyloom<UrlStore>, Error> {
        match &mut self.kind {
            Kind::Memory(store) => *store = MemoryStore::new(),
            Kind::File(folder, _) => {
                if folder.exists() {
                    std::fs::remove_dir_all(&*folder)?;
                }
                std::fs::create_dir(folder)?;
            }
            Kind::Url(_) => self.clear()?,
        }
        self.open(Durability::Synced)
    }

    /// The store with what is in it, and another promise where it can be chosen.
    pub(super) fn open(&self, durability: Durability) -> Result<Keyloom<UrlStore>, Error> {
        let store = match &self.kind {
            Kind::Memory(store) => AnyStore::Memory(store.clone()),
            Kind::File(folder, open) => open(&folder.join("orders.klm"), durability)?,
            Kind::Url(url) => return Keyloom::open(url.store()?),
        };
        Keyloom::open(Layered::open(store, Layers::default()).wait()?)
    }

    /// Leaves a database that somebody has as it was.
    pub(super) fn clear(&self) -> Result<(), Error> {
        if let Kind::Url(url) = &self.kind {
            let database = url.open().wait()?;
            if database.tables().iter().any(|table| table == TABLE) {
                database.drop_table(TABLE).wait()?;
            }
        }
        Ok(())
    }
}

fn lmdb(path: &Path, durability: Durability) -> Result<AnyStore, Error> {
    Ok(AnyStore::Lmdb(LmdbStore::open_with(path, Options { durability, ..Options::default() })?))
}

/// It cannot promise `written` and promises more then.
#[cfg(feature = "redb")]
fn redb(path: &Path, durability: Durability) -> Result<AnyStore, Error> {
    use keyloom::redb::{Options, RedbStore};
    let durability = if durability == Durability::Written { Durability::Synced } else { durability };
    Ok(AnyStore::Redb(RedbStore::open_with(path, Options { durability, ..Options::default() })?))
}

#[cfg(feature = "rocksdb")]
fn rocksdb(path: &Path, durability: Durability) -> Result<AnyStore, Error> {
    use keyloom::rocksdb::{Options, RocksStore};
    Ok(AnyStore::Rocks(RocksStore::open_with(path, Options { durability, ..Options::default() })?))
}
