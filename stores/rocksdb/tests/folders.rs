//! Folders: what survives, what is refused, what other processes see, and how stripes lie.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_rocksdb::{Options, RocksStore, Stripes};
use keyloom_store::{Batch, Blocking, Direction, Durability, Error, Limits, Wait};
use keyloom_testkit::child;

fn open(path: &Path, options: Options) -> Blocking<RocksStore> {
    Blocking::new(RocksStore::open_with(path, options).unwrap())
}

fn with(durability: Durability) -> Options {
    Options { durability, busy_timeout: Duration::from_millis(100), ..Options::default() }
}

/// The commit of this number: a key of its own, and one that all change.
fn batch(number: u64) -> Batch {
    Batch::new().put(format!("{number:06}"), number.to_string()).put("last", number.to_string())
}

/// The folder has some number of commits, each of them whole; returns the number.
fn whole(store: &Blocking<RocksStore>) -> u64 {
    let has = |key: &str| store.get(key.as_bytes(), <[u8]>::to_vec).unwrap();
    let last = has("last").map_or(0, |last| String::from_utf8(last).unwrap().parse().unwrap());
    for number in 1..=last {
        assert!(has(&format!("{number:06}")).is_some(), "{number} of {last} is lost");
    }
    assert_eq!(has(&format!("{:06}", last + 1)), None);
    last
}

const WIDE: Durability = Durability::Buffered { entries: 40, interval: Duration::from_secs(3_600) };

/// Not a test of its own: the process that is killed, or that has the folder.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    let durability = match task.as_str() {
        "buffered" => WIDE,
        "written" => Durability::Written,
        _ => Durability::Synced,
    };
    let store = open(&path, with(durability));
    if task == "holds" {
        child::say("open", 1);
        child::wait_to_be_told();
        return;
    }
    for number in whole(&store) + 1.. {
        store.commit(batch(number)).unwrap();
        child::say("committed", number);
    }
}

#[test]
fn a_killed_process_loses_no_more_than_it_may() {
    for (task, may_lose) in [("synced", 0), ("written", 0), ("buffered", 20)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test");
        for round in 0..4 {
            let mut writer = child::start(task, &path);
            let mut said = writer.said().map(|(_, number)| number);
            // More than may be lost.
            let first = said.nth(30).unwrap();
            std::thread::sleep(Duration::from_micros(1 + round * 3_700));
            drop(writer);
            let acknowledged = said.last().unwrap_or(first);
            let found = whole(&open(&path, with(Durability::Synced)));
            assert!(found + may_lose >= acknowledged, "{task}: {acknowledged} said, {found} found");
        }
    }
}

#[test]
fn a_second_process_is_told_who_is_in_its_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test");
    let mut other = child::start("holds", &path);
    let mut said = other.said();
    assert!(said.any(|(word, _)| word == "open"));
    let refused = RocksStore::open_with(&path, with(Durability::Synced)).unwrap_err();
    assert!(matches!(refused, Error::Busy(_)), "{refused}");
    assert!(refused.to_string().contains("another process has it open"), "{refused}");
    other.tell();
    assert!(other.succeeds());
    assert_eq!(whole(&open(&path, with(Durability::Synced))), 0);
}

