//! The power fails: of what was not synced any part may be on the disk, in any order, torn anywhere, and of what happened
//! to names in the folder the last may be undone (`disk::commits`).

// The disk is put before a C library that is loaded, which glibc is.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::path::Path;
use std::time::Duration;

use keyloom_rocksdb::{Options, RocksStore, Stripes};
use keyloom_store::{Blocking, Durability};
use keyloom_testkit::disk::commits;
use keyloom_testkit::{child, disk};

/// Every how many commits those that are not synced at once are flushed.
const FLUSHED: u64 = 8;

/// So little memory that trees are written to files, and merged, meanwhile; and that logs have little room set aside.
fn small() -> Options {
    Options { tree_buffer: 64 << 10, ..Options::default() }
}

/// Not a test of its own: the process whose writes are recorded.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    let mut marks = disk::marks(&path);
    let (durability, each) = match task.as_str() {
        "synced" | "files" => (Durability::Synced, 1),
        "written" => (Durability::Written, FLUSHED),
        _ => (Durability::Buffered { entries: 150, interval: Duration::from_millis(2) }, FLUSHED),
    };
    let mut options = Options { durability, ..small() };
    match task.as_str() {
        "files" => options.ingest = 9_000,
        "synced" => options.stripes = Stripes::Families(2),
        _ => {}
    }
    let store = Blocking::new(RocksStore::open_with(&path, options).unwrap());
    store.stripe(b"0", 256).unwrap();
    commits::make(&store, &mut marks, each);
}

fn survives(task: &str, each: u64) {
    let folder = tempfile::tempdir_in(disk::place()).unwrap();
    let open = |image: &Path| RocksStore::open_with(image, small());
    commits::survive(task, &folder.path().join("test"), (2, 2), each, open);
}

/// In trees of their own too.
#[test]
fn synced_commits_survive_a_power_failure() {
    survives("synced", 1);
}

/// Most batches become sorted files, which have numbers of writes that are not in the log.
#[test]
fn sorted_files_survive_a_power_failure() {
    survives("files", 1);
}

#[test]
fn written_commits_survive_a_power_failure_when_they_are_flushed() {
    survives("written", FLUSHED);
}

#[test]
fn flushed_commits_survive_a_power_failure() {
    survives("buffered", FLUSHED);
}
