//! The map and the rows.

use std::collections::BTreeMap;

use keyloom_cassandra::{Applied, Cluster, Consistency, Id, Kind, Range, Row, Space, State};
use keyloom_key::Span;
use keyloom_store::{Direction, Wait};

use crate::{Case, Outcome, driver, id, space};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("a_space_is_listed_once", a_space_is_listed_once),
        ("a_map_is_made_once", a_map_is_made_once),
        ("a_range_is_found_by_any_key", a_range_is_found_by_any_key),
        ("a_swap_changes_all_or_nothing", a_swap_changes_all_or_nothing),
        ("of_racing_swaps_one_wins", of_racing_swaps_one_wins),
        ("every_state_reads_back", every_state_reads_back),
        ("rows_come_in_order_and_by_pages", rows_come_in_order_and_by_pages),
        ("every_kind_of_row_reads_back", every_kind_of_row_reads_back),
        ("a_deletion_counts_whenever_it_comes", a_deletion_counts_whenever_it_comes),
        ("a_span_is_deleted_and_nothing_else", a_span_is_deleted_and_nothing_else),
    ]
}

fn range(start: &[u8], end: Option<&[u8]>, epoch: u64, state: State) -> Range {
    Range { start: start.into(), end: end.map(Into::into), shard: id(), epoch, state }
}

fn whole(epoch: u64) -> Range {
    range(b"", None, epoch, State::Active)
}

fn at(space: Space, key: &[u8]) -> Option<Range> {
    let quorum = driver().range_at(space, key, Consistency::Quorum).wait();
    assert_eq!(quorum, driver().range_at(space, key, Consistency::Serial).wait());
    quorum.expect("a range")
}

fn swap(space: Space, old: &[Range], new: &[Range]) -> Applied {
    driver().swap(space, old, new).wait().expect("an answer")
}

fn a_space_is_listed_once() -> Outcome {
    let (a, b) = (space(), space());
    for space in [b, a, b] {
        driver().add_space(space).wait()?;
    }
    let spaces = driver().spaces().wait()?;
    assert!(spaces.is_sorted());
    for space in [a, b] {
        assert_eq!(spaces.iter().filter(|other| **other == space).count(), 1);
    }
    Ok(())
}

fn a_map_is_made_once() -> Outcome {
    let space = space();
    assert_eq!(at(space, b"key"), None);
    assert_eq!(driver().range_before(space, None, Consistency::Serial).wait(), Ok(None));
    let first = [range(b"", Some(b"m"), 1, State::Active), range(b"m", None, 1, State::Active)];
    assert_eq!(swap(space, &[], &first), Applied::Yes);
    assert_eq!(swap(space, &[], &[whole(1)]), Applied::No);
    assert_eq!(at(space, b"a").as_ref(), first.first());
    assert_eq!(at(space, b"m").as_ref(), first.last());
    // A map that does not begin at the empty key would not be noticed by the next who makes one.
    assert!(driver().swap(space, &[], &[range(b"m", None, 1, State::Active)]).wait().is_err());
    Ok(())
}

fn a_range_is_found_by_any_key() -> Outcome {
    let space = space();
    let all = [
        range(b"", Some(b"b"), 1, State::Active),
        range(b"b", Some(b"b\0"), 1, State::Active),
        range(b"b\0", Some(b"\xff"), 1, State::Active),
        range(b"\xff", None, 1, State::Active),
    ];
    assert_eq!(swap(space, &[], &all), Applied::Yes);
    for (key, number) in
        [(&b""[..], 0), (b"a\xff", 0), (b"b", 1), (b"b\0", 2), (b"b\0\0", 2), (b"\xff", 3), (b"\xff\xff", 3)]
    {
        assert_eq!(at(space, key).as_ref(), all.get(number), "{key:?}");
    }
    let before = |key: Option<&[u8]>| driver().range_before(space, key, Consistency::Quorum).wait();
    assert_eq!(before(None)?.as_ref(), all.get(3));
    assert_eq!(before(Some(b"\xff"))?.as_ref(), all.get(2));
    assert_eq!(before(Some(b"b"))?.as_ref(), all.first());
    assert_eq!(before(Some(b""))?, None);
    Ok(())
}

