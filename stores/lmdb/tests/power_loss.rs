//! The power fails: of what was not synced any part may be on the disk, in any order, torn anywhere.
//!
//! A child process commits, and every write and sync of its file is recorded, with a mark for each commit that was
//! promised to last. From the record come images of the file as a power failure could leave it:
//!
//! ```text
//! write write SYNC root │ write write write │ ✗     synced: all of it    not synced: some sectors of some writes
//! ```
//!
//! Each image must open, have every commit that was promised, and be exactly what some number of commits makes.

// The disk is put before a C library that is loaded, which glibc is.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod child;
mod disk;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_lmdb::{LmdbStore, Options};
use keyloom_store::{Batch, Blocking, Direction, Durability, Limits, Write};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

const COMMITS: u64 = 60;

/// How many images there are of each moment.
const SEEDS: u64 = 6;

/// What a disk writes whole.
const SECTOR: usize = 512;

/// The commit of this number: new keys, keys that every commit changes, and the end of older ones, so that pages are
/// used again. Some values need pages of their own.
fn batch(number: u64) -> Batch {
    let mut batch = Batch::new();
    for part in 0..1 + number * 7 % 23 {
        let length = if part == 3 { 9_000 } else { 40 + usize::try_from(number * part % 300).unwrap() };
        batch = batch.put(format!("{number:03}/{part:02}"), vec![u8::try_from(number).unwrap(); length]);
        batch = batch.put(format!("all/{part:02}"), number.to_string());
        batch = batch.delete(format!("{:03}/{part:02}", number.saturating_sub(6)));
    }
    batch
}

/// What the first commits make, for each number of them.
fn states() -> Vec<Rows> {
    let mut rows = Rows::new();
    let mut states = vec![rows.clone()];
    for number in 1..=COMMITS {
        for Write { key, value } in batch(number).into_parts().0 {
            match value {
                Some(value) => rows.insert(key, value),
                None => rows.remove(&key),
            };
        }
        states.push(rows.clone());
    }
    states
}

/// Not a test of its own: the process whose writes are recorded.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    let mut marks = File::create(path.with_added_extension("marks")).unwrap();
    let durability = match task.as_str() {
        "synced" => Durability::Synced,
        _ => Durability::Buffered { entries: 150, interval: Duration::from_millis(2) },
    };
    let store =
        Blocking::new(LmdbStore::open_with(&path, Options { durability, ..Options::default() }).unwrap());
    marks.write_all(b"0").unwrap();
    for number in 1..=COMMITS {
        assert_eq!(store.commit(batch(number)).unwrap().0, number);
        if durability != Durability::Synced {
            // Most commits go into the file by themselves, as many at a time as there is room for.
            if number % 8 != 0 {
                continue;
            }
            store.flush().unwrap();
        }
        marks.write_all(number.to_string().as_bytes()).unwrap();
    }
}

/// What happened to the file.
enum Event {
    Written {
        offset: usize,
        bytes: Vec<u8>,
    },
    WrittenAndSynced {
        offset: usize,
        bytes: Vec<u8>,
    },
    Synced,
    Resized(usize),
    /// This many commits were promised to last.
    Promised(usize),
}

fn events(log: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut left = log;
    while let Some((kind, rest)) = left.split_first() {
        let (offset, rest) = rest.split_first_chunk().unwrap();
        let (length, rest) = rest.split_first_chunk().unwrap();
        let offset = usize::try_from(u64::from_ne_bytes(*offset)).unwrap();
        let (bytes, rest) = rest.split_at(usize::try_from(u64::from_ne_bytes(*length)).unwrap());
        left = rest;
        events.push(match kind {
            b'W' => Event::Written { offset, bytes: bytes.to_vec() },
            b'D' => Event::WrittenAndSynced { offset, bytes: bytes.to_vec() },
            b'S' => Event::Synced,
            b'T' => Event::Resized(offset),
            b'M' => Event::Promised(str::from_utf8(bytes).unwrap().parse().unwrap()),
            other => panic!("{other}"),
        });
    }
    events
}

