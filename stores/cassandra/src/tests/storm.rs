//! Several clients write the same few records and read them, while everything goes wrong.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::{About, Batch, Condition, Direction, Error, Read, Store as _};

use super::history::{Machine, Operation, is_linearizable};
use super::{Store, everything, open, scan, seeds, storm};
use crate::cell::{self, Verdict};
use crate::cluster::{Cell, Cluster as _, Row};
use crate::mistake::Mistake;
use crate::simulation::{Client, Faults, Random, Simulation, Stored};

const RECORDS: u64 = 3;

/// The number of a record without entries that is written without conditions.
const PLAIN: u64 = 10;

/// What a record holds: a tag that no other write has, a color that is indexed, and a name that is unique.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Value {
    tag: String,
    color: u64,
    name: Option<u64>,
}

impl Value {
    fn bytes(&self) -> Vec<u8> {
        let name = self.name.map(|name| name.to_string()).unwrap_or_default();
        format!("{}|{}|{name}", self.tag, self.color).into_bytes()
    }

    pub(super) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let mut parts = text.split('|');
        let mut part = || parts.next().unwrap();
        let (tag, color, name) = (part().to_owned(), part().parse().unwrap(), part().parse().ok());
        Self { tag, color, name }
    }

    /// The entries of the record with this value. The first has a value that changes with each write.
    fn entries(&self, record: u64) -> Vec<(String, String)> {
        if record == PLAIN {
            return Vec::new();
        }
        let color = (format!("color/{}/{record}", self.color), self.tag.clone());
        let name = self.name.map(|name| (name_key(name), record.to_string()));
        [color].into_iter().chain(name).collect()
    }
}

fn record_key(record: u64) -> String {
    format!("record/{record}")
}

fn name_key(name: u64) -> String {
    format!("name/{name}")
}

/// A record's state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    record: u64,
    value: Option<Value>,
}

#[derive(Debug)]
enum Action {
    Set(Option<Value>),
    Change {
        from: Option<Value>,
        to: Option<Value>,
    },
    /// A change that was refused because the record was not what it should have been.
    Refused {
        from: Option<Value>,
    },
    Saw(Option<Value>),
    /// An entry was there with this value, or was not there.
    Entry(String, Option<String>),
}

impl Machine for State {
    type Action = Action;

    fn apply(&self, action: &Action) -> Option<Self> {
        let holds = match action {
            Action::Set(_) => true,
            Action::Change { from, .. } => *from == self.value,
            Action::Refused { from } => *from != self.value,
            Action::Saw(value) => *value == self.value,
            Action::Entry(key, value) => {
                let entries = self.value.iter().flat_map(|value| value.entries(self.record));
                entries.into_iter().find(|(entry, _)| entry == key).map(|(_, value)| value) == *value
            }
        };
        let value = match action {
            Action::Set(to) | Action::Change { to, .. } => to.clone(),
            _ => self.value.clone(),
        };
        holds.then_some(Self { record: self.record, value })
    }
}

/// What was done to each record.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<BTreeMap<u64, Vec<Operation<Action>>>>>);

impl Log {
    fn begin(&self, record: u64, action: Action, start: Duration) -> usize {
        let mut log = self.0.lock().unwrap();
        let operations = log.entry(record).or_default();
        operations.push(Operation { action, start, end: None });
        operations.len() - 1
    }

    fn end(&self, record: u64, number: usize, time: Duration) {
        self.0.lock().unwrap().get_mut(&record).unwrap()[number].end = Some(time);
    }

    fn saw(&self, record: u64, action: Action, start: Duration, end: Duration) {
        let mut log = self.0.lock().unwrap();
        log.entry(record).or_default().push(Operation { action, start, end: Some(end) });
    }
}

struct Worker {
    simulation: Arc<Simulation>,
    store: Store,
    log: Log,
    random: Random,
    name: String,
    count: u64,
}

