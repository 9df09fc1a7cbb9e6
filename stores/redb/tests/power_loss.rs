//! The power fails: of what was not synced any part may be on the disk, in any order, torn anywhere (`disk::commits`).

// The disk is put before a C library that is loaded, which glibc is.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::time::Duration;

use keyloom_redb::{Options, RedbStore};
use keyloom_store::{Blocking, Durability};
use keyloom_testkit::disk::commits;
use keyloom_testkit::{child, disk};

/// Every how many commits those that are buffered are flushed.
const FLUSHED: u64 = 8;

/// Not a test of its own: the process whose writes are recorded.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    let mut marks = disk::marks(&path);
    let (durability, each) = match task.as_str() {
        "synced" => (Durability::Synced, 1),
        _ => (Durability::Buffered { entries: 150, interval: Duration::from_millis(2) }, FLUSHED),
    };
    let store = RedbStore::open_with(&path, Options { durability, ..Options::default() }).unwrap();
    commits::make(&Blocking::new(store), &mut marks, each);
}

fn survives(task: &str, each: u64) {
    let folder = tempfile::tempdir_in(disk::place()).unwrap();
    // It writes many pages a commit.
    commits::survive(task, &folder.path().join("test.redb"), (8, 2), each, |image| RedbStore::open(image));
}

#[test]
fn synced_commits_survive_a_power_failure() {
    survives("synced", 1);
}

#[test]
fn flushed_commits_survive_a_power_failure() {
    survives("buffered", FLUSHED);
}
