//! The database that a command works on.

use std::path::{Path, PathBuf};

use keyloom::{AnyStore, Database, Location, Wait};

use crate::failure::Failure;

/// Opens a database that is there; one that is not is misuse.
pub(crate) fn existing(url: &str) -> Result<Database<AnyStore>, Failure> {
    let location = locate(url)?;
    if !location.exists() && location != Location::Memory {
        return Err(Failure::Failed(format!("{url}: there is no such file")));
    }
    open(&location)
}

/// Opens a database, and makes it if it is not there.
pub(crate) fn existing_or_new(url: &str) -> Result<Database<AnyStore>, Failure> {
    open(&locate(url)?)
}

/// Where a database is.
pub(crate) fn locate(url: &str) -> Result<Location, Failure> {
    url.parse().map_err(|error: keyloom::Error| Failure::Misuse(error.to_string()))
}

/// The file of a database, which may not be there yet.
pub(crate) fn file(url: &str) -> Result<PathBuf, Failure> {
    if url.starts_with("cassandra:") {
        return Err(Failure::Misuse(format!(
            "{url} is a cluster, which is backed up, restored and compacted node by node with its own tools \
             (nodetool): copy its tables with `keyloom export` and `keyloom import`"
        )));
    }
    match locate(url)? {
        Location::File(path) => Ok(path),
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

fn open(location: &Location) -> Result<Database<AnyStore>, Failure> {
    location.open().wait().map_err(|error| Failure::Failed(format!("{location}: {error}")))
}