/// A power failure may leave zeros where the system had not written the log yet, and what came later behind them. RocksDB
/// reads on behind zeros: a commit was there without those that it stands on.
#[test]
fn a_log_with_a_hole_ends_there() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("test"), folder.path().join("copy"));
    let store = open(&path, with(Durability::Written));
    let log = fs::read_dir(&path).unwrap().map(|file| file.unwrap().path());
    let log = log.filter(|file| file.extension().is_some_and(|end| end == "log")).max().unwrap();
    let length = || fs::read(&log).unwrap().len();
    let commit = |number, long: usize| store.commit(batch(number).put("long", vec![7; long])).unwrap();
    let before = length();
    commit(1, 10_000);
    let more = length() - before - 10_000;
    // Every third commit ends with a block, so that the next block begins with a record.
    for number in 2..=8 {
        commit(number, if number % 3 == 0 { 32_768 - length() % 32_768 - more } else { 10_000 });
    }
    fs::create_dir(&copy).unwrap();
    for file in fs::read_dir(&path).unwrap().map(|file| file.unwrap().path()) {
        let mut bytes = fs::read(&file).unwrap();
        if file == log {
            bytes.get_mut(32_768..65_536).unwrap().fill(0);
        }
        fs::write(copy.join(file.file_name().unwrap()), bytes).unwrap();
    }
    let copied = open(&copy, with(Durability::Written));
    assert_eq!(whole(&copied), 3);
    copied.commit(batch(4)).unwrap();
    drop(copied);
    assert_eq!(whole(&open(&copy, with(Durability::Synced))), 4, "it goes on");
}

/// A family is made when it is first written to, and one that was first written to by files was not: they became part of
/// the tree that all share, where nobody looks for its keys. The commit had succeeded, and its rows were never seen again.
#[test]
fn a_large_batch_makes_the_family_that_it_is_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test");
    let options = Options { stripes: Stripes::Families(4), ingest: 1, ..with(Durability::Written) };
    let keys: Vec<[u8; 3]> = (0..4).flat_map(|stripe| [[b't', stripe, 1], [b't', stripe, 2]]).collect();
    let store = open(&path, options);
    store.stripe(b"t", 4).unwrap();
    for pair in keys.chunks(2) {
        let batch = pair.iter().fold(Batch::new(), |batch, key| batch.put(key, key));
        store.commit(batch).unwrap();
    }
    drop(store);
    let store = open(&path, options);
    let mut found = Vec::new();
    store.get_many(&keys, |_, value| found.push(value.map(<[u8]>::to_vec))).unwrap();
    assert_eq!(found, keys.iter().map(|key| Some(key.to_vec())).collect::<Vec<_>>());
    for key in &keys {
        assert_eq!(store.get(key, <[u8]>::to_vec).unwrap().as_deref(), Some(key.as_slice()));
    }
}

/// RocksDB writes down with what it was opened.
#[test]
fn rocksdb_is_opened_with_what_is_promised() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test");
    let options = Options { buffer: 7 << 20, tree_buffer: 3 << 20, log: 5 << 20, ..Options::default() };
    let store = open(&path, Options { stripes: Stripes::Families(2), ..options });
    store.stripe(b"t", 2).unwrap();
    store.commit(Batch::new().put("t\x01", "")).unwrap();
    let written = fs::read_dir(&path).unwrap().map(|file| file.unwrap().path());
    let written = written.filter(|file| file.file_name().unwrap().to_string_lossy().starts_with("OPTIONS"));
    let written = fs::read_to_string(written.max().unwrap()).unwrap();
    let has = |of: &str, line: &str| {
        let (_, part) = written.split_once(&format!("[{of}]\n")).unwrap_or_else(|| panic!("no {of}"));
        let part = part.split("\n[").next().unwrap_or_default();
        assert!(part.lines().any(|other| other.trim() == line), "{of}: {line}");
    };
    has("DBOptions", "db_write_buffer_size=7340032");
    has("DBOptions", "max_total_wal_size=5242880");
    // A family that was made later is as the first.
    for tree in ["default", "stripe-001"] {
        let family = format!("CFOptions \"{tree}\"");
        has(&family, "write_buffer_size=3145728");
        has(&family, "compression=kLZ4Compression");
        has(&family, "bottommost_compression=kZSTD");
        has(&format!("TableOptions/BlockBasedTable \"{tree}\""), "filter_policy=bloomfilter");
    }
}

