//! What is read without LMDB beside what LMDB reads.

use std::marker::PhantomData;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use keyloom_key::Span;
use keyloom_store::{Batch, Blocking, Direction, Limits};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Map, PAGE, Page, Root, Row, Tree};
use crate::config::Options;
use crate::engine::{Engine, Reading};
use crate::store::LmdbStore;

fn open(folder: &tempfile::TempDir) -> Blocking<LmdbStore> {
    let options = Options { log: None, ..Options::default() };
    Blocking::new(LmdbStore::open_with(folder.path().join("pages.klm"), options).unwrap())
}

/// What LMDB itself gives, from one bound to another.
fn by_lmdb<'t>(
    store: &'t LmdbStore,
    reading: &'t Reading,
    from: Bound<&[u8]>,
    until: Bound<&[u8]>,
    direction: Direction,
) -> Vec<Row<'t>> {
    let (data, txn) = (store.engine().data, &reading.txn);
    match direction {
        Direction::Forward => data.range(txn, &(from, until)).unwrap().map(Result::unwrap).collect(),
        Direction::Backward => data.rev_range(txn, &(until, from)).unwrap().map(Result::unwrap).collect(),
    }
}

/// Reads a store both ways, from every bound that these keys make, to some of them.
fn compare(store: &LmdbStore, keys: &[Vec<u8>]) {
    let engine = store.engine();
    let reading = engine.read().unwrap();
    let tree = engine.tree(&reading).unwrap();
    for direction in [Direction::Forward, Direction::Backward] {
        let bounds = keys.iter().flat_map(|key| [Bound::Included(&key[..]), Bound::Excluded(&key[..])]);
        let bounds: Vec<_> = std::iter::once(Bound::Unbounded).chain(bounds).collect();
        for (number, from) in bounds.iter().enumerate() {
            for until in bounds.iter().step_by(5 + number % 3) {
                let rows = tree.rows(*from, *until, direction).unwrap();
                let rows: Vec<Row<'_>> = rows.map(Result::unwrap).collect();
                let expected = by_lmdb(store, &reading, *from, *until, direction);
                assert_eq!(rows, expected, "{direction:?} from {from:?} to {until:?}");
            }
        }
    }
    for key in keys {
        let value = engine.data.get(&reading.txn, key).unwrap();
        assert_eq!(tree.get(key).unwrap(), value);
        assert_eq!(tree.get_meanwhile(key, || 7).unwrap(), (7, value));
    }
    let mut found = vec![None; keys.len()];
    let look = |number: usize, value| {
        found[number] = value;
        Ok(())
    };
    tree.get_many(keys, look).unwrap();
    let asked: Vec<_> = keys.iter().map(|key| tree.get(key).unwrap()).collect();
    assert_eq!(found, asked);
}

/// What is put: a short key, whether it goes again, how long its value is.
type Put = (Vec<u8>, bool, usize);

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Trees of several levels, with values on pages of their own, and holes where rows were.
    #[test]
    fn rows_are_those_that_lmdb_gives(
        rows in vec((vec(0_u8..4, 1..7), any::<bool>(), 0_usize..3), 0..400),
        mut asked in vec(vec(0_u8..4, 1..8), 0..12),
        long in 1_usize..1_500,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder);
        // Long keys make many levels of few rows.
        let key = |(key, goes, _): &Put| [key.as_slice(), &vec![7; if *goes { 0 } else { long }]].concat();
        asked.extend(rows.iter().step_by(23).map(key));
        for rows in rows.chunks(97) {
            let put = |batch: Batch, row: &Put| batch.put(key(row), vec![1; [3, 700, 9_000][row.2]]);
            store.commit(rows.iter().fold(Batch::new(), put)).unwrap();
            let going = rows.iter().filter(|(_, goes, _)| *goes);
            store.commit(going.fold(Batch::new(), |batch, row| batch.delete(key(row)))).unwrap();
            compare(store.inner(), &asked);
        }
    }
}

#[test]
fn a_branch_leads_to_pages_beyond_32_bits() {
    let mut bytes = [0; PAGE];
    bytes[100..106].copy_from_slice(&[1, 2, 3, 4, 5, 6]);
    let page = Page { bytes: &bytes, places: &[[100, 0]], is_leaf: false };
    assert_eq!(page.child(0).unwrap(), 0x0605_0403_0201);
}

