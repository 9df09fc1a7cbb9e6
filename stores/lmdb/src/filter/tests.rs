//! No key that is in the file is ever denied, whoever has put it there and whichever state of the file is read.

use std::collections::BTreeMap;

use keyloom_store::bloom::hash;
use keyloom_store::sealed;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Filter, PAGE};
use crate::config::{FilterOptions, Options};
use crate::engine::{Engine, Reading};
use crate::transaction::Transaction;

fn open(folder: &tempfile::TempDir, filter: FilterOptions) -> Engine {
    let options = Options { filter: Some(filter), ..Options::default() };
    Engine::open(&folder.path().join("filter.klm"), options).unwrap()
}

/// At once, and as large as it likes.
const EAGER: FilterOptions = FilterOptions { bytes: usize::MAX, after: 0 };

/// What a transaction writes: numbers of keys, each put or deleted.
type Writes = Vec<(u16, bool)>;

fn key(number: u16) -> Vec<u8> {
    format!("key {number:05}").into_bytes()
}

fn put(engine: &Engine, keys: impl Iterator<Item = u16>) {
    write(engine, &keys.map(|number| (number, true)).collect(), true);
}

/// A transaction of this process, given up at the end or not.
fn write(engine: &Engine, writes: &Writes, commit: bool) {
    let mut txn = Transaction::begin(engine).unwrap();
    let before = engine.sequence(&txn).unwrap();
    let writes: BTreeMap<Vec<u8>, bool> = writes.iter().map(|(number, put)| (key(*number), *put)).collect();
    txn.write_all(writes.iter().map(|(key, put)| (key.as_slice(), put.then_some(&b"value"[..])))).unwrap();
    if commit {
        txn.commit(before, None).unwrap();
    }
}

/// A transaction of which this process's filter knows nothing, as one of another process.
fn write_elsewhere(engine: &Engine, writes: &Writes) {
    let mut txn = engine.env.write_txn().unwrap();
    for (number, put) in writes {
        let key = key(*number);
        if *put {
            let mut value = Vec::new();
            sealed::seal(&key, b"value", &mut value).unwrap();
            engine.data.put(&mut txn, &key, &value).unwrap();
        } else {
            engine.data.delete(&mut txn, &key).unwrap();
        }
    }
    txn.commit().unwrap();
}

/// So many gets find nothing, and the thread that writes has a moment after each.
fn miss(engine: &Engine, times: u8) {
    for _ in 0..times {
        let reading = engine.read().unwrap();
        assert_eq!(engine.get(&reading, b"nothing has this key", |_| ()).unwrap(), None);
        if engine.is_filling() {
            engine.fill();
        }
    }
}