fn a_swap_changes_all_or_nothing() -> Outcome {
    let space = space();
    let start = whole(5);
    assert_eq!(swap(space, &[], std::slice::from_ref(&start)), Applied::Yes);
    let halves = [range(b"", Some(b"m"), 6, State::Active), range(b"m", None, 6, State::Active)];
    let stale = Range { epoch: 4, ..start.clone() };
    assert_eq!(swap(space, &[stale], &halves), Applied::No);
    assert_eq!(at(space, b"z"), Some(start.clone()));
    assert_eq!(swap(space, &[start], &halves), Applied::Yes);
    assert_eq!((at(space, b"a").as_ref(), at(space, b"z").as_ref()), (halves.first(), halves.last()));
    // Joining them: one of the two epochs is stale, then none.
    let joined = whole(7);
    let [low, high] = halves.clone();
    let stale = Range { epoch: 5, ..high.clone() };
    assert_eq!(swap(space, &[low.clone(), stale], std::slice::from_ref(&joined)), Applied::No);
    assert_eq!((at(space, b"a"), at(space, b"z")), (Some(low.clone()), Some(high.clone())));
    assert_eq!(swap(space, &[low, high], std::slice::from_ref(&joined)), Applied::Yes);
    assert_eq!(at(space, b"z"), Some(joined.clone()));
    // And apart again at the same place.
    let again = [range(b"", Some(b"m"), 8, State::Active), range(b"m", None, 8, State::Active)];
    assert_eq!(swap(space, &[joined], &again), Applied::Yes);
    assert_eq!(at(space, b"z").as_ref(), again.last());
    Ok(())
}

fn of_racing_swaps_one_wins() -> Outcome {
    let space = space();
    let start = whole(1);
    assert_eq!(swap(space, &[], std::slice::from_ref(&start)), Applied::Yes);
    let attempts: Vec<_> = (0..8)
        .map(|_| {
            let start = start.clone();
            std::thread::spawn(move || {
                let mine = whole(2);
                (swap(space, &[start], std::slice::from_ref(&mine)), mine)
            })
        })
        .collect();
    let ended: Vec<_> = attempts.into_iter().map(|attempt| attempt.join().expect("an attempt")).collect();
    let won: Vec<_> = ended.iter().filter(|(applied, _)| *applied == Applied::Yes).collect();
    assert_eq!(won.len(), 1);
    assert_eq!(at(space, b"").as_ref(), won.first().map(|(_, mine)| mine));
    Ok(())
}

fn every_state_reads_back() -> Outcome {
    let space = space();
    let spans = [
        (id(), Span { start: vec![], end: Some(b"m".into()) }),
        (id(), Span { start: b"m".into(), end: None }),
        (id(), Span { start: vec![0], end: Some(vec![0, 0]) }),
    ];
    let states = [
        State::Active,
        State::Announce { to: id(), from: vec![], since: i64::MIN },
        State::Prepare { to: id(), from: b"\0m\xff".into(), since: driver().wall() },
        State::Echo { to: vec![] },
        State::Echo { to: spans.to_vec() },
        State::Clear { of: spans.into() },
    ];
    let mut old = vec![];
    for (epoch, state) in (1..).zip(states) {
        let new = range(b"", None, if epoch == 6 { u64::MAX } else { epoch }, state);
        assert_eq!(swap(space, &old, std::slice::from_ref(&new)), Applied::Yes);
        assert_eq!(at(space, b"x"), Some(new.clone()));
        old = vec![new];
    }
    Ok(())
}

fn member(key: &[u8], id: Id) -> Row {
    Row { key: key.into(), id, kind: Kind::Member, value: vec![] }
}

fn read(space: Space, shard: Id, span: &Span, direction: Direction, limit: usize) -> Vec<Row> {
    driver().rows(space, shard, span, direction, limit).wait().expect("rows")
}

const ALL: Span = Span { start: Vec::new(), end: None };

fn rows_come_in_order_and_by_pages() -> Outcome {
    let (space, shard) = (space(), id());
    // Enough for several batches and several pages; every third key has two rows.
    let mut rows: Vec<_> = (0u16..1200)
        .map(|number| Row { value: vec![7; 300], ..member(&(number / 3 * 2).to_be_bytes(), id()) })
        .collect();
    rows.push(Row { value: vec![1; 1 << 20], ..member(b"\xff\xff large", id()) });
    driver().insert(space, shard, &rows).wait()?;
    driver().insert(space, id(), &[member(b"of another shard", id())]).wait()?;
    rows.sort_by(|a, b| (&a.key, a.id).cmp(&(&b.key, b.id)));
    assert_eq!(read(space, shard, &ALL, Direction::Forward, usize::MAX), rows);
    let mut reversed = rows.clone();
    reversed.reverse();
    assert_eq!(read(space, shard, &ALL, Direction::Backward, usize::MAX), reversed);
    for limit in [0, 1, 499, 500, 501, 1201, 1202] {
        let some = rows.get(..limit.min(rows.len())).expect("within");
        assert_eq!(read(space, shard, &ALL, Direction::Forward, limit), some, "{limit}");
        let some = reversed.get(..limit.min(rows.len())).expect("within");
        assert_eq!(read(space, shard, &ALL, Direction::Backward, limit), some, "{limit}");
    }
    let within = Span { start: 100u16.to_be_bytes().into(), end: Some(301u16.to_be_bytes().into()) };
    let expected: Vec<_> = rows.iter().filter(|row| within.contains(&row.key)).cloned().collect();
    assert_eq!(read(space, shard, &within, Direction::Forward, 5000), expected);
    for (start, end) in [(vec![5], Some(vec![5])), (vec![6], Some(vec![5])), (vec![], Some(vec![]))] {
        assert_eq!(read(space, shard, &Span { start, end }, Direction::Forward, 10), []);
    }
    Ok(())
}

