//! Copies of a whole file: taken while others write, restored, compacted; killed in the middle.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use keyloom_lmdb::{LmdbStore, Options};
use keyloom_store::{Batch, Blocking, Durability, Error, Wait};
use keyloom_testkit::child::{self, Process};

fn open(path: &Path) -> Blocking<LmdbStore> {
    Blocking::new(LmdbStore::open(path).unwrap())
}

fn number(store: &Blocking<LmdbStore>, key: &str) -> u64 {
    store
        .get(key.as_bytes(), |value| String::from_utf8(value.to_vec()).unwrap())
        .unwrap()
        .unwrap()
        .parse()
        .unwrap()
}

/// The number that three keys have, which are written as one.
fn whole(path: &Path) -> u64 {
    let store = open(path);
    let found = ["a", "b", "c"].map(|key| number(&store, key));
    assert!(found.iter().all(|number| number == &found[0]), "a half: {found:?}");
    found[0]
}

fn count_to(store: &Blocking<LmdbStore>, number: u64) {
    let batch =
        ["a", "b", "c"].into_iter().fold(Batch::new(), |batch, key| batch.put(key, number.to_string()));
    store.commit(batch).unwrap();
}

/// A file of some megabytes, most of which is room that deleted records have left.
fn fill(path: &Path) {
    let store = open(path);
    let key = |number: u64| format!("{number:06}");
    store.commit((0..20_000).fold(Batch::new(), |batch, next| batch.put(key(next), [7; 100]))).unwrap();
    store.commit((100..20_000).fold(Batch::new(), |batch, next| batch.delete(key(next)))).unwrap();
    count_to(&store, 1);
}

fn check(path: &Path) -> Result<(), Error> {
    let store = open(path);
    for number in 0..100 {
        assert!(store.get(format!("{number:06}").as_bytes(), |value| value == [7; 100]).unwrap().unwrap());
    }
    Ok(())
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Not a test of its own: the other processes of those below.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    let backup = path.with_added_extension("backup");
    match task.as_str() {
        "write" => {
            let store = open(&path);
            for next in 2.. {
                count_to(&store, next);
                child::say("did", next);
            }
        }
        "copy" => {
            let store = LmdbStore::open(&path).unwrap();
            for next in 1.. {
                match store.copy_to(&backup, true).wait() {
                    Ok(_) | Err(Error::Busy(_)) => child::say("did", next),
                    Err(error) => panic!("{error}"),
                }
            }
        }
        "compact" => {
            for next in 1.. {
                LmdbStore::compact(&path).unwrap();
                child::say("did", next);
            }
        }
        "restore" => {
            for next in 1.. {
                LmdbStore::restore(&backup, &path, true, |_| Ok::<(), Error>(())).unwrap();
                child::say("did", next);
            }
        }
        // Has the file open for as long as it is let.
        "open" => {
            let _store = open(&path);
            child::say("did", 0);
            std::thread::sleep(Duration::from_secs(60));
        }
        // Keeps what one has that replaces the file.
        _ => {
            let lock = File::options().create(true).append(true).open(path.with_added_extension("open"));
            lock.as_ref().unwrap().lock().unwrap();
            child::say("did", 0);
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}

fn did(child: &mut Process) -> impl Iterator<Item = u64> + use<> {
    child.said().filter(|(word, _)| word == "did").map(|(_, number)| number)
}

#[test]
fn a_copy_is_one_state_while_another_process_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    fill(&path);
    let store = LmdbStore::open(&path).unwrap();
    let mut writer = child::start("write", &path);
    let mut numbers = did(&mut writer);
    for round in 0..20 {
        let said = numbers.next().unwrap();
        let copy = folder.path().join(format!("copy-{round}"));
        let length = store.copy_to(&copy, false).wait().unwrap();
        assert_eq!(fs::metadata(&copy).unwrap().len(), length);
        assert!(length < 100_000, "{length} bytes: room that deleted records have left is copied too");
        assert!(whole(&copy) >= said);
        check(&copy).unwrap();
    }
}

#[test]
fn a_copy_has_what_is_buffered() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("test.klm"), folder.path().join("copy"));
    let durability = Durability::Buffered { entries: 1_000_000, interval: Duration::from_secs(3_600) };
    let store = LmdbStore::open_with(&path, Options { durability, ..Options::default() }).unwrap();
    count_to(&Blocking::new(store.clone()), 7);
    store.copy_to(&copy, false).wait().unwrap();
    assert_eq!(whole(&copy), 7);
}

#[test]
fn a_copy_replaces_a_file_only_if_told_and_never_one_that_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("test.klm"), folder.path().join("copy"));
    fill(&path);
    let store = LmdbStore::open(&path).unwrap();
    fs::write(&copy, "a letter").unwrap();
    assert!(matches!(store.copy_to(&copy, false).wait(), Err(Error::Refused(_))));
    assert_eq!(fs::read_to_string(&copy).unwrap(), "a letter");
    store.copy_to(&copy, true).wait().unwrap();
    assert_eq!(whole(&copy), 1);
    assert!(matches!(store.copy_to(&path, true).wait(), Err(Error::Refused(_))), "onto itself");
    let mut other = child::start("open", &copy);
    did(&mut other).next().unwrap();
    assert!(matches!(store.copy_to(&copy, true).wait(), Err(Error::Busy(_))));
    assert!(!names(folder.path()).iter().any(|name| name.ends_with(".part")), "{:?}", names(folder.path()));
}

