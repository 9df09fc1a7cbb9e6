//! Where processes that write wait for each other: with a time-out, and each in its turn.
//!
//! LMDB has a lock of its own, and waits for it without limit. Ours is taken first. It is two files: who writes holds
//! `FILE.writer`, who is next holds `FILE.waiter`. A process that goes on writing must pass by `FILE.waiter` for each
//! group, so it cannot push aside the one that waits there.

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

impl WriterLock {
    pub(crate) fn open(path: &Path, timeout: Duration) -> Result<Self, Error> {
        let place = |name| {
            let path = path.with_added_extension(name);
            let file = File::options().create(true).write(true).truncate(false).open(&path);
            file.map(|file| Place { file, path: path.clone() }).map_err(|error| self::file(&path, &error))
        };
        Ok(Self { writer: place("writer")?, waiter: place("waiter")?, timeout })
    }

    /// Waits for the right to write, as long as the time-out allows.
    pub(crate) fn take(&self) -> Result<Writing<'_>, Error> {
        let start = Instant::now();
        let next = self.wait_at(&self.waiter, start)?;
        let writing = self.wait_at(&self.writer, start)?;
        drop(next);
        Ok(writing)
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
        let mut pause = Duration::from_micros(100);
        loop {
            match place.file.try_lock() {
                Ok(()) => return Ok(Writing(place)),
                Err(TryLockError::Error(error)) => return Err(file(&place.path, &error)),
                Err(TryLockError::WouldBlock) if start.elapsed() >= self.timeout => {
                    let waited = self.timeout;
                    return Err(Error::Busy(
                        format!("another process has been writing for {waited:?}").into(),
                    ));
                }
                Err(TryLockError::WouldBlock) => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(2));
                }
            }
        }
    }
}
