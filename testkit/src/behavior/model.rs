//! Random operations beside a map that cannot be wrong: the store must answer alike, now and in snapshots.

use std::collections::BTreeMap;

use keyloom_key::Span;
use keyloom_store::{Batch, Blocking, Direction, Error, Limits, Store};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::{Case, Outcome, Row, commit, lasting, page, rows, value};

/// The cases of this file.
pub fn cases<S: Store>() -> Vec<Case<S>> {
    vec![Case {
        name: "answers_as_a_map_does",
        made_by: |c| c.ordered && c.conditions && (lasting(c) || !c.snapshot),
        run: model,
    }]
}

/// What is done to both.
#[derive(Debug, Clone)]
enum Step {
    Commit(Vec<(Vec<u8>, Option<Vec<u8>>)>),
    CommitIf { key: Vec<u8>, expected: Option<Vec<u8>>, write: Vec<u8> },
    Get(Vec<u8>),
    Scan { start: Vec<u8>, end: Option<Vec<u8>>, backward: bool, page: usize },
    Snapshot,
    Forget(prop::sample::Index),
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0_u8), Just(b'a'), Just(0xFF)], 1..4)
}

fn small() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..3)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => vec((key(), proptest::option::weighted(0.7, small())), 0..5).prop_map(Step::Commit),
        2 => (key(), proptest::option::of(small()), small())
            .prop_map(|(key, expected, write)| Step::CommitIf { key, expected, write }),
        2 => key().prop_map(Step::Get),
        3 => (key(), proptest::option::of(key()), any::<bool>(), 1..6_usize)
            .prop_map(|(start, end, backward, page)| Step::Scan { start, end, backward, page }),
        1 => Just(Step::Snapshot),
        1 => any::<prop::sample::Index>().prop_map(Step::Forget),
    ]
}

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn model<S: Store>(store: &Blocking<S>) -> Outcome {
    let mut runner = TestRunner::new(Config { cases: 300, failure_persistence: None, ..Config::default() });
    let run = |steps: Vec<Step>| {
        // One store for all runs: each begins by emptying it.
        let everything =
            rows(store, &super::everything(), Direction::Forward, Limits::default()).map_err(fail)?;
        let empty = everything.into_iter().fold(Batch::new(), |batch, (key, _)| batch.delete(key));
        commit(store, empty).map_err(fail)?;
        follow(store, steps)
    };
    runner.run(&vec(step(), 1..60), run).map_err(|error| error.to_string().into())
}

fn fail(error: Error) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

fn follow<S: Store>(store: &Blocking<S>, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut map = Map::new();
    let mut snapshots: Vec<(Blocking<S::Snapshot>, Map)> = Vec::new();
    for step in steps {
        match step {
            Step::Commit(writes) => {
                let mut batch = Batch::new();
                for (key, value) in writes {
                    batch = match &value {
                        Some(value) => batch.put(key.clone(), value.clone()),
                        None => batch.delete(key.clone()),
                    };
                    match value {
                        Some(value) => map.insert(key, value),
                        None => map.remove(&key),
                    };
                }
                commit(store, batch).map_err(fail)?;
            }
            Step::CommitIf { key, expected, write } => {
                let batch = Batch::new().put(key.clone(), write.clone());
                let batch = match &expected {
                    Some(value) => batch.require_value(key.clone(), value.clone()),
                    None => batch.require_absent(key.clone()),
                };
                match store.commit(batch) {
                    Ok(_) => {
                        prop_assert_eq!(map.get(&key), expected.as_ref());
                        map.insert(key, write);
                    }
                    Err(Error::Conflict(_)) => prop_assert_ne!(map.get(&key), expected.as_ref()),
                    Err(error) => return Err(fail(error)),
                }
            }
            Step::Get(key) => {
                prop_assert_eq!(value(store, &key).map_err(fail)?, map.get(&key).cloned());
                for (snapshot, then) in &snapshots {
                    prop_assert_eq!(value(snapshot, &key).map_err(fail)?, then.get(&key).cloned());
                }
            }
            Step::Scan { start, end, backward, page: size } => {
                let span = Span { start, end };
                let direction = if backward { Direction::Backward } else { Direction::Forward };
                let found = rows(store, &span, direction, Limits::rows(size)).map_err(fail)?;
                prop_assert_eq!(found, expected_rows(&map, &span, backward));
                for (snapshot, then) in &snapshots {
                    let (found, _) = page(snapshot, &span, direction, Limits::default()).map_err(fail)?;
                    prop_assert_eq!(found, expected_rows(then, &span, backward));
                }
            }
            Step::Snapshot if !store.capability().snapshot => {}
            Step::Snapshot => snapshots.push((store.snapshot().map_err(fail)?, map.clone())),
            Step::Forget(index) if !snapshots.is_empty() => {
                snapshots.swap_remove(index.index(snapshots.len()));
            }
            Step::Forget(_) => {}
        }
    }
    Ok(())
}

fn expected_rows(map: &Map, span: &Span, backward: bool) -> Vec<Row> {
    let mut rows: Vec<Row> = map
        .iter()
        .filter(|(key, _)| span.contains(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if backward {
        rows.reverse();
    }
    rows
}
