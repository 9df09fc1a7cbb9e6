//! A process that writes is killed, dozens of times, wherever it is: what it was told to be written is there, whole.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod shop;

use std::path::Path;
use std::time::Duration;

use keyloom_schema::{Document, Index, State, Table as Definition, TableBuilder, field};
use keyloom_store::{Durability, Store, Wait};
use keyloom_table::{Database, Query, Table};
use keyloom_testkit::child;
use shop::{Model, Shop};

/// How many records there are when an index is made later: several batches of filling.
const RECORDS: i64 = 12_000;

/// How many records are loaded as one.
const LOADED: i64 = 400;

/// Not a test of its own: the processes that are killed.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    match task.as_str() {
        "synced" => write(&shop::open(&path, Durability::Synced), false),
        "buffered" => write(&shop::open(&path, Durability::buffered()), true),
        "written" => write(&shop::open(&path, Durability::Written), false),
        "narrow" => write(&shop::open_in(shop::written(&path)), false),
        "fill" => {
            let database = database(&path);
            let told = |filled: keyloom_table::Filled| child::say("filled", filled.records);
            child::say("started", 0);
            database.create_index_with("numbers", by_word(), told).wait().unwrap();
        }
        "load" => {
            let numbers = database(&path).table("numbers").wait().unwrap();
            child::say("started", 0);
            for group in groups(&numbers).. {
                load(&numbers, group * LOADED..(group + 1) * LOADED);
                child::say("loaded", u64::try_from(group + 1).unwrap());
            }
        }
        other => panic!("{other}"),
    }
}

/// Goes on step by step, and says each when it is acknowledged; flushes now and then, if nothing lasts without.
fn write(shop: &Shop, flushes: bool) {
    let mut model = Model::of(shop::steps(shop).unwrap());
    loop {
        let changes = model.step();
        shop.apply(changes).wait().unwrap();
        child::say("done", model.steps);
        if flushes && model.steps.is_multiple_of(40) {
            shop.store().flush().wait().unwrap();
            child::say("flushed", model.steps);
        }
    }
}

/// Kills a writer in the middle, and sees what is left. Returns how many steps were lost.
fn round(task: &str, path: &Path, model: &mut Model, moment: Duration) -> u64 {
    let before = model.steps;
    let mut writer = child::start(task, path);
    let mut said = writer.said();
    // From its first step on, so that a slow start is no round without a write.
    let first = said.next().unwrap();
    std::thread::sleep(moment);
    drop(writer);
    let (mut done, mut flushed) = (before, before);
    for (word, number) in [first].into_iter().chain(said) {
        match word.as_str() {
            "done" => done = number,
            "flushed" => flushed = number,
            _ => {}
        }
    }
    let shop = shop::open(path, Durability::Synced);
    let found = shop::steps(&shop).unwrap();
    // What is synced or written survives the process.
    let least = if task == "buffered" { flushed } else { done };
    // What was committed and not yet said may be there too.
    assert!(
        (least..=done + 1).contains(&found),
        "{task}: {flushed} flushed, {done} acknowledged, {found} found"
    );
    // So many steps, all of them and none behind them: a loss is of the last ones.
    while model.steps < found {
        model.step();
    }
    model.check(&shop);
    let lost = done.saturating_sub(found);
    // A step writes two keys at least.
    assert!(lost * 2 <= 1_000, "{lost} steps lost, where 1,000 writes may be buffered");
    lost
}

#[test]
fn killed_writers_lose_nothing_that_was_promised_and_leave_no_half() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm");
    drop(shop::open(&path, Durability::Synced));
    let mut model = Model::default();
    let mut lost = 0;
    for number in 0..40_u64 {
        let task = ["synced", "buffered"][usize::try_from(number % 2).unwrap()];
        lost += round(task, &path, &mut model, Duration::from_micros(1 + number * 1_730 % 29_000));
    }
    println!("{} steps, {lost} more were acknowledged in memory and lost", model.steps);
    assert!(model.steps >= 20, "only {} steps", model.steps);
}

/// What is `written` is in the log when it returns, which the system keeps whatever becomes of the process.
#[test]
fn killed_writers_lose_nothing_that_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm");
    drop(shop::open(&path, Durability::Synced));
    let mut model = Model::default();
    for number in 0..30_u64 {
        // Most rounds have commits in the log, in memory and on their way into the file.
        let task = ["narrow", "written", "narrow"][usize::try_from(number % 3).unwrap()];
        let lost = round(task, &path, &mut model, Duration::from_micros(1 + number * 1_730 % 29_000));
        assert_eq!(lost, 0, "{task}");
    }
    println!("{} steps", model.steps);
    assert!(model.steps >= 200, "only {} steps", model.steps);
}

