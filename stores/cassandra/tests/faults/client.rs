//! A client: a process that changes records and members, and writes down what it did and saw.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use keyloom_cassandra::{CassandraStore, Config};
use keyloom_key::Span;
use keyloom_store::{About, Batch, Condition, Direction, Error, Limits, Read, Store, Wait};

use crate::log::{Log, now};

/// The argument that makes this program a client.
pub(crate) const WORD: &str = "as-a-client";

/// How many records are fought over, and how many seats there are for them, each for one.
pub(crate) const RECORDS: u8 = 10;
const SEATS: u64 = 16;
const GROUPS: u64 = 3;
const THREADS: u64 = 3;

/// The keys of one scenario: tables and indexes have numbers of their own, as trees have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys(pub(crate) u8);

impl Keys {
    fn tree(self, number: u8) -> Vec<u8> {
        vec![1, self.0, 0, number]
    }

    pub(crate) fn records(self) -> Span {
        Span::prefix(self.tree(1))
    }

    pub(crate) fn record(self, number: u8) -> Vec<u8> {
        [self.tree(1), vec![number]].concat()
    }

    pub(crate) fn groups(self) -> Span {
        Span::prefix(self.tree(2))
    }

    pub(crate) fn group(self, group: u64, number: u8) -> Vec<u8> {
        [self.tree(2), group.to_be_bytes().into(), vec![number]].concat()
    }

    pub(crate) fn seats(self) -> Span {
        Span::prefix(self.tree(3))
    }

    pub(crate) fn seat(self, seat: u64) -> Vec<u8> {
        [self.tree(3), seat.to_be_bytes().into()].concat()
    }

    pub(crate) fn members(self) -> Span {
        Span::prefix(self.tree(4))
    }

    fn mine(self, who: u64) -> Span {
        Span::prefix([self.tree(4), who.to_be_bytes().into()].concat())
    }

    /// The key of a member by its name, `who.number`.
    pub(crate) fn named(self, name: &str) -> Vec<u8> {
        let (who, number) = name.split_once('.').expect("a name");
        self.member(who.parse().expect("a number"), number.parse().expect("a number"))
    }

    fn member(self, who: u64, number: u64) -> Vec<u8> {
        [self.tree(4), who.to_be_bytes().into(), number.to_be_bytes().into()].concat()
    }
}

/// A value of a record, unlike all others: group, seat, and who wrote it.
pub(crate) fn parts(value: &str) -> (u64, u64) {
    let mut parts = value.split('.').map(|part| part.parse().expect("a number"));
    (parts.next().expect("a group"), parts.next().expect("a seat"))
}

/// `URL KEYS NUMBER SECONDS LOG SKEW`.
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let [url, keys, number, seconds, log, skew] = arguments else { return ExitCode::FAILURE };
    let config: Config = url.parse().expect("a URL");
    let config = config.with_skew(skew.parse().expect("microseconds"));
    let log = Log::create(Path::new(log));
    let store = match CassandraStore::open(&config).wait() {
        Ok(store) => store,
        Err(error) => {
            log.line(&format!("failed {} open: {error}", now()));
            return ExitCode::FAILURE;
        }
    };
    let keys = Keys(keys.parse().expect("a number"));
    let number: u64 = number.parse().expect("a number");
    let end = Instant::now() + Duration::from_secs(seconds.parse().expect("seconds"));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, log) = (store.clone(), &log);
            let who = number * THREADS + thread;
            scope.spawn(move || {
                let random = Random(who.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
                let members = BTreeMap::new();
                Worker { store, log, keys, who, random, count: 0, members }.work(end);
            });
        }
    });
    ExitCode::SUCCESS
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

struct Worker<'l> {
    store: CassandraStore,
    log: &'l Log,
    keys: Keys,
    who: u64,
    random: Random,
    count: u64,
    /// Our own members, and whether they are there; `None` if that is not known.
    members: BTreeMap<u64, Option<bool>>,
}

