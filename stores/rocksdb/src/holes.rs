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

use rustix::fs::{FlockOperation, fcntl_lock};

/// What begins the first record of those that opened a folder, and the first one behind files that became part of it:
/// numbers of writes may be left out before them.
pub(crate) const MARK: &[u8] = b"keyloom: all before this is synced";

/// A log is in blocks, in which no part of a record goes from one to the next.
const BLOCK: usize = 32_768;
/// Before each part: its checksum (4 bytes), its length (2), and which part it is.
const HEADER: usize = 7;
/// Parts: all of a record, its first, one between, its last.
const PARTS: std::ops::RangeInclusive<u8> = 1..=4;
/// How a record begins: the number of its first write (8 bytes) and how many there are (4).
const NUMBERS: usize = 12;
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
fn hole(log: &Path, next: &mut Option<u64>) -> io::Result<Option<u64>> {
    let mut log = File::open(log)?;
    let mut block = Vec::with_capacity(BLOCK);
    let (mut at, mut start, mut head) = (0, 0, Vec::new());
    loop {
        block.clear();
        log.by_ref().take(BLOCK as u64).read_to_end(&mut block)?;
        if block.is_empty() {
            return Ok(None);
        }
        let (mut rest, mut offset) = (block.as_slice(), at);
        at += block.len() as u64;
        while let Some((header, behind)) = rest.split_first_chunk::<HEADER>() {
            let &[a, b, c, d, e, f, part] = header;
            let length = usize::from(u16::from_le_bytes([e, f]));
            if (length, part) == (0, 0) {
                return Ok((has_any(rest) || has_any_behind(&mut log)?).then_some(offset));
            }
            // Behind what is torn RocksDB takes nothing but a log that goes on from here.
            let Some((bytes, behind)) = behind.split_at_checked(length) else { return Ok(None) };
            if u32::from_le_bytes([a, b, c, d]) != checksum(part, bytes) {
                return Ok(None);
            }
            if part == *PARTS.start() || part == *PARTS.start() + 1 {
                (start, head) = (offset, Vec::new());
            }
            if PARTS.contains(&part) {
                let room = (NUMBERS + MARKED.len() + MARK.len()).saturating_sub(head.len());
                head.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
            }
            if part == *PARTS.start() || part == *PARTS.end() {
                let Some((first, count, marked)) = numbers(&head) else { return Ok(None) };
                if !marked && next.is_some_and(|next| next != first) {
                    return Ok(Some(start));
                }
                *next = Some(first + u64::from(count));
            }
            rest = behind;
            offset += (HEADER + length) as u64;
        }
    }
}

/// The number of the first write of a record, how many it has, and whether it is marked.
fn numbers(head: &[u8]) -> Option<(u64, u32, bool)> {
    let (first, rest) = head.split_first_chunk()?;
    let (count, rest) = rest.split_first_chunk()?;
    let marked = rest.strip_prefix(&MARKED).is_some_and(|rest| rest.starts_with(MARK));
    Some((u64::from_le_bytes(*first), u32::from_le_bytes(*count), marked))
}

fn has_any(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| *byte != 0)
}

fn has_any_behind(log: &mut File) -> io::Result<bool> {
    let mut bytes = vec![0; BLOCK];
    loop {
        let length = log.read(&mut bytes)?;
        if length == 0 || has_any(bytes.get(..length).unwrap_or_default()) {
            return Ok(length > 0);
        }
    }
}

/// CRC-32C of a part and its bytes, turned and moved as RocksDB does, so that it is not that of bytes with one in them.
fn checksum(part: u8, bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        let [low, ..] = crc.to_le_bytes();
        crc >> 8 ^ TABLE.get(usize::from(low ^ byte)).copied().unwrap_or_default()
    };
    let crc = !bytes.iter().fold(step(u32::MAX, &part), step);
    crc.rotate_right(15).wrapping_add(0xA282_EAD8)
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};
