//! What is loaded lies in large pages of memory.
//!
//! A system keeps a file in memory in pieces as large as what was written at once, and LMDB writes 256 KiB at most. Where a
//! piece has 2 MiB, the processor finds all that lies in it by one entry of its table, and where it has less, nearly every
//! page that a search comes to is one whose entry has to be fetched first.
//!
//! So before a large transaction the place that it will take becomes part of the file, and is asked for: it is a hole, which
//! comes in pieces of 2 MiB and takes nothing on the disk, and LMDB writes into it.
//!
//! ```text
//! │ the file │
//! │ the file │ hole, 2 MiB │ hole, 2 MiB │ hole, 2 MiB │     prepared
//! │ the file │ what the transaction has written │ hole      │     committed
//! │ the file │ what the transaction has written │ hole │          trimmed, to whole pieces
//! ```
//!
//! LMDB writes nothing before it has more in memory than it keeps there. Until then the place of a transaction that is larger
//! is asked for beside it: the system fills all of it with zeros, which takes a third of the time that a load's transaction does.
//!
//! Linux has such pieces where the file system does: XFS, and ext4 from 6.16 on. Elsewhere it is in vain, and nothing changes.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::TryRecvError;

use crate::beside::Beside;
use crate::early;

/// What one entry of a processor's table leads to.
const LARGE_PAGE: u64 = 2 << 20;
/// The same in memory: so much is asked for at once.
#[cfg(target_os = "linux")]
const PIECE: usize = 2 << 20;
/// A transaction from so many bytes on is large.
const LARGE: usize = 4 << 20;
/// The most that is asked for at once, so that not all else leaves memory for it.
const MOST: usize = 512 << 20;

/// A file with a hole at its end.
#[derive(Debug)]
pub(crate) struct LargePages {
    file: File,
    /// What asks for the hole while the transaction is made.
    asking: Option<Beside>,
}

impl LargePages {
    /// For a transaction that makes the file longer by some `bytes`, if they are many.
    ///
    /// The caller has the right to write. What fails here is told by nobody: only reads take longer then.
    pub(crate) fn prepare(path: &Path, bytes: usize) -> Option<Self> {
        if bytes < LARGE || !cfg!(target_os = "linux") {
            return None;
        }
        let file = File::options().read(true).write(true).open(path).ok()?;
        let end = file.metadata().ok()?.len();
        let until = end.checked_add(u64::try_from(bytes.min(MOST)).ok()?)?.next_multiple_of(LARGE_PAGE);
        file.set_len(until).ok()?;
        let from = end / LARGE_PAGE * LARGE_PAGE;
        let mut asking = None;
        if bytes < early::LARGE {
            ask_for(&file, from, until, || false);
        } else {
            let file = file.try_clone().ok()?;
            asking = Beside::start("large-pages", move |ended| {
                ask_for(&file, from, until, || ended.try_recv() == Err(TryRecvError::Disconnected));
            });
        }
        Some(Self { file, asking })
    }

    /// Takes away what is behind the pieces that LMDB needs for a file of this length. Only when it is known what became of
    /// the transaction: a hole that is left harms nobody.
    pub(crate) fn trim(self, length: u64) {
        drop(self.asking);
        let _ = self.file.set_len(length.next_multiple_of(LARGE_PAGE));
    }
}

/// Has a part of a file brought into memory, in large pages, until `is_over`.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "mapping a file is unsafe: another program may change it behind the map")]
fn ask_for(file: &File, from: u64, until: u64, is_over: impl Fn() -> bool) {
    use memmap2::{Advice, MmapOptions};
    let Ok(length) = usize::try_from(until - from) else { return };
    // SAFETY: nothing is read through the map, and it is gone when this returns.
    let Ok(map) = (unsafe { MmapOptions::new().offset(from).len(length).map(file) }) else { return };
    // LMDB's own map is not advised so: of a file that does not fit into memory it would read 2 MiB for each row.
    let _ = map.advise(Advice::HugePage);
    // Piece by piece: whoever needs other memory meanwhile waits for one at the most.
    for piece in (0..length).step_by(PIECE) {
        if is_over() || map.advise_range(Advice::PopulateRead, piece, PIECE.min(length - piece)).is_err() {
            return;
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for(_: &File, _: u64, _: u64, _: impl Fn() -> bool) {}

#[cfg(test)]
mod tests;
