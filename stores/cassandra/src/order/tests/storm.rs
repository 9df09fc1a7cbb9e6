//! Several clients insert, delete and scan while others split, merge and move, and everything goes wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::Direction;

use super::history::History;
use super::{order, row, settings};
use crate::cache::Place;
use crate::cluster::{Cluster, Fault, Row, Space, State};
use crate::id::Id;
use crate::order::Order;
use crate::simulation::{Client, Faults, Random, Simulation};

/// What happened, so that a test can tell that something did.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Events {
    inserted: usize,
    deleted: usize,
    crashes: usize,
    shards: usize,
    statements: BTreeMap<&'static str, u64>,
}

impl Events {
    fn add(&mut self, other: &Self) {
        self.inserted += other.inserted;
        self.deleted += other.deleted;
        self.crashes += other.crashes;
        self.shards += other.shards;
        for (name, count) in &other.statements {
            *self.statements.entry(name).or_default() += count;
        }
    }
}

/// Runs the schedule of a seed on clusters that `wrap` may spoil.
pub(super) fn schedule<C: Cluster>(seed: u64, wrap: impl Fn(Client) -> C) -> Result<Events, String> {
    let mut settings = settings();
    let simulation = Simulation::new(seed, Faults::storm(settings.lease));
    if simulation.below(4) == 0 {
        // Wrong clocks make changes seem old.
        settings.abandon = Duration::from_secs(40);
    }
    settings.split_rows = 4 + usize::try_from(simulation.below(12)).unwrap();
    let history = History::default();
    let mut clients: Vec<Option<(Client, Order<C>)>> = (0..5).map(|_| None).collect();
    let mut crashes = 0;
    for _ in 0..3 {
        for (number, place) in clients.iter_mut().enumerate() {
            if place.as_ref().is_some_and(|(client, _)| client.crashed()) {
                crashes += 1;
                *place = None;
            }
            let (client, order) = place.get_or_insert_with(|| {
                let client = simulation.client();
                (client.clone(), order(wrap(client), settings.clone()))
            });
            for _ in 0..2 {
                let random = Random::new(simulation.below(u64::MAX));
                if number < 3 {
                    simulation.spawn(client, user(order.clone(), history.clone(), random));
                } else {
                    simulation.spawn(client, changer(order.clone(), history.clone(), random));
                }
            }
        }
        simulation.run()?;
        history.verdict()?;
    }
    // What was left is finished by another, and all of it is looked at in peace.
    simulation.set_faults(Faults::none());
    simulation.settle()?;
    let client = simulation.client();
    let order = order(client.clone(), settings);
    let last = history.clone();
    simulation.spawn(&client, async move {
        if let Err(fault) = order.maintain().await {
            last.wrong(format!("cannot finish what was left: {fault}"));
        }
        for direction in [Direction::Forward, Direction::Backward] {
            let all = Span { start: Vec::new(), end: None };
            scan(&order, &last, all, direction, 7, true).await;
        }
    });
    simulation.run()?;
    history.verdict()?;
    let mut shards = 0;
    for space in simulation.look(|stored| stored.spaces()) {
        let map = simulation.look(|stored| stored.map(space));
        let ends = map.iter().map(|range| range.end.clone());
        let starts = map.iter().skip(1).map(|range| Some(range.start.clone())).chain([None]);
        if !map.is_empty() && (!ends.eq(starts) || map.iter().any(|range| range.state != State::Active)) {
            return Err(format!("the map of {space:?} is torn or unfinished: {map:?}"));
        }
        let different: BTreeSet<Id> = map.iter().map(|range| range.shard).collect();
        if different.len() < map.len() {
            return Err(format!("two ranges of {space:?} have one shard: {map:?}"));
        }
        shards += map.len();
    }
    let (inserted, deleted) = history.counts();
    Ok(Events { inserted, deleted, crashes, shards, statements: simulation.counts() })
}

/// Runs a schedule in which nothing goes wrong, and returns whether rows are left in shards that do not have them.
fn leaves_rows(seed: u64) -> bool {
    let simulation = Simulation::new(seed, Faults::none());
    let history = History::default();
    for number in 0..4 {
        let client = simulation.client();
        let order = order(client.clone(), settings());
        let random = Random::new(simulation.below(u64::MAX));
        match number {
            0..3 => simulation.spawn(&client, user(order, history.clone(), random)),
            _ => simulation.spawn(&client, changer(order, history.clone(), random)),
        };
    }
    simulation.settle().unwrap();
    history.verdict().unwrap();
    simulation.look(|stored| {
        let belongs = |space: Space, shard: Id, row: &Row| {
            let map = stored.map(space);
            map.iter().any(|range| range.shard == shard && Place::At(&row.key).is_in(range))
        };
        let shards = stored.shards();
        shards.iter().any(|(space, shard)| {
            stored.shard(*space, *shard).iter().any(|row| !belongs(*space, *shard, row))
        })
    })
}

