//! What the behaviour suite cannot see: what is kept.

use super::*;
use crate::blocking::Blocking;

/// How many keys are kept, and how many versions of them.
fn kept(store: &MemoryStore) -> (usize, usize) {
    let state = store.read();
    (state.keys.len(), state.keys.values().map(|versions| versions.0.len()).sum())
}

#[test]
fn what_no_reader_can_see_is_not_kept() {
    let store = MemoryStore::new();
    let blocking = Blocking::new(store.clone());
    let commit = |batch| blocking.commit(batch).unwrap();
    for _ in 0..10 {
        commit(Batch::new().put("a", "1").put("a", "2").put("b", "1"));
        commit(Batch::new().delete("b").delete("never"));
    }
    assert_eq!(kept(&store), (1, 1));
    let snapshot = blocking.snapshot().unwrap();
    for _ in 0..10 {
        commit(Batch::new().put("b", "1"));
        commit(Batch::new().put("a", "3").put("a", "4").delete("b"));
    }
    drop(snapshot);
    assert_eq!(kept(&store), (1, 1));
    assert!(store.read().stale.is_empty());
}

#[test]
fn what_only_an_expired_snapshot_can_see_is_not_kept() {
    let store = MemoryStore::with_snapshot_age(Duration::from_millis(1));
    let blocking = Blocking::new(store.clone());
    blocking.commit(Batch::new().put("a", "1")).unwrap();
    let snapshot = blocking.snapshot().unwrap();
    std::thread::sleep(Duration::from_millis(2));
    blocking.commit(Batch::new().put("a", "2")).unwrap();
    assert_eq!(kept(&store), (1, 1));
    assert!(matches!(snapshot.get(b"a", |_| ()), Err(Error::Expired(_))));
    drop(snapshot);
    assert_eq!(kept(&store), (1, 1));
}
