//! The log of commits that are in memory and not yet in the file: after a crash they are read from here.
//!
//! ```text
//! FILE.redo0   │ keyloom log 1 │ salt │  then a record for each commit:
//!              │ length of the rest, 4 bytes │ checksum, 8 │ sequence, 8 │ writes: │ key's length, 4 │ value's length, 4 │ key │ value │ …
//! ```
//!
//! There are two, one for each [generation](crate::generation): while one is written into the file, commits go to the
//! other. The file says which salt each log must have, and every transaction that takes a generation into the file gives
//! its log another one: so what is in the file already is never read again, and no log is taken for another file's.
//!
//! A record's checksum goes on from the one before it, and the first from the salt: what a torn or an older write has left
//! behind the last record is not taken for one. The logs are as long as they will be before they are written to: a sync
//! of a file that grows takes three times as long. Where small commits only have to be with the system they are written
//! into a [map](map) of the log, which takes no call.

mod map;

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use keyloom_store::{Batch, Error, Sequence};
use memmap2::MmapMut;
use twox_hash::XxHash3_64;

use crate::engine::{Engine, sync_folder};
use crate::error::{self, file};
use crate::generation::Generation;
use crate::transaction::Transaction;

/// What a log begins with.
const MAGIC: &[u8; 16] = b"keyloom log 1\n\0\0";
/// The bytes before the first record.
const HEAD: usize = 24;
/// The bytes of a record before its payload.
const FRONT: usize = 12;
/// The length that says that a key is deleted.
const DELETED: u32 = u32::MAX;
/// How many bytes a log grows by, at least.
const GROWTH: u64 = 1 << 20;
/// What is written where a log grows, a part at a time.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// How many of them at once where calls follow: what is written as one, some file systems keep as one, and then go through
/// all of it for every small call.
const PAGE: usize = 4_096;
/// The most bytes that are written into the map of a log. For more, a call costs less than what it writes, and says by
/// itself that the disk is full.
const SMALL: usize = 1 << 14;

/// The salts of both logs, as the file has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Salts(pub(crate) [u64; 2]);

impl Salts {
    /// Salts that no log has had.
    pub(crate) fn fresh() -> Self {
        // Random for each process, and counted within it.
        let random = || RandomState::new().build_hasher().finish();
        Self([random(), random()])
    }

    /// That of one log.
    pub(crate) fn of(self, log: usize) -> u64 {
        let [first, second] = self.0;
        if log == 0 { first } else { second }
    }

    /// The same, but that of one log is the other's.
    pub(crate) fn with(self, log: usize, other: Self) -> Self {
        let ([mine, second], [first, others]) = (self.0, other.0);
        Self(if log == 0 { [first, second] } else { [mine, others] })
    }

    pub(crate) fn to_bytes(self) -> [u8; 16] {
        let [a, b] = self.0;
        (u128::from(a) << 64 | u128::from(b)).to_be_bytes()
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (a, b) = bytes.split_first_chunk()?;
        Some(Self([u64::from_be_bytes(*a), u64::from_be_bytes(b.try_into().ok()?)]))
    }
}

/// Where a log is.
fn path_of(store: &Path, number: usize) -> PathBuf {
    store.with_added_extension(format!("redo{number}"))
}

/// Records that are to be written to one of the logs.
#[derive(Debug, Clone)]
pub(crate) struct Tail {
    /// The checksum that the next record goes on from.
    chain: u64,
    salt: u64,
    /// Whether the log has its head.
    begun: bool,
    /// What is not written yet.
    pub(crate) left: Unwritten,
}

/// Records that are not in their log yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unwritten {
    /// Which log.
    pub(crate) log: usize,
    pub(crate) bytes: Vec<u8>,
    /// How many writes they are of.
    pub(crate) writes: usize,
}

impl Unwritten {
    /// Takes all out.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self { log: self.log, ..Self::default() })
    }

    /// Puts records of the same log back before these.
    pub(crate) fn put_back(&mut self, mut before: Self) {
        before.bytes.append(&mut self.bytes);
        before.writes += self.writes;
        *self = before;
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.writes = 0;
    }
}

impl Tail {
    /// The tail of an empty log.
    pub(crate) fn of(log: usize, salt: u64) -> Self {
        Self { chain: salt, salt, begun: false, left: Unwritten { log, ..Unwritten::default() } }
    }

    /// Adds the record of a commit.
    pub(crate) fn append(&mut self, batch: &Batch, sequence: Sequence) {
        let Unwritten { bytes, writes, .. } = &mut self.left;
        *writes += batch.writes().len().max(1);
        if !self.begun {
            self.begun = true;
            bytes.extend_from_slice(MAGIC);
            bytes.extend_from_slice(&self.salt.to_le_bytes());
        }
        let start = bytes.len();
        bytes.extend_from_slice(&[0; FRONT]);
        bytes.extend_from_slice(&sequence.0.to_le_bytes());
        for (key, value) in batch.writes() {
            let length = value.map_or(DELETED, |value| length(value.len()));
            bytes.extend_from_slice(&self::length(key.len()).to_le_bytes());
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(value.unwrap_or_default());
        }
        let payload = bytes.get(start + FRONT..).unwrap_or_default();
        let length = length(payload.len());
        self.chain = checksum(self.chain, payload);
        let front = [length.to_le_bytes().as_slice(), &self.chain.to_le_bytes()].concat();
        if let Some(place) = bytes.get_mut(start..start + FRONT) {
            place.copy_from_slice(&front);
        }
    }
}

