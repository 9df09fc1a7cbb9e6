//! What must be so when it is quiet again, whatever went wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use keyloom_cassandra::{CassandraStore, Cluster, Config, Consistency, Driver, Space};
use keyloom_key::Span;
use keyloom_store::{Direction, Read, Wait};

use crate::client::{Keys, RECORDS, keys as scan, parts};
use crate::history::{Act, Operation, is_linearizable};
use crate::log::{Begun, End, Told, now};
use crate::scenario::Outcome;

pub(crate) fn check(url: &str, keys: Keys, logs: &[PathBuf], windows: &[(u64, u64)]) -> Outcome {
    let told: Vec<Told> = logs.iter().map(|log| Told::read(log)).collect();
    for told in &told {
        if let Some(line) = told.wrong.first().or(told.failed.first()) {
            return Err(format!("{line} (and {} like it)", told.wrong.len() + told.failed.len() - 1).into());
        }
    }
    let begun: Vec<&Begun> = told.iter().flat_map(|told| told.begun.values()).collect();
    for (start, end) in windows {
        let within = |begun: &&&Begun| matches!(begun.end, End::Done(time) if (*start..*end).contains(&time));
        if !begun.iter().any(|begun| within(&begun)) {
            return Err(format!("nothing was done from {start} to {end}").into());
        }
    }
    let config: Config = url.parse()?;
    let store = CassandraStore::open(&config).wait()?;
    records(&store, keys, &told, &begun)?;
    members(&store, keys, &begun)?;
    let ranges = ranges(&config, &keys.members())?;
    let count = |end: fn(&End) -> bool| begun.iter().filter(|begun| end(&begun.end)).count();
    eprintln!(
        "  {} done, {} conflicts, {} taken, {} unknown, {} reads; members in {ranges} ranges",
        count(|end| matches!(end, End::Done(_))),
        count(|end| matches!(end, End::Conflict(_))),
        count(|end| matches!(end, End::Taken)),
        count(|end| matches!(end, End::Unknown)),
        told.iter().map(|told| told.reads.len()).sum::<usize>(),
    );
    if ranges < 2 {
        return Err("no range was split: the clients have done too little".into());
    }
    Ok(())
}

/// Each record is what one order of all changes explains, and the indexes are as the records say.
fn records(store: &CassandraStore, keys: Keys, told: &[Told], begun: &[&Begun]) -> Outcome {
    let mut expected = [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()];
    for number in 0..RECORDS {
        let start = now();
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let value = store.get(&keys.record(number), text).wait()?;
        let last = Act::Read(value.clone().unwrap_or_else(|| "-".into()));
        let mut history = vec![Operation { act: last, start, end: Some(now()) }];
        let name = number.to_string();
        for (start, end, key, value) in told.iter().flat_map(|told| &told.reads) {
            if *key == name {
                history.push(Operation { act: Act::Read(value.clone()), start: *start, end: Some(*end) });
            }
        }
        for begun in begun {
            let [what, key, old, new] = begun.words.as_slice() else { continue };
            if what != "change" || *key != name {
                continue;
            }
            let change = Act::Change(old.clone(), new.clone());
            let (act, end) = match begun.end {
                End::Done(end) => (change, Some(end)),
                End::Unknown => (change, None),
                End::Conflict(end) => (Act::Differs(old.clone()), Some(end)),
                End::Taken => continue,
            };
            history.push(Operation { act, start: begun.start, end });
        }
        if !is_linearizable(history) {
            return Err(format!("no order explains what was done to record {number}").into());
        }
        if let Some(value) = value {
            let (group, seat) = parts(&value);
            let [records, groups, seats] = &mut expected;
            records.insert(keys.record(number));
            groups.insert(keys.group(group, number));
            if !seats.insert(keys.seat(seat)) {
                return Err(format!("two records have seat {seat}").into());
            }
        }
    }
    for (span, expected) in [keys.records(), keys.groups(), keys.seats()].iter().zip(expected) {
        same(store, span, &expected)?;
    }
    Ok(())
}

/// A member is there if the last that was done with it was to add it.
fn members(store: &CassandraStore, keys: Keys, begun: &[&Begun]) -> Outcome {
    let mut last: BTreeMap<String, (u64, Option<bool>)> = BTreeMap::new();
    for begun in begun {
        let [what, names] = begun.words.as_slice() else { continue };
        let there = matches!(begun.end, End::Done(_)).then_some(what == "add");
        for name in names.split(',') {
            let seen = last.entry(name.to_owned()).or_default();
            if begun.start >= seen.0 {
                *seen = (begun.start, there);
            }
        }
    }
    let found: BTreeSet<_> = scan(store, &keys.members(), Direction::Forward)?.into_iter().collect();
    let mut known = BTreeSet::new();
    for (name, (_, there)) in &last {
        let key = keys.named(name);
        if there.is_some_and(|there| there != found.contains(&key)) {
            return Err(format!("member {name} should be there: {there:?}").into());
        }
        known.insert(key);
    }
    match found.difference(&known).next() {
        None => Ok(()),
        Some(key) => Err(format!("member {} never came", key.escape_ascii()).into()),
    }
}

/// A scan, forward and backward, gives exactly these keys.
fn same(store: &CassandraStore, span: &Span, expected: &BTreeSet<Vec<u8>>) -> Outcome {
    let mut found = scan(store, span, Direction::Backward)?;
    found.reverse();
    if found != scan(store, span, Direction::Forward)? {
        return Err("forward and backward differ".into());
    }
    let found: BTreeSet<_> = found.into_iter().collect();
    if let Some(key) = expected.difference(&found).next() {
        return Err(format!("{} is missing in a scan", key.escape_ascii()).into());
    }
    match found.difference(expected).next() {
        None => Ok(()),
        Some(key) => Err(format!("{} is a ghost in a scan", key.escape_ascii()).into()),
    }
}

/// How many ranges a span has. They are walked by what each says of its end.
fn ranges(config: &Config, span: &Span) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
    let driver = Driver::connect(config).wait()?;
    let space = Space::of(&span.start);
    let (mut count, mut place) = (0, Some(Vec::new()));
    while let Some(key) = place {
        let range = driver.range_at(space, &key, Consistency::Quorum).wait();
        let range = range.map_err(|fault| fault.to_string())?.ok_or("a space without a map")?;
        if range.start != key {
            return Err(format!("the range at {} starts elsewhere", key.escape_ascii()).into());
        }
        count += 1;
        place = range.end;
    }
    Ok(count)
}
