use std::collections::BTreeMap;

use keyloom_key::Span;
use keyloom_store::{Batch, Direction, Sequence};

use super::{Generation, Ordered, hash};

#[test]
fn a_version_is_seen_from_its_commit_on_and_kept_while_it_is_needed() {
    let generation = Generation::new(0);
    let mut rows = generation.write();
    rows.commit(&Batch::new().put("a", "1"), Sequence(5), Sequence(4));
    // Nobody needs what was before: the version goes.
    rows.commit(&Batch::new().put("a", "2"), Sequence(6), Sequence(4));
    // Someone needs the state after 6: both stay.
    rows.commit(&Batch::new().delete("a"), Sequence(7), Sequence(6));
    rows.commit(&Batch::new().put("a", "4"), Sequence(8), Sequence(7));
    let at = |time| rows.get(b"a", hash(b"a"), Sequence(time)).map(|value| value.map(<[u8]>::to_vec));
    assert_eq!(at(5), None);
    assert_eq!(at(6), Some(Some(b"2".to_vec())));
    assert_eq!(at(7), Some(None));
    assert_eq!(at(9), Some(Some(b"4".to_vec())));
    drop(rows);
    assert_eq!(generation.sorted().newest().collect::<Vec<_>>(), [(b"a".as_slice(), Some(b"4".as_slice()))]);
}

#[test]
fn commits_are_forgotten_whole() {
    let generation = Generation::new(0);
    for number in 1..=4_u8 {
        let batch = Batch::new().put([number], [number]).put("all", [number]);
        generation.write().commit(&batch, Sequence(number.into()), Sequence(2));
        generation.sort();
    }
    generation.forget_after(Sequence(2));
    let sorted = generation.sorted();
    let keys: Vec<_> =
        sorted.newest().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))).collect();
    let expected = [(vec![1], Some(vec![1])), (vec![2], Some(vec![2])), (b"all".to_vec(), Some(vec![2]))];
    assert_eq!(keys, expected);
    assert_eq!(sorted.last(), Some(Sequence(2)));
    drop(sorted);
    generation.forget_after(Sequence(0));
    assert!(generation.sorted().last().is_none() && generation.sorted().newest().next().is_none());
}

/// A commit without writes has a sequence as any other: when what came behind it was forgotten it was forgotten too, and the
/// next commit got its sequence once more.
#[test]
fn a_commit_without_writes_is_remembered() {
    let generation = Generation::new(0);
    generation.write().commit(&Batch::new(), Sequence(3), Sequence(2));
    generation.write().commit(&Batch::new().put("a", "1"), Sequence(4), Sequence(2));
    generation.forget_after(Sequence(3));
    assert_eq!(generation.sorted().last(), Some(Sequence(3)));
    generation.write().commit(&Batch::new().put("a", "1"), Sequence(4), Sequence(2));
    generation.forget_after(Sequence(2));
    assert_eq!(generation.sorted().last(), None);
}

#[test]
fn keys_join_the_order_in_parts() {
    let generation = Generation::new(0);
    let mut model = BTreeMap::new();
    // Every key once more with another value, sorted now and then, some keys alike at their beginning.
    for number in 0..20_000_u32 {
        let key = (number % 10_000).wrapping_mul(2_654_435_761).to_be_bytes();
        let key = key.get(..4 - usize::try_from(number % 3).unwrap()).unwrap().to_vec();
        let value = number.to_be_bytes();
        generation.write().commit(&Batch::new().put(&key, value), Sequence(number.into()), Sequence(0));
        model.insert(key, value);
        if number % 3_000 == 0 {
            generation.sort();
        }
    }
    let rows = generation.read();
    for (key, value) in &model {
        assert_eq!(rows.get(key, hash(key), Sequence(u64::MAX)), Some(Some(value.as_slice())));
    }
    assert_eq!(rows.get(b"none", hash(b"none"), Sequence(u64::MAX)), None);
    drop(rows);
    let sorted = generation.sorted();
    assert!(sorted.newest().eq(model.iter().map(|(key, value)| (key.as_slice(), Some(value.as_slice())))));
    let span = Span { start: vec![0x40], end: Some(vec![0x50, 1]) };
    let backward = sorted.ahead(&span, Direction::Backward, Sequence(u64::MAX));
    let expected = model.range(vec![0x40]..vec![0x50, 1]).rev();
    assert!(backward.eq(expected.map(|(key, value)| (key.as_slice(), Some(value.as_slice())))));
}

#[test]
fn a_span_is_walked_both_ways_at_its_time() {
    let generation = Generation::new(0);
    for (number, key) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let sequence = Sequence(u64::try_from(number).unwrap() + 1);
        generation.write().commit(&Batch::new().put(key, ""), sequence, Sequence(9));
    }
    let rows = generation.sorted();
    let span = Span { start: b"b".to_vec(), end: Some(b"d".to_vec()) };
    let keys = |direction, time| -> Vec<&[u8]> {
        rows.ahead(&span, direction, Sequence(time)).map(|(key, _)| key).collect()
    };
    assert_eq!(keys(Direction::Forward, 4), [b"b".as_slice(), b"c"]);
    assert_eq!(keys(Direction::Backward, 4), [b"c".as_slice(), b"b"]);
    assert_eq!(keys(Direction::Backward, 2), [b"b".as_slice()]);
    assert!(rows.ahead(&Span::prefix("x"), Direction::Forward, Sequence(4)).next().is_none());
}

/// About as long as what the order has of a key in itself, and all that can stand around its end.
#[test]
fn keys_in_the_order_compare_as_their_bytes() {
    let mut keys = vec![Vec::new()];
    for shared in [0, 7, 20, 21, 22, 23, 24, 25] {
        let mut longer = vec![vec![1; shared]];
        for _ in 0..4 {
            keys.extend(longer.iter().cloned());
            let next = |key: &Vec<u8>| [0, 1, 0xFF].map(|byte| [key.as_slice(), &[byte]].concat());
            longer = longer.iter().flat_map(next).collect();
        }
    }
    for one in &keys {
        for other in &keys {
            let ordered = Ordered::from(one.as_slice()).cmp(&Ordered::from(other.as_slice()));
            assert_eq!(ordered, one.cmp(other), "{one:?} {other:?}");
        }
    }
}
