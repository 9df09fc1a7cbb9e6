//! Rows that are kept are shown as the store shows them, whatever the limits.

use std::ops::ControlFlow;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::{Batch, Direction, Limits, MemoryStore, Page, Read, Store, Wait};
use proptest::prelude::*;

use super::Copied;

type Shown = (Page, Vec<(Vec<u8>, Vec<u8>)>);

/// What a scan shows whose caller breaks at a row.
fn shown(
    scan: impl FnOnce(&mut (dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send)) -> Page,
    breaks: usize,
) -> Shown {
    let mut rows = Vec::new();
    let page = scan(&mut |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        if rows.len() == breaks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (page, rows)
}

fn limits() -> impl Strategy<Value = Limits> {
    let rows = prop_oneof![0..12_usize, Just(usize::MAX)];
    let bytes = prop_oneof![0..200_usize, Just(usize::MAX)];
    (rows, bytes).prop_map(|(rows, bytes)| Limits { rows, bytes, time: Duration::MAX })
}

proptest! {
    #[test]
    fn a_kept_page_answers_as_the_store_does(
        values in prop::collection::vec(0..40_usize, 0..10),
        direction in prop_oneof![Just(Direction::Forward), Just(Direction::Backward)],
        first in limits(),
        second in limits(),
        breaks in prop::collection::vec(1..14_usize, 2),
    ) {
        let store = MemoryStore::new();
        let rows = (0_u8..).zip(&values);
        let batch = rows.fold(Batch::new(), |batch, (number, long)| batch.put([7, number], vec![b'x'; *long]));
        store.commit(batch).wait().unwrap();
        let span = Span::prefix([7]);
        let mut copied = Copied::new(usize::MAX);
        let (page, _) = shown(|look| {
            let look = |key: &[u8], value: &[u8]| {
                copied.row(key, value);
                look(key, value)
            };
            store.scan(&span, direction, first, look).wait().unwrap()
        }, breaks[0]);
        if let Some(kept) = copied.of(&page, first).filter(|kept| kept.answer(second)) {
            let what = (&span, direction, second);
            let own = shown(|look| kept.show(what, look), breaks[1]);
            let expected = shown(|look| store.scan(&span, direction, second, look).wait().unwrap(), breaks[1]);
            prop_assert_eq!(&own.1, &expected.1);
            prop_assert_eq!((own.0.rows, own.0.bytes), (expected.0.rows, expected.0.bytes));
            let left = |page: &Page| {
                let Some(span) = &page.rest else { return Vec::new() };
                shown(|look| store.scan(span, direction, Limits::default(), look).wait().unwrap(), 0).1
            };
            prop_assert_eq!(left(&own.0), left(&expected.0));
        }
    }
}

fn rows(count: usize, most: usize) -> Copied {
    let mut copied = Copied::new(most);
    (0..count).for_each(|number| copied.row(&number.to_be_bytes(), b"12"));
    copied
}

/// Where time cuts a page is chance: it answers none that asks for more.
#[test]
fn a_page_that_time_has_cut_is_not_kept() {
    let rest = Some(Span::prefix([9]));
    let cut = Page { rows: 64, bytes: 640, rest };
    let asked = Limits { time: Duration::ZERO, ..Limits::default() };
    assert!(rows(64, 10_000).of(&cut, asked).is_none());
    assert!(rows(64, 10_000).of(&cut, Limits { rows: 64, ..asked }).is_some());
    assert!(rows(64, 10_000).of(&Page { rest: None, ..cut.clone() }, asked).is_some());
    assert!(rows(64, 1_151).of(&Page { rest: None, ..cut }, asked).is_none(), "it is too large");
}
