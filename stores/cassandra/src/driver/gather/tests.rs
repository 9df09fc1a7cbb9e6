//! Whatever comes in whatever order: all rows are taken once, as they came, by few senders, and nobody is left waiting.

use std::collections::VecDeque;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Gather, UNDER_WAY, Waiting};
use crate::cluster::{Kind, Row, Space};
use crate::driver::BATCH_ROWS;
use crate::id::Id;

fn rows(first: u64, count: usize) -> Vec<Row> {
    let row = |number: u64| Row {
        key: number.to_be_bytes().to_vec(),
        id: Id::new(0, number),
        kind: Kind::Member,
        value: Vec::new(),
    };
    (first..).take(count).map(row).collect()
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// Someone inserts so many rows into this partition.
    Add(u32, usize),
    /// A sender of this partition takes what waits.
    Take(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let add = (0..2_u32, 1..BATCH_ROWS + 20).prop_map(|(partition, rows)| Step::Add(partition, rows));
    let take = (0..2_u32).prop_map(Step::Take);
    vec(prop_oneof![2 => add, 1 => take], 0..60)
}

fn partition(number: u32) -> (Space, Id) {
    (Space(number.to_be_bytes()), Id::new(0, 0))
}

proptest! {
    #[test]
    fn all_is_taken_once_and_in_its_order(steps in steps()) {
        let gather = Gather::default();
        let mut waiting: [VecDeque<Vec<Row>>; 2] = Default::default();
        let mut senders = [0, 0];
        let mut next = 0;
        // In the end every sender goes on until nothing waits.
        let rest = (0..2_000).map(|number| Step::Take(number % 2));
        for step in steps.into_iter().chain(rest) {
            match step {
                Step::Add(number, count) => {
                    let place = usize::try_from(number)?;
                    let rows = rows(next, count);
                    next += 1_000;
                    waiting[place].push_back(rows.clone());
                    let (_, sends) = gather.add(partition(number), rows);
                    prop_assert_eq!(sends, senders[place] < UNDER_WAY);
                    senders[place] += usize::from(sends);
                }
                Step::Take(number) => {
                    let place = usize::try_from(number)?;
                    if senders[place] == 0 {
                        prop_assert!(waiting[place].is_empty(), "rows wait and nobody sends");
                        continue;
                    }
                    let taken = gather.take(partition(number));
                    let count: usize = taken.iter().map(|waiting| waiting.rows.len()).sum();
                    prop_assert!(count <= BATCH_ROWS || taken.len() == 1, "{} rows together", count);
                    if taken.is_empty() {
                        senders[place] -= 1;
                        prop_assert!(waiting[place].is_empty(), "a sender ends and rows wait");
                    }
                    for Waiting { rows, .. } in taken {
                        prop_assert_eq!(Some(rows), waiting[place].pop_front());
                    }
                }
            }
        }
        prop_assert_eq!(senders, [0, 0]);
        prop_assert!(gather.queues().is_empty(), "what nobody uses is remembered");
    }
}
