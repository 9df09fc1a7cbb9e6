//! Logs that a power failure has left with a hole are cut there, before RocksDB reads them.
//!
//! ```text
//! 000007.log │ 41–43 │ 44 │ 45–47 │ 0000 │ 49 │     48 was not on the disk yet: 49, and all behind it, must not be there
//! 000009.log │ 50 │ 51–60 │
//! ```
//!
//! RocksDB takes zeros for room that was set aside, and reads on behind them; and it takes a log that ends too early, but
//! at the end of a record, for one that is whole. Then a commit would be there without one that it stands on. A record says
//! where it begins among all writes and how many it has, so each has to begin where the one before has ended, unless it
//! is [marked](MARK): then all before it is on the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rustix::fs::{FlockOperation, fcntl_lock};

/// What begins the first record of those that opened a folder, and the first one behind files that became part of it:
/// numbers of writes may be left out before them.
pub(crate) const MARK: &[u8] = b"keyloom: all before this is synced";

/// A log is in blocks, in which no part of a record goes from one to the next.
const BLOCK: usize = 32_768;
/// Before each part: its checksum (4 bytes), its length (2), and which part it is.
const HEADER: usize = 7;
/// Which part of a record it is.
const WHOLE: u8 = 1;
const FIRST: u8 = 2;
const BETWEEN: u8 = 3;
const LAST: u8 = 4;
/// What stands before a mark: that nothing of it is stored, and its length.
const MARKED: [u8; 2] = [3, 34];

/// Cuts the logs of a folder at their first hole. Nothing is done if a process has it open: it has cut them, and writes.
pub(crate) fn cut(folder: &Path) -> io::Result<()> {
    let lock = folder.join("LOCK");
    let lock = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(lock)?;
    if fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    let mut logs = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let number = path.file_stem().and_then(|name| name.to_str()?.parse::<u64>().ok());
        if let Some(number) = number.filter(|_| path.extension().is_some_and(|end| end == "log")) {
            logs.push((number, path));
        }
    }
    logs.sort();
    let mut next = None;
    let mut logs: Vec<PathBuf> = logs.into_iter().rev().map(|(_, path)| path).collect();
    while let Some(log) = logs.pop() {
        if let Some(end) = hole(&log, &mut next)? {
            // From the last to the first, so that wherever this is cut off the hole is seen again.
            for later in &logs {
                fs::remove_file(later)?;
            }
            File::open(folder)?.sync_all()?;
            let log = OpenOptions::new().write(true).open(log)?;
            log.set_len(end)?;
            return log.sync_all();
        }
    }
    Ok(())
}

/// Where a log has to end, if there is something behind a hole. `next` is the number that the next write must have.
///
/// It goes through the log as RocksDB does, and no further: behind what is torn, RocksDB takes nothing but a log that goes
/// on from there.
fn hole(log: &Path, next: &mut Option<u64>) -> io::Result<Option<u64>> {
    let mut log = File::open(log)?;
    let mut block = Vec::with_capacity(BLOCK);
    let mut at = 0;
    // Where the record begins whose parts are read, and how.
    let mut begun: Option<(u64, Vec<u8>)> = None;
    loop {
        block.clear();
        let length = log.by_ref().take(BLOCK as u64).read_to_end(&mut block)?;
        if length == 0 {
            return Ok(None);
        }
        let (mut rest, mut offset) = (block.as_slice(), at);
        at += length as u64;
        while let Some((&[a, b, c, d, e, f, part], behind)) = rest.split_first_chunk::<HEADER>() {
            let length = usize::from(u16::from_le_bytes([e, f]));
            if (length, part) == (0, 0) && begun.is_none() {
                // Zeros: RocksDB reads on in the next block.
                break;
            }
            let Some((bytes, behind)) = behind.split_at_checked(length) else { return Ok(None) };
            if u32::from_le_bytes([a, b, c, d]) != checksum(part, bytes) {
                return Ok(None);
            }
            let record = match (part, begun.take()) {
                (WHOLE | FIRST, None) => Some((offset, bytes.to_vec())),
                (BETWEEN | LAST, Some((start, mut head))) => {
                    head.extend_from_slice(bytes);
                    Some((start, head))
                }
                (WHOLE..=LAST, _) => return Ok(None),
                // It tells something of the log.
                (_, begun) => begun,
            };
            match record {
                Some((start, record)) if matches!(part, WHOLE | LAST) => {
                    let Some((first, count, marked)) = numbers(&record) else { return Ok(None) };
                    if !marked && next.is_some_and(|next| next != first) {
                        return Ok(Some(start));
                    }
                    *next = Some(first + u64::from(count));
                }
                record => begun = record,
            }
            rest = behind;
            offset += (HEADER + length) as u64;
        }
    }
}

/// The number of the first write of a record (8 bytes), how many it has (4), and whether it is marked.
fn numbers(record: &[u8]) -> Option<(u64, u32, bool)> {
    let (first, rest) = record.split_first_chunk()?;
    let (count, rest) = rest.split_first_chunk()?;
    let marked = rest.strip_prefix(&MARKED).is_some_and(|rest| rest.starts_with(MARK));
    Some((u64::from_le_bytes(*first), u32::from_le_bytes(*count), marked))
}

/// CRC-32C of a part and its bytes, turned and moved as RocksDB does, so that it is not that of bytes with one in them.
fn checksum(part: u8, bytes: &[u8]) -> u32 {
    let table = &*TABLE;
    let step = |crc: u32, byte: &u8| {
        let [low, ..] = crc.to_le_bytes();
        crc >> 8 ^ table.get(usize::from(low ^ byte)).copied().unwrap_or_default()
    };
    let crc = !bytes.iter().fold(step(u32::MAX, &part), step);
    crc.rotate_right(15).wrapping_add(0xA282_EAD8)
}

static TABLE: LazyLock<[u32; 256]> = LazyLock::new(|| {
    let shift = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
    std::array::from_fn(|byte| (0..8).fold(u32::try_from(byte).unwrap_or_default(), shift))
});

#[cfg(test)]
mod tests;
