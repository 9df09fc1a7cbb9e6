//! What threads have done and seen, and whether there is an order of states that explains it.

use std::collections::BTreeMap;

use keyloom_key::Span;
use keyloom_store::{Condition, Direction, Fingerprinter, Limits, Page};

/// A state of the store.
type Map = BTreeMap<Vec<u8>, Vec<u8>>;
type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// A scan whose caller breaks at a row.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    pub(crate) span: Span,
    pub(crate) direction: Direction,
    pub(crate) limits: Limits,
    pub(crate) breaks: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum Looked {
    Get(Vec<u8>, Option<Vec<u8>>),
    Many(Vec<(Vec<u8>, Option<Vec<u8>>)>),
    Scan {
        scan: Scan,
        rows: Rows,
        page: Page,
    },
    /// A state was taken, to be looked at from now on.
    Taken,
    /// This did not hold.
    Conflict(Condition),
}

#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// All up to the first had been acknowledged before, and there were none behind the last.
    Read {
        from: u64,
        to: u64,
        looked: Looked,
    },
    /// Of the state that was taken last.
    Held(Looked),
    Commit {
        sequence: u64,
        writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
        condition: Option<Condition>,
    },
}

/// Whether there is a state for everything that was seen; what cannot be otherwise.
pub(crate) fn is_explained(threads: &[Vec<Event>]) -> Result<(), String> {
    let states = states(threads)?;
    for events in threads {
        // The earliest state that this thread can be at, and those that it may have taken.
        let (mut at, mut held) = (0, Vec::new());
        for event in events {
            match event {
                Event::Commit { sequence, .. } => at = at.max(*sequence),
                Event::Read { from, to, looked } => {
                    let first = states.range(..=at.max(*from)).next_back().map_or(0, |(number, _)| *number);
                    let mut fit = states.range(first..=*to).filter(|(_, state)| fits(state, looked));
                    let Some((number, _)) = fit.next() else {
                        return Err(format!("no state from {first} to {to} has {looked:?}"));
                    };
                    at = at.max(*number);
                    if matches!(looked, Looked::Taken) {
                        held = std::iter::once(*number).chain(fit.map(|(number, _)| *number)).collect();
                    }
                }
                Event::Held(looked) => {
                    let before = held.clone();
                    held.retain(|number| fits(&states[number], looked));
                    if held.is_empty() {
                        return Err(format!("no state of {before:?} that was taken has {looked:?}"));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Every state by the number of its commit.
fn states(threads: &[Vec<Event>]) -> Result<BTreeMap<u64, Map>, String> {
    let mut commits = BTreeMap::new();
    for event in threads.iter().flatten() {
        if let Event::Commit { sequence, writes, condition } = event
            && commits.insert(*sequence, (writes, condition)).is_some()
        {
            return Err(format!("two commits have the number {sequence}"));
        }
    }
    let mut state = Map::new();
    let mut states = BTreeMap::from([(0, state.clone())]);
    for (number, (writes, condition)) in commits {
        if let Some(condition) = condition.as_ref().filter(|condition| !holds(&state, condition)) {
            return Err(format!("commit {number} happened, and {condition}"));
        }
        for (key, value) in writes {
            match value {
                Some(value) => state.insert(key.clone(), value.clone()),
                None => state.remove(key),
            };
        }
        states.insert(number, state.clone());
    }
    Ok(states)
}

fn within<'a>(state: &'a Map, span: &Span) -> impl DoubleEndedIterator<Item = (&'a Vec<u8>, &'a Vec<u8>)> {
    state.range::<[u8], _>(span.bounds())
}

fn holds(state: &Map, condition: &Condition) -> bool {
    match condition {
        Condition::Absent(key) => !state.contains_key(key),
        Condition::Is { key, value } => state.get(key) == Some(value),
        Condition::Unchanged { span, fingerprint } => {
            let mut own = Fingerprinter::default();
            within(state, span).for_each(|(key, value)| own.add(key, value));
            own.finish() == *fingerprint
        }
        _ => false,
    }
}

fn fits(state: &Map, looked: &Looked) -> bool {
    match looked {
        Looked::Get(key, value) => state.get(key) == value.as_ref(),
        Looked::Many(all) => all.iter().all(|(key, value)| state.get(key) == value.as_ref()),
        Looked::Conflict(condition) => !holds(state, condition),
        Looked::Taken => true,
        Looked::Scan { scan, rows, page } => {
            let all = ordered(state, &scan.span, scan.direction);
            let mut bytes = 0;
            let ends = all.iter().enumerate().position(|(number, (key, value))| {
                bytes += key.len() + value.len();
                number + 1 >= scan.limits.rows.min(scan.breaks) || bytes >= scan.limits.bytes
            });
            let expected = ends.map_or(all.len(), |last| last + 1);
            let left =
                page.rest.as_ref().map(|rest| ordered(state, rest, scan.direction)).unwrap_or_default();
            let seen = rows.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
            *rows == all[..expected]
                && left == all[expected..]
                && (page.rows, page.bytes) == (rows.len(), seen)
        }
    }
}

fn ordered(state: &Map, span: &Span, direction: Direction) -> Rows {
    let rows = within(state, span).map(|(key, value)| (key.clone(), value.clone()));
    match direction {
        Direction::Forward => rows.collect(),
        Direction::Backward => rows.rev().collect(),
    }
}
