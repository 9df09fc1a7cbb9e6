//! Disks that are full or fail: the caller is told, nothing is lost, and what can go on goes on.
//!
//! Each test is a child process whose disk fails when the child says so (`disk.c`), or whose files are limited in size.

// The disk is put before a C library that is loaded, which glibc is.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::path::Path;
use std::time::Duration;

use keyloom_lmdb::{LmdbStore, LogOptions, Options};
use keyloom_store::{Batch, Blocking, Durability, Error, Wait};
use keyloom_testkit::disk::faults::{SMALL_DISK, grow_disk, large, succeeds_under, value};
use keyloom_testkit::{child, disk};

fn open(path: &Path, durability: Durability) -> Blocking<LmdbStore> {
    open_with(path, Options { durability, ..Options::default() })
}

fn open_with(path: &Path, options: Options) -> Blocking<LmdbStore> {
    Blocking::new(LmdbStore::open_with(path, options).unwrap())
}

/// Not a test of its own: the processes of those below.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    match task.split_once('+').unwrap_or((task.as_str(), "")) {
        ("synced", fault) => told(&path, fault, Options::default()),
        ("straight", fault) => told(&path, fault, Options { log: None, ..Options::default() }),
        ("written", fault) => {
            told(&path, fault, Options { durability: Durability::Written, ..Options::default() });
        }
        ("small", fault) => small(&path, fault),
        ("straight_root", _) => straight_root(&path),
        ("logged_root", _) => logged_root(&path, Durability::Synced),
        ("logged_soon_root", _) => logged_root(&path, Durability::buffered()),
        ("buffered", fault) => buffered(&path, fault, Options::default()),
        ("soon", fault) => soon(&path, fault),
        ("in_memory", fault) => buffered(&path, fault, Options { log: None, ..Options::default() }),
        ("in_memory_root", _) => in_memory_root(&path),
        ("limited", _) => limited(&path),
        ("cramped", _) => assert!(open(&path, Durability::Synced).commit(large("any")).is_ok()),
        (other, _) => panic!("{other}"),
    }
}

/// What fails before anything is committed, and passes.
const PASSING: [&str; 3] = ["space", "short", "sync"];

#[test]
fn a_commit_that_fails_leaves_everything_and_the_next_may_succeed() {
    for way in ["synced", "straight", "written"] {
        // What is written only is not synced.
        for fault in PASSING.into_iter().filter(|fault| (way, *fault) != ("written", "sync")) {
            let folder = tempfile::tempdir().unwrap();
            let task = format!("{way}+{fault}");
            assert!(disk::run(&task, &folder.path().join("test.klm")).success(), "{task}");
        }
    }
}

fn told(path: &Path, fault: &str, options: Options) {
    let store = open_with(path, options);
    // The first goes into the file, the others into the log if there is one.
    for _ in 0..5 {
        store.commit(large("before")).unwrap();
    }
    let before = store.sequence().unwrap();
    disk::fail(fault);
    for _ in 0..3 {
        assert!(matches!(store.commit(large("during")), Err(Error::Full(_))));
        assert_eq!(value(&store, "mark").as_deref(), Some("before"));
        assert_eq!(store.sequence().unwrap(), before);
        assert_eq!(store.snapshot().unwrap().get(b"during/0", |_| ()).unwrap(), None);
    }
    disk::heal();
    let after = store.commit(large("after")).unwrap();
    drop(store);
    let store = open(path, Durability::Synced);
    assert_eq!(store.sequence().unwrap(), after);
    assert_eq!(value(&store, "mark").as_deref(), Some("after"));
    assert!(value(&store, "before/199").is_some() && value(&store, "after/199").is_some());
    assert_eq!(value(&store, "during/0"), None);
}

/// Small commits that only have to be written are written to memory. They are told where the log must grow, or what is in
/// it cannot go into the file.
#[test]
fn small_commits_fit_into_the_log_that_there_is_and_are_told_at_its_end() {
    for fault in ["space", "short"] {
        // In memory if it can be, where the log is mapped.
        let folder = tempfile::tempdir_in(disk::place()).unwrap();
        assert!(disk::run(&format!("small+{fault}"), &folder.path().join("test.klm")).success(), "{fault}");
    }
}