/// Asks a state of the file for every key that it has, by all ways.
fn has_all(engine: &Engine, reading: &Reading) {
    for row in engine.data.iter(&reading.txn).unwrap() {
        let (key, _) = row.unwrap();
        assert!(!reading.lacks(hash(key)), "{} is there", key.escape_ascii());
        assert!(engine.get(reading, key, |_| ()).unwrap().is_some());
        let looked = engine.get_meanwhile(reading, key, hash(key), || 7, |_| ()).unwrap();
        assert_eq!(looked, (7, Some(())));
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// A transaction of this process, given up at the end or not.
    Own(Writes, bool),
    /// One of another process.
    Elsewhere(Writes),
    /// A state is read from now on.
    Keep,
    /// So many gets find nothing.
    Miss(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // More keys than come in at a time.
    let writes = || vec((0..400_u16, any::<bool>()), 0..60);
    let step = prop_oneof![
        4 => (writes(), prop::bool::weighted(0.8)).prop_map(|(writes, commit)| Step::Own(writes, commit)),
        1 => writes().prop_map(Step::Elsewhere),
        1 => Just(Step::Keep),
        6 => (1..5_u8).prop_map(Step::Miss),
    ];
    vec(step, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_there_is_never_denied(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(&folder, EAGER);
        put(&engine, (0..400).step_by(2));
        let mut kept = Vec::new();
        for step in steps {
            match step {
                Step::Own(writes, commit) => write(&engine, &writes, commit),
                Step::Elsewhere(writes) => write_elsewhere(&engine, &writes),
                Step::Keep => kept.push(engine.read().unwrap()),
                Step::Miss(times) => miss(&engine, times),
            }
            has_all(&engine, &engine.read().unwrap());
            kept.iter().for_each(|reading| has_all(&engine, reading));
        }
    }
}

/// Who has begun to read before the last keys came in, and asks only then, sees keys that are gone by now.
#[test]
fn states_before_it_was_whole_are_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let engine =
        Engine::open(&folder.path().join("filter.klm"), Options { filter: None, ..Options::default() });
    let (engine, filter) = (engine.unwrap(), Filter::new(EAGER));
    put(&engine, 0..1_000);
    let early = engine.read().unwrap();
    let fill = |reading: &Reading| filter.fill(&engine.tree(reading).unwrap(), reading.txn.id());
    (0..3).for_each(|_| fill(&early));
    let adding = filter.adding(early.txn.id() + 1);
    write(&engine, &vec![(999, false)], true);
    adding.committed();
    let late = engine.read().unwrap();
    (0..10).for_each(|_| fill(&late));
    assert!(filter.keys(late.txn.id()).is_some_and(|keys| keys.lacks(hash(&key(999)))));
    assert!(filter.keys(early.txn.id()).is_none());
}

/// How many of so many keys that are not there are known not to be.
fn denied(engine: &Engine) -> usize {
    let reading = engine.read().unwrap();
    (10_000..11_000).filter(|number| reading.lacks(hash(&key(*number)))).count()
}

#[test]
fn it_is_filled_by_those_who_find_nothing_and_follows_what_is_put() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder, FilterOptions { after: 20, ..EAGER });
    put(&engine, 0..2_000);
    miss(&engine, 19);
    assert_eq!(denied(&engine), 0);
    // The last finds that there is no more.
    let pages = u8::try_from(2_000_usize.div_ceil(PAGE) + 1).unwrap();
    miss(&engine, pages - 1);
    assert_eq!(denied(&engine), 0);
    miss(&engine, 1);
    assert!(denied(&engine) > 970, "{}", denied(&engine));
    put(&engine, 2_000..3_000);
    assert!(denied(&engine) > 970, "{}", denied(&engine));
    // As many again as there were: it is too small, and made anew.
    put(&engine, 3_000..5_000);
    assert_eq!(denied(&engine), 0);
    miss(&engine, 100);
    assert!(denied(&engine) > 970, "{}", denied(&engine));
    has_all(&engine, &engine.read().unwrap());
}

#[test]
fn it_counts_who_asks_and_what_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder, EAGER);
    let stats = || engine.filter.as_ref().unwrap().stats();
    put(&engine, 0..500);
    assert_eq!(denied(&engine), 0);
    assert_eq!(stats(), super::FilterStats::default());
    miss(&engine, 10);
    let begun = stats();
    assert!(begun.whole && begun.keys > 490 && begun.bytes >= 500 * 10 / 8, "{begun:?}");
    let known = u64::try_from(denied(&engine)).unwrap();
    has_all(&engine, &engine.read().unwrap());
    let after = stats();
    // Each key that is there was asked for by two ways at the least, and never denied.
    assert_eq!(after.answered - begun.answered, known);
    assert!(after.asked - begun.asked >= 1_000 + 2 * 500, "{begun:?} {after:?}");
    // What it has done stays when it is made anew.
    write_elsewhere(&engine, &vec![(501, true)]);
    miss(&engine, 1);
    assert_eq!((stats().whole, stats().asked >= after.asked), (false, true));
}

#[test]
fn a_file_with_more_keys_than_fit_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder, FilterOptions { bytes: 1_000, ..EAGER });
    put(&engine, 0..801);
    miss(&engine, 200);
    assert_eq!(denied(&engine), 0);
}

#[test]
fn others_who_write_put_it_off() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder, FilterOptions { after: 4, ..EAGER });
    put(&engine, 0..10);
    miss(&engine, 10);
    assert!(denied(&engine) > 970);
    write_elsewhere(&engine, &vec![(11, true)]);
    // Found out with the first, and begun after twice as many as before.
    miss(&engine, 1 + 7);
    assert_eq!(denied(&engine), 0);
    miss(&engine, 2);
    assert!(denied(&engine) > 970);
    has_all(&engine, &engine.read().unwrap());
}
