//! Buffered commits: what a crash leaves, other processes, closing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_lmdb::{LmdbStore, LogOptions, Options};
use keyloom_store::{Batch, Blocking, Direction, Durability, Error, Limits};
use keyloom_testkit::child;

const ENTRIES: usize = 90;

fn open(path: &Path, durability: Durability) -> Blocking<LmdbStore> {
    open_with(path, durability, Options::default().log)
}

fn open_with(path: &Path, durability: Durability, log: Option<LogOptions>) -> Blocking<LmdbStore> {
    Blocking::new(LmdbStore::open_with(path, Options { durability, log, ..Options::default() }).unwrap())
}

const BUFFERED: Durability = Durability::Buffered { entries: ENTRIES, interval: Duration::from_millis(3) };

fn buffered(path: &Path) -> Blocking<LmdbStore> {
    open(path, BUFFERED)
}

/// Such as to make a difference to what a crash leaves: in memory only, in a log for long, and in the file soon.
fn ways() -> [(&'static str, Option<LogOptions>); 3] {
    let often = LogOptions { entries: 200, interval: Duration::from_millis(10), ..LogOptions::default() };
    [("in_memory", None), ("logged", Options::default().log), ("logged_shortly", Some(often))]
}

/// Adds one to a number that others add to, and says what it was.
fn increment(store: &Blocking<LmdbStore>) -> u64 {
    loop {
        let now = store.get(b"count", |value| String::from_utf8(value.to_vec()).unwrap()).unwrap();
        let number: u64 = now.as_deref().map_or(0, |now| now.parse().unwrap());
        let batch = Batch::new().put("count", (number + 1).to_string());
        let batch = match now {
            None => batch.require_absent("count"),
            Some(now) => batch.require_value("count", now),
        };
        match store.commit(batch) {
            Ok(_) => return number,
            Err(Error::Conflict(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

const INCREMENTS: u64 = 300;

/// Not a test of its own: the other processes of those below.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    if let Some((_, log)) = ways().into_iter().find(|(name, _)| *name == task) {
        return write(&open_with(&path, BUFFERED, log));
    }
    match task.as_str() {
        "increment" => {
            let store = buffered(&path);
            (0..INCREMENTS).for_each(|_| child::say("was", increment(&store)));
        }
        // The buffer is never empty, for as long as it is let: a flush takes long, and many commit meanwhile.
        "flood" => {
            let wide = Durability::Buffered { entries: usize::MAX, interval: Duration::from_millis(3) };
            let store = open(&path, wide);
            std::thread::scope(|scope| {
                for thread in 0..4_u64 {
                    let store = &store;
                    scope.spawn(move || {
                        for number in 0_u64.. {
                            let key = format!("{thread}/{}", number % 50);
                            store.commit(Batch::new().put(key, [7; 10_000])).unwrap();
                            if number == 1_000 {
                                child::say("started", thread);
                            }
                        }
                    });
                }
            });
        }
        other => panic!("{other}"),
    }
}

/// Commits batches of three, each with its number, and says each.
fn write(store: &Blocking<LmdbStore>) {
    for number in store.sequence().unwrap().0 + 1.. {
        let batch = ["a", "b", "c"]
            .into_iter()
            .fold(Batch::new(), |batch, part| batch.put(format!("{number:08}/{part}"), "1"));
        assert_eq!(store.commit(batch).unwrap().0, number);
        child::say("committed", number);
        if number % 50 == 0 {
            store.flush().unwrap();
            child::say("flushed", number);
        }
    }
}

#[test]
fn a_killed_process_loses_the_last_commits_at_most_and_only_whole_ones() {
    ways().into_iter().for_each(|(way, _)| killed(way));
}

fn killed(way: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    for round in 0..16 {
        let mut writer = child::start(way, &path);
        let mut said = writer.said();
        let first = said.next().unwrap();
        // Another moment in each round.
        std::thread::sleep(Duration::from_micros(1 + round * 2_300 % 31_000));
        drop(writer);
        let (mut committed, mut flushed) = (0, 0);
        for (word, number) in [first].into_iter().chain(said) {
            match word.as_str() {
                "committed" => committed = number,
                "flushed" => flushed = number,
                _ => {}
            }
        }
        let store = open(&path, Durability::Synced);
        let found = store.sequence().unwrap().0;
        // What was committed and not yet said may be there too.
        assert!(
            (flushed..=committed + 1).contains(&found),
            "{way}: {flushed} flushed, {committed} committed, {found} found"
        );
        let lost = committed.saturating_sub(found) * 3;
        assert!(lost <= u64::try_from(ENTRIES).unwrap(), "{way}: {lost} writes lost");
        // All up to the last that is there, and none behind it: whole batches, in the order of commits.
        let mut keys = Vec::new();
        let all = Limits { rows: usize::MAX, bytes: usize::MAX, ..Limits::default() };
        let everything = Span::prefix(Vec::new());
        store
            .scan(&everything, Direction::Forward, all, |key, _| {
                keys.push(String::from_utf8(key.to_vec()).unwrap());
                ControlFlow::Continue(())
            })
            .unwrap();
        let expected =
            (1..=found).flat_map(|number| ["a", "b", "c"].map(|part| format!("{number:08}/{part}")));
        assert!(keys.iter().cloned().eq(expected), "{way}: {} keys of {found} commits", keys.len());
    }
}

#[test]
fn no_other_process_comes_between_conditions_and_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    // One that buffers, one that does not: both are this store with other options.
    for (round, mine) in [Durability::Synced, Durability::buffered()].into_iter().enumerate() {
        let store = open(&path, mine);
        let mut other = child::start("increment", &path);
        let mut said = other.said().filter(|(word, _)| word == "was").map(|(_, number)| number);
        let mut seen = vec![said.next().unwrap()];
        // Both make progress while both write.
        seen.extend((0..INCREMENTS).map(|_| increment(&store)));
        seen.extend(said);
        assert!(other.succeeds());
        seen.sort_unstable();
        let start = u64::try_from(round).unwrap() * 2 * INCREMENTS;
        assert!(seen.into_iter().eq(start..start + 2 * INCREMENTS), "an increment was lost");
    }
}

#[test]
fn a_process_that_never_stops_lets_others_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let store = open(&path, Durability::Synced);
    let mut flood = child::start("flood", &path);
    let mut said = flood.said();
    said.next().unwrap();
    let mut last = 0;
    for mine in 1..=10 {
        let sequence = store.commit(Batch::new().put("mine", mine.to_string())).unwrap().0;
        assert!(sequence > last + 1 || mine == 1, "the other wrote nothing since {last}");
        last = sequence;
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(flood);
}

#[test]
fn closing_flushes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let long = Durability::Buffered { entries: usize::MAX, interval: Duration::MAX };
    let store = open(&path, long);
    for number in 0..100 {
        store.commit(Batch::new().put(format!("{number}"), "1")).unwrap();
    }
    let sequence = store.sequence().unwrap();
    drop(store);
    let store = open(&path, Durability::Synced);
    assert_eq!(store.sequence().unwrap(), sequence);
    assert!(store.get(b"99", |_| ()).unwrap().is_some());
}

/// As many as a batch without writes, and more than there may be.
#[test]
fn every_batch_comes_through_the_narrowest_buffer() {
    let folder = tempfile::tempdir().unwrap();
    for (way, log) in ways() {
        for entries in 0..3 {
            let path = folder.path().join(format!("{way}{entries}.klm"));
            let store = open_with(&path, Durability::Buffered { entries, interval: Duration::MAX }, log);
            for number in 0..5_u64 {
                store.commit(Batch::new().require_absent("never")).unwrap();
                let batch = (0..number).fold(Batch::new(), |batch, key| batch.put(key.to_be_bytes(), "1"));
                store.commit(batch).unwrap();
            }
            assert_eq!(store.sequence().unwrap().0, 10, "{way}, {entries}");
        }
    }
}

#[test]
fn a_file_can_be_opened_while_it_is_being_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    for number in 0..100_u64 {
        let store = buffered(&path);
        assert_eq!(store.sequence().unwrap().0, number);
        store.commit(Batch::new().put("a", number.to_string())).unwrap();
        let closing = std::thread::spawn(|| drop(store));
        drop(buffered(&path));
        closing.join().unwrap();
    }
}

#[test]
fn written_is_refused_where_there_is_no_log() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Written, log: None, ..Options::default() };
    let error = LmdbStore::open_with(folder.path().join("test.klm"), options).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }));
    assert_eq!(
        error.to_string(),
        "lmdb cannot promise `written` without a log: open it with one, or `synced`, or `buffered`"
    );
    assert!(!folder.path().join("test.klm").exists());
}