impl Worker<'_> {
    fn work(mut self, end: Instant) {
        while Instant::now() < end {
            match self.random.below(10) {
                0..5 => self.change(),
                5 | 6 => self.come(),
                7 => self.go(),
                8 => self.look(),
                _ => self.list(),
            }
        }
    }

    fn failed(&self, what: &str, error: &Error) {
        self.log.line(&format!("failed {} {what}: {error}", now()));
    }

    /// Reads a record; `None` if that failed.
    fn read(&self, number: u8) -> Option<String> {
        let (key, start) = (self.keys.record(number), now());
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        match self.store.get(&key, text).wait() {
            Ok(value) => {
                let value = value.unwrap_or_else(|| "-".into());
                self.log.line(&format!("read {start} {} {number} {value}", now()));
                Some(value)
            }
            Err(error) => {
                self.failed("read", &error);
                None
            }
        }
    }

    /// Reads a record and changes or deletes it, if it is still so. Its group and its seat move with it.
    fn change(&mut self) {
        let number = u8::try_from(self.random.below(RECORDS.into())).expect("small");
        let Some(old) = self.read(number) else { return };
        let key = self.keys.record(number);
        let mut batch = Batch::new().about(About::Record(key.clone()));
        batch = match old.as_str() {
            "-" => batch.require_absent(key.clone()),
            _ => batch.require_value(key.clone(), old.clone()),
        };
        let before = (old != "-").then(|| parts(&old));
        if let Some((group, seat)) = before {
            batch = batch.delete(self.keys.group(group, number)).delete(self.keys.seat(seat));
        }
        let mut new = "-".to_owned();
        if old != "-" && self.random.below(6) == 0 {
            batch = batch.delete(key);
        } else {
            let (group, seat) = (self.random.below(GROUPS), self.random.below(SEATS));
            self.count += 1;
            new = format!("{group}.{seat}.{}.{}", self.who, self.count);
            batch =
                batch.put(key, &new).put(self.keys.group(group, number), "").put(self.keys.seat(seat), "");
            if before.is_none_or(|(_, mine)| mine != seat) {
                batch = batch.require_absent(self.keys.seat(seat));
            }
        }
        let record = self.keys.record(number);
        let id = self.log.begin(&format!("change {number} {old} {new}"));
        match self.store.commit(batch).wait() {
            Ok(_) => self.log.end(id, "done"),
            Err(Error::Conflict(condition)) => {
                let of_record = match condition.as_ref() {
                    Condition::Absent(key) | Condition::Is { key, .. } => *key == record,
                    _ => false,
                };
                self.log.end(id, if of_record { "conflict" } else { "taken" });
            }
            Err(Error::Unknown(reason)) => self.log.end(id, &format!("unknown {reason}")),
            Err(error) => {
                self.log.end(id, "unknown");
                self.failed("change", &error);
            }
        }
    }

    /// A few members come.
    fn come(&mut self) {
        let numbers: Vec<u64> = (self.count + 1..=self.count + 5).collect();
        self.count += 5;
        self.members(&numbers, true);
    }

    /// One of them goes.
    fn go(&mut self) {
        let there: Vec<u64> = self.members.keys().copied().collect();
        let Ok(most) = u64::try_from(there.len()) else { return };
        if most == 0 {
            return;
        }
        let place = usize::try_from(self.random.below(most)).expect("small");
        let numbers: Vec<u64> = there.get(place).copied().into_iter().collect();
        self.members(&numbers, false);
    }

    fn members(&mut self, numbers: &[u64], come: bool) {
        let mut batch = Batch::new().about(About::Members);
        for number in numbers {
            let key = self.keys.member(self.who, *number);
            batch = if come { batch.put(key, "") } else { batch.delete(key) };
        }
        let names: Vec<_> = numbers.iter().map(|number| format!("{}.{number}", self.who)).collect();
        let id = self.log.begin(&format!("{} {}", if come { "add" } else { "remove" }, names.join(",")));
        let there = match self.store.commit(batch).wait() {
            Ok(_) => {
                self.log.end(id, "done");
                Some(come)
            }
            Err(error) => {
                self.log.end(id, "unknown");
                self.failed("members", &error);
                None
            }
        };
        self.members.extend(numbers.iter().map(|number| (*number, there)));
    }

    /// Scans our own members, all of which are known.
    fn look(&mut self) {
        let span = self.keys.mine(self.who);
        let Some(found) =
            keys(&self.store, &span, Direction::Backward).map_err(|e| self.failed("scan", &e)).ok()
        else {
            return;
        };
        let found: BTreeSet<_> = found.into_iter().collect();
        for (number, there) in &self.members {
            let seen = found.contains(&self.keys.member(self.who, *number));
            if there.is_some_and(|there| there != seen) {
                let what = if seen { "is a ghost" } else { "is missing" };
                self.log.line(&format!("wrong {} member {}.{number} {what}", now(), self.who));
            }
        }
        if found.len() > self.members.len() {
            self.log.line(&format!("wrong {} there are members that never came", now()));
        }
    }

    /// Scans the groups: in their order, each once.
    fn list(&mut self) {
        match keys(&self.store, &self.keys.groups(), Direction::Forward) {
            Ok(found) if found.is_sorted_by(|a, b| a < b) => {}
            Ok(_) => self.log.line(&format!("wrong {} a scan is out of order", now())),
            Err(error) => self.failed("scan", &error),
        }
    }
}

/// The keys of a span, by small pages.
pub(crate) fn keys(store: &CassandraStore, span: &Span, direction: Direction) -> Result<Vec<Vec<u8>>, Error> {
    let mut keys = Vec::new();
    let mut span = Some(span.clone());
    while let Some(part) = span {
        let look = |key: &[u8], _: &[u8]| {
            keys.push(key.to_vec());
            ControlFlow::Continue(())
        };
        span = store.scan(&part, direction, Limits::rows(40), look).wait()?.rest;
    }
    Ok(keys)
}
