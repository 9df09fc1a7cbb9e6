//! The power fails: of what was not synced any part may be on the disk, in any order, torn anywhere.
//!
//! A child process commits, and every write and sync of its file is recorded, with a mark for each commit that was
//! promised to last. From the record come images of the file as a power failure could leave it (`disk::images`).
//! Each image must open, have every commit that was promised, and be exactly what some number of commits makes.

// The disk is put before a C library that is loaded, which glibc is.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_lmdb::{LmdbStore, LogOptions, Options};
use keyloom_store::{Batch, Blocking, Direction, Durability, Error, Limits, Wait};
use keyloom_testkit::{child, disk};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

const COMMITS: u64 = 60;

/// How many images there are of each moment.
const SEEDS: u64 = 6;

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
        for (key, value) in batch(number).writes() {
            match value {
                Some(value) => rows.insert(key.to_vec(), value.to_vec()),
                None => rows.remove(key),
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
    let mut marks = disk::marks(&path);
    if task == "copy" {
        copy(&path);
        return marks.write_all(b"1").unwrap();
    }
    let durability = match task.as_str() {
        "synced" | "straight" => Durability::Synced,
        "written" => Durability::Written,
        _ => Durability::Buffered { entries: 150, interval: Duration::from_millis(2) },
    };
    // Taken into the file every few commits.
    let log = LogOptions { entries: 300, bytes: 1 << 20, interval: Duration::from_millis(15) };
    let log = (task != "straight").then_some(log);
    let options = Options { durability, log, ..Options::default() };
    let store = Blocking::new(LmdbStore::open_with(&path, options).unwrap());
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

/// Copies a store to the file that `part` is the beginning of, when the disk has room again and does its work.
fn copy(part: &Path) {
    let store = Blocking::new(LmdbStore::open(part.with_extension("klm")).unwrap());
    for number in 1..=COMMITS {
        store.commit(batch(number)).unwrap();
    }
    let place = part.with_extension("");
    for fault in ["space", "sync"] {
        disk::fail(fault);
        let copied = store.inner().copy_to(&place, false).wait();
        assert!(matches!(copied, Err(Error::Full(_) | Error::Failed(_))), "{fault}: {copied:?}");
        assert!(!place.exists() && !part.exists(), "{fault}: something is left");
    }
    disk::heal();
    store.inner().copy_to(&place, false).wait().unwrap();
}

/// Opens an image.
fn open(path: &Path, image: &disk::Image) -> Result<Blocking<LmdbStore>, String> {
    image.write(path);
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
    let states = states();
    let mut promised = 0;
    let images = disk::images(&path, SEEDS, |image| {
        let at = || format!("{task}, {}", image.at);
        let store = open(&folder.path().join("image.klm"), image);
        let store = store.unwrap_or_else(|error| panic!("{}: {error}", at()));
        let found = check(&store, &states).unwrap_or_else(|error| panic!("{}: {error}", at()));
        promised = image.promised;
        assert!(found >= promised, "{}: {promised} commits were promised, {found} are there", at());
        if image.seed == 0 {
            // It goes on as if nothing had happened.
            store.commit(Batch::new().put("then", "1")).unwrap_or_else(|error| panic!("{}: {error}", at()));
        }
    });
    let each = if matches!(task, "synced" | "straight") { 1 } else { 8 };
    assert_eq!(promised, usize::try_from(COMMITS - COMMITS % each).unwrap());
    println!("{task}: {images} images");
    assert!(images > 200, "only {images} images of {task}: is the disk recorded?");
}

#[test]
fn synced_commits_survive_a_power_failure() {
    survives("synced");
}

#[test]
fn synced_commits_without_a_log_survive_a_power_failure() {
    survives("straight");
}

#[test]
fn written_commits_survive_a_power_failure_when_they_are_flushed() {
    survives("written");
}

#[test]
fn flushed_commits_survive_a_power_failure() {
    survives("buffered");
}

/// A copy takes its place only when it is on the disk: else a power failure would leave a half under a good name.
#[test]
fn a_copy_survives_a_power_failure_when_it_takes_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("copy.part");
    assert!(disk::run("copy", &part).success());
    let states = states();
    let images = disk::images(&part, SEEDS, |image| {
        let store = open(&folder.path().join("image.klm"), image).unwrap();
        assert_eq!(check(&store, &states), Ok(usize::try_from(COMMITS).unwrap()), "{}", image.at);
    });
    assert_eq!(images, 1, "nothing happens to it behind its promise");
    assert!(fs::metadata(folder.path().join("copy")).unwrap().len() > 0);
}