fn every_kind_of_row_reads_back() -> Outcome {
    let (space, shard) = (space(), id());
    let kinds = [
        Kind::Record { base: None },
        Kind::Record { base: Some(id()) },
        Kind::Entry { owner: b"\0owner".into(), base: None },
        Kind::Entry { owner: b"owner".into(), base: Some(id()) },
        Kind::Member,
    ];
    let rows: Vec<_> = (0u8..)
        .zip(kinds)
        .map(|(number, kind)| Row { key: vec![number], id: id(), kind, value: vec![number; number.into()] })
        .collect();
    driver().insert(space, shard, &rows).wait()?;
    assert_eq!(read(space, shard, &ALL, Direction::Forward, 10), rows);
    driver().insert(space, shard, &[]).wait()?;
    driver().delete(space, shard, &[]).wait()?;
    Ok(())
}

/// Rows are inserted and deleted, each several times and in every order, by clocks that are right, slow and fast: a row is
/// there if it was inserted and never deleted.
fn a_deletion_counts_whenever_it_comes() -> Outcome {
    let (space, shard) = (space(), id());
    let hour = 3_600_000_000;
    let mut there = BTreeMap::new();
    let random = || driver().random();
    let rows: Vec<_> = (0..60u8)
        .map(|number| {
            let off = [0, -hour, hour, -10 * hour].into_iter().nth(usize::from(number % 4)).unwrap_or(0);
            member(&[number / 2], Id::new(driver().wall() + off, random()))
        })
        .collect();
    for _ in 0..240 {
        let row = rows.get(usize::try_from(random() % 60)?).expect("one");
        let state = there.entry((row.key.clone(), row.id)).or_insert((false, false));
        if random() % 3 == 0 {
            driver().delete(space, shard, &[(row.key.clone(), row.id)]).wait()?;
            state.1 = true;
        } else {
            driver().insert(space, shard, std::slice::from_ref(row)).wait()?;
            state.0 = true;
        }
    }
    let expected: Vec<_> =
        there.into_iter().filter(|(_, state)| *state == (true, false)).map(|(row, _)| row).collect();
    let found: Vec<_> =
        read(space, shard, &ALL, Direction::Forward, 100).into_iter().map(|row| (row.key, row.id)).collect();
    assert_eq!(found, expected);
    Ok(())
}

fn a_span_is_deleted_and_nothing_else() -> Outcome {
    let (space, shard) = (space(), id());
    // A client whose clock is most of a day ahead has written some.
    let ahead =
        |number: u8| Id::new(driver().wall() + i64::from(number % 2) * 80_000_000_000, driver().random());
    let rows: Vec<_> = (0u8..40).map(|number| member(&[number], ahead(number))).collect();
    driver().insert(space, shard, &rows).wait()?;
    driver().insert(space, id(), &rows).wait()?;
    let keys = || -> Vec<u8> {
        read(space, shard, &ALL, Direction::Forward, 100).into_iter().flat_map(|row| row.key).collect()
    };
    driver().delete_span(space, shard, &Span { start: vec![20], end: Some(vec![10]) }).wait()?;
    assert_eq!(keys().len(), 40);
    driver().delete_span(space, shard, &Span { start: vec![10], end: Some(vec![20]) }).wait()?;
    assert_eq!(keys(), (0..10).chain(20..40).collect::<Vec<u8>>());
    driver().delete_span(space, shard, &Span { start: vec![30], end: None }).wait()?;
    assert_eq!(keys(), (0..10).chain(20..30).collect::<Vec<u8>>());
    // A copy that comes late, with its old time, stays below the deletion.
    driver().insert(space, shard, rows.get(10..12).expect("two")).wait()?;
    assert_eq!(keys().len(), 20);
    Ok(())
}