fn small(path: &Path, fault: &str) {
    let store = open(path, Durability::Written);
    let commit = |number: u64| store.commit(Batch::new().put(number.to_be_bytes(), [7; 500]));
    for number in 0..100 {
        commit(number).unwrap();
    }
    disk::fail(fault);
    let more_than_fit = 10_000;
    let told = (100..more_than_fit).find(|number| match commit(*number) {
        Ok(sequence) => {
            assert_eq!(store.sequence().unwrap(), sequence);
            false
        }
        Err(error) => matches!(error, Error::Full(_)) || panic!("{error}"),
    });
    let told = told.unwrap();
    assert!(told > 100, "there was room in the log");
    // A flush that has failed meanwhile is told first.
    let has = |store: &Blocking<LmdbStore>, number: u64| loop {
        match store.get(&number.to_be_bytes(), |_| ()) {
            Err(Error::Full(_)) => {}
            found => return found.unwrap().is_some(),
        }
    };
    assert!(has(&store, told - 1) && !has(&store, told));
    disk::heal();
    // An earlier failure may still have to be told.
    while let Err(error) = commit(more_than_fit) {
        assert!(matches!(error, Error::Full(_)), "{error}");
    }
    drop(store);
    let store = open(path, Durability::Synced);
    assert!((0..told).chain([more_than_fit]).all(|number| has(&store, number)));
    assert!(!has(&store, told));
}

#[test]
fn a_root_that_cannot_be_written_ends_the_store() {
    for task in ["straight_root", "logged_root", "logged_soon_root", "in_memory_root"] {
        let folder = tempfile::tempdir().unwrap();
        assert!(disk::run(task, &folder.path().join("test.klm")).success(), "{task}");
    }
}

/// Opened anew, the store has either state, whole, and goes on.
fn goes_on(path: &Path) {
    let store = open(path, Durability::Synced);
    let mark = value(&store, "mark").unwrap();
    assert!(["before", "during"].contains(&mark.as_str()), "{mark}");
    assert_eq!(value(&store, "during/199").is_some(), mark == "during");
    store.commit(large("after")).unwrap();
    assert_eq!(value(&store, "mark").as_deref(), Some("after"));
}

/// What is in the log survives a file that cannot be written to.
fn logged_root(path: &Path, durability: Durability) {
    let store = open(path, durability);
    for _ in 0..5 {
        store.commit(large("before")).unwrap();
    }
    disk::fail("root");
    store.commit(large("during")).unwrap();
    store.flush().unwrap();
    let copied = store.inner().copy_to(path.with_added_extension("copy"), false).wait();
    assert!(matches!(copied, Err(Error::Failed(_))), "what is in memory cannot go into the file");
    assert!(matches!(store.commit(large("then")), Err(Error::Failed(_))));
    disk::heal();
    assert!(matches!(store.commit(large("then")), Err(Error::Failed(_))));
    assert!(matches!(store.get(b"mark", |_| ()), Err(Error::Failed(_))));
    drop(store);
    let store = open(path, Durability::Synced);
    assert_eq!(value(&store, "mark").as_deref(), Some("during"));
    assert!(value(&store, "during/199").is_some());
    drop(store);
    goes_on(path);
}

fn straight_root(path: &Path) {
    let store = open_with(path, Options { log: None, ..Options::default() });
    store.commit(large("before")).unwrap();
    disk::fail("root");
    assert!(matches!(store.commit(large("during")), Err(Error::Unknown(_))));
    assert!(matches!(store.commit(large("then")), Err(Error::Failed(_))));
    disk::heal();
    assert!(matches!(store.commit(large("then")), Err(Error::Failed(_))));
    drop(store);
    goes_on(path);
}

fn in_memory_root(path: &Path) {
    let options = Options { durability: Durability::buffered(), log: None, ..Options::default() };
    let store = open_with(path, options);
    store.commit(large("before")).unwrap();
    store.flush().unwrap();
    disk::fail("root");
    store.commit(large("during")).unwrap();
    let failed = |error: Error| assert!(matches!(error, Error::Failed(_)), "{error}");
    failed(store.flush().unwrap_err());
    disk::heal();
    // Every call is told: what was acknowledged will not come to be.
    failed(store.commit(large("then")).unwrap_err());
    failed(store.get(b"mark", |_| ()).unwrap_err());
    failed(store.get_many(&["mark"], |_, _| ()).unwrap_err());
    failed(store.sequence().unwrap_err());
    failed(store.snapshot().unwrap_err());
    failed(store.flush().unwrap_err());
    drop(store);
    goes_on(path);
}

#[test]
fn a_flush_that_fails_is_reported_and_tried_again() {
    for way in ["buffered", "soon", "in_memory"] {
        for fault in PASSING {
            let folder = tempfile::tempdir().unwrap();
            let task = format!("{way}+{fault}");
            assert!(disk::run(&task, &folder.path().join("test.klm")).success(), "{task}");
        }
    }
}