impl Worker {
    async fn work(mut self, rounds: u64) {
        for _ in 0..rounds {
            let record = self.random.below(RECORDS);
            match self.random.below(12) {
                0..6 => self.change(record).await,
                6 => _ = self.read(record).await,
                7 => self.get_entry().await,
                8..10 => self.scan().await,
                10 => self.set().await,
                _ => _ = self.read(PLAIN).await,
            }
        }
    }

    async fn read(&self, record: u64) -> Option<Option<Value>> {
        let start = self.simulation.now();
        let value = self.store.get(record_key(record).as_bytes(), Value::parse).await.ok()?;
        self.log.saw(record, Action::Saw(value.clone()), start, self.simulation.now());
        Some(value)
    }

    /// A value that nobody else writes, or none.
    fn fresh(&mut self) -> Option<Value> {
        self.count += 1;
        let tag = format!("{}.{}", self.name, self.count);
        let name = Some(self.random.below(6)).filter(|name| *name < 3);
        let color = self.random.below(2);
        (self.random.below(5) > 0).then_some(Value { tag, color, name })
    }

    async fn set(&mut self) {
        let to = self.fresh();
        let batch = match &to {
            None => Batch::new().delete(record_key(PLAIN)),
            Some(value) => Batch::new().put(record_key(PLAIN), value.bytes()),
        };
        let number = self.log.begin(PLAIN, Action::Set(to), self.simulation.now());
        match self.store.commit(batch).await {
            Ok(_) => self.log.end(PLAIN, number, self.simulation.now()),
            Err(Error::Unknown(_)) => {}
            Err(Error::Busy(_)) => self.nothing(PLAIN, number),
            Err(error) => panic!("{error}"),
        }
    }

    async fn change(&mut self, record: u64) {
        let Some(from) = self.read(record).await else { return };
        let to = self.fresh();
        let key = record_key(record);
        let mut batch = Batch::new().about(About::Record(key.clone().into()));
        let before = from.as_ref().map(|value| value.entries(record)).unwrap_or_default();
        let after = to.as_ref().map(|value| value.entries(record)).unwrap_or_default();
        let has = |entries: &[(String, String)], key: &str| entries.iter().any(|(entry, _)| entry == key);
        for (entry, _) in before.iter().filter(|(entry, _)| !has(&after, entry)) {
            batch = batch.delete(entry);
        }
        for (entry, value) in after {
            // The unique one stays as it is if it is the same; the other gets its new value.
            if entry.starts_with("name/") && has(&before, &entry) {
                continue;
            }
            if entry.starts_with("name/") {
                batch = batch.require_absent(entry.as_str());
            }
            batch = batch.put(entry, value);
        }
        batch = match &from {
            None => batch.require_absent(key.as_str()),
            Some(value) => batch.require_value(key.as_str(), value.bytes()),
        };
        batch = match &to {
            None => batch.delete(&key),
            Some(value) => batch.put(&key, value.bytes()),
        };
        let action = Action::Change { from: from.clone(), to: to.clone() };
        let start = self.simulation.now();
        let number = self.log.begin(record, action, start);
        let outcome = self.store.commit(batch).await;
        let now = self.simulation.now();
        match outcome {
            Ok(_) => self.log.end(record, number, now),
            Err(Error::Unknown(_)) => {}
            Err(Error::Conflict(condition)) => match *condition {
                Condition::Absent(failed) | Condition::Is { key: failed, .. } if failed == key.as_bytes() => {
                    let mut log = self.log.0.lock().unwrap();
                    let operation = &mut log.get_mut(&record).unwrap()[number];
                    *operation = Operation { action: Action::Refused { from }, start, end: Some(now) };
                }
                // Another has the name: nothing happened, and nothing was seen of the record.
                _ => self.nothing(record, number),
            },
            // Nothing was written.
            Err(Error::Busy(_)) => self.nothing(record, number),
            Err(error) => panic!("{error}"),
        }
    }

    /// The operation did nothing and says nothing: an unknown read.
    fn nothing(&self, record: u64, number: usize) {
        let mut log = self.log.0.lock().unwrap();
        let operation = &mut log.get_mut(&record).unwrap()[number];
        operation.action = Action::Saw(None);
    }

