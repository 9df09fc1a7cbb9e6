//! What happens between two steps of a store, one order after the other: what the random threads of `model.rs` meet seldom.

#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests, which clippy does not see as such")]

mod slow;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use keyloom_key::Span;
use keyloom_layers::{CacheOptions, Layered, Layers};
use keyloom_store::{Batch, Direction, Limits, MemoryStore, Read, Store, Wait};
use slow::{Slow, Step};

type Cached = Layered<Slow<MemoryStore>>;
type Meanwhile = Box<dyn FnMut(Step, &Cached) + Send>;

/// A store with a cache, and what happens between its steps from when it is told; not between those of what happens.
struct World {
    store: Cached,
    meanwhile: Arc<Mutex<Option<(Cached, Meanwhile)>>>,
}

impl World {
    fn new() -> Self {
        let meanwhile: Arc<Mutex<Option<(Cached, Meanwhile)>>> = Arc::default();
        let told = Arc::clone(&meanwhile);
        let between = move |step| {
            let taken = told.lock().unwrap().take();
            if let Some((store, mut happens)) = taken {
                happens(step, &store);
                *told.lock().unwrap() = Some((store, happens));
            }
        };
        let layers = Layers { cache: Some(CacheOptions::default()), ..Layers::default() };
        let store = Layered::open(Slow::new(MemoryStore::new(), between), layers).wait().unwrap();
        put(&store, "1");
        Self { store, meanwhile }
    }

    fn meanwhile(&self, happens: impl FnMut(Step, &Cached) + Send + 'static) {
        *self.meanwhile.lock().unwrap() = Some((self.store.clone(), Box::new(happens)));
    }
}

impl Drop for World {
    /// The store holds what happens, which holds the store.
    fn drop(&mut self) {
        self.meanwhile.lock().unwrap().take();
    }
}

/// Both keys get the same value in one commit.
fn put(store: &Cached, value: &str) {
    store.commit(Batch::new().put("a/1", value).put("a/2", value)).wait().unwrap();
}

fn get(read: &impl Read, key: &str) -> String {
    read.get(key.as_bytes(), |value| String::from_utf8_lossy(value).into_owned()).wait().unwrap().unwrap()
}

fn many(read: &impl Read) -> Vec<String> {
    let mut values = Vec::new();
    let look = |_: usize, value: Option<&[u8]>| {
        values.push(String::from_utf8_lossy(value.unwrap()).into_owned());
    };
    read.get_many(&["a/1", "a/2"], look).wait().unwrap();
    values
}

fn scan(read: &impl Read) -> Vec<String> {
    let mut values = Vec::new();
    let look = |_: &[u8], value: &[u8]| {
        values.push(String::from_utf8_lossy(value).into_owned());
        ControlFlow::Continue(())
    };
    read.scan(&Span::prefix("a/"), Direction::Forward, Limits::default(), look).wait().unwrap();
    values
}

/// Everything that can be asked, often enough to be cached.
fn all(read: &impl Read) -> Vec<String> {
    (0..3).flat_map(|_| [vec![get(read, "a/1"), get(read, "a/2")], many(read), scan(read)].concat()).collect()
}

fn is_all(read: &impl Read, value: &str) -> bool {
    all(read).iter().all(|found| found == value)
}

/// It is about to happen, and what is read now is not left, not by a prefix that it was not told of either: as soon as it
/// can be seen, all see it.
#[test]
fn a_commit_is_seen_by_all_as_soon_as_it_can_be() {
    for asked_before in [true, false] {
        let world = World::new();
        assert!(!asked_before || is_all(&world.store, "1"));
        world.meanwhile(|step, store| match step {
            Step::BeforeCommit => assert!(is_all(store, "1")),
            Step::AfterCommit => assert!(is_all(store, "2")),
            _ => {}
        });
        put(&world.store, "2");
        assert!(is_all(&world.store, "2"));
    }
}

#[test]
fn what_is_overtaken_while_it_is_read_is_not_used() {
    let world = World::new();
    // So that it may be left the next time.
    scan(&world.store);
    world.meanwhile(|step, store| {
        if step == Step::AfterRead {
            put(store, "2");
        }
    });
    assert_eq!((scan(&world.store), get(&world.store, "a/1").as_str()), (vec!["1".to_owned(); 2], "2"));
    assert!(is_all(&world.store, "2"));
}

/// One is cached, and then both are written: together they would be of no state.
#[test]
fn many_are_of_one_state_though_one_is_cached() {
    let world = World::new();
    assert_eq!((get(&world.store, "a/1"), get(&world.store, "a/1")), ("1".to_owned(), "1".to_owned()));
    world.meanwhile(|step, store| {
        if step == Step::BeforeRead {
            put(store, "2");
        }
    });
    assert_eq!(many(&world.store), ["2", "2"]);
}

/// A commit ends while a snapshot is taken: before it, or after it, and the cache has what is newer.
#[test]
fn a_snapshot_is_one_state_though_a_commit_ends_meanwhile() {
    for (when, seen) in [(Step::BeforeSnapshot, "2"), (Step::AfterSnapshot, "1")] {
        let world = World::new();
        assert!(is_all(&world.store, "1"));
        world.meanwhile(move |step, store| {
            if step == when {
                put(store, "2");
                assert!(is_all(store, "2"));
            }
        });
        let snapshot = world.store.snapshot().wait().unwrap();
        assert!(is_all(&snapshot, seen));
        assert!(is_all(&world.store, "2"));
        assert!(is_all(&snapshot, seen));
    }
}

/// A commit that can be seen when a snapshot is taken, and is acknowledged later, is in it.
#[test]
fn a_snapshot_has_what_could_be_seen_when_it_was_taken() {
    let world = World::new();
    assert!(is_all(&world.store, "1"));
    let taken = Arc::new(Mutex::new(Vec::new()));
    let takes = Arc::clone(&taken);
    world.meanwhile(move |step, store| {
        if matches!(step, Step::BeforeCommit | Step::AfterCommit) {
            takes.lock().unwrap().push(store.snapshot().wait().unwrap());
        }
    });
    put(&world.store, "2");
    assert!(is_all(&world.store, "2"));
    let taken = taken.lock().unwrap();
    assert_eq!(taken.len(), 2);
    assert!(taken.iter().zip(["1", "2"]).all(|(snapshot, value)| is_all(snapshot, value)));
}
