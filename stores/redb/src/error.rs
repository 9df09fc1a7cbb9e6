//! redb's errors as a store's.

use std::io::ErrorKind;
use std::path::Path;

use keyloom_store::Error;

/// An error of the engine: nothing was written.
pub(crate) fn engine(error: impl Into<redb::Error>) -> Error {
    let error = error.into();
    let said = error.to_string();
    match error {
        redb::Error::Io(error) if is_full(&error) => Error::Full(said.into()),
        redb::Error::Corrupted(_)
        | redb::Error::UpgradeRequired(_)
        | redb::Error::RepairAborted
        | redb::Error::TableTypeMismatch { .. }
        | redb::Error::TableIsMultimap(_)
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableDoesNotExist(_) => {
            Error::Damaged(format!("the file is not one of ours, or is damaged: {said}").into())
        }
        redb::Error::PreviousIo => failed("a write or a sync failed before"),
        _ => Error::Failed(said.into()),
    }
}

/// What every call is told after a commit of which nobody knows whether it is on the disk.
pub(crate) fn failed(reason: &str) -> Error {
    Error::Failed(format!("{reason}; open the file anew and read what is there").into())
}

/// An error of the file system.
pub(crate) fn file(path: &Path, error: &std::io::Error) -> Error {
    let said = format!("{}: {error}", path.display()).into();
    match error.kind() {
        _ if is_full(error) => Error::Full(said),
        // What redb says of a file that does not begin as one of its own.
        ErrorKind::InvalidData => Error::Damaged(said),
        _ => Error::Failed(said),
    }
}

fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}
