//! LMDB's errors as a store's.

use std::io::ErrorKind;

use keyloom_store::Error;

/// The system's number for an input or output error.
const EIO: i32 = 5;

/// An error of the engine.
pub(crate) fn engine(error: heed::Error) -> Error {
    use heed::MdbError;
    let said = error.to_string();
    match error {
        heed::Error::Mdb(MdbError::ReadersFull) => {
            Error::Busy("too many readers at once: raise `readers`, or drop snapshots sooner".into())
        }
        heed::Error::Mdb(MdbError::MapFull) => {
            Error::Full("the file has grown to its map size: open it with a larger one".into())
        }
        heed::Error::Mdb(MdbError::Panic) => failed("the root of the file could not be written"),
        heed::Error::Io(error) if is_full(&error) => Error::Full(said.into()),
        // LMDB says so of a write that was cut short, as it is when the disk gets full. After a failed sync it is
        // safe to go on too: what the next transaction relies on was synced before, and it writes all its pages.
        heed::Error::Io(error) if error.raw_os_error() == Some(EIO) => {
            Error::Full(format!("a write or a sync failed: {said}; is the disk full?").into())
        }
        heed::Error::Mdb(
            MdbError::Invalid | MdbError::Corrupted | MdbError::PageNotFound | MdbError::VersionMismatch,
        ) => Error::Damaged(format!("the file is not one of LMDB's, or is damaged: {said}").into()),
        _ => Error::Failed(said.into()),
    }
}

/// What every call is told after the root of the file could not be written.
pub(crate) fn failed(reason: &str) -> Error {
    Error::Failed(format!("{reason}; open the file anew and read what is there").into())
}

/// An error of the file system.
pub(crate) fn file(path: &std::path::Path, error: &std::io::Error) -> Error {
    let said = format!("{}: {error}", path.display()).into();
    if is_full(error) { Error::Full(said) } else { Error::Failed(said) }
}

fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}
