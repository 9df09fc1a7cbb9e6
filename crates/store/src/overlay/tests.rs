//! An overlay in front of a store is the store with its writes.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;
use crate::{Batch, MemoryStore, Store, Wait};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
type Row = (Vec<u8>, Vec<u8>);

fn key() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0_u8), Just(b'a'), Just(0xFF)], 1..4)
}

fn small() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..4)
}

/// What lies below, what is written over it.
fn both() -> impl Strategy<Value = (Map, Overlay)> {
    let written = btree_map(key(), proptest::option::of(small()), 0..20);
    (btree_map(key(), small(), 0..20), written.prop_map(|keys| Overlay { keys }))
}

fn store(rows: &Map) -> MemoryStore {
    let store = MemoryStore::new();
    let batch = rows.iter().fold(Batch::new(), |batch, (key, value)| batch.put(key.clone(), value.clone()));
    store.commit(batch).wait().unwrap();
    store
}

/// The rows that should be seen.
fn expected(below: &Map, overlay: &Overlay) -> Map {
    let mut rows = below.clone();
    for (key, value) in &overlay.keys {
        match value {
            Some(value) => rows.insert(key.clone(), value.clone()),
            None => rows.remove(key),
        };
    }
    rows
}

/// A store that ends its pages after a row, and leaves gaps between a page's last row and its rest.
struct Stingy(MemoryStore);

impl Read for Stingy {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        self.0.get(key, look).await
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        self.0.get_many(keys, look).await
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        _: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        let page = self.0.scan(span, direction, Limits::rows(1), look).await?;
        let Some(mut rest) = page.rest else { return Ok(page) };
        let mut next = None;
        self.0
            .scan(&rest, direction, Limits::rows(1), |key, _| {
                next = Some(key.to_vec());
                ControlFlow::Break(())
            })
            .await?;
        let Some(next) = next else { return Ok(Page { rest: None, ..page }) };
        match direction {
            Direction::Forward => rest.start = next,
            Direction::Backward => rest.end = Some([&next, [0].as_slice()].concat()),
        }
        Ok(Page { rest: Some(rest), ..page })
    }
}

/// The rows of a span, page by page, each page as its limits say.
fn pages<R: Read>(
    read: &R,
    span: &Span,
    direction: Direction,
    limits: Limits,
    exact: bool,
) -> Result<Vec<Row>, TestCaseError> {
    let mut all = Vec::new();
    let mut left = Some(span.clone());
    while let Some(span) = left {
        let mut rows: Vec<Row> = Vec::new();
        let look = |key: &[u8], value: &[u8]| {
            rows.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        let page = read.scan(&span, direction, limits, look).wait().unwrap();
        let bytes: Vec<usize> = rows.iter().map(|(key, value)| key.len() + value.len()).collect();
        prop_assert_eq!((page.rows, page.bytes), (rows.len(), bytes.iter().sum()));
        if let Some((_, before)) = bytes.split_last() {
            // One more row would not have been taken, one fewer would have been too few.
            prop_assert!(
                rows.len() <= limits.rows.max(1) && before.iter().sum::<usize>() < limits.bytes.max(1)
            );
            if exact && page.rest.is_some() {
                prop_assert!(rows.len() == limits.rows.max(1) || page.bytes >= limits.bytes);
            }
        } else {
            prop_assert!(page.rest.is_none(), "a page without a row, and more to come");
        }
        all.extend(rows);
        left = page.rest;
    }
    Ok(all)
}

proptest! {
    #[test]
    fn scans_are_those_of_the_map(
        (below, overlay) in both(),
        start in vec(any::<u8>(), 0..2),
        end in proptest::option::of(key()),
        rows in 0..6_usize,
        bytes in prop_oneof![Just(usize::MAX), 0..20_usize],
    ) {
        let store = store(&below);
        let span = Span { start, end };
        let limits = Limits { rows, bytes, ..Limits::default() };
        let mut rows: Vec<Row> = expected(&below, &overlay).into_iter().filter(|(key, _)| span.contains(key)).collect();
        for direction in [Direction::Forward, Direction::Backward] {
            prop_assert_eq!(&pages(&overlay.over(&store), &span, direction, limits, true)?, &rows);
            let stingy = Stingy(store.clone());
            prop_assert_eq!(&pages(&overlay.over(&stingy), &span, direction, limits, false)?, &rows);
            // An overlay over an overlay.
            let empty = Overlay::new();
            prop_assert_eq!(&pages(&empty.over(&overlay.over(&store)), &span, direction, limits, true)?, &rows);
            rows.reverse();
        }
    }

    #[test]
    fn gets_are_those_of_the_map((below, overlay) in both(), keys in vec(key(), 0..8)) {
        let store = store(&below);
        let (rows, both) = (expected(&below, &overlay), overlay.over(&store));
        for key in &keys {
            prop_assert_eq!(both.get(key, <[u8]>::to_vec).wait().unwrap(), rows.get(key).cloned());
        }
        let mut seen = Vec::new();
        both.get_many(&keys, |number, value| seen.push((number, value.map(<[u8]>::to_vec)))).wait().unwrap();
        let all: Vec<_> = keys.iter().map(|key| rows.get(key).cloned()).enumerate().collect();
        prop_assert_eq!(seen, all);
    }

    #[test]
    fn a_scan_stops_where_it_is_told((below, overlay) in both(), at in 1..6_usize) {
        let store = store(&below);
        let (rows, both) = (expected(&below, &overlay), overlay.over(&store));
        let everything = Span::prefix(Vec::new());
        let mut seen = Vec::new();
        let page = both.scan(&everything, Direction::Forward, Limits::default(), |key, _| {
            seen.push(key.to_vec());
            if seen.len() == at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }).wait().unwrap();
        prop_assert_eq!(seen.len(), at.min(rows.len()));
        if let Some(rest) = page.rest {
            let rest = pages(&both, &rest, Direction::Forward, Limits::default(), true)?;
            prop_assert_eq!(rest.into_iter().map(|(key, _)| key).collect::<Vec<_>>(), rows.keys().skip(at).cloned().collect::<Vec<_>>());
        } else {
            prop_assert_eq!(seen.len(), rows.len());
        }
    }
}
