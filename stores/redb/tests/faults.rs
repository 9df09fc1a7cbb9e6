//! Disks that are full or fail (`disk::faults`): the caller is told, and what was acknowledged is there when the file is
//! opened anew.

// The disk is put before a C library that is loaded, which glibc is.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use keyloom_redb::{Options, RedbStore};
use keyloom_testkit::disk::faults;

/// Not a test of its own: the processes of those below.
#[test]
fn as_a_child() {
    faults::as_a_child(|path, durability| {
        RedbStore::open_with(path, Options { durability, ..Options::default() }).unwrap()
    });
}

#[test]
fn a_commit_that_fails_is_told_and_nothing_is_lost() {
    faults::succeed(&["synced+space", "synced+short", "synced+sync"]);
}

#[test]
fn a_full_disk_is_told_and_nothing_is_lost() {
    faults::fills();
}
