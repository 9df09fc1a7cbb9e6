//! Where a database is, as a text names it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

#[cfg(feature = "cassandra")]
use keyloom_cassandra::{CassandraStore, Config};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::{Database, Error};

use crate::AnyStore;

/// Where a database is: `memory:`, a file by its path, with or without `file:` before it, or a cluster,
/// `cassandra://host/keyspace`, with the feature `cassandra`.
///
/// A text with another scheme, as in `http://`, is refused.
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
            #[cfg(feature = "cassandra")]
            Self::Cluster(_) => true,
        }
    }

    /// Opens the database; a file or a keyspace that is not there is made.
    pub async fn open(&self) -> Result<Database<AnyStore>, Error> {
        Database::open(self.reach().await?).await
    }

    /// Opens the store of the database; a file or a keyspace that is not there is made. Waits for a cluster.
    pub fn store(&self) -> Result<AnyStore, Error> {
        self.reach().wait()
    }

    async fn reach(&self) -> Result<AnyStore, Error> {
        match self {
            Self::Memory => Ok(AnyStore::Memory(MemoryStore::new())),
            #[cfg(feature = "lmdb")]
            Self::File(path) => Ok(AnyStore::Lmdb(keyloom_lmdb::LmdbStore::open(path)?)),
            #[cfg(not(feature = "lmdb"))]
            Self::File(_) => Err(Error::Missing("store for files: build with the feature `lmdb`".into())),
            #[cfg(feature = "cassandra")]
            Self::Cluster(config) => Ok(AnyStore::Cassandra(CassandraStore::open(config).await?)),
        }
    }
}

impl FromStr for Location {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let path = text.strip_prefix("file:").unwrap_or(text);
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
            Some((scheme, _)) if scheme != "file" => Err(Error::Missing(
                format!("store called {scheme}: a database is memory:, a file by its path, or cassandra://host/keyspace").into(),
            )),
            _ if text == "memory:" => Ok(Self::Memory),
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
            #[cfg(feature = "cassandra")]
            Self::Cluster(config) => config.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
