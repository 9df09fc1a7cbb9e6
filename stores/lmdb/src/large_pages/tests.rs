use keyloom_store::{Batch, Blocking};

use super::{LARGE, LARGE_PAGE, LargePages};
use crate::{LmdbStore, early};

#[test]
#[cfg(target_os = "linux")]
fn only_a_large_transaction_of_a_file_that_is_there_has_a_hole_which_is_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.klm");
    assert!(LargePages::prepare(&path, LARGE).is_none(), "there is no file");
    std::fs::write(&path, [7; 5_000]).unwrap();
    assert!(LargePages::prepare(&path, LARGE - 1).is_none());
    let large = LargePages::prepare(&path, LARGE).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(u64::try_from(bytes.len()).unwrap(), 3 * LARGE_PAGE);
    let (file, hole) = bytes.split_at(5_000);
    assert!(file.iter().all(|byte| *byte == 7) && hole.iter().all(|byte| *byte == 0));
    large.trim(5_000);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), LARGE_PAGE);
}

#[test]
fn a_large_commit_is_all_there_and_leaves_a_small_hole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.klm");
    let key = |round: u32, number: u32| [round.to_be_bytes(), number.to_be_bytes()].concat();
    let value = |number: u32| number.to_be_bytes().repeat(100);
    let length = || std::fs::metadata(&path).unwrap().len();
    let mut before = 0;
    for round in 0..3 {
        let store = Blocking::new(LmdbStore::open(&path).unwrap());
        let rows =
            (0..20_000).fold(Batch::new(), |batch, number| batch.put(key(round, number), value(number)));
        assert!(rows.size() > LARGE);
        store.commit(rows).unwrap();
        // Nothing else has written.
        assert_eq!(length(), store.inner().engine().length().next_multiple_of(LARGE_PAGE));
        assert!(length() > before + u64::try_from(LARGE).unwrap());
        before = length();
    }
    let store = Blocking::new(LmdbStore::open(&path).unwrap());
    for (round, number) in (0..3).flat_map(|round| (0..20_000).map(move |number| (round, number))) {
        assert_eq!(store.get(&key(round, number), <[u8]>::to_vec).unwrap(), Some(value(number)));
    }
}

/// So large a place is asked for by a thread, which ends with the transaction, however far it has come.
#[test]
#[cfg(target_os = "linux")]
fn a_place_that_is_asked_for_beside_the_transaction_is_zeros_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("larger.klm");
    std::fs::write(&path, [7; 5_000]).unwrap();
    let large = LargePages::prepare(&path, early::LARGE).unwrap();
    assert!(large.asking.is_some());
    large.trim(5_000);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), LARGE_PAGE);
    let bytes = std::fs::read(&path).unwrap();
    let (file, hole) = bytes.split_at(5_000);
    assert!(file.iter().all(|byte| *byte == 7) && hole.iter().all(|byte| *byte == 0));
}

/// A hole stays when the process is killed, or when nobody knows whether the transaction was committed.
#[test]
fn a_hole_that_was_left_harms_nobody_and_goes_with_the_next_large_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("left.klm");
    let store = Blocking::new(LmdbStore::open(&path).unwrap());
    store.commit(Batch::new().put("a", "1")).unwrap();
    drop(LargePages::prepare(&path, LARGE));
    store.commit(Batch::new().put("b", "2")).unwrap();
    drop(store);
    let store = Blocking::new(LmdbStore::open(&path).unwrap());
    for (key, value) in [(b"a", b"1"), (b"b", b"2")] {
        assert_eq!(store.get(key, <[u8]>::to_vec).unwrap().as_deref(), Some(value.as_slice()));
    }
    store.commit(Batch::new().put("c", vec![0; LARGE])).unwrap();
    let length = store.inner().engine().length().next_multiple_of(LARGE_PAGE);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), length);
}
