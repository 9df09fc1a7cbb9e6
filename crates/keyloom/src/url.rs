//! A database as a URL names it: where it is, and how it is opened.

use std::fmt;
use std::str::FromStr;

use keyloom_layers::Layered;
use keyloom_store::Wait;
use keyloom_table::{Database, Error};

use crate::{AnyStore, Location, Settings};

/// Whichever store a [`Url`] names, with the layers that its settings put in front of it.
pub type UrlStore = Layered<AnyStore>;

/// Where a database is, and how it is opened: a [`Location`], and behind a `?` the [settings](Settings).
///
/// A `?` without a `=` behind it belongs to the name of a file. What stands behind the URL of a cluster is the cluster's.
///
/// ```
/// use keyloom::{Preset, Url, Wait};
/// let url: Url = "memory:?preset=high-read&cache=16MB".parse()?;
/// assert_eq!(url.settings.preset, Some(Preset::HighRead));
/// let database = url.open().wait()?;
/// assert_eq!(database.store().stats().hits, 0);
/// assert!("memory:?preset=fast".parse::<Url>().is_err());
/// # Ok::<(), keyloom::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Where it is.
    pub location: Location,
    /// How it is opened.
    pub settings: Settings,
}

impl Url {
    /// The same, with these settings where the URL says nothing.
    #[must_use]
    pub fn or(self, settings: Settings) -> Self {
        Self { settings: self.settings.over(settings), ..self }
    }

    /// Opens the database; a file or a keyspace that is not there is made.
    pub async fn open(&self) -> Result<Database<UrlStore>, Error> {
        Database::open(self.reach().await?).await
    }

    /// Opens the store of the database; a file or a keyspace that is not there is made. Waits for a cluster.
    pub fn store(&self) -> Result<UrlStore, Error> {
        self.reach().wait()
    }

    async fn reach(&self) -> Result<UrlStore, Error> {
        let settings = self.settings.at(&self.location)?;
        let store = self.location.reach(settings).await?;
        Ok(Layered::open(store, settings.layers()).await?)
    }
}

impl From<Location> for Url {
    fn from(location: Location) -> Self {
        Self { location, settings: Settings::default() }
    }
}

impl FromStr for Url {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (place, settings) = match split(text) {
            Some((place, settings)) => (place, settings.parse()?),
            None => (text, Settings::default()),
        };
        Ok(Self { location: place.parse()?, settings })
    }
}

/// Where a database is and how it is opened, if the text says so.
pub(crate) fn split(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once('?').filter(|(_, settings)| settings.contains('=') && !text.starts_with("cassandra:"))
}

/// As it can be read back, but for a password, which is left out.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.location.fmt(f)?;
        match self.settings == Settings::default() {
            true => Ok(()),
            false => write!(f, "?{}", self.settings),
        }
    }
}

#[cfg(test)]
mod tests;