fn put(image: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    image.resize(image.len().max(offset + bytes.len()), 0);
    image[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// The synced image and some of what was not synced.
fn image(synced: &[u8], unsynced: &[(usize, &[u8])], dice: &mut Dice) -> Vec<u8> {
    let mut image = synced.to_vec();
    let mut writes = unsynced.to_vec();
    // All are there, none, or each with its own chance: whole, or sector by sector.
    let chance = dice.below(5);
    while !writes.is_empty() {
        let (offset, bytes) = writes.swap_remove(dice.below(writes.len()));
        if dice.below(2) == 0 {
            if dice.below(4) < chance {
                put(&mut image, offset, bytes);
            }
            continue;
        }
        for (number, sector) in bytes.chunks(SECTOR).enumerate() {
            if dice.below(4) < chance {
                put(&mut image, offset + number * SECTOR, sector);
            }
        }
    }
    image
}

/// Opens an image.
fn open(path: &Path, image: &[u8]) -> Result<Blocking<LmdbStore>, String> {
    fs::write(path, image).unwrap();
    LmdbStore::open(path).map(Blocking::new).map_err(|error| error.to_string())
}

/// How many commits there are, which must be whole.
fn check(store: &Blocking<LmdbStore>, states: &[Rows]) -> Result<usize, String> {
    let mut rows = Rows::new();
    let all = Limits { rows: usize::MAX, bytes: usize::MAX, time: Duration::MAX };
    let look = |key: &[u8], value: &[u8]| {
        rows.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    };
    store
        .scan(&Span::prefix(Vec::new()), Direction::Forward, all, look)
        .map_err(|error| error.to_string())?;
    let commits = usize::try_from(store.sequence().map_err(|error| error.to_string())?.0).unwrap();
    if states[commits] != rows {
        return Err(format!("{} rows are not what {commits} commits make", rows.len()));
    }
    Ok(commits)
}

fn survives(task: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    assert!(disk::run(task, &path).success());
    let events = events(&fs::read(disk::log(&path)).unwrap());
    let states = states();
    let (mut synced, mut unsynced) = (Vec::new(), Vec::new());
    let mut promised = None;
    let mut images = 0;
    for (moment, event) in events.iter().enumerate() {
        match event {
            Event::Written { offset, bytes } => unsynced.push((*offset, bytes.as_slice())),
            Event::WrittenAndSynced { offset, bytes } => put(&mut synced, *offset, bytes),
            Event::Synced => unsynced.drain(..).for_each(|(offset, bytes)| put(&mut synced, offset, bytes)),
            Event::Resized(length) => synced.resize(*length, 0),
            Event::Promised(commits) => promised = Some(*commits),
        }
        // A file that is being created has nothing to lose.
        let Some(promised) = promised else { continue };
        // Without anything unsynced all images are the same.
        for seed in 0..if unsynced.is_empty() { 1 } else { SEEDS } {
            let mut dice = Dice(u64::try_from(moment).unwrap() << 8 | seed);
            let image = image(&synced, &unsynced, &mut dice);
            let at = || format!("{task}, at event {moment} with seed {seed}");
            let store = open(&folder.path().join("image.klm"), &image);
            let store = store.unwrap_or_else(|error| panic!("{}: {error}", at()));
            let found = check(&store, &states).unwrap_or_else(|error| panic!("{}: {error}", at()));
            assert!(found >= promised, "{}: {promised} commits were promised, {found} are there", at());
            if seed == 0 {
                // It goes on as if nothing had happened.
                store
                    .commit(Batch::new().put("then", "1"))
                    .unwrap_or_else(|error| panic!("{}: {error}", at()));
            }
            images += 1;
        }
    }
    assert_eq!(
        promised,
        Some(usize::try_from(COMMITS - COMMITS % if task == "synced" { 1 } else { 8 }).unwrap())
    );
    println!("{task}: {images} images");
    assert!(images > 200, "only {images} images of {task}: is the disk recorded?");
}

#[test]
fn synced_commits_survive_a_power_failure() {
    survives("synced");
}

#[test]
fn flushed_commits_survive_a_power_failure() {
    survives("buffered");
}
