//! Files: what survives, what is refused, and what other processes see.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use keyloom_redb::{Options, RedbStore};
use keyloom_store::{Batch, Blocking, Durability, Error};
use keyloom_testkit::child;

fn open(path: &Path, durability: Durability) -> Blocking<RedbStore> {
    let options = Options { durability, busy_timeout: Duration::from_millis(100), ..Options::default() };
    Blocking::new(RedbStore::open_with(path, options).unwrap())
}

/// The commit of this number: a key of its own, and one that all change.
fn batch(number: u64) -> Batch {
    Batch::new().put(format!("{number:06}"), number.to_string()).put("last", number.to_string())
}

/// The file has some number of commits, each of them whole; returns the number.
fn whole(store: &Blocking<RedbStore>) -> u64 {
    let commits = store.sequence().unwrap().0;
    let has = |key: &str| store.get(key.as_bytes(), <[u8]>::to_vec).unwrap();
    for number in 1..=commits {
        assert!(has(&format!("{number:06}")).is_some(), "{number} of {commits} is lost");
    }
    assert_eq!(has(&format!("{:06}", commits + 1)), None);
    assert_eq!(has("last"), (commits > 0).then(|| commits.to_string().into_bytes()));
    commits
}

const WIDE: Durability = Durability::Buffered { entries: 40, interval: Duration::from_secs(3_600) };

/// Not a test of its own: the process that is killed, or that has the file.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    let store = open(&path, if task == "buffered" { WIDE } else { Durability::Synced });
    if task == "holds" {
        child::say("open", 1);
        child::wait_to_be_told();
        return;
    }
    for number in store.sequence().unwrap().0 + 1.. {
        assert_eq!(store.commit(batch(number)).unwrap().0, number);
        child::say("committed", number);
    }
}

#[test]
fn a_killed_process_loses_no_more_than_it_may() {
    for (task, may_lose) in [("synced", 0), ("buffered", 20)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.redb");
        for round in 0..6 {
            let mut writer = child::start(task, &path);
            let mut said = writer.said().map(|(_, number)| number);
            // More than may be lost.
            let first = said.nth(30).unwrap();
            std::thread::sleep(Duration::from_micros(1 + round * 3_700));
            drop(writer);
            let acknowledged = said.last().unwrap_or(first);
            let found = whole(&open(&path, Durability::Synced));
            assert!(found + may_lose >= acknowledged, "{task}: {acknowledged} said, {found} found");
        }
    }
}

#[test]
fn a_second_process_is_told_who_is_in_its_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.redb");
    let mut other = child::start("holds", &path);
    let mut said = other.said();
    assert!(said.any(|(word, _)| word == "open"));
    let options = Options { busy_timeout: Duration::from_millis(50), ..Options::default() };
    let refused = RedbStore::open_with(&path, options).unwrap_err();
    assert!(matches!(refused, Error::Busy(_)), "{refused}");
    assert!(refused.to_string().contains("another process has it open"), "{refused}");
    other.tell();
    assert!(other.succeeds());
    assert_eq!(whole(&open(&path, Durability::Synced)), 0);
}

#[test]
fn closing_and_flushing_sync_what_is_buffered() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("test.redb"), folder.path().join("copy.redb"));
    let store = open(&path, WIDE);
    store.commit(batch(1)).unwrap();
    store.flush().unwrap();
    fs::copy(&path, &copy).unwrap();
    assert_eq!(whole(&open(&copy, WIDE)), 1);
    store.commit(batch(2)).unwrap();
    let other = open(&path, Durability::Synced);
    assert_eq!(whole(&other), 2, "who opens it again in this process shares it");
    drop((store, other));
    assert_eq!(whole(&open(&path, WIDE)), 2);
}

#[test]
fn what_cannot_be_promised_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Written, ..Options::default() };
    let refused = RedbStore::open_with(folder.path().join("test.redb"), options).unwrap_err();
    assert!(matches!(refused, Error::Unsupported { store: "redb", .. }), "{refused}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_not_ours_is_refused_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.redb");
    fs::write(&path, b"a text of some length that is no database").unwrap();
    let refused = RedbStore::open(&path).unwrap_err();
    assert!(matches!(refused, Error::Damaged(_)), "{refused}");
    assert!(fs::read(&path).unwrap().starts_with(b"a text"));

    let other = folder.path().join("other.redb");
    let table: redb::TableDefinition<'_, &str, &[u8]> = redb::TableDefinition::new("meta");
    let database = redb::Database::create(&other).unwrap();
    let txn = database.begin_write().unwrap();
    txn.open_table(table).unwrap().insert("format", b"another's".as_slice()).unwrap();
    txn.commit().unwrap();
    drop(database);
    let refused = RedbStore::open(&other).unwrap_err();
    assert!(refused.to_string().contains("the file's format is `another"), "{refused}");
}

#[test]
fn a_value_that_is_not_what_was_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.redb");
    let store = open(&path, Durability::Synced);
    store.commit(Batch::new().put("a", "1").put("b", "the value to be damaged").put("c", "3")).unwrap();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    let text = b"the value to be damaged";
    let places: Vec<usize> =
        (0..bytes.len() - text.len()).filter(|at| bytes.get(*at..at + text.len()) == Some(text)).collect();
    assert!(!places.is_empty());
    for at in places {
        *bytes.get_mut(at).unwrap() ^= 1;
    }
    fs::write(&path, bytes).unwrap();
    let store = open(&path, Durability::Synced);
    let told = store.get(b"b", |_| ()).unwrap_err();
    assert!(matches!(&told, Error::DamagedValue(key) if **key == *b"b"), "{told}");
    assert_eq!(store.get(b"c", <[u8]>::to_vec).unwrap().as_deref(), Some(b"3".as_slice()));
}
