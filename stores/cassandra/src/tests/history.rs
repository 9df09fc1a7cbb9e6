//! What clients did to one record and saw of it, and whether one order explains it.

use std::collections::HashSet;
use std::hash::Hash;
use std::time::Duration;

/// A state that operations change and look at.
pub(crate) trait Machine: Clone + Eq + Hash {
    type Action: std::fmt::Debug;

    /// The state after an action with the outcome that it had; `None` if it could not have had it here.
    fn apply(&self, action: &Self::Action) -> Option<Self>;
}

/// Something that a client did.
#[derive(Debug)]
pub(crate) struct Operation<A> {
    pub(crate) action: A,
    pub(crate) start: Duration,
    /// `None` if the client never got to know: it happened at any time since, or never.
    pub(crate) end: Option<Duration>,
}

/// Says whether some order of the operations explains all outcomes, each taking effect between its start and its end.
pub(crate) fn is_linearizable<M: Machine>(first: M, operations: &[Operation<M::Action>]) -> bool {
    assert!(operations.len() <= 128, "{} operations are too many to check", operations.len());
    let all = operations.iter().enumerate().filter(|(_, operation)| operation.end.is_some());
    let needed = all.fold(0_u128, |set, (number, _)| set | 1 << number);
    let mut seen = HashSet::new();
    let mut left = vec![(0_u128, first)];
    while let Some((done, state)) = left.pop() {
        if done & needed == needed {
            return true;
        }
        let open = |number: usize| done & (1 << number) == 0;
        let numbered = || operations.iter().enumerate().filter(|(number, _)| open(*number));
        // Whatever began after this ended cannot come before it.
        let soonest = numbered().filter_map(|(_, operation)| operation.end).min();
        for (number, operation) in numbered() {
            if soonest.is_some_and(|soonest| operation.start > soonest) {
                continue;
            }
            let Some(next) = state.apply(&operation.action) else { continue };
            let next = (done | 1 << number, next);
            if seen.insert(next.clone()) {
                left.push(next);
            }
        }
    }
    false
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Register(u8);

#[derive(Debug)]
enum Act {
    Swap(u8, u8),
    Read(u8),
}

impl Machine for Register {
    type Action = Act;

    fn apply(&self, action: &Act) -> Option<Self> {
        match action {
            Act::Swap(from, to) => (self.0 == *from).then_some(Self(*to)),
            Act::Read(value) => (self.0 == *value).then_some(self.clone()),
        }
    }
}

#[test]
fn the_checker_tells_good_histories_from_bad_ones() {
    let operation = |action, start, end: u64| Operation {
        action,
        start: Duration::from_millis(start),
        end: (end > 0).then(|| Duration::from_millis(end)),
    };
    let good =
        [operation(Act::Swap(0, 1), 0, 10), operation(Act::Read(0), 1, 5), operation(Act::Read(1), 3, 9)];
    assert!(is_linearizable(Register(0), &good));
    let stale = [operation(Act::Swap(0, 1), 0, 2), operation(Act::Read(0), 3, 5)];
    assert!(!is_linearizable(Register(0), &stale));
    let twice = [operation(Act::Swap(0, 1), 0, 9), operation(Act::Swap(0, 2), 0, 9)];
    assert!(!is_linearizable(Register(0), &twice));
    let unknown =
        [operation(Act::Swap(0, 1), 0, 0), operation(Act::Read(0), 3, 5), operation(Act::Read(1), 6, 7)];
    assert!(is_linearizable(Register(0), &unknown));
    let back =
        [operation(Act::Swap(0, 1), 0, 0), operation(Act::Read(1), 3, 5), operation(Act::Read(0), 6, 7)];
    assert!(!is_linearizable(Register(0), &back));
}
