//! Where a database is, as a text names it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

#[cfg(feature = "cassandra")]
use keyloom_cassandra::{CassandraStore, Config};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::{Database, Error};

use crate::{AnyStore, Settings};

/// Where a database is: `memory:`, a file by its path, with or without `file:` before it, or, with a feature of the same
/// name, `redb:file`, `rocksdb:folder` or a cluster, `cassandra://host/keyspace`.
///
/// A text with another scheme, as in `http://`, is refused, and so is one with settings: that is a [`Url`](crate::Url).
///
/// ```
/// use keyloom::{Location, Wait};
/// let database = "memory:".parse::<Location>()?.open().wait()?;
/// database.define("CREATE TABLE users (id TEXT PRIMARY KEY)").wait()?;
/// assert_eq!(database.tables(), ["users"]);
/// # Ok::<(), keyloom::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Location {
    /// In memory, and gone with the program.
    Memory,
    /// In one file.
    File(PathBuf),
    /// In one file, without C.
    #[cfg(feature = "redb")]
    Redb(PathBuf),
    /// In a folder.
    #[cfg(feature = "rocksdb")]
    Rocks(PathBuf),
    /// In a keyspace of a Cassandra cluster.
    #[cfg(feature = "cassandra")]
    Cluster(Box<Config>),
}

impl Location {
    /// Whether something is there already. Memory always begins empty; what a cluster has, only opening it tells.
    pub fn exists(&self) -> bool {
        match self {
            Self::Memory => false,
            Self::File(path) => path.exists(),
            #[cfg(feature = "redb")]
            Self::Redb(path) => path.exists(),
            #[cfg(feature = "rocksdb")]
            Self::Rocks(path) => path.exists(),
            #[cfg(feature = "cassandra")]
            Self::Cluster(_) => true,
        }
    }

    /// Opens the database; a file or a keyspace that is not there is made.
    pub async fn open(&self) -> Result<Database<AnyStore>, Error> {
        Database::open(self.reach(Settings::default()).await?).await
    }

    /// Opens the store of the database; a file or a keyspace that is not there is made. Waits for a cluster.
    pub fn store(&self) -> Result<AnyStore, Error> {
        self.reach(Settings::default()).wait()
    }

    /// Opens the store with the settings, as it [has](Settings::at) them.
    pub(crate) async fn reach(&self, settings: Settings) -> Result<AnyStore, Error> {
        #[cfg(not(any(feature = "lmdb", feature = "redb", feature = "rocksdb")))]
        let _ = settings;
        match self {
            Self::Memory => Ok(AnyStore::Memory(MemoryStore::new())),
            #[cfg(feature = "lmdb")]
            Self::File(path) => {
                Ok(AnyStore::Lmdb(keyloom_lmdb::LmdbStore::open_with(path, settings.lmdb())?))
            }
            #[cfg(not(feature = "lmdb"))]
            Self::File(_) => Err(Error::Missing("store for files: build with the feature `lmdb`".into())),
            #[cfg(feature = "redb")]
            Self::Redb(path) => {
                Ok(AnyStore::Redb(keyloom_redb::RedbStore::open_with(path, settings.redb())?))
            }
            #[cfg(feature = "rocksdb")]
            Self::Rocks(path) => {
                Ok(AnyStore::Rocks(keyloom_rocksdb::RocksStore::open_with(path, settings.rocksdb())?))
            }
            #[cfg(feature = "cassandra")]
            Self::Cluster(config) => Ok(AnyStore::Cassandra(CassandraStore::open(config).await?)),
        }
    }
}

impl FromStr for Location {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if let Some((_, settings)) = crate::url::split(text) {
            return Err(Error::Missing(
                format!("place for the settings {settings} in a location: open it as a Url").into(),
            ));
        }
        let path = text.strip_prefix("file:").unwrap_or(text);
        #[cfg(feature = "redb")]
        if let Some(path) = text.strip_prefix("redb:") {
            return Ok(Self::Redb(path.strip_prefix("//").unwrap_or(path).into()));
        }
        #[cfg(feature = "rocksdb")]
        if let Some(path) = text.strip_prefix("rocksdb:") {
            return Ok(Self::Rocks(path.strip_prefix("//").unwrap_or(path).into()));
        }
        match text.split_once("://") {
            #[cfg(feature = "cassandra")]
            Some(("cassandra", _)) => {
                text.parse().map(|config| Self::Cluster(Box::new(config))).map_err(|error: keyloom_cassandra::ConfigError| {
                    Error::Store(keyloom_store::Error::Refused(error.to_string().into()))
                })
            }
            #[cfg(not(feature = "cassandra"))]
            Some(("cassandra", _)) => {
                Err(Error::Missing("store for clusters: build with the feature `cassandra`".into()))
            }
            #[cfg(not(feature = "redb"))]
            _ if text.starts_with("redb:") => {
                Err(Error::Missing("store for redb: build with the feature `redb`".into()))
            }
            #[cfg(not(feature = "rocksdb"))]
            _ if text.starts_with("rocksdb:") => {
                Err(Error::Missing("store for RocksDB: build with the feature `rocksdb`".into()))
            }
            Some((scheme, _)) if scheme != "file" => Err(Error::Missing(
                format!("store called {scheme}: a database is memory:, a file by its path, redb:file, rocksdb:folder, or cassandra://host/keyspace").into(),
            )),
            _ if text == "memory:" => Ok(Self::Memory),
            // A slip behind it must not become a file.
            _ if text.starts_with("memory:") => Err(Error::Missing(
                format!("name in memory, as {text} has one: write memory:, or ./{text} for a file").into(),
            )),
            _ => Ok(Self::File(path.strip_prefix("//").unwrap_or(path).into())),
        }
    }
}

/// As it can be read back, but for a password, which is left out.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::File(path) => path.display().fmt(f),
            #[cfg(feature = "redb")]
            Self::Redb(path) => write!(f, "redb:{}", path.display()),
            #[cfg(feature = "rocksdb")]
            Self::Rocks(path) => write!(f, "rocksdb:{}", path.display()),
            #[cfg(feature = "cassandra")]
            Self::Cluster(config) => config.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
