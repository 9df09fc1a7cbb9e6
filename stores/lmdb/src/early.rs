//! The disk works while a large transaction is made.
//!
//! LMDB gives pages to the system when it has too many of them in memory, and waits for the disk only when it commits. A
//! thread beside it waits for those pages again and again, so that few are left in the end.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::beside::Beside;

/// From so many bytes on it is worth a thread: it is what LMDB keeps in memory.
pub(crate) const LARGE: usize = 128 << 20;
/// How long the disk is left alone in between.
const PAUSE: Duration = Duration::from_millis(20);

/// Syncs a file again and again until the transaction of so many bytes is over, if it is large.
pub(crate) fn sync(path: &Path, bytes: usize) -> Option<Beside> {
    if bytes < LARGE {
        return None;
    }
    // Without it the transaction only takes longer.
    let file = File::options().write(true).open(path).ok()?;
    Beside::start("early", move |ended| {
        while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
            // What cannot be written is told by LMDB's own sync.
            let _ = file.sync_data();
        }
    })
}

#[cfg(test)]
mod tests;