#[test]
fn sequences_grow_when_a_folder_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test");
    let mut last = None;
    for number in 1..4 {
        let store = open(&path, with(WIDE));
        assert_eq!(whole(&store), number - 1);
        let before = store.sequence().unwrap();
        assert!(last.is_none_or(|last| before == last), "{before:?} is not {last:?}");
        last = Some(store.commit(batch(number)).unwrap());
        assert!(last > Some(before));
        let other = open(&path, Options::default());
        assert_eq!(whole(&other), number, "who opens it again in this process shares it");
    }
}

#[test]
fn a_folder_that_is_not_ours_is_refused_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("letter.txt"), "dear").unwrap();
    let refused = RocksStore::open(&path).unwrap_err();
    assert!(matches!(&refused, Error::Damaged(said) if said.contains("letter.txt")), "{refused}");
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);

    let other = folder.path().join("other");
    drop(rocksdb::DB::open_default(&other).unwrap());
    let refused = RocksStore::open(&other).unwrap_err();
    assert!(matches!(refused, Error::Damaged(_)), "{refused}");
}

#[test]
fn a_block_that_is_not_what_was_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test");
    // As a file, not compressed away: random enough.
    let options = Options { ingest: 1, ..Options::default() };
    let store = open(&path, options);
    let value: Vec<u8> =
        (0..20_000_u32).flat_map(|number| (number.wrapping_mul(2_654_435_761) >> 7).to_be_bytes()).collect();
    store.commit(Batch::new().put("a", value)).unwrap();
    drop(store);
    let files = fs::read_dir(&path).unwrap().map(|file| file.unwrap().path());
    let file = files
        .filter(|file| file.extension().is_some_and(|end| end == "sst"))
        .max_by_key(|file| fs::metadata(file).unwrap().len())
        .unwrap();
    let mut bytes = fs::read(&file).unwrap();
    *bytes.get_mut(40_000).unwrap() ^= 1;
    fs::write(&file, bytes).unwrap();
    let told = open(&path, options).get(b"a", |_| ()).unwrap_err();
    assert!(matches!(told, Error::Damaged(_)), "{told}");
}

fn rows(store: &Blocking<RocksStore>, span: &Span, direction: Direction) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    let look = |key: &[u8], _: &[u8]| {
        rows.push(key.to_vec());
        ControlFlow::Continue(())
    };
    store.scan(span, direction, Limits::default(), look).unwrap();
    rows
}

#[test]
fn stripes_lie_in_families_that_are_made_when_they_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test");
    let options = Options { stripes: Stripes::Families(16), ..Options::default() };
    let families = || rocksdb::DB::list_cf(&rocksdb::Options::default(), &path).unwrap();
    let store = open(&path, options);
    store.commit(Batch::new().put("old", "")).unwrap();
    store.stripe(b"tree", 256).unwrap();
    store.stripe(b"old", 256).unwrap();
    assert_eq!(families(), ["default", "meta"]);
    // A key of the tree by its stripe.
    let key = |stripe: u8| [b"tree", [stripe].as_slice(), b"x"].concat();
    let batch =
        Batch::new().put(key(0), "").put(key(17), "").put(key(18), "").put("old\x20", "").put("z", "");
    store.commit(batch.delete(key(255))).unwrap();
    assert_eq!(families(), ["default", "meta", "stripe-000", "stripe-001"]);
    let all = [b"old".to_vec(), b"old\x20".to_vec(), key(0), key(17), key(18), b"z".to_vec()];
    // However it is opened later, a key is where it was put.
    drop(store);
    for stripes in [Stripes::Prefix, Stripes::Families(256)] {
        let store = open(&path, Options { stripes, ..options });
        let everything = Span::prefix(Vec::new());
        assert_eq!(rows(&store, &everything, Direction::Forward), all);
        let reversed: Vec<_> = all.iter().rev().cloned().collect();
        assert_eq!(rows(&store, &everything, Direction::Backward), reversed);
        assert_eq!(rows(&store, &Span::prefix(*b"tree\x11"), Direction::Forward), [key(17)]);
        assert!(store.get(&key(18), |_| ()).unwrap().is_some());
        let mut found = Vec::new();
        store.get_many(&[key(18), key(200), key(0)], |_, value| found.push(value.is_some())).unwrap();
        assert_eq!(found, [true, false, true]);
    }
}

