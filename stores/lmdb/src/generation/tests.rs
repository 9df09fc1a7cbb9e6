use keyloom_key::Span;
use keyloom_store::{Batch, Direction, Sequence};

use super::{Generation, hash};

#[test]
fn a_version_is_seen_from_its_commit_on_and_kept_while_it_is_needed() {
    let generation = Generation::new(10, 0);
    let mut rows = generation.write();
    rows.commit(&Batch::new().put("a", "1"), Sequence(5), Sequence(4));
    // Nobody needs what was before: the version goes.
    rows.commit(&Batch::new().put("a", "2"), Sequence(6), Sequence(4));
    // Someone needs the state after 6: both stay.
    rows.commit(&Batch::new().delete("a"), Sequence(7), Sequence(6));
    let at = |time| rows.get(b"a", hash(b"a"), Sequence(time)).map(|value| value.map(<[u8]>::to_vec));
    assert_eq!(at(5), None);
    assert_eq!(at(6), Some(Some(b"2".to_vec())));
    assert_eq!(at(7), Some(None));
    assert_eq!(rows.newest().collect::<Vec<_>>(), [(b"a".as_slice(), None)]);
}

#[test]
fn commits_are_forgotten_whole() {
    let generation = Generation::new(10, 0);
    let mut rows = generation.write();
    for number in 1..=4_u8 {
        rows.commit(
            &Batch::new().put([number], [number]).put("all", [number]),
            Sequence(number.into()),
            Sequence(2),
        );
    }
    rows.forget_after(Sequence(2));
    let keys: Vec<_> = rows.newest().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))).collect();
    let expected = [(vec![1], Some(vec![1])), (vec![2], Some(vec![2])), (b"all".to_vec(), Some(vec![2]))];
    assert_eq!(keys, expected);
    assert_eq!(rows.last, Some(Sequence(2)));
    rows.forget_after(Sequence(0));
    assert!(rows.last.is_none() && rows.entries == 0);
}

#[test]
fn a_filter_knows_what_is_there_and_most_of_what_is_not() {
    let generation = Generation::new(1_000, 0);
    let mut rows = generation.write();
    for number in 0..1_000_u32 {
        rows.commit(&Batch::new().put(number.to_be_bytes(), ""), Sequence(1), Sequence(0));
    }
    let may_have = |number: u32| rows.filter.may_have(hash(&number.to_be_bytes()));
    assert!((0..1_000).all(may_have));
    let wrong = (1_000..11_000).filter(|number| may_have(*number)).count();
    assert!(wrong < 300, "{wrong} of 10,000");
}

#[test]
fn a_span_is_walked_both_ways_at_its_time() {
    let generation = Generation::new(10, 0);
    let mut rows = generation.write();
    for (number, key) in ["a", "b", "c", "d"].into_iter().enumerate() {
        rows.commit(&Batch::new().put(key, ""), Sequence(u64::try_from(number).unwrap() + 1), Sequence(9));
    }
    let span = Span { start: b"b".to_vec(), end: Some(b"d".to_vec()) };
    let keys = |direction, time| -> Option<Vec<&[u8]>> {
        Some(rows.ahead(&span, direction, Sequence(time))?.map(|(key, _)| key).collect())
    };
    assert_eq!(keys(Direction::Forward, 4), Some(vec![b"b".as_slice(), b"c"]));
    assert_eq!(keys(Direction::Backward, 4), Some(vec![b"c".as_slice(), b"b"]));
    assert_eq!(keys(Direction::Backward, 2), Some(vec![b"b".as_slice()]));
    assert!(rows.ahead(&Span::prefix("x"), Direction::Forward, Sequence(4)).is_none());
}
