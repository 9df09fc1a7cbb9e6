//! The log: what a crash leaves in it comes back exactly, whatever else lies beside the file.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use keyloom_key::Span;
use keyloom_lmdb::{LmdbStore, LogOptions, Options};
use keyloom_store::{Batch, Blocking, Direction, Durability, Limits};
use keyloom_testkit::child;

fn open(path: &Path, durability: Durability, interval: u64) -> Blocking<LmdbStore> {
    let log = LogOptions { entries: 600, bytes: 1 << 20, interval: Duration::from_millis(interval) };
    let options = Options { durability, log: Some(log), ..Options::default() };
    Blocking::new(LmdbStore::open_with(path, options).unwrap())
}

/// The commit of this number: a key of its own, one that all change, and the end of an older one.
fn batch(number: u64) -> Batch {
    Batch::new()
        .put(format!("{number:06}"), vec![7; usize::try_from(number % 200).unwrap()])
        .put("last", number.to_string())
        .delete(format!("{:06}", number.saturating_sub(40)))
}

fn rows(store: &Blocking<LmdbStore>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut rows = BTreeMap::new();
    let all = Limits { rows: usize::MAX, bytes: usize::MAX, time: Duration::MAX };
    let look = |key: &[u8], value: &[u8]| {
        rows.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    };
    store.scan(&Span::prefix(Vec::new()), Direction::Forward, all, look).unwrap();
    rows
}

/// What the first commits make.
fn made(commits: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut rows = BTreeMap::new();
    for number in 1..=commits {
        for (key, value) in batch(number).writes() {
            match value {
                Some(value) => rows.insert(key.to_vec(), value.to_vec()),
                None => rows.remove(key),
            };
        }
    }
    rows
}

/// The file is what some number of commits makes; returns the number.
fn whole(store: &Blocking<LmdbStore>) -> u64 {
    let commits = store.sequence().unwrap().0;
    assert!(rows(store) == made(commits), "not what {commits} commits make");
    commits
}

/// Not a test of its own: the process that is killed.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    let (durability, interval) = match task.as_str() {
        "synced" => (Durability::Synced, 10),
        "written" => (Durability::Written, 10),
        _ => (Durability::Written, 86_400_000),
    };
    let store = open(&path, durability, interval);
    for number in store.sequence().unwrap().0 + 1.. {
        assert_eq!(store.commit(batch(number)).unwrap().0, number);
        child::say("committed", number);
        if task == "kept" && number == 100 {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_that_is_in_its_log() {
    for task in ["synced", "written"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.klm");
        for round in 0..12 {
            let mut writer = child::start(task, &path);
            let mut said = writer.said().map(|(_, number)| number);
            let first = said.next().unwrap();
            std::thread::sleep(Duration::from_micros(1 + round * 3_700 % 41_000));
            drop(writer);
            let acknowledged = said.last().unwrap_or(first);
            let found = whole(&open(&path, Durability::Synced, 10));
            assert!(
                (acknowledged..=acknowledged + 1).contains(&found),
                "{task}: {acknowledged} said, {found} found"
            );
        }
    }
}

/// A file and its logs, as a process that was killed has left them.
struct Left {
    folder: tempfile::TempDir,
}

/// The ends of the names.
const NAMES: [&str; 3] = ["test.klm", "test.klm.redo0", "test.klm.redo1"];

impl Left {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = child::start("kept", &folder.path().join("test.klm"));
        assert_eq!(writer.said().find(|(_, number)| *number == 100).unwrap().1, 100);
        drop(writer);
        Self { folder }
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.path().join(NAMES.get(number).unwrap())
    }

    /// A copy, to be changed and opened.
    fn copy(&self) -> Self {
        let copy = Self { folder: tempfile::tempdir().unwrap() };
        for number in 0..NAMES.len() {
            fs::copy(self.path(number), copy.path(number)).unwrap();
        }
        copy
    }

    fn open(&self) -> Blocking<LmdbStore> {
        open(&self.path(0), Durability::Synced, 10)
    }
}

#[test]
fn a_log_that_is_torn_or_damaged_gives_the_commits_before_that() {
    let left = Left::new();
    assert_eq!(whole(&left.copy().open()), 100);
    let log = fs::read(left.path(1)).unwrap();
    let used = log.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let mut found = Vec::new();
    for at in (0..used).step_by(97) {
        for cut in [true, false] {
            let copy = left.copy();
            let mut log = log.clone();
            if cut {
                log.truncate(at);
            } else {
                *log.get_mut(at).unwrap() ^= 0x10;
            }
            fs::write(copy.path(1), log).unwrap();
            let store = copy.open();
            let commits = whole(&store);
            found.push(commits);
            // It goes on from there.
            store.commit(batch(commits + 1)).unwrap();
            drop(store);
            assert_eq!(whole(&copy.open()), commits + 1);
        }
    }
    assert!(found.iter().max() < Some(&101) && found.iter().min() < Some(&10), "{found:?}");
}

#[test]
fn a_log_is_read_once() {
    let left = Left::new();
    let copy = left.copy();
    let store = copy.open();
    for number in 101..=130 {
        store.commit(batch(number)).unwrap();
    }
    drop(store);
    assert!(!copy.path(1).exists() && !copy.path(2).exists(), "logs are left behind a file that is closed");
    // The old log comes back, as a backup that was put there by mistake.
    fs::copy(left.path(1), copy.path(1)).unwrap();
    assert_eq!(whole(&copy.open()), 130);
    // And beside a file that is not its own.
    let other = Left { folder: tempfile::tempdir().unwrap() };
    let store = other.open();
    store.commit(batch(1)).unwrap();
    drop(store);
    fs::copy(left.path(1), other.path(1)).unwrap();
    assert_eq!(whole(&other.open()), 1);
}

#[test]
fn copies_and_compacted_files_have_what_is_in_the_log() {
    let left = Left::new();
    let copy = left.copy();
    LmdbStore::compact(copy.path(0)).unwrap();
    assert!(!copy.path(1).exists(), "the log of the old file is left");
    assert_eq!(whole(&copy.open()), 100);
    let (copy, place) = (left.copy(), left.copy());
    fs::remove_file(place.path(0)).unwrap();
    LmdbStore::restore(copy.path(0), place.path(0), false, |_| Ok::<_, keyloom_store::Error>(())).unwrap();
    assert_eq!(whole(&place.open()), 100);
}

#[test]
fn a_lone_commit_and_a_large_one_leave_no_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let store = open(&path, Durability::Synced, 10);
    store.commit(batch(1)).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    let large = (0..5_000).fold(Batch::new(), |batch, number| batch.put(format!("{number}"), "1"));
    store.commit(large).unwrap();
    assert!(!path.with_added_extension("redo0").exists());
    store.commit(batch(2)).unwrap();
    assert!(path.with_added_extension("redo0").exists());
}

#[test]
fn where_no_log_can_be_made_every_commit_goes_into_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("test.klm"), Durability::Written, 10);
    folder.close().unwrap();
    for number in 1..=50 {
        store.commit(batch(number)).unwrap();
    }
    assert_eq!(whole(&store), 50);
}