#[test]
fn a_page_that_says_it_is_another_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = filled(&folder);
    let (engine, path) = (store.inner().engine(), folder.path().join("pages.klm"));
    let reading = engine.read().unwrap();
    let (_, row) = engine.data.first(&reading.txn).unwrap().unwrap();
    assert!(Map::around(row, 4096, &path).is_some());
    assert!(Map::around(row, 16_384, &path).is_none());
    let elsewhere = vec![0; 3 * PAGE];
    assert!(Map::around(&elsewhere[PAGE..PAGE + 8], 4096, &path).is_none());
}

#[test]
fn an_empty_tree_has_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    compare(open(&folder).inner(), &[b"a".to_vec()]);
}

/// Everything that an engine answers of some rows.
fn answers(engine: &Engine, keys: &[Vec<u8>]) -> Vec<String> {
    let reading = engine.read().unwrap();
    let mut said = Vec::new();
    for key in keys {
        said.push(format!("{:?}", engine.get(&reading, key, <[u8]>::to_vec).unwrap()));
    }
    engine.get_many(&reading, keys, |number, value| said.push(format!("{number} {value:?}"))).unwrap();
    for direction in [Direction::Forward, Direction::Backward] {
        for key in keys {
            let span = Span { start: key.clone(), end: keys.last().cloned() };
            let look = |key: &[u8], value: &[u8]| {
                said.push(format!("{key:?} {value:?}"));
                ControlFlow::Continue(())
            };
            let page =
                engine.page(&reading, std::iter::empty(), &span, direction, Limits::rows(20), look).unwrap();
            said.push(format!("{page:?}"));
        }
    }
    said
}

fn filled(folder: &tempfile::TempDir) -> (Blocking<LmdbStore>, Vec<Vec<u8>>) {
    let store = open(folder);
    let keys: Vec<Vec<u8>> = (0..600_u32).map(|key| key.to_be_bytes().to_vec()).collect();
    let large = |key: &[u8]| vec![3; if key.ends_with(&[0]) { 10_000 } else { 50 }];
    let put = |batch: Batch, key: &Vec<u8>| batch.put(key.clone(), large(key));
    store.commit(keys.iter().step_by(2).fold(Batch::new(), put)).unwrap();
    (store, keys)
}

#[test]
fn where_pages_cannot_be_read_lmdb_answers_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (store, keys) = filled(&folder);
    let ours = store.inner().engine();
    let mut theirs = ours.clone();
    (theirs.map, theirs.parked) = (None, Arc::default());
    assert!(ours.map.is_some(), "nothing was compared");
    assert_eq!(answers(ours, &keys), answers(&theirs, &keys));
}

proptest! {
    /// Whatever stands in the pages, what is read of them lies within them.
    #[test]
    fn damaged_pages_are_an_error_or_other_rows(
        flips in vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..200),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (store, keys) = filled(&folder);
        let reading = store.inner().engine().read().unwrap();
        let root = reading.root.unwrap();
        let mut file = std::fs::read(folder.path().join("pages.klm")).unwrap();
        for (at, byte, head) in flips {
            // Heads and places are what damage shows in.
            let at = if head { at.index(file.len() / PAGE) * PAGE + usize::from(byte) % 64 } else { at.index(file.len()) };
            file[at] ^= byte;
        }
        let pages = u64::try_from(file.len() / PAGE).unwrap();
        let map = Map { base: file.as_ptr().expose_provenance() };
        let tree = Tree { map, root: Root { pages, ..root }, kept: PhantomData };
        for direction in [Direction::Forward, Direction::Backward] {
            if let Ok(rows) = tree.rows(Bound::Unbounded, Bound::Unbounded, direction) {
                rows.take(10_000).for_each(|row| drop(row.map(|(key, value)| (key.to_vec(), value.to_vec()))));
            }
        }
        for key in &keys {
            let _ = tree.get(key).map(|value| value.map(<[u8]>::to_vec));
            let _ = tree.get_meanwhile(key, || ()).map(|(_, value)| value.map(<[u8]>::to_vec));
        }
        let _ = tree.get_many(&keys, |_, _| Ok(()));
    }
}
