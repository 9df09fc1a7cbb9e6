//! What cannot be seen from outside: how many transactions there are.

use keyloom_store::{Batch, Blocking, Durability};

use crate::config::Options;
use crate::store::LmdbStore;

/// How many transactions 16 threads need for 20 commits each.
fn transactions(durability: Durability) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { durability, ..Options::default() };
    let store = Blocking::new(LmdbStore::open_with(folder.path().join("test.klm"), options).unwrap());
    let last = || store.inner().engine().env.info().last_txn_id;
    let before = last();
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..20 {
                    store.commit(Batch::new().put(format!("{thread}/{number}"), "1")).unwrap();
                }
            });
        }
    });
    store.flush().unwrap();
    assert_eq!(store.sequence().unwrap().0, 320);
    last() - before
}

#[test]
fn commits_share_syncs() {
    for durability in [Durability::Synced, Durability::buffered()] {
        let transactions = transactions(durability);
        assert!(
            (1..240).contains(&transactions),
            "{durability:?}: {transactions} transactions for 320 commits"
        );
    }
}

#[test]
fn a_conflict_needs_no_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let store = Blocking::new(LmdbStore::open(folder.path().join("test.klm")).unwrap());
    let before = store.inner().engine().env.info().last_txn_id;
    assert!(store.commit(Batch::new().put("a", "1").require_value("a", "1")).is_err());
    assert_eq!(store.inner().engine().env.info().last_txn_id, before);
}