#[test]
fn a_page_over_several_families_is_of_one_state() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { stripes: Stripes::Families(4), ..with(Durability::Written) };
    let store = open(&folder.path().join("test"), options);
    store.stripe(b"t", 4).unwrap();
    store.commit(Batch::new().put("t\0", "1").put("t\x02", "1").put("z", "1")).unwrap();
    let mut seen = Vec::new();
    // This store has no lock while it scans, so a test may write meanwhile.
    let look = |key: &[u8], value: &[u8]| {
        store.commit(Batch::new().put("t\x01", "2").put("t\x02", "2").delete("z")).unwrap();
        seen.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    store.scan(&Span::prefix(Vec::new()), Direction::Forward, Limits::default(), look).unwrap();
    let then = [b"t\0".as_slice(), b"t\x02", b"z"].map(|key| (key.to_vec(), b"1".to_vec()));
    assert_eq!(seen, then);
}

#[test]
fn a_large_batch_becomes_files_and_a_commit_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test");
    let options = Options { ingest: 1 << 20, ..Options::default() };
    let store = open(&path, options);
    store
        .commit(Batch::new().put("row/000001", "old").put("row/000002x", "goes").put("status", "0"))
        .unwrap();
    let kept = store.snapshot().unwrap();
    let large = |from: u64| {
        let rows = (from..from + 20_000).rev();
        let rows = rows.fold(Batch::new(), |batch, row| batch.put(format!("row/{row:06}"), [7; 100]));
        rows.put("status", "1").put("status", from.to_string()).delete("row/000002x")
    };
    let last = store.sequence().unwrap();
    let loaded = store.commit(large(1).require_value("status", "0")).unwrap();
    assert!(loaded > last && store.sequence().unwrap() == loaded);
    let conflict = store.commit(large(1).require_value("status", "0")).unwrap_err();
    assert!(matches!(conflict, Error::Conflict(_)), "{conflict}");
    assert_eq!(store.sequence().unwrap(), loaded);
    assert!(store.commit(large(20_001)).unwrap() > loaded);
    // Files of batches that did not become part of it are gone.
    let files = fs::read_dir(&path).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(files.filter(|file| file.starts_with("sorted-")).count(), 0);
    assert_eq!(kept.get(b"row/000001", <[u8]>::to_vec).unwrap().as_deref(), Some(b"old".as_slice()));
    drop((kept, store));
    let store = open(&path, options);
    assert_eq!(store.get(b"row/000001", <[u8]>::len).unwrap(), Some(100));
    assert_eq!(store.get(b"row/000002x", |_| ()).unwrap(), None);
    assert_eq!(store.get(b"status", <[u8]>::to_vec).unwrap().as_deref(), Some(b"20001".as_slice()));
    let mut count = 0;
    let look = |_: &[u8], _: &[u8]| {
        count += 1;
        ControlFlow::Continue(())
    };
    let all = Limits { rows: usize::MAX, bytes: usize::MAX, time: Duration::MAX };
    store.scan(&Span::prefix(*b"row/"), Direction::Forward, all, look).unwrap();
    assert_eq!(count, 40_000);
}

#[test]
fn a_checkpoint_is_a_store_of_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("test"), folder.path().join("copy"));
    let store = open(&path, with(WIDE));
    store.commit(batch(1)).unwrap();
    store.inner().checkpoint_to(&copy).wait().unwrap();
    store.commit(batch(2)).unwrap();
    assert_eq!(whole(&open(&copy, Options::default())), 1);
    let refused = store.inner().checkpoint_to(&copy).wait().unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused}");
    assert_eq!(whole(&store), 2);
}
