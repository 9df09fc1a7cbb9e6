//! Where processes wait for each other, with a time-out: those that write, each in its turn, and those that have the file
//! open for one that replaces it.
//!
//! LMDB has a lock of its own, and waits for it without limit. Ours is taken first. It is two files: who writes holds
//! `FILE.writer`, who is next holds `FILE.waiter`. A process that goes on writing must pass by `FILE.waiter` for each
//! group, so it cannot push aside the one that waits there.
//!
//! Everyone who has the file open shares `FILE.open`. Who puts another file in its place must have it alone: those who had
//! the old one open would go on writing to a file that has no name any more. It is a file of its own because the name
//! stays while the file changes.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use keyloom_store::Error;

use crate::error::file;

/// The right to write, which one process has at a time.
#[derive(Debug)]
pub(crate) struct WriterLock {
    writer: Place,
    waiter: Place,
    timeout: Duration,
}

#[derive(Debug)]
struct Place {
    file: File,
    path: PathBuf,
}

/// The right to write, until it is dropped.
pub(crate) struct Writing<'a>(&'a Place);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        // It can only fail for a file that is not open.
        let _ = self.0.file.unlock();
    }
}

/// That the file is open, or that one alone has it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    _file: File,
}

impl Hold {
    /// Shares the file with all who have it open; waits for one who replaces it.
    pub(crate) fn shared(path: &Path, timeout: Duration) -> Result<Self, Error> {
        let place = Place::open(path, "open")?;
        let busy = || {
            Error::Busy(
                format!(
                    "{}: is being compacted or restored, or open elsewhere for one alone",
                    path.display()
                )
                .into(),
            )
        };
        place.wait(File::try_lock_shared, timeout, busy)?;
        Ok(Self { _file: place.file })
    }

    /// Has the file alone, whether it is there or not; waits for those who have it open.
    pub(crate) fn alone(path: &Path, timeout: Duration) -> Result<Self, Error> {
        let place = Place::open(path, "open")?;
        let busy =
            || Error::Busy(format!("{}: is open elsewhere: close it there first", path.display()).into());
        place.wait(File::try_lock, timeout, busy)?;
        Ok(Self { _file: place.file })
    }

    /// Has the file alone if it was ever opened as a store; what was not has nobody to wait for.
    pub(crate) fn alone_if_store(path: &Path, timeout: Duration) -> Result<Option<Self>, Error> {
        match path.with_added_extension("open").exists() {
            true => Self::alone(path, timeout).map(Some),
            false => Ok(None),
        }
    }
}

impl Place {
    fn open(path: &Path, name: &str) -> Result<Self, Error> {
        let path = path.with_added_extension(name);
        let file = File::options().create(true).write(true).truncate(false).open(&path);
        file.map(|file| Self { file, path: path.clone() }).map_err(|error| self::file(&path, &error))
    }

    /// Tries to lock until the time-out.
    fn wait(
        &self,
        lock: impl Fn(&File) -> Result<(), TryLockError>,
        timeout: Duration,
        busy: impl FnOnce() -> Error,
    ) -> Result<(), Error> {
        let start = Instant::now();
        let mut pause = Duration::from_micros(100);
        loop {
            match lock(&self.file) {
                Ok(()) => return Ok(()),
                Err(TryLockError::Error(error)) => return Err(file(&self.path, &error)),
                Err(TryLockError::WouldBlock) if start.elapsed() >= timeout => return Err(busy()),
                Err(TryLockError::WouldBlock) => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(2));
                }
            }
        }
    }
}

impl WriterLock {
    pub(crate) fn open(path: &Path, timeout: Duration) -> Result<Self, Error> {
        Ok(Self { writer: Place::open(path, "writer")?, waiter: Place::open(path, "waiter")?, timeout })
    }

    /// Waits for the right to write, as long as the time-out allows.
    pub(crate) fn take(&self) -> Result<Writing<'_>, Error> {
        let start = Instant::now();
        let next = self.wait_at(&self.waiter, start)?;
        let writing = self.wait_at(&self.writer, start)?;
        drop(next);
        Ok(writing)
    }

    /// The right to write, if nobody has it.
    pub(crate) fn take_now(&self) -> Option<Writing<'_>> {
        self.writer.file.try_lock().is_ok().then_some(Writing(&self.writer))
    }

    /// Whether another process waits for the right to write.
    pub(crate) fn is_wanted(&self) -> bool {
        match self.waiter.file.try_lock() {
            Ok(()) => {
                drop(Writing(&self.waiter));
                false
            }
            Err(_) => true,
        }
    }

    fn wait_at<'a>(&self, place: &'a Place, start: Instant) -> Result<Writing<'a>, Error> {
        let waited = self.timeout;
        let busy = || Error::Busy(format!("another process has been writing for {waited:?}").into());
        place.wait(File::try_lock, waited.saturating_sub(start.elapsed()), busy)?;
        Ok(Writing(place))
    }
}
