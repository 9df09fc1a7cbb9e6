//! What this process has open, by its path: who opens it again shares it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::error::Error;

/// What this process has open, for engines that must not open the same thing twice.
#[derive(Debug)]
pub struct Registry<T>(Mutex<HashMap<PathBuf, Weak<T>>>);

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Registry<T> {
    /// What is open under this path, or what `open` makes of it, with its links followed.
    pub fn share(&self, path: &Path, open: impl FnOnce(&Path) -> Result<T, Error>) -> Result<Arc<T>, Error> {
        let path = absolute(path)?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = all.get(&path).and_then(Weak::upgrade) {
            return Ok(shared);
        }
        all.retain(|_, shared| shared.strong_count() > 0);
        let shared = Arc::new(open(&path)?);
        all.insert(path, Arc::downgrade(&shared));
        Ok(shared)
    }
}

/// The path from the root, with its links followed, so that a file has one name.
pub fn absolute(path: &Path) -> Result<PathBuf, Error> {
    let (Some(name), parent) = (path.file_name(), path.parent()) else {
        return Err(Error::Failed(format!("{}: not the name of a file", path.display()).into()));
    };
    let folder = parent.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let real = folder.canonicalize();
    let named =
        real.map_err(|error| Error::Failed(format!("{}: {error}", folder.display()).into()))?.join(name);
    Ok(named.canonicalize().unwrap_or(named))
}
