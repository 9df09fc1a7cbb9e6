//! The disk works while a large transaction is made.
//!
//! LMDB gives pages to the system when it has too many of them in memory, and waits for the disk only when it commits. A
//! thread beside it waits for those pages again and again, so that few are left in the end.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use keyloom_store::Thread;

/// From so many bytes on it is worth a thread: it is what LMDB keeps in memory.
const LARGE: usize = 128 << 20;
/// How long the disk is left alone in between.
const PAUSE: Duration = Duration::from_millis(20);

/// Syncs a file again and again until it is dropped.
#[derive(Debug)]
pub(crate) struct Early {
    // Dropped in this order: the thread ends when nobody can tell it anything any more.
    _end: Sender<()>,
    _thread: Thread,
}

impl Early {
    /// For a transaction of so many bytes, if it is large.
    pub(crate) fn sync(path: &Path, bytes: usize) -> Option<Self> {
        if bytes < LARGE {
            return None;
        }
        // Without it the transaction only takes longer.
        let file = File::options().write(true).open(path).ok()?;
        let (end, ended) = channel();
        let sync = move || {
            while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                // What cannot be written is told by LMDB's own sync.
                let _ = file.sync_data();
            }
        };
        Some(Self { _end: end, _thread: Thread::start("early", sync).ok()? })
    }
}

#[cfg(test)]
mod tests;