    async fn get_entry(&mut self) {
        let name = name_key(self.random.below(3));
        let start = self.simulation.now();
        let Ok(owner) = self.store.get(name.as_bytes(), |owner| owner.to_vec()).await else { return };
        let owner: Option<u64> = owner.map(|owner| String::from_utf8(owner).unwrap().parse().unwrap());
        let end = self.simulation.now();
        for record in 0..RECORDS {
            // If there are more owners than one, it shows in the end.
            if owner.is_none_or(|owner| owner == record) {
                let there = owner.map(|owner| owner.to_string());
                self.log.saw(record, Action::Entry(name.clone(), there), start, end);
            }
        }
    }

    async fn scan(&mut self) {
        let direction = [Direction::Forward, Direction::Backward][usize::from(self.random.below(2) == 0)];
        let page = 1 + usize::try_from(self.random.below(4)).unwrap();
        let prefix = ["record/", "color/"][usize::from(self.random.below(2) == 0)];
        let start = self.simulation.now();
        let Ok(rows) = scan(&self.store, Span::prefix(prefix), direction, page).await else { return };
        let end = self.simulation.now();
        let rows: BTreeMap<String, Vec<u8>> =
            rows.into_iter().map(|(key, value)| (String::from_utf8(key).unwrap(), value)).collect();
        for record in 0..RECORDS {
            if prefix == "record/" {
                let value = rows.get(&record_key(record)).map(|value| Value::parse(value));
                self.log.saw(record, Action::Saw(value), start, end);
                continue;
            }
            for color in 0..2 {
                let key = format!("color/{color}/{record}");
                let value = rows.get(&key).map(|value| String::from_utf8(value.clone()).unwrap());
                self.log.saw(record, Action::Entry(key, value), start, end);
            }
        }
    }
}

/// Runs one schedule and says what is wrong.
pub(super) fn run(seed: u64, faults: Faults, mistake: Option<Mistake>) -> Result<(), String> {
    let simulation = Arc::new(Simulation::new(seed, Faults::none()));
    let log = Log::default();
    let wrong: Arc<Mutex<Option<String>>> = Arc::default();
    for phase in 0..2 {
        simulation.set_faults(faults.clone());
        for number in 0..4 {
            let (client, store) = open(&simulation, mistake);
            let random = Random::new(seed * 100 + phase * 10 + number);
            let name = format!("{phase}{number}");
            let worker =
                Worker { simulation: simulation.clone(), store, log: log.clone(), random, name, count: 0 };
            simulation.spawn(&client, worker.work(6));
        }
        let (watcher, stop) = (simulation.client(), Arc::new(AtomicBool::new(false)));
        watcher.spawn(watch(simulation.clone(), watcher.clone(), stop.clone(), wrong.clone()));
        simulation.run()?;
        stop.store(true, Ordering::Relaxed);
        if let Some(wrong) = wrong.lock().unwrap().take() {
            return Err(wrong);
        }
        simulation.set_faults(Faults::none());
        simulation.settle()?;
        quiet(&simulation)?;
    }
    for (record, operations) in log.0.lock().unwrap().iter() {
        if !is_linearizable(State { record: *record, value: None }, operations) {
            return Err(format!("no order explains what was seen of record {record}: {operations:#?}"));
        }
    }
    Ok(())
}

/// Looks at the cells again and again, until it is told to stop, and says if two records had one name.
async fn watch(
    simulation: Arc<Simulation>,
    client: Client,
    stop: Arc<AtomicBool>,
    wrong: Arc<Mutex<Option<String>>>,
) {
    while !stop.load(Ordering::Relaxed) {
        let mut owners = BTreeMap::new();
        for (key, cell) in simulation.look(|stored| stored.cells()) {
            let Some(name) = cell.value.and_then(|value| Value::parse(&value).name) else { continue };
            if !key.ends_with(PLAIN.to_string().as_bytes())
                && let Some(other) = owners.insert(name, key.clone())
            {
                let (one, other) = (key.escape_ascii(), other.escape_ascii());
                *wrong.lock().unwrap() = Some(format!("{one} and {other} have the name {name}"));
            }
        }
        client.sleep(Duration::from_micros(500)).await;
    }
}

