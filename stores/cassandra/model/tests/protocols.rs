//! The protocols hold in every order of their steps, and the checker finds what goes wrong without each rule.

use std::hash::Hash;

use keyloom_cassandra_model::{claims, index, shards};
use stateright::{Checker, HasDiscoveries, Model};

use claims::{Claims, Write::Drop, Write::Take};
use index::{Index, Update};
use shards::{Change, Shards, Write::Delete, Write::Insert};

/// Tries every order of the steps.
fn holds<M>(model: M)
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Send + Sync + Clone + PartialEq + std::fmt::Debug,
    M::Action: Clone + PartialEq + std::fmt::Debug,
{
    let checker = model.checker().spawn_dfs().join();
    println!("{} states", checker.unique_state_count());
    checker.assert_properties();
}

/// Searches until it finds a way to break a promise, and it must be this one.
fn breaks<M>(model: M, promise: &'static str)
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Send + Sync + Clone + PartialEq + std::fmt::Debug,
    M::Action: Clone + PartialEq + std::fmt::Debug,
{
    let checker = model.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let found = checker.discovery(promise).unwrap_or_else(|| panic!("“{promise}” holds"));
    println!("“{promise}” breaks after {:?}", found.into_actions());
}

const LOST: &str = "no acknowledged row is lost";
const BACK: &str = "no deleted row comes back";

fn shards(change: Change, first: &[shards::Write], second: &[shards::Write]) -> Shards {
    Shards { change, writers: [first.to_vec(), second.to_vec()], broken: None }
}

#[test]
fn a_split_loses_nothing_and_brings_nothing_back() {
    holds(shards(Change::Split, &[Insert(1)], &[Delete(0)]));
    holds(shards(Change::Split, &[Insert(1)], &[Delete(1)]));
}

#[test]
fn a_merge_loses_nothing_and_brings_nothing_back() {
    holds(shards(Change::Merge, &[Insert(1)], &[Delete(1)]));
}

#[test]
fn a_split_breaks_without_its_rules() {
    use shards::Broken::*;
    let split = |broken| Shards { broken: Some(broken), ..shards(Change::Split, &[Insert(1)], &[Delete(0)]) };
    breaks(split(NoDualWrite), LOST);
    breaks(split(NoWait), LOST);
    breaks(split(LateAcknowledgement), LOST);
    breaks(split(LateRead), LOST);
    breaks(split(TwoWrites), LOST);
    breaks(split(CopiedAsNew), BACK);
    breaks(split(NoEpoch), LOST);
    let comes_and_goes = shards(Change::Split, &[Insert(1)], &[Delete(1)]);
    breaks(Shards { broken: Some(NoAnnounce), ..comes_and_goes }, BACK);
}

#[test]
fn a_merge_breaks_without_its_rules() {
    use shards::Broken::*;
    let merge = |broken| Shards { broken: Some(broken), ..shards(Change::Merge, &[Insert(1)], &[Delete(0)]) };
    breaks(merge(OldShard), LOST);
    breaks(merge(NoDualWrite), LOST);
    breaks(merge(NoWait), LOST);
    breaks(merge(TwoWrites), LOST);
}

const MISSING: &str = "every entry of a committed write is there";
const WRONG: &str = "nobody is told a wrong outcome";
const MISSED: &str = "a scan finds a record that was there all along";

fn index(updates: &[Update], broken: Option<index::Broken>) -> Index {
    Index { exists: true, updates: updates.to_vec(), broken }
}

#[test]
fn an_index_is_kept_by_two_who_race() {
    holds(index(&[Update::Put(1), Update::Put(2)], None));
    holds(index(&[Update::Put(1), Update::Put(0)], None));
    holds(index(&[Update::Put(0), Update::Put(0)], None));
}

#[test]
fn an_index_is_kept_when_the_record_comes_or_goes() {
    for exists in [false, true] {
        let updates = vec![Update::Put(1), Update::Put(2), Update::Delete];
        holds(Index { exists, updates, broken: None });
    }
}

#[test]
fn an_index_breaks_without_its_rules() {
    use index::Broken::*;
    let race = &[Update::Put(1), Update::Put(2)];
    breaks(index(race, Some(EarlyDelete)), MISSING);
    breaks(index(race, Some(CellFirst)), MISSING);
    breaks(index(race, Some(BlindRetry)), WRONG);
    breaks(index(race, Some(RepeatBelieved)), WRONG);
    breaks(index(&[Update::Put(1), Update::Put(2), Update::Put(3)], Some(GreedyUndo)), MISSING);
    breaks(index(&[Update::Put(0), Update::Put(0)], Some(RenewedRow)), MISSED);
    let comes_and_goes = vec![Update::Put(1), Update::Put(2), Update::Delete];
    breaks(Index { exists: false, updates: comes_and_goes, broken: Some(EarlyVanish) }, MISSING);
}

const TWO: &str = "a unique value has one owner";
const UNCLAIMED: &str = "whoever has the value has its claim";

fn claims(exist: bool, writers: &[claims::Write], broken: Option<claims::Broken>) -> Claims {
    Claims { exist, writers: writers.to_vec(), timeouts: 2, broken }
}

#[test]
fn a_unique_value_has_one_owner() {
    for exist in [false, true] {
        holds(claims(exist, &[Take(0), Take(1)], None));
        holds(claims(exist, &[Take(0), Take(1), Drop(0)], None));
    }
    holds(Claims { timeouts: 1, ..claims(true, &[Take(0), Take(1), Take(0)], None) });
}

#[test]
fn claims_break_without_their_rules() {
    use claims::Broken::*;
    breaks(claims(true, &[Take(0), Take(1)], Some(NotShutOut)), TWO);
    breaks(claims(true, &[Take(0), Take(1), Take(0)], Some(CarelessRelease)), UNCLAIMED);
    breaks(claims(true, &[Take(0), Take(1), Take(0)], Some(KeptClaim)), UNCLAIMED);
    breaks(claims(true, &[Take(0), Take(1), Drop(0)], Some(BlindTakeover)), TWO);
}