fn buffered(path: &Path, fault: &str, options: Options) {
    let durability = Durability::Buffered { entries: 300, interval: Duration::from_millis(5) };
    let store = open_with(path, Options { durability, ..options });
    store.commit(large("before")).unwrap();
    store.flush().unwrap();
    disk::fail(fault);
    store.commit(large("during")).unwrap();
    // A read is told, and the next one sees what is buffered.
    let told = (0..10_000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        match store.get(b"mark", <[u8]>::to_vec) {
            Ok(mark) => assert_eq!(mark.as_deref(), Some(b"during".as_slice())),
            Err(error) => return Some(error),
        }
        None
    });
    let told = told.unwrap();
    assert!(matches!(told, Error::Full(_)), "{told}");
    assert_eq!(value(&store, "during/199").map(|value| value.len()), Some(500));
    // Whoever asks for a flush is told.
    assert!(matches!(store.flush(), Err(Error::Full(_))));
    // There is room for some more, and then none.
    let more = |number: &u64| match store.commit(Batch::new().put(format!("more/{number:03}"), "1")) {
        Ok(_) => true,
        Err(error) => {
            assert!(matches!(error, Error::Full(_)), "{error}");
            false
        }
    };
    let more: Vec<u64> = (0..500).filter(more).collect();
    assert_eq!(more.len(), 300 - 201);
    disk::heal();
    // An earlier failure may still have to be told.
    while let Err(error) = store.flush() {
        assert!(matches!(error, Error::Full(_)), "{error}");
    }
    store.commit(large("after")).unwrap();
    drop(store);
    let store = open(path, Durability::Synced);
    assert_eq!(value(&store, "mark").as_deref(), Some("after"));
    assert!(value(&store, "during/199").is_some() && value(&store, "after/199").is_some());
    let all = (0..500).filter(|number| value(&store, &format!("more/{number:03}")).is_some());
    assert!(all.eq(more), "other commits are there than were acknowledged");
}

/// What could not be synced goes to the log behind what was before it, and is found there after a crash.
fn soon(path: &Path, fault: &str) {
    let durability = Durability::Buffered { entries: 300, interval: Duration::from_millis(5) };
    let log = Some(LogOptions { interval: Duration::MAX, ..LogOptions::default() });
    let store = open_with(path, Options { durability, log, ..Options::default() });
    let commit = |number: u64| store.commit(Batch::new().put(number.to_be_bytes(), [7; 500]));
    let acknowledged = |numbers: std::ops::Range<u64>| {
        numbers.for_each(|number| while commit(number).is_err() {});
    };
    acknowledged(0..10);
    store.flush().unwrap();
    disk::fail(fault);
    acknowledged(10..30);
    assert!(matches!(store.flush(), Err(Error::Full(_))));
    acknowledged(30..50);
    disk::heal();
    while store.flush().is_err() {}
    acknowledged(50..60);
    store.flush().unwrap();
    let copy = path.with_extension("copy");
    for log in ["", ".redo0", ".redo1"] {
        let of = |file: &Path| format!("{}{log}", file.display());
        std::fs::copy(of(path), of(&copy)).unwrap();
    }
    let crashed = open(&copy, Durability::Synced);
    assert_eq!(crashed.sequence().unwrap(), store.sequence().unwrap());
    assert!((0_u64..60).all(|number| crashed.get(&number.to_be_bytes(), |_| ()).unwrap().is_some()));
}

#[test]
fn a_file_opens_where_address_space_is_scarce() {
    let folder = tempfile::tempdir().unwrap();
    succeeds_under("ulimit -v 2000000", "cramped", &folder.path().join("test.klm"));
}

#[test]
fn a_full_disk_is_told_and_room_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    succeeds_under(SMALL_DISK, "limited", &folder.path().join("test.klm"));
}

fn limited(path: &Path) {
    let store = open(path, Durability::Synced);
    let mut written = 0;
    let error = loop {
        match store.commit(large(&written.to_string())) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Full(_)), "{error}");
    assert!(written > 3, "{written}");
    let all_there = |store: &Blocking<LmdbStore>, count: u64| {
        assert_eq!(store.sequence().unwrap().0, count);
        (0..count).for_each(|mark| assert!(value(store, &format!("{mark}/199")).is_some()));
    };
    all_there(&store, written);
    grow_disk();
    store.commit(large(&written.to_string())).unwrap();
    drop(store);
    all_there(&open(path, Durability::Synced), written + 1);
}