/// Batches that are logged are far smaller.
fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(DELETED - 1)
}

fn checksum(chain: u64, payload: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(chain, payload)
}

/// Both logs, open to be written by the process that has the right to.
#[derive(Debug)]
pub(crate) struct Logs {
    logs: [Log; 2],
}

#[derive(Debug)]
struct Log {
    file: File,
    path: PathBuf,
    /// Where the next record goes.
    end: u64,
    /// How long the file is.
    length: u64,
    /// Where the system writes next.
    cursor: u64,
    /// Whether it is to be mapped, and its map as far as it is long.
    is_mapped: bool,
    map: Option<MmapMut>,
}

impl Logs {
    /// Opens the logs of a store, or makes them. Whatever is in them is written over. They are mapped where commits only
    /// have to be `written` and a map is safe to write to.
    pub(crate) fn open(store: &Path, written: bool) -> Result<Self, Error> {
        let mut created = false;
        let mut open = |number| {
            let path = path_of(store, number);
            created |= !path.exists();
            let failed = |error| file(&path, &error);
            let log = File::options()
                .create(true)
                .read(true)
                .write(true)
                .truncate(false)
                .open(&path)
                .map_err(failed)?;
            let is_mapped = written && map::is_safe(&log);
            let length = if is_mapped { map::whole(&log) } else { log.metadata().map(|log| log.len()) };
            let (length, map) = (length.map_err(failed)?, None);
            Ok::<_, Error>(Log { file: log, path: path.clone(), end: 0, length, cursor: 0, is_mapped, map })
        };
        let logs = [open(0)?, open(1)?];
        if created && let Some(folder) = store.parent() {
            sync_folder(folder)?;
        }
        Ok(Self { logs })
    }

    fn log(&mut self, number: usize) -> &mut Log {
        let [first, second] = &mut self.logs;
        if number == 0 { first } else { second }
    }

    /// Writes records to the logs, and waits until they are on the disk if they have to be. If it fails, nothing of them
    /// is left in either.
    pub(crate) fn append(&mut self, records: &[&Unwritten], sync: bool) -> Result<(), Error> {
        let ends = [self.log(0).end, self.log(1).end];
        let appended = self.append_all(records, sync);
        if appended.is_err() {
            self.logs.iter_mut().zip(ends).for_each(|(log, end)| log.cut(end));
        }
        appended
    }

    fn append_all(&mut self, records: &[&Unwritten], sync: bool) -> Result<(), Error> {
        for Unwritten { log, bytes, .. } in records {
            let log = self.log(*log);
            log.append(bytes).map_err(|error| file(&log.path, &error))?;
        }
        for records in records.iter().filter(|_| sync) {
            self.sync(records.log)?;
        }
        Ok(())
    }

    /// Waits until all that was written to a log is on the disk.
    pub(crate) fn sync(&mut self, number: usize) -> Result<(), Error> {
        let log = self.log(number);
        log.file.sync_data().map_err(|error| file(&log.path, &error))
    }

    /// Begins a log anew: all that it has is in the file.
    pub(crate) fn clear(&mut self, number: usize) {
        self.log(number).end = 0;
    }
}

impl Log {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let end = self.end + u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if end > self.length {
            self.grow(end)?;
        }
        match self.place(bytes.len()) {
            Some(place) => place.copy_from_slice(bytes),
            None => self.write(bytes, self.end)?,
        }
        self.end = end;
        Ok(())
    }

    /// Makes a log longer, until `end` at least. Its pages have their places on the disk then.
    fn grow(&mut self, end: u64) -> std::io::Result<()> {
        let doubled = self.length.saturating_mul(2).min(self.length + 16 * GROWTH);
        let length = end.max(doubled).next_multiple_of(GROWTH);
        while self.length < length {
            let most = if self.is_mapped { ZEROS.len() } else { PAGE };
            let part = usize::try_from(length - self.length).unwrap_or(usize::MAX).min(most);
            self.write(ZEROS.get(..part).unwrap_or_default(), self.length)?;
            self.length = self.cursor;
        }
        self.map = None;
        Ok(())
    }

    /// The next so many bytes of the map, if they are few and there is one.
    fn place(&mut self, length: usize) -> Option<&mut [u8]> {
        if !self.is_mapped || length > SMALL {
            return None;
        }
        if self.map.is_none() {
            self.map = map::map(&self.file);
            // Where there is no room for a map now, there will hardly be later.
            self.is_mapped = self.map.is_some();
        }
        let start = usize::try_from(self.end).ok()?;
        self.map.as_mut()?.get_mut(start..start + length)
    }

    fn write(&mut self, bytes: &[u8], at: u64) -> std::io::Result<()> {
        if self.cursor != at {
            self.cursor = self.file.seek(SeekFrom::Start(at))?;
        }
        // Where a write that fails has left it is not known.
        self.cursor = u64::MAX;
        self.file.write_all(bytes)?;
        self.cursor = at + u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Forgets what lies behind `end`.
    ///
    /// If this fails too, the disk takes nothing at all, and whoever opens the file next may find it there.
    fn cut(&mut self, end: u64) {
        self.end = end;
        self.map = None;
        if self.file.set_len(end).is_ok() {
            self.length = end;
        }
    }
}

