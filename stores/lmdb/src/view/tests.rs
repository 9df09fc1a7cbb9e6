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

/// A scan of everything once held back every commit until it was through, and 95 of 300 a second came in beside it.
#[test]
fn commits_go_on_beside_a_scan_that_sees_none_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let log = LogOptions { interval: Duration::from_secs(3_600), ..LogOptions::default() };
    let options = Options { durability: Durability::Written, log: Some(log), ..Options::default() };
    let store = Blocking::new(LmdbStore::open_with(folder.path().join("held.klm"), options).unwrap());
    let count = u32::try_from(super::HELD).unwrap() * 3;
    for number in 0..count {
        store.commit(Batch::new().put(key(number), b"old")).unwrap();
    }
    let whole = Limits { rows: usize::MAX, bytes: usize::MAX, time: Duration::MAX };
    for direction in [Direction::Forward, Direction::Backward] {
        let all = (0..count).fold(Batch::new(), |batch, number| batch.put(key(number), b"new"));
        let (begin, begun) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel();
        let ended = std::sync::Mutex::new(ended);
        std::thread::scope(|threads| {
            let store = &store;
            threads.spawn(move || {
                begun.recv().unwrap();
                store.commit(all).unwrap();
                end.send(()).unwrap();
            });
            let mut seen = 0;
            let page = store.scan(&Span::prefix([]), direction, whole, |_, value| {
                seen += 1;
                if seen == 1 {
                    begin.send(()).unwrap();
                    // Until it waits for this part to end.
                    std::thread::sleep(Duration::from_millis(200));
                }
                if seen == count {
                    let commit = ended.lock().unwrap().recv_timeout(Duration::from_secs(60));
                    commit.expect("it has waited for the scan");
                }
                assert_eq!(value, b"old", "row {seen}");
                ControlFlow::Continue(())
            });
            let page = page.unwrap();
            assert_eq!((page.rows, page.rest), (usize::try_from(count).unwrap(), None));
        });
        for number in 0..count {
            assert_eq!(store.get(&key(number), <[u8]>::to_vec).unwrap(), Some(b"new".to_vec()));
            store.commit(Batch::new().put(key(number), b"old")).unwrap();
        }
    }
}

#[test]
fn a_page_of_many_parts_ends_where_it_is_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let log = LogOptions { interval: Duration::from_secs(3_600), ..LogOptions::default() };
    let options = Options { durability: Durability::Written, log: Some(log), ..Options::default() };
    let store = Blocking::new(LmdbStore::open_with(folder.path().join("parts.klm"), options).unwrap());
    let held = super::HELD;
    let count = u32::try_from(4 * held + 7).unwrap();
    for number in 0..count {
        store.commit(Batch::new().put(key(number), key(number))).unwrap();
        // Every third is in the file, and the rest in memory.
        if number == count / 3 {
            store.inner().drain().wait().unwrap();
        }
    }
    let (day, all) = (Duration::from_secs(86_400), usize::MAX);
    for direction in [Direction::Forward, Direction::Backward] {
        let mut expected: Vec<Vec<u8>> = (0..count).map(key).collect();
        if direction == Direction::Backward {
            expected.reverse();
        }
        for (limits, breaks, rows) in [
            (Limits { rows: 0, bytes: all, time: day }, all, 1),
            (Limits { rows: held, bytes: all, time: day }, all, held),
            (Limits { rows: 2 * held + 1, bytes: all, time: day }, all, 2 * held + 1),
            // Eight bytes a row.
            (Limits { rows: all, bytes: 8 * (3 * held) - 4, time: Duration::MAX }, all, 3 * held),
            (Limits { rows: all, bytes: all, time: Duration::MAX }, held + 5, held + 5),
            (Limits { rows: all, bytes: all, time: Duration::MAX }, held, held),
            (Limits { rows: all, bytes: all, time: Duration::ZERO }, all, 64),
            (Limits { rows: all, bytes: all, time: day }, all, expected.len()),
        ] {
            let (mut found, mut left) = (Vec::new(), Some(Span::prefix([])));
            while let Some(span) = left.take() {
                let before = found.len();
                let page = store.scan(&span, direction, limits, |key, _| {
                    found.push(key.to_vec());
                    if found.len() - before == breaks {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                });
                let page = page.unwrap();
                assert_eq!((page.rows, page.bytes), (found.len() - before, 8 * (found.len() - before)));
                assert_eq!(page.rows, rows.min(expected.len() - before), "{limits:?}");
                left = page.rest;
            }
            assert!(found == expected, "{limits:?} {direction:?}");
        }
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
