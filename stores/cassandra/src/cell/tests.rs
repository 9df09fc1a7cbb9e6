use super::{Fate, PAST, Verdict, fate, hash};
use crate::cluster::{Cell, Kind, Row};
use crate::id::Id;

const HOUR: i64 = 3_600 * 1_000_000;

fn id(time: i64) -> Id {
    Id::new(time, 7)
}

/// The cell after so many writes, the first at time 1.
fn cell(writes: i64, value: Option<&[u8]>) -> Cell {
    let cell = (1..writes)
        .fold(None, |cell: Option<Cell>, time| Some(Cell::next(cell.as_ref(), id(time), Vec::new(), None)));
    Cell::next(cell.as_ref(), id(writes), Vec::new(), value.map(<[u8]>::to_vec))
}

#[test]
fn a_cell_remembers_the_last_writes_newest_first() {
    let cell = cell(40, Some(b"x"));
    assert_eq!(cell.version, id(40));
    let past: Vec<Id> = (1..40).rev().map(id).take(PAST).collect();
    assert_eq!(cell.past, past);
    let renewed = Cell::renewed(Some(&cell), id(41));
    assert_eq!((renewed.version, renewed.past[0], renewed.value), (id(41), id(40), cell.value));
    assert_eq!(Cell::renewed(None, id(1)), Cell { version: id(1), past: vec![], rows: vec![], value: None });
}

#[test]
fn a_row_counts_only_with_its_own_id() {
    let row = |id| Row { key: b"k".to_vec(), id, kind: Kind::Member, value: Vec::new() };
    let cell = Cell { rows: vec![(hash(b"k"), id(5)), (hash(b"l"), id(6))], ..cell(1, Some(b"x")) };
    assert!(cell.lists(&row(id(5))));
    assert!(!cell.lists(&row(id(6))));
    assert_eq!(cell.row_of(b"l"), Some(id(6)));
    assert_eq!(cell.row_of(b"m"), None);
}

#[test]
fn a_row_is_dead_only_if_its_write_can_no_longer_happen() {
    let live = cell(20, Some(b"x"));
    let verdict = |cell: &Cell, base, serial| Cell::verdict(Some(cell), base, serial, 20);
    // The write may be about to happen.
    assert_eq!(verdict(&live, Some(id(20)), false), Verdict::Pending);
    assert_eq!(verdict(&live, Some(id(20)), true), Verdict::Pending);
    assert_eq!(Cell::verdict(None, None, true, 20), Verdict::Pending);
    assert_eq!(Cell::verdict(None, Some(id(3)), true, 20), Verdict::Pending);
    // Another came between.
    assert_eq!(verdict(&live, Some(id(19)), false), Verdict::Dead);
    assert_eq!(verdict(&live, None, false), Verdict::Dead);
    // Long past, or newer than what a quorum has: a serial read tells.
    assert_eq!(verdict(&live, Some(id(1)), false), Verdict::Unsure);
    assert_eq!(verdict(&live, Some(id(21)), false), Verdict::Unsure);
    assert_eq!(verdict(&live, Some(id(1)), true), Verdict::Dead);
}

#[test]
fn the_cell_of_a_deleted_record_proves_nothing_when_it_is_about_to_go() {
    let deleted = cell(1, None);
    assert_eq!(Cell::verdict(Some(&deleted), None, true, HOUR), Verdict::Dead);
    assert_eq!(Cell::verdict(Some(&deleted), None, true, 13 * HOUR), Verdict::Pending);
    assert_eq!(Cell::verdict(Some(&cell(1, Some(b"x"))), None, true, 13 * HOUR), Verdict::Dead);
}

#[test]
fn the_fate_of_a_write_is_told_from_what_came_after_it() {
    let now = cell(20, Some(b"x"));
    let told = |base, version| fate(Some(&now), base, version, &[]);
    assert_eq!(told(Some(id(19)), id(20)), Fate::Happened);
    assert_eq!(told(Some(id(9)), id(10)), Fate::Happened);
    assert_eq!(told(Some(id(20)), id(99)), Fate::Open);
    assert_eq!(told(Some(id(10)), id(99)), Fate::Lost);
    assert_eq!(told(Some(id(1)), id(99)), Fate::Forgotten);
    assert_eq!(told(None, id(99)), Fate::Forgotten);
    // Not long after the record was absent all is remembered.
    assert_eq!(fate(Some(&cell(3, None)), None, id(99), &[]), Fate::Lost);
    assert_eq!(fate(None, None, id(99), &[]), Fate::Open);
    assert_eq!(fate(None, Some(id(1)), id(99), &[]), Fate::Forgotten);
    // A row that the record has can have come only by the write.
    let listing = Cell { rows: vec![(1, id(2))], ..now.clone() };
    assert_eq!(fate(Some(&listing), Some(id(1)), id(99), &[(1, id(2))]), Fate::Happened);
}
