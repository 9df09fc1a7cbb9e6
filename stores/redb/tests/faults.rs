//! Disks that are full or fail (`disk::faults`): the caller is told, and what was acknowledged is there when the file is
//! opened anew.

// The disk is put before a C library that is loaded, which glibc is.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::path::Path;

use keyloom_redb::{Options, RedbStore};
use keyloom_store::Durability;
use keyloom_testkit::disk::faults::{SMALL_DISK, filled, succeeds_under, told};
use keyloom_testkit::{child, disk};

fn open(durability: Durability) -> impl Fn(&Path) -> RedbStore {
    move |path| RedbStore::open_with(path, Options { durability, ..Options::default() }).unwrap()
}

/// Not a test of its own: the processes of those below.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    match task.split_once('+').unwrap_or((task.as_str(), "")) {
        ("synced", fault) => told(&path, fault, open(Durability::Synced)),
        ("filled", _) => filled(&path, open(Durability::Synced)),
        (other, _) => panic!("{other}"),
    }
}

#[test]
fn a_commit_that_fails_is_told_and_nothing_is_lost() {
    for task in ["synced+space", "synced+short", "synced+sync"] {
        let folder = tempfile::tempdir().unwrap();
        assert!(disk::run(task, &folder.path().join("test")).success(), "{task}");
    }
}

#[test]
fn a_full_disk_is_told_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    succeeds_under(SMALL_DISK, "filled", &folder.path().join("test"));
}
