//! Files: opened again, shared, moved between processes, killed in the middle, cut, damaged.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use keyloom_lmdb::{LmdbStore, Options};
use keyloom_store::{Batch, Blocking, Error};
use keyloom_testkit::child::{self, Process};

fn open(path: &Path) -> Blocking<LmdbStore> {
    Blocking::new(LmdbStore::open(path).unwrap())
}

/// Every commit goes into the file.
fn straight(path: &Path) -> Blocking<LmdbStore> {
    Blocking::new(LmdbStore::open_with(path, Options { log: None, ..Options::default() }).unwrap())
}

fn number(store: &Blocking<LmdbStore>, key: &str) -> Option<u64> {
    let text = store.get(key.as_bytes(), |value| String::from_utf8(value.to_vec()).unwrap()).unwrap();
    text.map(|text| text.parse().unwrap())
}

#[test]
fn what_was_committed_is_there_when_the_file_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let sequence = {
        let store = open(&path);
        store.commit(Batch::new().put("a", "1")).unwrap();
        store.commit(Batch::new().put("b", "2")).unwrap()
    };
    let store = open(&path);
    assert_eq!((number(&store, "a"), number(&store, "b")), (Some(1), Some(2)));
    assert_eq!(store.sequence().unwrap(), sequence);
}

#[test]
fn one_file_opened_twice_is_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let (one, two) = (open(&path), open(&folder.path().join(".").join("test.klm")));
    one.commit(Batch::new().put("a", "1")).unwrap();
    assert_eq!(number(&two, "a"), Some(1));
    drop(one);
    two.commit(Batch::new().put("a", "2")).unwrap();
    assert_eq!(number(&two, "a"), Some(2));
}

#[test]
fn a_path_that_cannot_be_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("missing").join("test.klm")] {
        assert!(matches!(LmdbStore::open(&path), Err(Error::Failed(_))), "{}", path.display());
    }
}

#[test]
fn a_file_that_is_not_ours_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    std::fs::write(&path, "This is a letter to somebody else.".repeat(1_000)).unwrap();
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(LmdbStore::open(&path), Err(Error::Damaged(_))));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// LMDB counts pages that it never writes: those of a value that goes in the transaction that it came in. A file that ended
/// before such pages was refused as cut short, and nothing could open it any more.
#[test]
fn a_file_that_ends_before_pages_that_nothing_leads_to_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let options = Options { log: None, ..Options::default() };
    let ends_early = || {
        let newest = std::fs::read(&path).unwrap();
        let meta = |page: usize| {
            let number = |at: usize| u64::from_le_bytes(newest[page * 4096 + at..][..8].try_into().unwrap());
            (number(144), number(136))
        };
        let (_, last) = meta(0).max(meta(1));
        usize::try_from(last + 1).unwrap() * 4096 > newest.len()
    };
    let mut ended_early = false;
    for round in 0..20_u32 {
        let store = Blocking::new(LmdbStore::open_with(&path, options).unwrap());
        for number in 0..round {
            store.commit(Batch::new().put(number.to_be_bytes(), [7; 3_000])).unwrap();
        }
        store.commit(Batch::new().put("large", vec![7; 200_000]).delete("large")).unwrap();
        drop(store);
        assert!(!ends_early(), "round {round}");
        // A crash may come between the transaction and what makes the file longer.
        let whole = std::fs::read(&path).unwrap();
        for pages in 1..=50 {
            std::fs::write(&path, &whole[..whole.len() - 4096 * pages]).unwrap();
            match LmdbStore::open_with(&path, options) {
                Ok(store) => {
                    ended_early |= ends_early();
                    let store = Blocking::new(store);
                    assert!(
                        (0..round).all(|number| store.get(&number.to_be_bytes(), |_| ()).unwrap().is_some())
                    );
                    // Which pages are free stands on pages too.
                    store.commit(Batch::new().put("more", [7; 3_000])).unwrap();
                }
                Err(error) => {
                    assert!(matches!(error, Error::Damaged(_)), "{error}");
                    break;
                }
            }
        }
        std::fs::write(&path, &whole).unwrap();
    }
    assert!(ended_early, "all pages of all rounds are led to");
}

#[test]
fn a_file_cut_short_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let store = open(&path);
    let batch = (0..1_000).fold(Batch::new(), |batch, number| batch.put(format!("{number}"), [7; 100]));
    store.commit(batch).unwrap();
    drop(store);
    let length = std::fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(length / 2).unwrap();
    match LmdbStore::open(&path) {
        Err(Error::Damaged(reason)) => assert!(reason.contains("cut short"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flipped_byte_in_a_value_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let store = open(&path);
    let value = b"a value that is easy to find in the file";
    store.commit(Batch::new().put("good", "untouched").put("bad", value)).unwrap();
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    let places: Vec<usize> =
        (0..bytes.len() - value.len()).filter(|at| bytes[*at..].starts_with(value)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| bytes[*at + 3] ^= 1);
    std::fs::write(&path, bytes).unwrap();
    let store = open(&path);
    assert!(store.get(b"good", |_| ()).unwrap().is_some());
    match store.get(b"bad", |_| ()) {
        Err(error @ Error::DamagedValue(_)) => assert!(error.to_string().contains("key bad"), "{error}"),
        other => panic!("{other:?}"),
    }
}

/// A file whose tables are not found is not taken for a new one: that would lose all that is in it.
#[test]
fn a_file_with_other_tables_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for name in [b"data", b"meta"] {
        let path = folder.path().join(format!("{}.klm", name.escape_ascii()));
        open(&path).commit(Batch::new().put("a", "1")).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(name)).collect();
        assert!(!places.is_empty());
        places.iter().for_each(|at| bytes[*at] ^= 1);
        std::fs::write(&path, &bytes).unwrap();
        match LmdbStore::open(&path) {
            Err(Error::Damaged(reason)) => assert!(reason.contains("tables"), "{reason}"),
            other => panic!("{other:?}"),
        }
        assert!(std::fs::read(&path).unwrap() == bytes, "it was written to");
    }
}

