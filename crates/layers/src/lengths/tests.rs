//! When pages may have a length.

use super::{LONGEST, Lengths, MOST, Told};
use crate::slots::{Moment, Slots};

/// With the slots that commits are counted in.
struct Counted(Lengths, Slots);

impl Counted {
    fn new() -> Self {
        Self(Lengths::default(), Slots::new(64))
    }

    fn up_to(&self, length: usize) -> Option<usize> {
        self.0.up_to(length, None, &self.1)
    }

    fn of(&self, state: Moment, length: usize) -> Option<usize> {
        self.0.up_to(length, Some(state), &self.1)
    }

    fn begin(&self) -> Told {
        self.0.begin()
    }

    fn end(&self, told: Told, lost: bool) {
        self.1.end(&[]);
        self.0.end(told, lost, &self.1);
    }
}

#[test]
fn a_length_is_ready_when_every_commit_on_its_way_knows_it() {
    let lengths = Counted::new();
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
    let lengths = Counted::new();
    let got: Vec<_> = (1..=20).map(|length| lengths.up_to(length)).collect();
    let most = usize::try_from(MOST).unwrap();
    assert_eq!(got, (1..=20).map(|length| Some(length.min(most))).collect::<Vec<_>>());
    let commit = lengths.begin();
    assert_eq!(commit.lengths().count(), most);
}

/// It may happen at any time, and marks nothing of a length that it was not told of.
#[test]
fn a_commit_that_was_lost_knows_no_new_length() {
    let lengths = Counted::new();
    assert_eq!(lengths.up_to(4), Some(4));
    let lost = lengths.begin();
    assert_eq!(lengths.up_to(8), Some(4));
    lengths.end(lost, true);
    assert_eq!([lengths.up_to(8), lengths.up_to(9), lengths.up_to(4)], [Some(4), Some(4), Some(4)]);
    let next = lengths.begin();
    lengths.end(next, false);
    assert_eq!(lengths.up_to(8), Some(4));
}

/// What was written behind an older state is not in the slots of a length that came later.
#[test]
fn a_state_that_is_older_than_a_length_has_no_pages() {
    let lengths = Counted::new();
    let empty = lengths.1.now();
    assert_eq!(lengths.of(empty, 4), Some(4));
    let first = lengths.begin();
    assert_eq!(lengths.of(empty, 8), Some(4), "it is not ready, and all knew the other");
    let between = lengths.1.now();
    lengths.end(first, false);
    assert_eq!([lengths.of(between, 8), lengths.of(between, 4)], [None, None]);
    assert_eq!(lengths.of(lengths.1.now(), 8), Some(8));
}
