//! LMDB's errors as a store's.

use keyloom_store::Error;

/// An error of the engine.
pub(crate) fn engine(error: heed::Error) -> Error {
    use heed::MdbError;
    let said = error.to_string();
    match error {
        heed::Error::Mdb(MdbError::ReadersFull) => {
            Error::Busy("too many readers at once: raise `readers`, or drop snapshots sooner".into())
        }
        heed::Error::Mdb(MdbError::MapFull) => {
            Error::Failed("the file has grown to its map size: open it with a larger one".into())
        }
        heed::Error::Mdb(
            MdbError::Invalid | MdbError::Corrupted | MdbError::PageNotFound | MdbError::VersionMismatch,
        ) => Error::Damaged(format!("the file is not one of LMDB's, or is damaged: {said}").into()),
        _ => Error::Failed(said.into()),
    }
}

/// An error of the file system.
pub(crate) fn file(path: &std::path::Path, error: &std::io::Error) -> Error {
    Error::Failed(format!("{}: {error}", path.display()).into())
}