fn numbers() -> TableBuilder {
    Definition::named("numbers")
        .column("id", "i64")
        .column("word", "str")
        .column("code", "str")
        .column("marks", "list(i64)")
        .key(["id"])
        .index(Index::on(["marks"]))
        .index(Index::on(["code"]).unique())
}

fn by_word() -> keyloom_schema::IndexBuilder {
    Index::on(["word"]).named("by_word")
}

fn number(id: i64) -> Document {
    let marks = keyloom_key::Value::list([id % 10, id % 7 + 100]);
    let number = Document::new().with("id", id).with("word", format!("w{}", id % 100));
    number.with("code", format!("c{id}")).with("marks", marks)
}

fn database(path: &Path) -> Shop {
    Database::open(shop::store(path, Durability::Synced)).wait().unwrap()
}

fn load(numbers: &Table<keyloom_lmdb::LmdbStore>, ids: std::ops::Range<i64>) {
    numbers.load(ids.map(number), |_| {}).wait().unwrap();
}

fn count(numbers: &Table<keyloom_lmdb::LmdbStore>) -> i64 {
    i64::try_from(numbers.count(&Query::new().allow_scan()).wait().unwrap()).unwrap()
}

/// How many groups were loaded, which must be whole.
fn groups(numbers: &Table<keyloom_lmdb::LmdbStore>) -> i64 {
    let count = count(numbers);
    assert_eq!(count % LOADED, 0, "a part of a group");
    count / LOADED
}

#[test]
fn an_index_whose_filling_was_killed_serves_nothing_until_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.klm");
    let database_now = database(&path);
    load(&database_now.create_table(numbers()).wait().unwrap(), 0..RECORDS);
    drop(database_now);
    let total = u64::try_from(RECORDS).unwrap();
    let mut interrupted = 0;
    for round in 0..8_u64 {
        let mut filler = child::start("fill", &path);
        let mut said = filler.said();
        let started = said.by_ref().take(usize::try_from(1 + round % 5).unwrap()).last().unwrap();
        std::thread::sleep(Duration::from_micros(round * 900));
        drop(filler);
        let filled = said.map(|(_, number)| number).last().unwrap_or(started.1);

        let database = database(&path);
        let numbers = database.table("numbers").wait().unwrap();
        let words = Query::new().filter(field("word").eq("w7"));
        let definition = numbers.definition().unwrap();
        let state = definition.index("by_word").map(|index| index.state());
        if state == Some(State::Building) {
            interrupted += 1;
            let refused = numbers.query(&words).wait().unwrap_err().to_string();
            assert!(refused.contains("is still being filled"), "{refused}");
            assert_eq!(database.verify("numbers").wait().unwrap().differences, []);
            // Writes keep it up on both sides of where it stopped.
            for id in [3, RECORDS - 3] {
                numbers.put(number(id).with("word", "moved")).wait().unwrap();
            }
            let mut told = 0;
            database.fill_indexes(|now| told = now.records).wait().unwrap();
            assert!(told <= total - filled, "{told} filled anew, though {filled} of {total} were");
            for id in [3, RECORDS - 3] {
                numbers.put(number(id)).wait().unwrap();
            }
        }
        if state.is_some() {
            let definition = numbers.definition().unwrap();
            assert_eq!(definition.index("by_word").unwrap().state(), State::Ready);
            let verified = database.verify("numbers").wait().unwrap();
            assert_eq!(verified.differences, []);
            assert_eq!((verified.records, verified.entries), (total, total * 4));
            assert_eq!(numbers.count(&words).wait().unwrap(), total / 100);
            database.drop_index("numbers", "by_word").wait().unwrap();
        }
    }
    assert!(interrupted > 0, "no filling was interrupted");
}

#[test]
fn a_killed_load_has_whole_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.klm");
    drop(database(&path).create_table(numbers()).wait().unwrap());
    let mut before = 0;
    for round in 0..10_u64 {
        let mut loader = child::start("load", &path);
        let mut said = loader.said();
        // Every other time in its first group.
        let heard = said.by_ref().take(usize::try_from(1 + round % 2).unwrap()).last();
        std::thread::sleep(Duration::from_millis(3 + round * 7));
        drop(loader);
        let groups_said = |(word, groups): (String, u64)| (word == "loaded").then_some(groups);
        let loaded = said.last().or(heard).and_then(groups_said);
        let loaded = loaded.map_or(before, |groups| i64::try_from(groups).unwrap());
        let database = database(&path);
        let found = groups(&database.table("numbers").wait().unwrap());
        assert!((loaded..=loaded + 1).contains(&found), "{loaded} groups acknowledged, {found} found");
        let verified = database.verify("numbers").wait().unwrap();
        assert_eq!(verified.differences, []);
        assert_eq!(verified.entries, verified.records * 3);
        before = found;
    }
    assert!(before >= 5, "only {before} groups were loaded");
}
