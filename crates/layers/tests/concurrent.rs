//! Threads read and write with all layers on, and nobody ever reads what was before an acknowledged write.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod settings;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use keyloom_key::Span;
use keyloom_layers::{Compression, Layered, Layers};
use keyloom_lmdb::{LmdbStore, Options};
use keyloom_store::{Batch, Condition, Durability, Error, Fingerprinter, MemoryStore, Read, Store, Wait};

/// So few that threads meet.
const KEYS: usize = 24;
const WRITERS: u64 = 2;

/// What is known of a key: the last number that is acknowledged. A number is written before it is acknowledged, never after.
struct Known {
    acknowledged: AtomicU64,
}

/// The number and enough behind it to be compressed; every seventh number is no value at all.
fn value(number: u64) -> Option<Vec<u8>> {
    (!number.is_multiple_of(7)).then(|| [number.to_be_bytes().as_slice(), &[b'x'; 100]].concat())
}

fn key(number: usize) -> Vec<u8> {
    format!("key:{number:04}").into_bytes()
}

fn number(value: &[u8]) -> u64 {
    u64::from_be_bytes(value[..8].try_into().unwrap())
}

/// Each key has one writer, whose numbers ascend; a reader must see at least what was acknowledged before it asked.
fn run<S: Store + Clone + 'static>(store: S, layers: Layers, rounds: u64) {
    let store = Layered::open(store, layers).wait().unwrap();
    let known: Vec<Known> = (0..KEYS).map(|_| Known { acknowledged: AtomicU64::new(0) }).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (store, known) = (&store, &known);
                scope.spawn(move || write(store, known, writer, rounds))
            })
            .collect();
        for reader in 0..2 {
            let (store, known, done) = (&store, &known, &done);
            scope.spawn(move || read(store, known, done, reader));
        }
        // Keys that come and go fill the filter, so that it is made anew again and again.
        scope.spawn(|| {
            for number in 0_u64.. {
                let (coming, going) =
                    (format!("other:{number}"), format!("other:{}", number.saturating_sub(30)));
                store.commit(Batch::new().put(coming, "").delete(going)).wait().unwrap();
                assert!(store.get(b"nobody", |_| ()).wait().unwrap().is_none());
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let wrote: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::Relaxed);
        wrote.into_iter().for_each(|wrote| wrote.unwrap());
    });
    let stats = store.stats();
    if layers.cache.is_some() {
        assert!(stats.hits > 0 && stats.misses > 0, "{stats:?}");
    }
    if layers.filter.is_some() {
        store.fill().wait();
        assert!(stats.filtered > 0, "{stats:?}");
    }
}

fn write<S: Store>(store: &Layered<S>, known: &[Known], writer: u64, rounds: u64) {
    for number in 1..=rounds {
        let mut batch = Batch::new();
        let own = (0..KEYS)
            .filter(|key| *key as u64 % WRITERS == writer && (*key as u64 + number).is_multiple_of(3));
        let own: Vec<usize> = own.collect();
        for place in &own {
            let before = known[*place].acknowledged.load(Ordering::Acquire);
            // Conditions on the value that is there, and on one that is not.
            batch = match value(before).filter(|_| before > 0) {
                Some(value) => batch.require_value(key(*place), value),
                None => batch.require_absent(key(*place)),
            };
            batch.write(&key(*place), value(number).as_deref());
        }
        let wrong = batch.clone().require(Condition::Is { key: key(0), value: vec![b'?'; 200] });
        assert!(matches!(store.commit(wrong).wait(), Err(Error::Conflict(_))));
        store.commit(batch).wait().unwrap();
        for place in own {
            known[place].acknowledged.store(number, Ordering::Release);
            // Its own write is seen at once.
            assert_eq!(store.get(&key(place), <[u8]>::to_vec).wait().unwrap(), value(number));
        }
    }
}

fn read<S: Store>(store: &Layered<S>, known: &[Known], done: &AtomicBool, reader: usize) {
    let mut last = [0; KEYS];
    for turn in 0_usize.. {
        let place = (turn * 7 + reader * 5) % KEYS;
        let before = known[place].acknowledged.load(Ordering::Acquire);
        let seen = store.get(&key(place), number).wait().unwrap();
        let after = known[place].acknowledged.load(Ordering::Acquire);
        match seen {
            Some(seen) => {
                assert!(seen >= before, "key {place}: {seen} was read after {before} had been acknowledged");
                assert!(seen >= last[place], "key {place}: {seen} was read after {}", last[place]);
                last[place] = seen;
            }
            // It was not there at some time between, or the next number, which is three higher, is about to take it away.
            None => {
                let gone =
                    before == 0 || (before..=after + 3).step_by(3).any(|number| value(number).is_none());
                assert!(gone, "key {place} was not there between {before} and {after}");
            }
        }
        if done.load(Ordering::Relaxed) {
            break;
        }
    }
}

#[test]
fn nothing_stale_is_read_in_memory() {
    for (_, layers) in settings::settings() {
        run(MemoryStore::new(), layers, 1_500);
    }
}

#[test]
fn nothing_stale_is_read_on_lmdb() {
    let (_, layers) = settings::settings().pop().unwrap();
    for durability in [Durability::Synced, Durability::Written, Durability::buffered()] {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { durability, exclusive: true, ..Options::default() };
        let rounds = if durability == Durability::Synced { 100 } else { 1_000 };
        run(LmdbStore::open_with(folder.path().join("a.klm"), options).unwrap(), layers, rounds);
    }
}

/// Whoever opens the store writes values in a spelling of his own, and conditions hold by what they mean.
#[test]
fn no_increment_is_lost_whatever_the_compression() {
    const EACH: u64 = 300;
    let store = MemoryStore::new();
    thread::scope(|scope| {
        for compression in Compression::ALL {
            let layers = Layers { compression: Some(compression), ..Layers::default() };
            let layered = Layered::open(store.clone(), layers).wait().unwrap();
            let spans = compression == Compression::None;
            scope.spawn(move || {
                for _ in 0..EACH {
                    while !increment(&layered, spans) {}
                }
            });
        }
    });
    let layered = Layered::open(store, Layers::default()).wait().unwrap();
    assert_eq!(layered.get(b"sum", number).wait().unwrap(), Some(3 * EACH));
}

/// Adds one, on condition that the value is as it was, or that all that lies around it is.
fn increment(store: &Layered<MemoryStore>, spans: bool) -> bool {
    let long = |number: u64| [number.to_be_bytes().as_slice(), &[b'x'; 100]].concat();
    let old = store.get(b"sum", <[u8]>::to_vec).wait().unwrap();
    let batch = Batch::new().put("sum", long(old.as_deref().map_or(0, number) + 1));
    let mut seen = Fingerprinter::default();
    old.iter().for_each(|value| seen.add(b"sum", value));
    let batch = match old {
        _ if spans => batch.require_unchanged(Span::prefix([]), seen.finish()),
        Some(value) => batch.require_value("sum", value),
        None => batch.require_absent("sum"),
    };
    match store.commit(batch).wait() {
        Ok(_) => true,
        Err(Error::Conflict(_)) => false,
        Err(error) => panic!("{error}"),
    }
}
