//! Whether one order explains what all clients did to a record.

use std::collections::{BTreeSet, HashSet};

use libtest_mimic::Trial;

/// What a client did to a record, or saw of it. A value is that of one write alone; deleted, it is `-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    Read(String),
    Change(String, String),
    /// A change that found another value.
    Differs(String),
}

#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) act: Act,
    pub(crate) start: u64,
    /// `None` if it is not known to have happened: then at any time since, or never.
    pub(crate) end: Option<u64>,
}

/// A way to order some of the operations: how many of those with an end are in it from the first on, which others, and
/// the value then.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Way {
    first: usize,
    beyond: BTreeSet<usize>,
    value: String,
}

/// Says whether some order of the operations, each taking effect between its start and its end, explains all.
pub(crate) fn is_linearizable(mut operations: Vec<Operation>) -> bool {
    // Those with an end first, by their start; what is open lies behind them.
    operations.sort_by_key(|operation| (operation.end.is_none(), operation.start));
    let needed = operations.iter().filter(|operation| operation.end.is_some()).count();
    let start = Way { first: 0, beyond: BTreeSet::new(), value: "-".into() };
    let (mut seen, mut left) = (HashSet::new(), vec![start]);
    while let Some(way) = left.pop() {
        if way.first == needed {
            return true;
        }
        let open = || {
            let rest = operations.iter().enumerate().skip(way.first);
            rest.filter(|(number, _)| !way.beyond.contains(number))
        };
        let soonest = open().filter_map(|(_, operation)| operation.end).min().unwrap_or(u64::MAX);
        for (number, operation) in open() {
            if operation.start > soonest {
                continue;
            }
            let value = match &operation.act {
                Act::Read(value) if *value == way.value => value.clone(),
                Act::Change(old, new) if *old == way.value => new.clone(),
                Act::Differs(old) if *old != way.value => way.value.clone(),
                _ => continue,
            };
            let mut next = Way { value, ..way.clone() };
            next.beyond.insert(number);
            while next.first < needed && next.beyond.remove(&next.first) {
                next.first += 1;
            }
            if seen.insert(next.clone()) {
                left.push(next);
            }
        }
    }
    false
}

/// A history, and whether it is good.
type Case = (&'static str, bool, Vec<(Act, u64, u64)>);

/// The checker tells good from bad.
pub(crate) fn trials() -> Vec<Trial> {
    let change = |old: &str, new: &str| Act::Change(old.into(), new.into());
    let read = |value: &str| Act::Read(value.into());
    let differs = |value: &str| Act::Differs(value.into());
    let cases: Vec<Case> = vec![
        (
            "one after the other",
            true,
            vec![(change("-", "a"), 1, 2), (change("a", "b"), 3, 4), (read("b"), 5, 6)],
        ),
        (
            "a lost update",
            false,
            vec![(change("-", "a"), 1, 2), (change("a", "b"), 3, 9), (change("a", "c"), 4, 8)],
        ),
        ("a stale read", false, vec![(change("-", "a"), 1, 2), (change("a", "b"), 3, 4), (read("a"), 5, 6)]),
        (
            "a read beside a write",
            true,
            vec![(change("-", "a"), 1, 2), (change("a", "b"), 3, 6), (read("a"), 4, 5)],
        ),
        (
            "a read that goes back",
            false,
            vec![(change("-", "a"), 1, 2), (change("a", "b"), 3, 9), (read("b"), 4, 5), (read("a"), 6, 7)],
        ),
        ("unknown, and it happened", true, vec![(change("-", "a"), 1, 0), (read("a"), 2, 3)]),
        (
            "unknown, and it happened late",
            true,
            vec![(change("-", "a"), 1, 0), (read("-"), 2, 3), (read("a"), 4, 5)],
        ),
        (
            "unknown, and it did not happen",
            true,
            vec![(change("-", "a"), 1, 0), (change("-", "b"), 2, 3), (read("b"), 4, 5)],
        ),
        ("unknown, and undone", false, vec![(change("-", "a"), 1, 0), (read("a"), 2, 3), (read("-"), 4, 5)]),
        ("a value from nowhere", false, vec![(read("x"), 1, 2)]),
        ("a conflict for a reason", true, vec![(change("-", "a"), 1, 4), (differs("-"), 2, 3)]),
        ("a conflict without one", false, vec![(change("-", "a"), 1, 2), (differs("a"), 3, 4)]),
        (
            "deleted and back",
            true,
            vec![
                (change("-", "a"), 1, 2),
                (change("a", "-"), 3, 4),
                (change("-", "b"), 5, 6),
                (differs("a"), 7, 8),
            ],
        ),
        ("a ghost", false, vec![(change("-", "a"), 1, 2), (change("a", "-"), 3, 4), (read("a"), 5, 6)]),
    ];
    let trial = |(name, good, acts): Case| {
        Trial::test(format!("history::{}", name.replace(' ', "_").replace(',', "")), move || {
            let operation = |(act, start, end)| Operation { act, start, end: (end > 0).then_some(end) };
            assert_eq!(is_linearizable(acts.into_iter().map(operation).collect()), good);
            Ok(())
        })
    };
    cases.into_iter().map(trial).collect()
}
