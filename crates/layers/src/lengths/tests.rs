//! When pages may have a length.

use super::{LONGEST, Lengths, MOST};

#[test]
fn a_length_is_ready_when_every_commit_on_its_way_knows_it() {
    let lengths = Lengths::default();
    assert_eq!(lengths.up_to(0), None);
    assert_eq!(lengths.up_to(4), Some(4), "nobody is on his way");
    let first = lengths.begin();
    assert_eq!(first.lengths().collect::<Vec<_>>(), [4]);
    assert_eq!(lengths.up_to(12), Some(4), "the first was not told of it");
    let second = lengths.begin();
    assert_eq!(second.lengths().collect::<Vec<_>>(), [4, 12]);
    assert_eq!(lengths.up_to(20), Some(4), "one at a time");
    lengths.end(second, false);
    assert_eq!(lengths.up_to(12), Some(4), "the first is still on its way");
    lengths.end(first, false);
    assert_eq!([lengths.up_to(12), lengths.up_to(14), lengths.up_to(3)], [Some(12), Some(14), Some(3)]);
    assert_eq!([lengths.up_to(13), lengths.up_to(500)], [Some(13), Some(LONGEST)]);
}

#[test]
fn there_are_so_many_and_no_more() {
    let lengths = Lengths::default();
    let got: Vec<_> = (1..=20).map(|length| lengths.up_to(length)).collect();
    let most = usize::try_from(MOST).unwrap();
    assert_eq!(got, (1..=20).map(|length| Some(length.min(most))).collect::<Vec<_>>());
    let commit = lengths.begin();
    assert_eq!(commit.lengths().count(), most);
}

/// It may happen at any time, and marks nothing of a length that it was not told of.
#[test]
fn a_commit_that_was_lost_knows_no_new_length() {
    let lengths = Lengths::default();
    assert_eq!(lengths.up_to(4), Some(4));
    let lost = lengths.begin();
    assert_eq!(lengths.up_to(8), Some(4));
    lengths.end(lost, true);
    assert_eq!([lengths.up_to(8), lengths.up_to(9), lengths.up_to(4)], [Some(4), Some(4), Some(4)]);
    let next = lengths.begin();
    lengths.end(next, false);
    assert_eq!(lengths.up_to(8), Some(4));
}