/// Not a test of its own: the other processes of those below.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    match task.as_str() {
        // Counts upwards in three keys at once and says each number when it is committed.
        "write" | "write_straight" => {
            let store = if task == "write" { open(&path) } else { straight(&path) };
            for next in number(&store, "a").unwrap_or(0) + 1.. {
                let batch =
                    ["a", "b", "c"].into_iter().fold(Batch::new(), |b, key| b.put(key, next.to_string()));
                store.commit(batch).unwrap();
                child::say("committed", next);
            }
        }
        "look" => child::say("committed", number(&open(&path), "a").unwrap_or(0)),
        // Reads for as long as it is let.
        "read" => {
            let _snapshot = open(&path).snapshot().unwrap();
            child::say("committed", 0);
            std::thread::sleep(Duration::from_secs(60));
        }
        // Writes for as long as it is let: keeps what a writer keeps.
        _ => {
            let lock = File::options().create(true).append(true).open(path.with_added_extension("writer"));
            lock.as_ref().unwrap().lock().unwrap();
            child::say("committed", 0);
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}

/// The numbers that a child says it has committed.
fn committed(child: &mut Process) -> impl Iterator<Item = u64> + use<> {
    child.said().filter(|(word, _)| word == "committed").map(|(_, number)| number)
}

#[test]
fn a_killed_writer_loses_nothing_and_leaves_no_half() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    for round in 0..24 {
        let mut writer = child::start(if round % 2 == 0 { "write" } else { "write_straight" }, &path);
        let mut numbers = committed(&mut writer);
        let first = numbers.next().unwrap();
        // Another moment in each round.
        std::thread::sleep(Duration::from_micros(1 + round * 1_700 % 23_000));
        drop(writer);
        let acknowledged = numbers.last().unwrap_or(first);
        let store = open(&path);
        let found = ["a", "b", "c"].map(|key| number(&store, key).unwrap());
        assert!(found.iter().all(|number| number == &found[0]), "a half: {found:?}");
        // What was committed and not yet said may be there too.
        assert!(
            (acknowledged..=acknowledged + 1).contains(&found[0]),
            "{acknowledged} said, {found:?} found"
        );
    }
}

#[test]
fn others_read_while_one_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let store = open(&path);
    let mut writer = child::start("write_straight", &path);
    for number_said in committed(&mut writer).take(50) {
        assert!(number(&store, "a").unwrap() >= number_said);
    }
    drop(writer);
}

#[test]
fn others_read_what_is_in_the_log_of_one_when_they_catch_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let store = open(&path);
    let mut writer = child::start("write", &path);
    let mut behind = 0;
    for number_said in committed(&mut writer).take(200) {
        // What it sees is whole, however old.
        let seen = ["a", "b", "c"].map(|key| number(&store, key));
        behind += u64::from(store.is_behind().unwrap());
        if number_said.is_multiple_of(20) {
            store.catch_up().unwrap();
            assert!(number(&store, "a").unwrap() >= number_said, "{seen:?}");
        }
        if number_said == 100 {
            // Whoever comes later sees all that there was.
            let mut later = child::start("look", &path);
            assert!(committed(&mut later).next().unwrap() >= number_said);
        }
    }
    assert!(behind > 0, "the writer has no log");
    drop(writer);
}

#[test]
fn two_processes_write_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let store = open(&path);
    let mut writer = child::start("write", &path);
    let mut numbers = committed(&mut writer);
    for mine in 0..50_u64 {
        store.commit(Batch::new().put("mine", mine.to_string())).unwrap();
        numbers.next().unwrap();
    }
    drop(writer);
    // What it has said last may be in its log only.
    store.catch_up().unwrap();
    assert_eq!(number(&store, "mine"), Some(49));
    assert!(number(&store, "a").unwrap() >= 50);
}

#[test]
fn a_writer_that_waits_too_long_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let options = Options { busy_timeout: Duration::from_millis(50), ..Options::default() };
    let store = Blocking::new(LmdbStore::open_with(&path, options).unwrap());
    store.commit(Batch::new().put("a", "1")).unwrap();
    let mut holder = child::start("hold", &path);
    assert_eq!(committed(&mut holder).next(), Some(0));
    match store.commit(Batch::new().put("a", "2")) {
        Err(Error::Busy(reason)) => assert!(reason.contains("another process"), "{reason}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(number(&store, "a"), Some(1));
    drop(holder);
    store.commit(Batch::new().put("a", "3")).unwrap();
    assert_eq!(number(&store, "a"), Some(3));
}

#[test]
fn what_a_dead_process_was_reading_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let options = Options { max_snapshot_age: Duration::from_millis(1), ..Options::default() };
    let store = Blocking::new(LmdbStore::open_with(&path, options).unwrap());
    let batch = || (0..100).fold(Batch::new(), |batch, number| batch.put(format!("{number}"), [7; 1_000]));
    store.commit(batch()).unwrap();
    let mut reader = child::start("read", &path);
    committed(&mut reader).next().unwrap();
    drop(reader);
    // It is looked for now and then.
    std::thread::sleep(Duration::from_millis(110));
    for _ in 0..100 {
        store.commit(batch()).unwrap();
    }
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(length < 2_000_000, "{length} bytes for 100,000 that were written again and again");
}
