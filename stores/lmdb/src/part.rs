//! A file that is written beside its place and takes it when it is whole.
//!
//! `FILE.part` is locked by whoever writes it, so that two do not write one, and one that a killed process has left is
//! used again.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use keyloom_store::Error;

use crate::engine::sync_folder;
use crate::error::file;
use crate::log;

/// What a store keeps beside its file.
const BESIDE: [&str; 6] = ["-lock", ".writer", ".waiter", ".open", ".redo0", ".redo1"];

/// A file in the making. It is deleted when this is dropped, unless it took its place.
#[derive(Debug)]
pub(crate) struct Part {
    file: File,
    path: PathBuf,
    place: PathBuf,
    placed: bool,
}

impl Part {
    /// An empty file that is to take `place`, with the rights of the file there, or else of `like`.
    pub(crate) fn beside(place: &Path, like: &Path) -> Result<Self, Error> {
        let path = place.with_added_extension("part");
        let failed = |error: std::io::Error| self::file(&path, &error);
        let file = loop {
            let file = private().open(&path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) => {
                    let reason = format!("{}: is being written by another process", path.display());
                    return Err(Error::Busy(reason.into()));
                }
            }
            // Between opening and locking it may have taken its place, and then this would be the wrong file.
            if is_at(&file, &path).map_err(failed)? {
                break file;
            }
        };
        file.set_len(0).map_err(failed)?;
        let part = Self { file, path: path.clone(), place: place.to_owned(), placed: false };
        let rights = if place.exists() { place } else { like };
        keep_rights(&part.file, rights).map_err(|error| self::file(&path, &error))?;
        Ok(part)
    }

    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file and gives it its place; returns how long it is.
    ///
    /// Nobody may have the file that is there open.
    pub(crate) fn take_place(mut self) -> Result<u64, Error> {
        self.file.sync_all().map_err(|error| file(&self.path, &error))?;
        let length = self.file.metadata().map_err(|error| file(&self.path, &error))?.len();
        self.forget_store();
        fs::rename(&self.path, &self.place).map_err(|error| file(&self.place, &error))?;
        self.placed = true;
        // They were the other file's.
        log::remove(&self.place);
        self.place.parent().map_or(Ok(()), sync_folder)?;
        Ok(length)
    }

    /// Deletes what a store that was opened on it has left beside it.
    fn forget_store(&self) {
        for name in BESIDE {
            let mut path = self.path.clone().into_os_string();
            path.push(name);
            // There is none if it was never opened.
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.placed {
            self.forget_store();
            // If it fails the next one uses it again.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A file that only its owner can read: data must not be seen by more people in a copy than where it came from.
fn private() -> fs::OpenOptions {
    let mut options = File::options();
    options.create(true).write(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Whether the file is the one that has this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let open = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A file that is open keeps its name here.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> std::io::Result<bool> {
    Ok(true)
}

/// Gives a file the rights and the owner of another.
fn keep_rights(file: &File, other: &Path) -> std::io::Result<()> {
    let other = fs::metadata(other)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (other.uid(), other.gid()) {
            // Only the superuser can; another who may write there owns what they write.
            let _ = fchown(file, Some(other.uid()), Some(other.gid()));
        }
    }
    file.set_permissions(other.permissions())
}

#[cfg(all(test, unix))]
mod tests;
