use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::{Batch, Blocking, Direction, Durability, Limits, Sequence, Wait as _, sealed};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::Over;
use crate::config::{LogOptions, Options};
use crate::generation::Generation;
use crate::scan;
use crate::store::LmdbStore;

fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

#[test]
fn several_keys_are_read_from_memory_and_from_the_file_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let log = LogOptions { interval: Duration::from_secs(3_600), ..LogOptions::default() };
    let options = Options { durability: Durability::Written, log: Some(log), ..Options::default() };
    let store = Blocking::new(LmdbStore::open_with(folder.path().join("view.klm"), options).unwrap());
    let mut model = BTreeMap::new();
    let mut write = |number: u32, value: Option<u32>| {
        let batch = match value {
            Some(value) => Batch::new().put(key(number), key(value)),
            None => Batch::new().delete(key(number)),
        };
        store.commit(batch).unwrap();
        model.insert(number, value);
    };
    (0..100).for_each(|number| write(number, Some(number)));
    store.inner().drain().wait().unwrap();
    (0..120).step_by(3).for_each(|number| write(number, Some(number + 1_000)));
    (0..120).step_by(7).for_each(|number| write(number, None));
    assert!(
        store.inner().engine().newest_sequence().unwrap() < store.sequence().unwrap(),
        "all is in the file"
    );

    for stride in [1, 37, 129] {
        let asked: Vec<u32> = (0..130).map(|number| number * stride % 130).collect();
        let keys: Vec<Vec<u8>> = asked.iter().map(|number| key(*number)).collect();
        let mut found = Vec::new();
        store.get_many(&keys, |number, value| found.push((number, value.map(<[u8]>::to_vec)))).unwrap();
        let value = |number: &u32| model.get(number).copied().flatten().map(key);
        let expected: Vec<_> = asked.iter().map(value).enumerate().collect();
        assert_eq!(found, expected);
    }
}

/// A few short keys, so that all of memory and the file meet, and some of every length around a word.
fn short() -> impl Strategy<Value = Vec<u8>> {
    (vec(0..3_u8, 1..3), prop_oneof![Just(0), 6..10_usize, 14..18_usize])
        .prop_map(|(key, shared)| [vec![1; shared], key].concat())
}

type Map<V> = BTreeMap<Vec<u8>, V>;

fn generation(rows: &Map<Option<u8>>) -> Generation {
    let (generation, mut batch) = (Generation::new(0), Batch::new());
    rows.iter().for_each(|(key, value)| batch.write(key, value.as_ref().map(std::slice::from_ref)));
    generation.write().commit(&batch, Sequence(1), Sequence(0));
    generation
}

/// Every row of a span, page by page.
fn pages(
    file: &Map<Vec<u8>>,
    [newer, older]: [&Generation; 2],
    span: &Span,
    direction: Direction,
    limits: Limits,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (newer, older) = (newer.sorted(), older.sorted());
    let (mut all, mut left) = (Vec::new(), Some(span.clone()));
    while let Some(span) = left.take() {
        let over = Over {
            newer: newer.ahead(&span, direction, Sequence(1)).peekable(),
            older: older.ahead(&span, direction, Sequence(1)).peekable(),
            direction,
        };
        let inside = file.iter().filter(|(key, _)| span.contains(key));
        let mut rows: Vec<_> = inside.map(|(key, sealed)| Ok((key.as_slice(), sealed.as_slice()))).collect();
        if direction == Direction::Backward {
            rows.reverse();
        }
        let before = all.len();
        let look = |key: &[u8], value: &[u8]| {
            all.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        let page = scan::page(&span, direction, limits, over, |_, _| Ok(rows.into_iter()), look).unwrap();
        assert_eq!(page.rows, all.len() - before);
        assert!(page.rows <= limits.rows.max(1) && (page.rows > 0 || page.rest.is_none()));
        left = page.rest;
    }
    all
}

proptest! {
    #[test]
    fn a_page_has_the_newest_of_memory_and_file(
        file in btree_map(short(), any::<u8>(), 0..12),
        older in btree_map(short(), any::<Option<u8>>(), 0..12),
        newer in btree_map(short(), any::<Option<u8>>(), 0..12),
        start in prop_oneof![Just(Vec::new()), short()],
        end in proptest::option::of(short()),
        rows in 1..5_usize,
    ) {
        let span = Span { start, end };
        let mut model: Map<Option<u8>> = file.iter().map(|(key, value)| (key.clone(), Some(*value))).collect();
        model.extend(older.clone());
        model.extend(newer.clone());
        let seen = model.into_iter().filter(|(key, _)| span.contains(key));
        let mut expected: Vec<_> = seen.filter_map(|(key, value)| Some((key, vec![value?]))).collect();
        let seal = |(key, value): (&Vec<u8>, &u8)| {
            let mut bytes = Vec::new();
            sealed::seal(key, &[*value], &mut bytes).unwrap();
            (key.clone(), bytes)
        };
        let file: Map<Vec<u8>> = file.iter().map(seal).collect();
        let generations = [&generation(&newer), &generation(&older)];
        for direction in [Direction::Forward, Direction::Backward] {
            for limits in [Limits::rows(rows), Limits::default()] {
                prop_assert_eq!(&pages(&file, generations, &span, direction, limits), &expected);
            }
            expected.reverse();
        }
    }
}