/// Three spaces, and few keys, so that they meet.
fn key(random: &mut Random) -> Vec<u8> {
    let space = [[0, 0, 0, 1], [0, 0, 0, 2], [b'a', 0, 0, 0]][usize::try_from(random.below(8)).unwrap() / 3];
    let mut key = space.to_vec();
    key.extend(random.below(40).to_be_bytes().last());
    key
}

/// Inserts, deletes and scans.
async fn user<C: Cluster>(order: Order<C>, history: History, mut random: Random) {
    for _ in 0..24 {
        order.cluster().sleep(Duration::from_micros(random.below(20_000))).await;
        match random.below(10) {
            0..5 => {
                let rows: Vec<_> = (0..=random.below(3)).map(|_| row(&order, &key(&mut random))).collect();
                history.inserting(&rows);
                let ended = order.insert(rows.clone()).await;
                history.returned(&rows);
                known(&history, ended, || history.inserted(&rows));
            }
            5..8 => {
                let Some(victim) = history.victim(|limit| random.below(limit)) else { continue };
                let ended = order.delete(vec![victim.clone()]).await;
                known(&history, ended, || history.deleted(victim.1));
            }
            _ => {
                let (one, other) = (key(&mut random), key(&mut random));
                let end = (random.below(3) > 0).then(|| one.clone().max(other.clone()));
                let start = if random.below(3) > 0 { one.min(other) } else { Vec::new() };
                let direction = [Direction::Forward, Direction::Backward][usize::from(random.below(2) == 0)];
                let limit = 1 + usize::try_from(random.below(12)).unwrap();
                let on = random.below(2) == 0;
                scan(&order, &history, Span { start, end }, direction, limit, on).await;
            }
        }
    }
}

/// Splits, merges, moves and finishes.
async fn changer<C: Cluster>(order: Order<C>, history: History, mut random: Random) {
    for _ in 0..4 {
        order.cluster().sleep(Duration::from_micros(random.below(50_000))).await;
        let key = key(&mut random);
        let ended = match random.below(8) {
            0..3 => order.split(&key).await,
            3..5 => {
                // Somewhere a range starts.
                let space = Space::of(&key);
                let start = order.shared.map.settled(space, Place::At(&key)).await;
                match start {
                    Ok(Some(range)) if !range.start.is_empty() => order.merge(&range.start).await,
                    Ok(_) => order.merge(&key).await,
                    Err(fault) => Err(fault),
                }
            }
            5 => order.relocate(&key).await,
            6 => order.presplit(&[key.clone(), self::key(&mut random), self::key(&mut random)]).await,
            _ => order.maintain().await,
        };
        known(&history, ended, || {});
    }
}

/// Scans a span, to its end or only its first page.
async fn scan<C: Cluster>(
    order: &Order<C>,
    history: &History,
    span: Span,
    direction: Direction,
    limit: usize,
    on: bool,
) {
    let mut rest = Some(span);
    while let Some(span) = rest.take() {
        let began = history.now();
        let ended = order.scan(&span, direction, limit).await;
        let found = match ended {
            Ok(found) => found,
            Err(fault) => return known(history, Err(fault), || {}),
        };
        history.scanned(began, &span, direction, limit, &found);
        rest = found.rest.filter(|_| on);
    }
}

/// Nothing that the cluster was asked may be refused.
fn known(history: &History, ended: Result<(), Fault>, then: impl FnOnce()) {
    match ended {
        Ok(()) => then(),
        Err(Fault::Unknown(_)) => {}
        Err(Fault::Refused(reason)) => history.wrong(format!("refused: {reason}")),
    }
}

/// How many schedules a test runs: `KEYLOOM_SEEDS`, else this; optimised code runs more. `KEYLOOM_SEED` runs one.
pub(super) fn seeds(few: u64, many: u64) -> Vec<u64> {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("KEYLOOM_SEED"), number("KEYLOOM_SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, count) => (0..count.unwrap_or(if cfg!(debug_assertions) { few } else { many })).collect(),
    }
}

#[test]
fn nothing_is_lost_and_nothing_comes_back() {
    let mut total = Events::default();
    for seed in seeds(100, 3_000) {
        match schedule(seed, |client| client) {
            Ok(events) => total.add(&events),
            Err(wrong) => panic!("{wrong}\nrerun with KEYLOOM_SEED={seed}"),
        }
    }
    println!("{total:?}");
}

#[test]
fn what_has_moved_is_deleted() {
    for seed in seeds(60, 300) {
        assert!(!leaves_rows(seed), "rerun with KEYLOOM_SEED={seed}");
    }
}

#[test]
fn a_seed_gives_the_same_again() {
    let [one, other] = [(), ()].map(|()| schedule(11, |client| client));
    assert_eq!(one, other);
}
