//! Where the orders of a benchmark are kept.

use std::path::{Path, PathBuf};

use keyloom::layers::{Layered, Layers};
use keyloom::store::Durability;
use keyloom::{AnyStore, Location, MemoryStore, Settings, Url, UrlStore, Wait};
use keyloom_workload::{Error, Keyloom};

use crate::failure::Failure;
use crate::open;

/// The stores of this build, which are measured where none are named.
pub(super) const ALL: &[&str] = &[
    "memory",
    "lmdb",
    #[cfg(feature = "redb")]
    "redb",
    #[cfg(feature = "rocksdb")]
    "rocksdb",
];

/// A store to be measured.
pub(super) struct Place {
    /// As it was called.
    pub(super) name: String,
    kind: Kind,
}

enum Kind {
    Memory(MemoryStore),
    /// A folder of its own, and the database in it.
    Own(PathBuf, Box<Url>),
    /// A database that somebody has: it must have no tables, and has none again in the end.
    Url(Box<Url>),
}

const TABLE: &str = "orders";

impl Place {
    pub(super) fn of(name: &str, folder: &Path) -> Result<Self, Failure> {
        let own = |location: fn(PathBuf) -> Location| {
            let folder = folder.join(name);
            let url = location(folder.join("orders.klm")).into();
            Kind::Own(folder, Box::new(url))
        };
        let kind = match name {
            "memory" => Kind::Memory(MemoryStore::new()),
            "lmdb" => own(Location::File),
            #[cfg(feature = "redb")]
            "redb" => own(Location::Redb),
            #[cfg(feature = "rocksdb")]
            "rocksdb" => own(Location::Rocks),
            _ if name.contains([':', '/', '.']) => {
                let url = open::locate(name)?;
                let database = url.open().wait()?;
                if !database.tables().is_empty() {
                    return Err(Failure::Failed(format!(
                        "{name} has tables: name a database that is empty, or a store: {}",
                        ALL.join(", ")
                    )));
                }
                Kind::Url(Box::new(url))
            }
            _ => {
                return Err(Failure::Misuse(format!(
                    "there is no store `{name}` in this build: {}, or a URL",
                    ALL.join(", ")
                )));
            }
        };
        Ok(Self { name: name.to_owned(), kind })
    }

    /// The store, empty.
    pub(super) fn fresh(&mut self) -> Result<Keyloom<UrlStore>, Error> {
        match &mut self.kind {
            Kind::Memory(store) => *store = MemoryStore::new(),
            Kind::Own(folder, _) => {
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
        Keyloom::open(match &self.kind {
            Kind::Memory(store) => {
                Layered::open(AnyStore::Memory(store.clone()), Layers::default()).wait()?
            }
            Kind::Own(_, url) | Kind::Url(url) => promising(url, durability).store()?,
        })
    }

    /// What its commits promise when this is asked for.
    pub(super) fn promise(&self, durability: Durability) -> &'static str {
        match &self.kind {
            Kind::Memory(_) => "memory",
            Kind::Own(_, url) | Kind::Url(url) => match &url.location {
                Location::Memory => "memory",
                #[cfg(feature = "cassandra")]
                Location::Cluster(_) => "cluster",
                _ => promise(promising(url, durability).settings.durability.unwrap_or_default()),
            },
        }
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

/// The database with this promise; as it is, if its URL says another or its store has none such.
fn promising(url: &Url, durability: Durability) -> Url {
    let asked = url.clone().or(Settings { durability: Some(durability), ..Settings::default() });
    if asked.settings.at(&asked.location).is_ok() { asked } else { url.clone() }
}

/// A promise by its name.
pub(super) fn promise(durability: Durability) -> &'static str {
    match durability {
        Durability::Synced => "synced",
        Durability::Written => "written",
        Durability::Buffered { .. } => "buffered",
    }
}
