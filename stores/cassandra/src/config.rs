//! Where a cluster is and how to talk to it, as a URL says it.
//!
//! ```text
//! cassandra://host[:port][,host[:port]…]/keyspace[?option=value&…]
//! cassandra://user:password@host/keyspace
//! ```
//!
//! | option | value | without it |
//! |---|---|---|
//! | `replication` | copies of each row, `3`, or those of each datacenter, `east:3,west:3`; counts when the keyspace is made | `3` |
//! | `consistency` | `quorum`, or `local_quorum`: of `datacenter` alone, if all clients write there | `quorum` |
//! | `datacenter` | the one whose nodes are asked | any |
//! | `lease` | how long a client trusts what it knows about ranges; one for all clients, kept in the keyspace | `5s` |
//! | `split_rows`, `split_bytes` | when a range is split | 50000, `64MiB` |
//! | `cache` | how many ranges a client remembers | 10000 |
//! | `timeout` | how long a node may take for one statement; a conditional write is given up after it, repeats included | `10s` |
//! | `patience` | how long a statement is repeated where that is safe | `30s` |
//! | `tls`, `ca` | `true`, and the file of the certificates that are trusted (PEM) | no encryption |
//! | `cert`, `key` | the files of the client's own certificate and its key (PEM) | none |
//!
//! ```
//! use keyloom_cassandra::Config;
//! let config: Config = "cassandra://10.0.0.1,10.0.0.2:9043/shop?replication=3&lease=5s".parse()?;
//! assert_eq!(config.nodes(), ["10.0.0.1:9042", "10.0.0.2:9043"]);
//! assert_eq!(config.to_string(), "cassandra://10.0.0.1:9042,10.0.0.2:9043/shop?lease=5s");
//! assert!("cassandra://10.0.0.1/shop?leese=5s".parse::<Config>().is_err());
//! # Ok::<(), keyloom_cassandra::ConfigError>(())
//! ```

mod read;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use read::{percent, spelled};

/// Where a cluster is and how to talk to it. Made from a URL: the README of this crate says which options it has.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Config {
    nodes: Vec<String>,
    keyspace: String,
    user: Option<(String, String)>,
    replication: Replication,
    scope: Scope,
    datacenter: Option<String>,
    tls: Option<Tls>,
    lease: Option<Duration>,
    skew: i64,
    /// A range with more rows than this is split.
    pub split_rows: usize,
    /// A range with more bytes than this is split.
    pub split_bytes: usize,
    /// How many ranges are remembered.
    pub cache: usize,
    /// How long a node may take for one statement.
    pub timeout: Duration,
    /// How long a statement is repeated, where that is safe.
    pub patience: Duration,
}

/// How many copies of each row there are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Replication {
    /// This many in each datacenter.
    Each(u8),
    /// By the name of the datacenter.
    Of(Vec<(String, u8)>),
}

/// Whose quorum counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// That of all replicas.
    Everywhere,
    /// That of one datacenter.
    Local,
}

/// What encryption is checked by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Tls {
    pub(crate) ca: PathBuf,
    pub(crate) own: Option<(PathBuf, PathBuf)>,
}

/// What is wrong with the URL of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// The lease of a keyspace that is made without one.
pub(crate) const LEASE: Duration = Duration::from_secs(5);
const ROWS: usize = 50_000;
const BYTES: usize = 64 << 20;
const RANGES: usize = 10_000;
const TIMEOUT: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(30);

impl Config {
    /// A keyspace of these nodes (`host:port`), all else as it is without options.
    fn plain(nodes: Vec<String>, keyspace: String) -> Self {
        Self {
            nodes,
            keyspace,
            user: None,
            replication: Replication::Each(3),
            scope: Scope::Everywhere,
            datacenter: None,
            tls: None,
            lease: None,
            skew: 0,
            split_rows: ROWS,
            split_bytes: BYTES,
            cache: RANGES,
            timeout: TIMEOUT,
            patience: PATIENCE,
        }
    }

    /// The nodes that are asked first, each `host:port`.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// The keyspace.
    pub fn keyspace(&self) -> &str {
        &self.keyspace
    }

    /// The lease that was asked for; that of the keyspace counts.
    pub fn lease(&self) -> Option<Duration> {
        self.lease
    }

    pub(crate) fn user(&self) -> Option<&(String, String)> {
        self.user.as_ref()
    }

    pub(crate) fn replication(&self) -> &Replication {
        &self.replication
    }

    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }

    pub(crate) fn datacenter(&self) -> Option<&str> {
        self.datacenter.as_deref()
    }

    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// Makes the wall clock wrong by this many microseconds, to show that nothing depends on it.
    #[doc(hidden)]
    #[must_use]
    pub fn with_skew(self, skew: i64) -> Self {
        Self { skew, ..self }
    }

    pub(crate) fn skew(&self) -> i64 {
        self.skew
    }
}

/// As it can be read back, but for the password, which is left out.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cassandra://")?;
        if let Some((user, _)) = &self.user {
            write!(f, "{}@", percent(user))?;
        }
        write!(f, "{}/{}", self.nodes.join(","), self.keyspace)?;
        let mut options = Vec::new();
        let mut option = |name: &str, value: Option<String>| {
            options.extend(value.map(|value| format!("{name}={value}")));
        };
        option(
            "replication",
            match &self.replication {
                Replication::Each(3) => None,
                Replication::Each(copies) => Some(copies.to_string()),
                Replication::Of(all) => Some(
                    all.iter()
                        .map(|(name, copies)| format!("{}:{copies}", percent(name)))
                        .collect::<Vec<_>>()
                        .join(","),
                ),
            },
        );
        option("consistency", (self.scope == Scope::Local).then(|| "local_quorum".to_owned()));
        option("datacenter", self.datacenter.as_deref().map(percent));
        if let Some(tls) = &self.tls {
            option("tls", Some("true".to_owned()));
            option("ca", Some(percent(&tls.ca.to_string_lossy())));
            option("cert", tls.own.as_ref().map(|(cert, _)| percent(&cert.to_string_lossy())));
            option("key", tls.own.as_ref().map(|(_, key)| percent(&key.to_string_lossy())));
        }
        option("lease", self.lease.map(spelled));
        option("split_rows", (self.split_rows != ROWS).then(|| self.split_rows.to_string()));
        option("split_bytes", (self.split_bytes != BYTES).then(|| self.split_bytes.to_string()));
        option("cache", (self.cache != RANGES).then(|| self.cache.to_string()));
        option("timeout", (self.timeout != TIMEOUT).then(|| spelled(self.timeout)));
        option("patience", (self.patience != PATIENCE).then(|| spelled(self.patience)));
        let before = if options.is_empty() { "" } else { "?" };
        write!(f, "{before}{}", options.join("&"))
    }
}

/// Without the password.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Config({self})")
    }
}
