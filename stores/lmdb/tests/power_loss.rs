//! The power fails: of what was not synced any part may be on the disk, in any order, torn anywhere.
//!
//! A child process commits, and every write and sync of its file is recorded, with a mark for each commit that was
//! promised to last. From the record come images of the file as a power failure could leave it (`disk::images`).
//! Each image must open, have every commit that was promised, and be exactly what some number of commits makes.

// The disk is put before a C library that is loaded, which glibc is.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use keyloom_lmdb::{LmdbStore, LogOptions, Options};
use keyloom_store::{Blocking, Durability, Error, Wait};
use keyloom_testkit::disk::commits::{self, COMMITS, States};
use keyloom_testkit::{child, disk};

/// How many images there are of each moment.
const SEEDS: u64 = 6;

/// Every how many commits what is not synced at once is flushed: most go into the file by themselves, as many at a time as
/// there is room for.
const FLUSHED: u64 = 8;

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
    let log = (!["straight", "in_memory"].contains(&task.as_str())).then_some(log);
    let options = Options { durability, log, ..Options::default() };
    let store = Blocking::new(LmdbStore::open_with(&path, options).unwrap());
    commits::make(&store, &mut marks, if durability == Durability::Synced { 1 } else { FLUSHED });
}

/// Copies a store to the file that `part` is the beginning of, when the disk has room again and does its work.
fn copy(part: &Path) {
    let store = Blocking::new(LmdbStore::open(part.with_extension("klm")).unwrap());
    for number in 1..=COMMITS {
        store.commit(commits::batch(number)).unwrap();
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

fn survives(task: &str) {
    let folder = tempfile::tempdir_in(disk::place()).unwrap();
    let each = if matches!(task, "synced" | "straight") { 1 } else { FLUSHED };
    commits::survive(task, &folder.path().join("test.klm"), (1, SEEDS), each, |image| LmdbStore::open(image));
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

#[test]
fn flushed_commits_without_a_log_survive_a_power_failure() {
    survives("in_memory");
}

/// A copy takes its place only when it is on the disk: else a power failure would leave a half under a good name.
#[test]
fn a_copy_survives_a_power_failure_when_it_takes_its_place() {
    let folder = tempfile::tempdir_in(disk::place()).unwrap();
    let part = folder.path().join("copy.part");
    assert!(disk::run("copy", &part).success());
    let states = States::default();
    let images = disk::images(&part, SEEDS, |image| {
        let place = folder.path().join("image.klm");
        image.write(&place);
        let store = Blocking::new(LmdbStore::open(&place).unwrap());
        assert_eq!(states.found(&store), Ok(usize::try_from(COMMITS).unwrap()), "{}", image.at);
    });
    assert_eq!(images, 1, "nothing happens to it behind its promise");
    assert!(fs::metadata(folder.path().join("copy")).unwrap().len() > 0);
}
