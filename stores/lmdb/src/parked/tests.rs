//! What the behaviour suite cannot see: when transactions are used again, and that they are let go.

use std::thread;

use keyloom_store::{Batch, Blocking, Read as _, Wait as _};

use super::*;
use crate::config::Options;
use crate::store::LmdbStore;
use crate::transaction::Transaction;

fn open(folder: &tempfile::TempDir, options: Options) -> Blocking<LmdbStore> {
    Blocking::new(LmdbStore::open_with(folder.path().join("test.klm"), options).unwrap())
}

fn parked(store: &Blocking<LmdbStore>) -> usize {
    let places = &store.inner().engine().parked.places;
    places.iter().filter(|Place(place)| place.lock().unwrap().is_some()).count()
}

fn read(store: &Blocking<LmdbStore>) -> Option<Vec<u8>> {
    store.inner().get(b"a", <[u8]>::to_vec).wait().unwrap()
}

#[test]
fn a_parked_transaction_is_used_again_until_something_is_committed() {
    for log in [None, Options::default().log] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder, Options { log, ..Options::default() });
        let engine = store.inner().engine();
        store.commit(Batch::new().put("a", "0")).unwrap();
        let first = engine.read().unwrap();
        let id = first.txn.id();
        engine.parked.put(first);
        let again = engine.read().unwrap();
        assert_eq!(again.txn.id(), id);
        let last = engine.sequence(&again.txn).unwrap();
        engine.parked.put(again);
        // As another process would.
        Transaction::begin(engine).unwrap().commit(last, None).unwrap();
        assert!(engine.read().unwrap().txn.id() > id);
        for round in 1..50_u32 {
            // Parked here, while another thread commits.
            let value = round.to_string();
            read(&store);
            thread::scope(|scope| {
                scope.spawn(|| store.commit(Batch::new().put("a", &value)).unwrap());
            });
            assert_eq!(read(&store), Some(value.into_bytes()));
        }
    }
}

#[test]
fn what_is_parked_is_let_go_though_nobody_asks_for_anything() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, Options::default());
    let engine = store.inner().engine();
    for _ in 0..3 {
        // As another process would: the sequence has to be looked up.
        Transaction::begin(engine).unwrap().commit(store.sequence().unwrap(), None).unwrap();
        store.sequence().unwrap();
        read(&store);
        drop(store.snapshot().unwrap());
        while parked(&store) > 0 {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// While a transaction is open, LMDB uses no page again that was in its state: the file would grow with every commit.
#[test]
fn what_an_idle_thread_has_parked_does_not_make_the_file_grow() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, Options { log: None, ..Options::default() });
    let rows = |round: u8| {
        (0..200_u32).fold(Batch::new(), |batch, row| batch.put(row.to_be_bytes(), vec![round; 200]))
    };
    let pages = || store.inner().engine().env.info().last_page_number;
    let mut lengths = Vec::new();
    store.commit(rows(0)).unwrap();
    read(&store);
    for round in 1..40 {
        store.commit(rows(round)).unwrap();
        lengths.push(pages());
    }
    assert_eq!(lengths.last(), lengths.get(10), "{lengths:?}");
}

#[test]
fn what_is_parked_makes_room_for_those_who_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, Options { readers: 2, ..Options::default() });
    store.commit(Batch::new().put("a", "1")).unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            // One after the other: each leaves its transaction parked.
            assert_eq!(scope.spawn(|| read(&store)).join().unwrap(), Some(b"1".to_vec()));
        }
    });
}
