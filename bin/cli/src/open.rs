//! The database that a command works on.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use keyloom::store::Store;
use keyloom::{Database, Location, Settings, Url, UrlStore, Wait};

use crate::failure::Failure;

/// How databases are opened where their URL says nothing.
static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Takes the settings from this file, or from the one that `KEYLOOM_CONFIG` names.
pub(crate) fn configure(file: Option<PathBuf>) -> Result<(), Failure> {
    let named = std::env::var_os("KEYLOOM_CONFIG").filter(|name| !name.is_empty()).map(PathBuf::from);
    if let Some(file) = file.or(named) {
        let settings = Settings::read(&file).map_err(|error| Failure::Misuse(error.to_string()))?;
        let _ = SETTINGS.set(settings);
    }
    Ok(())
}

/// Opens a database that is there; one that is not is misuse.
pub(crate) fn existing(url: &str) -> Result<Database<UrlStore>, Failure> {
    let url = locate(url)?;
    if !url.location.exists() && url.location != Location::Memory {
        return Err(Failure::Failed(format!("{}: there is no such file", url.location)));
    }
    open(&url)
}

/// Opens a database, and makes it if it is not there.
pub(crate) fn existing_or_new(url: &str) -> Result<Database<UrlStore>, Failure> {
    open(&locate(url)?)
}

/// Where a database is, and how it is opened, as its store has it. What it does not have is misuse.
pub(crate) fn locate(url: &str) -> Result<Url, Failure> {
    let url: Url = url.parse().map_err(|error: keyloom::Error| Failure::Misuse(error.to_string()))?;
    let url = url.or(SETTINGS.get().copied().unwrap_or_default());
    let settings = url.settings.at(&url.location).map_err(|error| Failure::Misuse(error.to_string()))?;
    Ok(Url { settings, ..url })
}

/// The file of a database, which may not be there yet.
pub(crate) fn file(url: &str) -> Result<PathBuf, Failure> {
    if url.starts_with("cassandra:") {
        return Err(Failure::Misuse(format!(
            "{url} is a cluster, which is backed up, restored and compacted node by node with its own tools \
             (nodetool): copy its tables with `keyloom export` and `keyloom import`"
        )));
    }
    match locate(url)?.location {
        Location::File(path) => Ok(path),
        #[cfg(feature = "redb")]
        Location::Redb(path) => Err(Failure::Misuse(format!(
            "{url} is a file of redb's, which is copied when nobody has it open: cp {path} …, or `keyloom export`",
            path = path.display()
        ))),
        #[cfg(feature = "rocksdb")]
        Location::Rocks(path) => Err(Failure::Misuse(format!(
            "{url} is a folder of RocksDB's, which compacts itself; a backup of it is a folder too, and is restored by \
             copying it: cp -r … {path}",
            path = path.display()
        ))),
        _ => Err(Failure::Misuse(format!("{url} is not kept in a file: name a file"))),
    }
}

/// The file of a database that is there.
pub(crate) fn existing_file(url: &str) -> Result<PathBuf, Failure> {
    let path = file(url)?;
    match path.exists() {
        true => Ok(path),
        false => Err(Failure::Failed(format!("{url}: there is no such file"))),
    }
}

/// Refuses to write where a file is, unless it may be replaced.
pub(crate) fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    match path.exists() && !force {
        true => Err(Failure::Failed(format!("{}: is there already: --force replaces it", path.display()))),
        false => Ok(()),
    }
}

/// Waits for what others have committed, and tells if it cannot: one that does not let go is no reason to fail, but what is
/// read is older than it may seem.
pub(crate) fn catch_up(store: &impl Store) {
    if let Err(error) = store.catch_up().wait() {
        // There is nobody to tell that there is nobody to tell.
        let _ = writeln!(
            anstream::stderr(),
            "warning: another process may have commits in its log that are not seen here yet ({error}): ask again when \
             it goes on, or end it"
        );
    }
}

fn open(url: &Url) -> Result<Database<UrlStore>, Failure> {
    let database =
        url.open().wait().map_err(|error| Failure::Failed(format!("{}: {error}", url.location)))?;
    catch_up(database.store());
    Ok(database)
}
