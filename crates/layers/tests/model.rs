//! Random work, by one thread and by several, with all layers on and so small that everything happens: every read is what
//! one state of the store has, and none that had been overtaken before the read began.
//!
//! The store numbers its commits, so when the threads have ended it is known what every state was. A read must be of a
//! state between the last commit that was acknowledged before it and the last that there was behind it, and never of an
//! earlier one than the thread has seen.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod history;
mod slow;

use std::ops::ControlFlow;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use history::{Event, Looked, Scan, is_explained};
use keyloom_key::Span;
use keyloom_layers::{CacheOptions, Compression, FilterOptions, LayerStats, Layered, Layers};
use keyloom_lmdb::{LmdbStore, Options};
use keyloom_store::{
    Batch, Condition, Direction, Durability, Error, Fingerprinter, Limits, MemoryStore, Read, Store, Wait,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use slow::Slow;

#[derive(Debug, Clone)]
enum Op {
    Get(u8),
    GetMany(Vec<u8>),
    Scan(Scan),
    /// Keys and how long their new values are; what it depends on.
    Commit(Vec<(u8, Option<usize>)>, Guard),
    /// The reads that follow are of the state that is now, or of the newest again.
    Hold,
    Release,
    /// Until what is cached is too old.
    Wait,
}

#[derive(Debug, Clone)]
enum Guard {
    Free,
    /// The first key is as it is read now.
    Same,
    /// The span is as it is read now.
    Unchanged(Span),
    Absent(u8),
}

/// Three trees of few keys, so that threads meet, and a key that is the beginning of all.
fn key(number: u8) -> Vec<u8> {
    match number {
        0 => b"u".to_vec(),
        _ => format!("u{}/{}", number % 3, number / 3).into_bytes(),
    }
}

const KEYS: u8 = 12;

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        6 => (0..3_u8).prop_map(|tree| Span::prefix(format!("u{tree}/"))),
        2 => (1..4_u8).prop_map(|tree| Span { start: key(tree), end: Some(key(tree + 6)) }),
        1 => Just(Span::prefix("u")),
        1 => Just(Span::prefix("")),
        1 => Just(Span { start: b"u1".to_vec(), end: None }),
    ]
}

fn scan() -> impl Strategy<Value = Scan> {
    let rows = prop_oneof![3 => Just(usize::MAX), 1 => Just(2_usize), 1 => Just(0)];
    let bytes = prop_oneof![3 => Just(usize::MAX), 1 => Just(100_usize)];
    let breaks = prop_oneof![4 => Just(usize::MAX), 1 => 1..4_usize];
    let direction = prop_oneof![2 => Just(Direction::Forward), 1 => Just(Direction::Backward)];
    (span(), direction, rows, bytes, breaks).prop_map(|(span, direction, rows, bytes, breaks)| Scan {
        span,
        direction,
        limits: Limits { rows, bytes, time: Duration::MAX },
        breaks,
    })
}

fn op() -> impl Strategy<Value = Op> {
    let value = prop::option::weighted(0.7, prop::sample::select(vec![0, 3, 20, 70, 300]));
    let writes = prop::collection::vec((0..KEYS, value), 0..4);
    let guard = prop_oneof![
        4 => Just(Guard::Free),
        2 => Just(Guard::Same),
        1 => span().prop_map(Guard::Unchanged),
        1 => (0..KEYS).prop_map(Guard::Absent),
    ];
    prop_oneof![
        6 => (0..KEYS).prop_map(Op::Get),
        3 => prop::collection::vec(0..KEYS, 0..6).prop_map(Op::GetMany),
        10 => scan().prop_map(Op::Scan),
        4 => (writes, guard).prop_map(|(writes, guard)| Op::Commit(writes, guard)),
        2 => Just(Op::Hold),
        1 => Just(Op::Release),
        1 => Just(Op::Wait),
    ]
}

fn layers() -> impl Strategy<Value = Layers> {
    let bytes = prop::sample::select(vec![600, 4_000, 1 << 20]);
    let time_to_live = prop::sample::select(vec![Duration::from_micros(100), Duration::from_secs(300)]);
    let compression = prop::sample::select(Compression::ALL.to_vec());
    // One that soon has more keys than fit, one that has no room for two, and one that grows.
    let most = prop::sample::select(vec![64, 100, usize::MAX]);
    (most, bytes, time_to_live, compression).prop_map(|(most, bytes, time_to_live, compression)| Layers {
        filter: Some(FilterOptions { keys: 8, bytes: most }),
        cache: Some(CacheOptions { bytes, time_to_live }),
        compression: Some(compression),
    })
}

fn work(threads: usize, ops: usize) -> impl Strategy<Value = (Layers, Vec<Vec<Op>>)> {
    (layers(), prop::collection::vec(prop::collection::vec(op(), ops / 2..ops), threads))
}