/// Takes what a process that died has left in its logs into the file. The caller has the right to write.
///
/// Returns how many commits there were.
pub(crate) fn recover(engine: &Engine, store: &Path) -> Result<u64, Error> {
    // Whoever was killed behind its root has left a state that only the next to write makes the newest: others would go on
    // from the one before it.
    drop(engine.env.write_txn().map_err(error::engine)?);
    let salts = engine.salts(&engine.read()?.txn)?;
    let Some(salts) = salts else { return Ok(0) };
    let mut logs = Vec::new();
    for (number, salt) in salts.0.into_iter().enumerate() {
        logs.extend(read(&path_of(store, number), salt)?.map(|bytes| (salt, bytes)));
    }
    if logs.is_empty() {
        return Ok(0);
    }
    let records = logs.iter().map(|(salt, bytes)| Records { left: bytes, chain: *salt });
    let mut found: Vec<Record<'_>> = records.flatten().collect();
    // One log goes on where the other ends, whichever it is.
    found.sort_by_key(|record| record.sequence);
    // Sorted by key, as a flush would write them: each page is gone to once.
    let generation = Generation::new(0);
    let mut rows = generation.write();
    let mut txn = Transaction::begin(engine)?;
    let before = engine.sequence(&txn)?;
    let mut last = before;
    for record in found.iter().filter(|record| record.sequence > before) {
        if record.sequence.0 != last.0 + 1 {
            // What comes behind a gap was never promised.
            break;
        }
        for write in record.writes() {
            let (key, value) = write?;
            rows.write(key, value, record.sequence, before);
        }
        last = record.sequence;
    }
    drop(rows);
    txn.write_all(generation.sorted().newest())?;
    txn.commit(last, Some(Salts::fresh()))?;
    Ok(last.0 - before.0)
}

/// Whether there is a log, whatever it has.
pub(crate) fn exist(store: &Path) -> bool {
    (0..2).any(|number| path_of(store, number).exists())
}

/// Deletes the logs. All that they have is in the file, and the caller has the right to write.
pub(crate) fn remove(store: &Path) {
    for number in 0..2 {
        // Whoever finds it later sees by its salt that it has nothing to say.
        let _ = std::fs::remove_file(path_of(store, number));
    }
}

/// A log that has this salt; `None` if there is none.
fn read(path: &Path, salt: u64) -> Result<Option<Vec<u8>>, Error> {
    let failed = |error| file(path, &error);
    let mut log = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        log => log.map_err(failed)?,
    };
    let mut head = [0; HEAD];
    match log.read_exact(&mut head) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read.map_err(failed)?,
    }
    let (magic, found) = head.split_at(MAGIC.len());
    if magic != MAGIC || found != salt.to_le_bytes() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    log.read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}

/// The records of a log, up to the first that is not whole.
struct Records<'l> {
    left: &'l [u8],
    chain: u64,
}

/// A commit that was logged.
struct Record<'l> {
    sequence: Sequence,
    writes: &'l [u8],
}

impl<'l> Iterator for Records<'l> {
    type Item = Record<'l>;

    fn next(&mut self) -> Option<Record<'l>> {
        let (length, rest) = self.left.split_first_chunk()?;
        let (found, rest) = rest.split_first_chunk()?;
        let (payload, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        let (sequence, writes) = payload.split_first_chunk()?;
        let chain = checksum(self.chain, payload);
        if chain != u64::from_le_bytes(*found) {
            return None;
        }
        (self.chain, self.left) = (chain, rest);
        Some(Record { sequence: Sequence(u64::from_le_bytes(*sequence)), writes })
    }
}

/// A key with its new value, or `None` if it goes.
type Written<'a> = (&'a [u8], Option<&'a [u8]>);

impl<'l> Record<'l> {
    fn writes(&self) -> impl Iterator<Item = Result<Written<'l>, Error>> {
        let mut left = self.writes;
        std::iter::from_fn(move || {
            if left.is_empty() {
                return None;
            }
            let Some((write, rest)) = split(left) else {
                // The checksum was right, so this is not what was written there.
                left = &[];
                return Some(Err(Error::Damaged("a record of the log is not one of commits".into())));
            };
            left = rest;
            Some(Ok(write))
        })
    }
}

fn split(bytes: &[u8]) -> Option<(Written<'_>, &[u8])> {
    let (key, rest) = bytes.split_first_chunk()?;
    let (value, rest) = rest.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*key)).ok()?)?;
    match u32::from_le_bytes(*value) {
        DELETED => Some(((key, None), rest)),
        length => {
            let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            Some(((key, Some(value)), rest))
        }
    }
}

#[cfg(test)]
mod tests;