/// Whether a row's record does not list it and never will.
fn is_dead(row: &Row, cells: &[(Vec<u8>, Cell)], now: i64) -> bool {
    let Some((owner, base)) = cell::owner(row) else { return false };
    let cell = cells.iter().find(|(key, _)| key == owner).map(|(_, cell)| cell);
    let listed = cell.is_some_and(|cell| cell.lists(row));
    !listed && Cell::verdict(cell, base, true, now) == Verdict::Dead
}

/// Everything has come to rest: the entries are exactly those of the records.
fn quiet(simulation: &Arc<Simulation>) -> Result<(), String> {
    for round in 0..8 {
        let (client, store) = open(simulation, None);
        let reader = store.clone();
        let rows = simulation.block_on(&client, async move {
            let store = reader;
            let mut forward = scan(&store, everything(), Direction::Forward, 3).await?;
            let backward = scan(&store, everything(), Direction::Backward, 2).await?;
            let mut gets = Vec::new();
            for (key, _) in &forward {
                gets.push((key.clone(), store.get(key, <[u8]>::to_vec).await?.unwrap_or_default()));
            }
            forward.reverse();
            Ok::<_, Error>((forward, backward, gets.into_iter().rev().collect::<Vec<_>>()))
        });
        let (rows, backward, gets) = rows.ok_or("stuck")?.map_err(|error| error.to_string())?;
        if rows != backward || rows != gets {
            return Err(format!("two reads of one state differ: {rows:?}, {backward:?}, {gets:?}"));
        }
        let rows: BTreeMap<Vec<u8>, Vec<u8>> = rows.into_iter().collect();
        let mut expected = BTreeMap::new();
        for record in (0..RECORDS).chain([PLAIN]) {
            let Some(bytes) = rows.get(record_key(record).as_bytes()) else { continue };
            expected.insert(record_key(record).into_bytes(), bytes.clone());
            for (key, value) in Value::parse(bytes).entries(record) {
                if expected.insert(key.clone().into_bytes(), value.into_bytes()).is_some() {
                    return Err(format!("{key} has two owners"));
                }
            }
        }
        if rows != expected {
            let text = |rows: &BTreeMap<Vec<u8>, Vec<u8>>| {
                let row = |(key, value): (&Vec<u8>, &Vec<u8>)| {
                    format!("{}={}", key.escape_ascii(), value.escape_ascii())
                };
                rows.iter().map(row).collect::<Vec<_>>().join("\n")
            };
            return Err(format!(
                "round {round}: there are\n{}\nand should be\n{}",
                text(&rows),
                text(&expected)
            ));
        }
        simulation.settle()?;
        let order = store.order().clone();
        let rows = simulation.block_on(&client, async move {
            order.scan(&everything(), Direction::Forward, usize::MAX).await
        });
        let rows = rows.ok_or("stuck")?.map_err(|fault| fault.to_string())?.rows;
        let (cells, now) = (simulation.look(Stored::cells), client.wall());
        if !rows.iter().any(|row| is_dead(row, &cells, now)) {
            return Ok(());
        }
    }
    Err("readers leave dead rows".to_owned())
}

#[test]
fn records_and_entries_are_one_whatever_goes_wrong() {
    for seed in seeds(600) {
        run(seed, storm(), None).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
}

#[test]
fn records_and_entries_are_one_when_all_goes_well() {
    for seed in seeds(200) {
        run(seed, Faults::none(), None).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
}

#[test]
fn a_crash_at_any_step_leaves_only_what_readers_ignore() {
    let faults = Faults { crash: 700, pause: super::LEASE, ..Faults::none() };
    for seed in seeds(400) {
        run(seed, faults.clone(), None).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
}