/// A thread at work, and what it has seen.
struct Worker<'a, S: Store> {
    store: &'a Layered<S>,
    acknowledged: &'a AtomicU64,
    held: Option<<Layered<S> as Store>::Snapshot>,
    events: Vec<Event>,
}

impl<S: Store> Worker<'_, S> {
    /// Reads, and notes between which commits that was.
    fn read<T>(
        &mut self,
        read: impl FnOnce(&Layered<S>) -> T,
        looked: impl FnOnce(&T) -> Option<Looked>,
    ) -> T {
        let from = self.acknowledged.load(Ordering::Acquire);
        let read = read(self.store);
        let to = self.store.sequence().wait().unwrap().0;
        self.events.extend(looked(&read).map(|looked| Event::Read { from, to, looked }));
        read
    }

    fn look(&mut self, look: impl Fn(&dyn Looks) -> Looked) -> Looked {
        match self.held.take() {
            Some(held) => {
                let looked = look(&held);
                self.held = Some(held);
                self.events.push(Event::Held(looked.clone()));
                looked
            }
            None => self.read(|store| look(store), |looked| Some(looked.clone())),
        }
    }

    fn run(&mut self, op: &Op, mark: [u8; 2]) {
        match op {
            Op::Get(number) => {
                self.look(|read| read.look_at(key(*number)));
            }
            Op::GetMany(numbers) => {
                self.look(|read| read.look_at_many(numbers.iter().map(|number| key(*number)).collect()));
            }
            Op::Scan(scan) => {
                self.look(|read| read.look_along(scan.clone()));
            }
            Op::Hold => {
                let held = self.read(|store| store.snapshot().wait().unwrap(), |_| Some(Looked::Taken));
                self.held = Some(held);
            }
            Op::Release => self.held = None,
            Op::Wait => thread::sleep(Duration::from_micros(150)),
            Op::Commit(writes, guard) => self.commit(writes, guard, mark),
        }
    }

    fn commit(&mut self, writes: &[(u8, Option<usize>)], guard: &Guard, mark: [u8; 2]) {
        let mut batch = Batch::new();
        let mut map = Vec::new();
        for (number, long) in writes {
            // No two commits write the same, unless it is too short to say more.
            let value = long.map(|long| mark.into_iter().cycle().take(long).collect::<Vec<u8>>());
            batch.write(&key(*number), value.as_deref());
            map.push((key(*number), value));
        }
        // What is read now, through the layers, and the newest: a held state is put aside.
        let held = self.held.take();
        let condition = match (guard, writes.first()) {
            (Guard::Same, Some((number, _))) => {
                let Looked::Get(key, value) = self.look(|read| read.look_at(key(*number))) else { return };
                Some(value.map_or(Condition::Absent(key.clone()), |value| Condition::Is { key, value }))
            }
            (Guard::Unchanged(span), _) => {
                let all = Scan {
                    span: span.clone(),
                    direction: Direction::Forward,
                    limits: Limits::default(),
                    breaks: usize::MAX,
                };
                let Looked::Scan { rows, .. } = self.look(|read| read.look_along(all.clone())) else {
                    return;
                };
                let mut fingerprint = Fingerprinter::default();
                rows.iter().for_each(|(key, value)| fingerprint.add(key, value));
                Some(Condition::Unchanged { span: span.clone(), fingerprint: fingerprint.finish() })
            }
            (Guard::Absent(number), _) => Some(Condition::Absent(key(*number))),
            _ => None,
        };
        self.held = held;
        let batch = condition.iter().cloned().fold(batch, Batch::require);
        let from = self.acknowledged.load(Ordering::Acquire);
        match self.store.commit(batch).wait() {
            Ok(sequence) => {
                self.acknowledged.fetch_max(sequence.0, Ordering::AcqRel);
                self.events.push(Event::Commit { sequence: sequence.0, writes: map, condition });
            }
            Err(Error::Conflict(_)) => {
                let to = self.store.sequence().wait().unwrap().0;
                let looked = Looked::Conflict(condition.expect("only a condition can conflict"));
                self.events.push(Event::Read { from, to, looked });
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Reads of a store, or of a state of it.
trait Looks {
    fn look_at(&self, key: Vec<u8>) -> Looked;
    fn look_at_many(&self, keys: Vec<Vec<u8>>) -> Looked;
    fn look_along(&self, scan: Scan) -> Looked;
}

impl<R: Read> Looks for R {
    fn look_at(&self, key: Vec<u8>) -> Looked {
        let value = self.get(&key, <[u8]>::to_vec).wait().unwrap();
        Looked::Get(key, value)
    }

    fn look_at_many(&self, keys: Vec<Vec<u8>>) -> Looked {
        let mut values = Vec::new();
        let look = |number: usize, value: Option<&[u8]>| {
            assert_eq!(number, values.len(), "each key once, in its turn");
            values.push(value.map(<[u8]>::to_vec));
        };
        self.get_many(&keys, look).wait().unwrap();
        assert_eq!(keys.len(), values.len());
        Looked::Many(keys.into_iter().zip(values).collect())
    }

    fn look_along(&self, scan: Scan) -> Looked {
        let mut rows = Vec::new();
        let look = |key: &[u8], value: &[u8]| {
            rows.push((key.to_vec(), value.to_vec()));
            if rows.len() >= scan.breaks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let page = self.scan(&scan.span, scan.direction, scan.limits, look).wait().unwrap();
        Looked::Scan { scan, rows, page }
    }
}

/// Does the work, and says whether all that was seen can be explained.
fn run<S: Store>(store: S, layers: Layers, work: &[Vec<Op>]) -> Result<LayerStats, TestCaseError> {
    let store = Layered::open(store, layers).wait().unwrap();
    let acknowledged = AtomicU64::new(store.sequence().wait().unwrap().0);
    let start = Barrier::new(work.len());
    let worker = |number: usize, ops: &[Op]| {
        let mut worker =
            Worker { store: &store, acknowledged: &acknowledged, held: None, events: Vec::new() };
        start.wait();
        for (turn, op) in ops.iter().enumerate() {
            worker.run(op, [b'a' + number as u8, turn as u8]);
        }
        worker.events
    };
    let events: Vec<Vec<Event>> = thread::scope(|scope| {
        let threads = work.iter().enumerate().map(|(number, ops)| scope.spawn(move || worker(number, ops)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    is_explained(&events).map_err(TestCaseError::fail)?;
    Ok(store.stats())
}

/// Runs cases, and sees that the layers had something to do.
fn cases<S: Store>(count: u32, threads: usize, ops: usize, open: impl Fn() -> S) {
    let (pages, values, filtered) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let config = Config { cases: count, ..Config::default() };
    let outcome = TestRunner::new(config).run(&work(threads, ops), |(layers, work)| {
        let stats = run(open(), layers, &work)?;
        pages.fetch_add(stats.page_hits, Ordering::Relaxed);
        values.fetch_add(stats.hits, Ordering::Relaxed);
        filtered.fetch_add(stats.filtered, Ordering::Relaxed);
        Ok(())
    });
    outcome.unwrap();
    let each = u64::from(count);
    let did = [pages.into_inner(), values.into_inner(), filtered.into_inner()];
    assert!(did[0] > each && did[1] > each && did[2] > 0, "pages, values, filtered: {did:?}");
}

#[test]
fn one_thread_reads_what_it_wrote() {
    cases(200, 1, 150, MemoryStore::new);
}

#[test]
fn threads_read_one_state_and_none_that_is_past() {
    cases(60, 3, 80, MemoryStore::new);
}

/// Commits can be seen some time before they are acknowledged, and reads take long enough to be overtaken.
#[test]
fn threads_read_one_state_though_all_take_their_time() {
    cases(40, 3, 100, || Slow::new(MemoryStore::new(), |_| thread::sleep(Duration::from_micros(150))));
}

#[test]
fn threads_read_one_state_on_lmdb() {
    let folder = tempfile::tempdir().unwrap();
    let files = AtomicU64::new(0);
    cases(15, 3, 80, || {
        let path = folder.path().join(format!("{}.klm", files.fetch_add(1, Ordering::Relaxed)));
        let options = Options { durability: Durability::Written, exclusive: true, ..Options::default() };
        LmdbStore::open_with(path, options).unwrap()
    });
}

/// The check itself: a mix of two states, and one that is past, are found.
#[test]
fn what_cannot_be_is_found() {
    let write = |sequence, value: &[u8]| Event::Commit {
        sequence,
        writes: vec![(b"a".to_vec(), Some(value.to_vec())), (b"b".to_vec(), Some(value.to_vec()))],
        condition: None,
    };
    let many = |from, to, a: &[u8], b: &[u8]| Event::Read {
        from,
        to,
        looked: Looked::Many(vec![(b"a".to_vec(), Some(a.to_vec())), (b"b".to_vec(), Some(b.to_vec()))]),
    };
    let writer = vec![write(1, b"1"), write(2, b"2")];
    let explained = |reads: Vec<Event>| is_explained(&[writer.clone(), reads]).is_ok();
    assert!(explained(vec![many(1, 2, b"1", b"1"), many(1, 2, b"2", b"2")]));
    assert!(!explained(vec![many(1, 2, b"1", b"2")]), "a mix");
    assert!(!explained(vec![many(2, 2, b"1", b"1")]), "it had been overtaken");
    assert!(!explained(vec![many(1, 2, b"2", b"2"), many(1, 2, b"1", b"1")]), "the thread had seen more");
}
