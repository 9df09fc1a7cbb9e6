//! Promises of `scan`.

use std::ops::ControlFlow;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::{Batch, Blocking, Direction, Limits, Store};

use super::{Case, Outcome, Row, commit, ensure, ensure_eq, everything, page, puts, rows};

/// The cases of this file.
pub fn cases<S: Store>() -> Vec<Case<S>> {
    vec![
        Case { name: "scan_yields_every_key_once_in_order", made_by: |c| c.ordered, run: in_order },
        Case { name: "backward_is_forward_reversed", made_by: |c| c.ordered, run: backward },
        Case { name: "empty_and_inverted_spans_yield_nothing", made_by: |_| true, run: nothing },
        Case { name: "bounds_are_exact", made_by: |c| c.ordered, run: bounds },
        Case { name: "pages_join_to_the_whole", made_by: |c| c.ordered, run: pages },
        Case { name: "a_page_takes_one_row_at_least", made_by: |_| true, run: one_row },
        Case { name: "a_scan_stops_where_it_is_told", made_by: |c| c.ordered, run: told },
        Case { name: "pages_go_on_while_rows_come_and_go", made_by: |c| c.ordered, run: moving },
    ]
}

const BOTH: [Direction; 2] = [Direction::Forward, Direction::Backward];

/// Keys that sort as bytes and not as text, numbers or by length.
fn fill<S: Store>(store: &Blocking<S>) -> Result<Vec<Row>, keyloom_store::Error> {
    let keys: [&[u8]; 10] =
        [b"\0", b"\0\0", b"\x01", b"a", b"a\0", b"ab", b"a\xFF", b"b", b"\xFF", b"\xFF\xFF\0"];
    let batch = keys.iter().rev().fold(Batch::new(), |batch, key| batch.put(*key, [b"of ", *key].concat()));
    commit(store, batch)?;
    Ok(keys.iter().map(|key| (key.to_vec(), [b"of ", *key].concat())).collect())
}

fn in_order<S: Store>(store: &Blocking<S>) -> Outcome {
    let all = fill(store)?;
    let (rows, page) = page(store, &everything(), Direction::Forward, Limits::default())?;
    ensure_eq!(rows, all);
    ensure_eq!((page.rows, page.rest), (all.len(), None));
    Ok(())
}

fn backward<S: Store>(store: &Blocking<S>) -> Outcome {
    let mut all = fill(store)?;
    all.reverse();
    ensure_eq!(rows(store, &everything(), Direction::Backward, Limits::default())?, all);
    Ok(())
}

fn nothing<S: Store>(store: &Blocking<S>) -> Outcome {
    fill(store)?;
    let inverted = Span { start: b"b".to_vec(), end: Some(b"a".to_vec()) };
    let empty = Span { start: b"a".to_vec(), end: Some(b"a".to_vec()) };
    let between = Span { start: b"c".to_vec(), end: Some(b"d".to_vec()) };
    for span in [inverted, empty, between] {
        for direction in BOTH {
            let (rows, page) = page(store, &span, direction, Limits::default())?;
            ensure_eq!((rows, page.rows, page.bytes, page.rest), (Vec::new(), 0, 0, None));
        }
    }
    Ok(())
}

fn bounds<S: Store>(store: &Blocking<S>) -> Outcome {
    let all = fill(store)?;
    let marks = all.iter().flat_map(|(key, _)| [key.clone(), [key, &b"\0"[..]].concat()]);
    let long = [b"a".repeat(5_000), b"\xFF".repeat(5_000)];
    let marks: Vec<Vec<u8>> = marks.chain([Vec::new()]).chain(long).collect();
    for start in &marks {
        for end in marks.iter().map(Some).chain([None]) {
            let span = Span { start: start.clone(), end: end.cloned() };
            let within: Vec<Row> = all.iter().filter(|(key, _)| span.contains(key)).cloned().collect();
            let reversed: Vec<Row> = within.iter().rev().cloned().collect();
            ensure_eq!(rows(store, &span, Direction::Forward, Limits::default())?, within);
            ensure_eq!(rows(store, &span, Direction::Backward, Limits::default())?, reversed);
        }
    }
    Ok(())
}

fn pages<S: Store>(store: &Blocking<S>) -> Outcome {
    let all = fill(store)?;
    let reversed: Vec<Row> = all.iter().rev().cloned().collect();
    for (direction, whole) in BOTH.into_iter().zip([all, reversed]) {
        for size in 1..=whole.len() + 1 {
            ensure_eq!(rows(store, &everything(), direction, Limits::rows(size))?, whole);
            let (first, page) = page(store, &everything(), direction, Limits::rows(size))?;
            ensure_eq!(first.len(), size.min(whole.len()));
            let bytes: usize = first.iter().map(|(key, value)| key.len() + value.len()).sum();
            ensure_eq!((page.rows, page.bytes), (first.len(), bytes));
        }
        for bytes in [1, 7, 20] {
            let limits = Limits { bytes, ..Limits::default() };
            ensure_eq!(rows(store, &everything(), direction, limits)?, whole);
        }
    }
    Ok(())
}

fn one_row<S: Store>(store: &Blocking<S>) -> Outcome {
    fill(store)?;
    let none = Limits { rows: 0, bytes: 0, time: Duration::ZERO };
    for direction in BOTH {
        let (rows, page) = page(store, &everything(), direction, none)?;
        ensure_eq!((rows.len(), page.rows), (1, 1));
        ensure!(page.rest.is_some(), "nothing is left after one row of ten");
    }
    Ok(())
}

fn told<S: Store>(store: &Blocking<S>) -> Outcome {
    let all = fill(store)?;
    let mut seen = Vec::new();
    let page = store.scan(&everything(), Direction::Forward, Limits::default(), |key, _| {
        seen.push(key.to_vec());
        if seen.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    ensure_eq!((seen.len(), page.rows), (3, 3));
    let rest = page.rest.ok_or("nothing is left after three rows of ten")?;
    let left = rows(store, &rest, Direction::Forward, Limits::default())?;
    ensure_eq!(left, all.into_iter().skip(3).collect::<Vec<Row>>());
    Ok(())
}

fn moving<S: Store>(store: &Blocking<S>) -> Outcome {
    let keys: Vec<String> = (0..50).map(|number| format!("{number:03}")).collect();
    let batch = keys.iter().fold(Batch::new(), |batch, key| batch.put(key.as_str(), "stays"));
    commit(store, batch)?;
    for direction in BOTH {
        let mut stayed = Vec::new();
        let mut rest = Some(everything());
        while let Some(span) = rest {
            let (rows, page) = page(store, &span, direction, Limits::rows(7))?;
            stayed.extend(rows.into_iter().filter(|(_, value)| value == b"stays").map(|(key, _)| key));
            rest = page.rest;
            // Around wherever the scan is, rows appear and disappear between two pages.
            let comes =
                keys.iter().step_by(5).fold(Batch::new(), |batch, key| batch.put(format!("{key}+"), "comes"));
            commit(store, comes)?;
            let goes =
                keys.iter().step_by(10).fold(Batch::new(), |batch, key| batch.delete(format!("{key}+")));
            commit(store, goes)?;
        }
        stayed.sort();
        ensure_eq!(stayed.len(), keys.len());
        ensure!(
            stayed.iter().zip(&keys).all(|(seen, key)| seen == key.as_bytes()),
            "a row was seen twice or missed"
        );
        store.commit(puts([]))?;
    }
    Ok(())
}
