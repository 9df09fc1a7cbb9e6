//! RocksDB's errors as a store's.

use keyloom_store::Error;
use rocksdb::ErrorKind;

/// An error of a call that wrote nothing.
pub(crate) fn engine(error: rocksdb::Error) -> Error {
    let said = error.to_string();
    match error.kind() {
        ErrorKind::Corruption => Error::Damaged(said.into()),
        _ if is_full(&said) => Error::Full(said.into()),
        _ => Error::Failed(said.into()),
    }
}

/// An error of a call that may have written something. The engine takes nothing more after it.
pub(crate) fn unknown(error: &rocksdb::Error) -> Error {
    Error::Unknown(format!("{error}; open the folder anew and read what is there").into())
}

/// Whether another has the folder: another process, or one of this that is closing it.
pub(crate) fn is_locked(error: &rocksdb::Error) -> bool {
    error.kind() == ErrorKind::IOError && error.as_ref().contains("lock ")
}

/// An error of the file system.
pub(crate) fn file(path: &std::path::Path, error: &std::io::Error) -> Error {
    let said = format!("{}: {error}", path.display());
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Error::Full(said.into()),
        _ => Error::Failed(said.into()),
    }
}

fn is_full(said: &str) -> bool {
    said.contains("No space left")
}
