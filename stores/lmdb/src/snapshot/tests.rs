//! What the behaviour suite cannot see: that the file is let go.

use keyloom_store::{Batch, Blocking, Durability};

use super::*;
use crate::config::Options;

fn open(folder: &tempfile::TempDir, durability: Durability) -> Blocking<LmdbStore> {
    let options = Options { max_snapshot_age: Duration::from_millis(300), durability, ..Options::default() };
    Blocking::new(LmdbStore::open_with(folder.path().join("test.klm"), options).unwrap())
}

fn is_held(snapshot: &Blocking<LmdbSnapshot>) -> bool {
    snapshot.inner().held.lock().is_some()
}

#[test]
fn an_old_snapshot_is_let_go_by_the_next_write_and_without_one() {
    for durability in [Durability::Synced, Durability::buffered()] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder, durability);
        for writes in [true, false] {
            let old = store.snapshot().unwrap();
            let living = |store: &Blocking<LmdbStore>| store.inner().snapshots().living().held.len();
            assert!(is_held(&old) && living(&store) == 1);
            std::thread::sleep(Duration::from_millis(301));
            if writes {
                store.commit(Batch::new().put("a", "1")).unwrap();
                store.flush().unwrap();
                assert!(!is_held(&old), "{durability:?}: held after a write");
            } else {
                while is_held(&old) {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            assert_eq!(living(&store), 0);
        }
    }
}

#[test]
fn a_snapshot_that_is_dropped_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, Durability::Synced);
    let (one, two) = (store.snapshot().unwrap(), store.snapshot().unwrap());
    drop(one);
    assert_eq!(
        store.inner().snapshots().living().held.keys().copied().collect::<Vec<_>>(),
        [two.inner().number]
    );
    drop(two);
    assert!(store.inner().snapshots().living().held.is_empty());
}