#[test]
fn compacting_gives_back_room_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    fill(&path);
    let (sequence, before) = (open(&path).sequence().unwrap(), names(folder.path()));
    #[cfg(unix)]
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let rights = fs::metadata(&path).unwrap().permissions();
    let compacted = LmdbStore::compact(&path).unwrap();
    assert!(compacted.before > 2_000_000 && compacted.after < 100_000, "{compacted:?}");
    assert_eq!(fs::metadata(&path).unwrap().len(), compacted.after);
    assert_eq!(fs::metadata(&path).unwrap().permissions(), rights);
    assert_eq!(names(folder.path()), before);
    check(&path).unwrap();
    let store = open(&path);
    assert_eq!(store.sequence().unwrap(), sequence);
    count_to(&store, 2);
    drop(store);
    assert_eq!(whole(&path), 2);
}

/// Who has the old file open would go on writing to a file that has no name any more.
#[test]
fn a_file_that_is_open_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let copy = path.with_added_extension("backup");
    fill(&path);
    let mine = LmdbStore::open(&path).unwrap();
    mine.copy_to(&copy, false).wait().unwrap();
    let is_busy = |when: &str| {
        match LmdbStore::compact(&path) {
            Err(Error::Busy(reason)) => assert!(reason.contains("is open elsewhere"), "{when}: {reason}"),
            other => panic!("{when}: {other:?}"),
        }
        let restored = LmdbStore::restore(&copy, &path, true, |_| Ok::<(), Error>(()));
        assert!(matches!(restored, Err(Error::Busy(_))), "{when}: {restored:?}");
    };
    is_busy("open here");
    let mut other = child::start("open", &path);
    did(&mut other).next().unwrap();
    drop(mine);
    is_busy("open in another process");
    drop(other);
    LmdbStore::compact(&path).unwrap();
    check(&path).unwrap();
}

#[test]
fn who_opens_a_file_that_is_being_replaced_waits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    fill(&path);
    let mut other = child::start("hold", &path);
    did(&mut other).next().unwrap();
    let options = |timeout| Options { busy_timeout: timeout, ..Options::default() };
    match LmdbStore::open_with(&path, options(Duration::from_millis(50))) {
        Err(Error::Busy(reason)) => assert!(reason.contains("compacted or restored"), "{reason}"),
        other => panic!("{other:?}"),
    }
    let ended = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        drop(other);
    });
    LmdbStore::open_with(&path, options(Duration::from_secs(60))).unwrap();
    ended.join().unwrap();
}

#[test]
fn a_copy_is_restored_as_one_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy, new) =
        (folder.path().join("test.klm"), folder.path().join("copy"), folder.path().join("new.klm"));
    fill(&path);
    LmdbStore::open(&path).unwrap().copy_to(&copy, false).wait().unwrap();
    count_to(&open(&path), 2);
    let before = names(folder.path());

    let refused = LmdbStore::restore(&copy, &new, false, |_| Err(Error::Damaged("not to be liked".into())));
    assert!(matches!(refused, Err(Error::Damaged(_))));
    assert!(!new.exists());
    let there = LmdbStore::restore(&copy, &path, false, |_| Ok::<(), Error>(()));
    assert!(matches!(there, Err(Error::Refused(_))), "{there:?}");
    assert_eq!(whole(&path), 2);
    let live = LmdbStore::open(&path).unwrap();
    let source = LmdbStore::restore(&path, &new, false, |_| Ok::<(), Error>(()));
    assert!(matches!(source, Err(Error::Busy(_))), "what is being written to is no backup: {source:?}");
    drop(live);
    fs::write(folder.path().join("letter"), "This is a letter.".repeat(1_000)).unwrap();
    let other = LmdbStore::restore(folder.path().join("letter"), &path, true, |_| Ok::<(), Error>(()));
    assert!(matches!(other, Err(Error::Damaged(_))), "{other:?}");
    assert_eq!(whole(&path), 2);

    LmdbStore::restore(&copy, &path, true, |store| {
        assert_eq!(number(&Blocking::new(store.clone()), "a"), 1);
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(whole(&path), 1);
    fs::remove_file(folder.path().join("letter")).unwrap();
    fs::remove_file(new.with_added_extension("open")).unwrap();
    assert_eq!(names(folder.path()), before);
}

/// Killed wherever it was, it leaves the file and every copy whole, and the next one goes on.
#[test]
fn killed_in_the_middle_all_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let copy = path.with_added_extension("backup");
    fill(&path);
    LmdbStore::open(&path).unwrap().copy_to(&copy, false).wait().unwrap();
    for round in 0..30_u64 {
        let task = ["copy", "compact", "restore"][usize::try_from(round % 3).unwrap()];
        let mut child = child::start(task, &path);
        let mut said = did(&mut child);
        said.next().unwrap();
        std::thread::sleep(Duration::from_micros(1 + round * 1_700 % 9_000));
        drop(child);
        for file in [&path, &copy] {
            assert_eq!(whole(file), 1, "{task}");
            check(file).unwrap();
        }
    }
    LmdbStore::compact(&path).unwrap();
    LmdbStore::open(&path).unwrap().copy_to(&copy, true).wait().unwrap();
    let left: Vec<_> = names(folder.path()).into_iter().filter(|name| name.contains(".part")).collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn two_that_write_one_copy_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let copy = path.with_added_extension("backup");
    fill(&path);
    let store = LmdbStore::open(&path).unwrap();
    let mut other = child::start("copy", &path);
    let mut said = did(&mut other);
    said.next().unwrap();
    let mut copied = 0;
    for _ in 0..200 {
        match store.copy_to(&copy, true).wait() {
            Ok(_) => copied += 1,
            Err(Error::Busy(_)) => {}
            other => panic!("{other:?}"),
        }
        let seen = folder.path().join("seen");
        fs::copy(&copy, &seen).unwrap();
        assert_eq!(whole(&seen), 1);
    }
    drop(other);
    assert!(copied > 0 && said.count() > 0, "one of them never had its turn");
}
