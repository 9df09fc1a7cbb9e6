//! The filter of the file's keys, with others who write: from threads of this process, and from another process.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use keyloom_lmdb::{FilterOptions, LmdbStore, Options};
use keyloom_store::{Batch, Blocking, Durability};
use keyloom_testkit::child;

fn open(path: &Path, options: Options) -> Blocking<LmdbStore> {
    let filter = Some(FilterOptions { after: 0, ..FilterOptions::default() });
    Blocking::new(LmdbStore::open_with(path, Options { filter, ..options }).unwrap())
}

fn key(number: u64) -> String {
    format!("{number:08}")
}

fn has(store: &Blocking<LmdbStore>, number: u64) -> bool {
    store.get(key(number).as_bytes(), |_| ()).unwrap().is_some()
}

/// Not a test of its own: the other process, which puts a key each time that it is told to.
#[test]
fn as_a_child() {
    let Some((_, path)) = child::task() else { return };
    let store = open(&path, Options { log: None, ..Options::default() });
    for number in 100..120 {
        store.commit(Batch::new().put(key(number), "of another process")).unwrap();
        child::say("put", number);
        child::wait_to_be_told();
    }
}

#[test]
fn what_another_process_has_put_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.klm");
    let store = open(&path, Options { log: None, ..Options::default() });
    store.commit((0..100).fold(Batch::new(), |batch, number| batch.put(key(number), "ours"))).unwrap();
    let mut other = child::start("put", &path);
    let mut said = other.said();
    for number in 100..120 {
        assert_eq!(said.next().unwrap(), ("put".to_owned(), number));
        assert!(has(&store, number), "{number}");
        // Enough that the filter is whole again, however long it was put off.
        (0..100).for_each(|absent| assert!(!has(&store, 1_000_000 + absent)));
        if number % 3 == 0 {
            store.commit(Batch::new().put(key(200 + number), "ours")).unwrap();
        }
        assert!((0..=number).all(|number| has(&store, number)));
        other.tell();
    }
    assert!(other.succeeds());
}

#[test]
fn what_is_committed_is_found_while_the_filter_is_filled_and_made_anew() {
    for durability in [Durability::Synced, Durability::Written] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder.path().join("threads.klm"), Options { durability, ..Options::default() });
        let (committed, done) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for reader in 0..3_u64 {
                let (store, committed, done) = (store.clone(), &committed, &done);
                scope.spawn(move || {
                    let mut number = reader;
                    while !done.load(Ordering::Acquire) {
                        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(reader + 1);
                        let there = committed.load(Ordering::Acquire);
                        assert!(there == 0 || has(&store, number % there), "{} of {there}", number % there);
                        assert!(!has(&store, 1_000_000_000 + number % 1_000));
                    }
                });
            }
            // Small at first, so that it is too small again and again; with deletions of others, and flushes.
            for number in 0..6_000 {
                let batch =
                    Batch::new().put(key(number), "there").put(key(500_000_000 + number), "for a moment");
                store.commit(batch.delete(key(500_000_000 + number / 2))).unwrap();
                committed.store(number + 1, Ordering::Release);
                if number % 500 == 0 {
                    store.catch_up().unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
    }
}
