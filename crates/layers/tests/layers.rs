//! What layers refuse, remember and count.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::future::{Future, pending, poll_fn};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_layers::{CacheOptions, Compression, FilterOptions, LayerStats, Layered, Layers};
use keyloom_lmdb::{LmdbStore, Options};
use keyloom_store::{
    Batch, Capability, Direction, Error, Limits, MemorySnapshot, MemoryStore, Page, Read, Sequence, Store,
    Wait,
};
use keyloom_testkit::Weak;

const FILTER: Layers =
    Layers { filter: Some(FilterOptions { keys: 16, bytes: usize::MAX }), cache: None, compression: None };

fn cache() -> Layers {
    Layers { cache: Some(CacheOptions::default()), ..Layers::default() }
}

fn compressed(compression: Compression) -> Layers {
    Layers { compression: Some(compression), ..Layers::default() }
}

fn open(store: &MemoryStore, layers: Layers) -> Layered<MemoryStore> {
    Layered::open(store.clone(), layers).wait().unwrap()
}

fn get(store: &impl Read, key: &str) -> Option<Vec<u8>> {
    store.get(key.as_bytes(), <[u8]>::to_vec).wait().unwrap()
}

#[test]
fn a_store_that_others_write_to_has_no_filter_and_no_cache() {
    let folder = tempfile::tempdir().unwrap();
    let shared = LmdbStore::open(folder.path().join("a.klm")).unwrap();
    for (layers, layer) in [(FILTER, "filter"), (cache(), "cache")] {
        let refused = Layered::open(shared.clone(), layers).wait().unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("lmdb cannot have a {layer}: others may write to it, and the {layer} would not know")
        );
        assert!(Layered::open(Weak::new(Duration::ZERO), layers).wait().is_err());
    }
    Layered::open(shared, compressed(Compression::Lz4)).wait().unwrap();
}

#[test]
fn a_file_that_one_has_alone_is_open_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.klm");
    let alone = Options { exclusive: true, busy_timeout: Duration::from_millis(20), ..Options::default() };
    let shared = Options { exclusive: false, ..alone };
    let first = LmdbStore::open_with(&path, alone).unwrap();
    assert!(first.capability().exclusive);
    for options in [alone, shared] {
        assert!(matches!(LmdbStore::open_with(&path, options), Err(Error::Busy(_))));
    }
    drop(first);
    let first = LmdbStore::open_with(&path, shared).unwrap();
    assert!(!first.capability().exclusive);
    assert!(matches!(LmdbStore::open_with(&path, alone), Err(Error::Busy(_))));
    LmdbStore::open_with(&path, shared).unwrap();
}

#[test]
fn a_filter_answers_for_keys_that_are_not_there() {
    let store = MemoryStore::new();
    let many = (0..1_000).fold(Batch::new(), |batch, number| batch.put(format!("{number}"), "x"));
    store.commit(many).wait().unwrap();
    let layered = open(&store, FILTER);
    assert!(layered.fill().wait());
    (0..1_000).for_each(|number| assert!(get(&layered, &format!("{number}")).is_some()));
    (1_000..11_000).for_each(|number| assert_eq!(get(&layered, &format!("{number}")), None));
    let LayerStats { filtered, false_positives, filter_keys, filter_whole, .. } = layered.stats();
    assert_eq!((filtered + false_positives, filter_whole), (10_000, true));
    assert!(false_positives < 150, "{false_positives}");
    assert!((990..=1_000).contains(&filter_keys), "{filter_keys}");
}

#[test]
fn a_filter_fills_by_the_gets_that_find_nothing() {
    let store = MemoryStore::new();
    let many = (0..2_000).fold(Batch::new(), |batch, number| batch.put(format!("{number}"), "x"));
    store.commit(many).wait().unwrap();
    let layered = open(&store, FILTER);
    for number in 0..200 {
        assert_eq!(get(&layered, &format!("no {number}")), None);
    }
    let stats = layered.stats();
    assert!(stats.filter_whole && stats.filtered > 100, "{stats:?}");
}

#[test]
fn hits_and_misses_are_counted_and_writes_are_seen() {
    let layered = open(&MemoryStore::new(), cache());
    layered.commit(Batch::new().put("a", "1")).wait().unwrap();
    assert_eq!([get(&layered, "a"), get(&layered, "a")], [Some(b"1".to_vec()), Some(b"1".to_vec())]);
    assert_eq!([get(&layered, "b"), get(&layered, "b")], [None, None]);
    let LayerStats { hits, misses, cached, .. } = layered.stats();
    assert_eq!((hits, misses, cached), (2, 2, 2));
    layered.commit(Batch::new().put("b", "2").delete("a")).wait().unwrap();
    assert_eq!([get(&layered, "a"), get(&layered, "b")], [None, Some(b"2".to_vec())]);
    // A snapshot is another state.
    let snapshot = layered.snapshot().wait().unwrap();
    layered.commit(Batch::new().put("b", "3")).wait().unwrap();
    assert_eq!([get(&layered, "b"), get(&snapshot, "b")], [Some(b"3".to_vec()), Some(b"2".to_vec())]);
}

fn scan_with(store: &impl Read, prefix: &str, limits: Limits) -> (Vec<String>, bool) {
    let mut rows = Vec::new();
    let look = |key: &[u8], value: &[u8]| {
        rows.push(String::from_utf8_lossy(&[key, b"=", value].concat()).into_owned());
        ControlFlow::Continue(())
    };
    let page = store.scan(&Span::prefix(prefix), Direction::Forward, limits, look).wait().unwrap();
    (rows, page.rest.is_none())
}

fn scan(store: &impl Read, prefix: &str) -> Vec<String> {
    scan_with(store, prefix, Limits::default()).0
}

#[test]
fn a_scan_that_is_repeated_is_answered_until_a_key_of_its_span_is_written() {
    let layered = open(&MemoryStore::new(), cache());
    layered.commit(Batch::new().put("a/1", "x").put("b/1", "y")).wait().unwrap();
    let page_hits = || layered.stats().page_hits;
    (0..4).for_each(|_| assert_eq!(scan(&layered, "a/"), ["a/1=x"]));
    assert_eq!((page_hits(), layered.stats().page_misses), (2, 2), "kept when it is asked for again");
    layered.commit(Batch::new().put("b/2", "")).wait().unwrap();
    assert_eq!((scan(&layered, "a/"), page_hits()), (vec!["a/1=x".to_owned()], 3), "another prefix");
    layered.commit(Batch::new().put("a/2", "z")).wait().unwrap();
    assert_eq!((scan(&layered, "a/").len(), page_hits()), (2, 3));
    layered.commit(Batch::new().delete("a/1")).wait().unwrap();
    assert_eq!((scan(&layered, "a/"), page_hits()), (vec!["a/2=z".to_owned()], 3));
    // A whole page answers whoever wants less; one that was cut does not answer who wants more.
    layered.commit(Batch::new().put("a/3", "").put("a/4", "")).wait().unwrap();
    (0..2).for_each(|_| assert_eq!(scan_with(&layered, "a/", Limits::rows(2)).0.len(), 2));
    assert_eq!((scan(&layered, "a/").len(), page_hits()), (3, 4));
    assert_eq!(
        (scan_with(&layered, "a/", Limits::rows(1)), page_hits()),
        ((vec!["a/2=z".to_owned()], false), 5)
    );
}

#[test]
fn a_snapshot_is_answered_by_what_has_not_been_written_since() {
    let layered = open(&MemoryStore::new(), cache());
    layered.commit(Batch::new().put("a/1", "x").put("b/1", "y")).wait().unwrap();
    (0..2).for_each(|_| assert_eq!(scan(&layered, "a/").len(), 1));
    (0..2).for_each(|_| assert_eq!(scan(&layered, "b/").len(), 1));
    let snapshot = layered.snapshot().wait().unwrap();
    layered.commit(Batch::new().put("a/2", "")).wait().unwrap();
    let many = || {
        let mut found = Vec::new();
        let look = |_: usize, value: Option<&[u8]>| found.push(value.is_some());
        snapshot.get_many(&["a/1", "a/2", "b/1"], look).wait().unwrap();
        found
    };
    let before = layered.stats();
    assert_eq!([scan(&snapshot, "a/").len(), scan(&snapshot, "b/").len()], [1, 1]);
    (0..3).for_each(|_| assert_eq!(many(), [true, false, true]));
    let after = layered.stats();
    assert_eq!(after.page_hits - before.page_hits, 1, "only one of them was written since");
    assert_eq!(
        (after.hits - before.hits, after.misses - before.misses),
        (2, 7),
        "of many, what is asked for again"
    );
}

/// Nobody should write behind the cache; it shows that an entry is not used when its time is up.
#[test]
fn values_and_pages_have_their_time() {
    let store = MemoryStore::new();
    let time_to_live = Duration::from_millis(200);
    let brief =
        Layers { cache: Some(CacheOptions { time_to_live, ..CacheOptions::default() }), ..Layers::default() };
    let layered = open(&store, brief);
    layered.commit(Batch::new().put("a/1", "old")).wait().unwrap();
    (0..3).for_each(|_| assert_eq!((scan(&layered, "a/").len(), get(&layered, "a/1").is_some()), (1, true)));
    store.commit(Batch::new().put("a/1", "new").put("a/2", "")).wait().unwrap();
    std::thread::sleep(2 * time_to_live);
    assert_eq!(get(&layered, "a/1"), Some(b"new".to_vec()));
    assert_eq!(scan(&layered, "a/"), ["a/1=new", "a/2="]);
}

/// Where time cuts a page is chance, so such a page answers nobody who wants more than it has.
#[test]
fn a_page_that_time_has_cut_is_not_all_there_is() {
    let layered = open(&MemoryStore::new(), cache());
    let many = (0..100).fold(Batch::new(), |batch, number| batch.put(format!("a/{number:03}"), ""));
    layered.commit(many).wait().unwrap();
    let hurried = Limits { time: Duration::ZERO, ..Limits::default() };
    for _ in 0..3 {
        let (rows, all) = scan_with(&layered, "a/", hurried);
        assert_eq!((rows.len(), all), (64, false));
    }
    assert_eq!(layered.stats().page_hits, 0);
    assert_eq!(scan(&layered, "a/").len(), 100);
    assert_eq!((scan(&layered, "a/").len(), layered.stats().page_hits), (100, 1));
}

#[test]
fn a_page_that_takes_an_eighth_of_the_cache_is_not_kept() {
    let small =
        Layers { cache: Some(CacheOptions { bytes: 8_000, ..CacheOptions::default() }), ..Layers::default() };
    let layered = open(&MemoryStore::new(), small);
    layered.commit(Batch::new().put("a/1", [7; 980]).put("b/1", [7; 1_000])).wait().unwrap();
    (0..4).for_each(|_| assert_eq!((scan(&layered, "a/").len(), scan(&layered, "b/").len()), (1, 1)));
    assert_eq!(layered.stats().page_hits, 2);
}

#[test]
fn a_store_remembers_how_its_values_are_written() {
    let store = MemoryStore::new();
    let (long, longer) = ("abc".repeat(50), "abc".repeat(60));
    open(&store, compressed(Compression::Zstd)).commit(Batch::new().put("a", &long)).wait().unwrap();
    // Without being asked for, and as another one for what comes now.
    let layered = open(&store, Layers::default());
    assert_eq!(layered.compression(), Some(Compression::Zstd));
    assert_eq!(get(&layered, "a"), Some(long.clone().into_bytes()));
    let layered = open(&store, compressed(Compression::Lz4));
    let is = Batch::new().put("b", "x").require_value("a", long.clone());
    layered.commit(is).wait().unwrap();
    layered.commit(Batch::new().put("a", &longer)).wait().unwrap();
    assert_eq!(open(&store, Layers::default()).compression(), Some(Compression::Lz4));
    let raw = get(&store, "a").unwrap();
    assert_eq!(raw.first(), Some(&1));
    assert!(raw.len() < 40);
    let stats = layered.stats();
    assert!(stats.value_bytes > 3 * stats.stored_bytes, "{stats:?}");
    // The mark is not seen, and cannot be written.
    let mark = [0, 0, 0, 0, b'c'];
    assert_eq!(layered.get(&mark, |_| ()).wait().unwrap(), None);
    assert!(matches!(layered.commit(Batch::new().put(mark, "")).wait(), Err(Error::Refused(_))));
    let mut keys = 0;
    let count = |_: &[u8], _: &[u8]| {
        keys += 1;
        ControlFlow::Continue(())
    };
    let page = layered.scan(&Span::prefix([]), Direction::Forward, Limits::rows(1), count).wait().unwrap();
    assert_eq!((page.rows, keys), (1, 1));
}

#[test]
fn a_store_that_was_begun_without_compression_is_refused() {
    let store = MemoryStore::new();
    store.commit(Batch::new().put("a", "1")).wait().unwrap();
    let refused = Layered::open(store.clone(), compressed(Compression::Lz4)).wait().unwrap_err().to_string();
    assert_eq!(
        refused,
        "refused: it was begun without compression: export its tables and import them into a new one"
    );
    assert_eq!(open(&store, Layers::default()).compression(), None);
    assert_eq!(get(&store, "a"), Some(b"1".to_vec()));
}

#[test]
fn a_value_that_is_damaged_is_told_with_its_key() {
    let store = MemoryStore::new();
    let layered = open(&store, compressed(Compression::Lz4));
    layered.commit(Batch::new().put("a", "1").put("b", "2").put("c", "3")).wait().unwrap();
    store.commit(Batch::new().put("b", [9, 9])).wait().unwrap();
    let is_b = |error: &Error| matches!(error, Error::DamagedValue(key) if **key == *b"b");
    assert!(layered.get(b"b", |_| ()).wait().is_err_and(|error| is_b(&error)));
    assert!(layered.get_many(&["a", "b", "c"], |_, _| ()).wait().is_err_and(|error| is_b(&error)));
    let mut keys = Vec::new();
    let look = |key: &[u8], _: &[u8]| {
        keys.push(key.to_vec());
        ControlFlow::Continue(())
    };
    let page = layered.scan(&Span::prefix([]), Direction::Forward, Limits::default(), look).wait();
    assert!(page.is_err_and(|error| is_b(&error)));
    assert_eq!(keys, [b"a"]);
}

/// A store whose commits happen at once and are acknowledged only when it is let.
#[derive(Debug, Clone)]
struct Slow {
    store: MemoryStore,
    ends: Arc<AtomicBool>,
}

impl Read for Slow {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        self.store.get(key, look)
    }

    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.store.get_many(keys, look)
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        self.store.scan(span, direction, limits, look)
    }
}

impl Store for Slow {
    type Snapshot = MemorySnapshot;

    fn capability(&self) -> Capability {
        self.store.capability()
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        if !self.ends.load(Ordering::Relaxed) {
            pending::<()>().await;
        }
        self.store.commit(batch).await
    }

    fn sequence(&self) -> impl Future<Output = Result<Sequence, Error>> + Send {
        self.store.sequence()
    }

    fn snapshot(&self) -> impl Future<Output = Result<MemorySnapshot, Error>> + Send {
        self.store.snapshot()
    }
}

/// Its caller left: the store may still do it, at any time, and nothing that was cached or filtered may hide it then.
#[test]
fn a_commit_that_was_given_up_may_still_happen() {
    let slow = Slow { store: MemoryStore::new(), ends: Arc::new(AtomicBool::new(false)) };
    let layers = Layers { cache: Some(CacheOptions::default()), ..FILTER };
    let layered = Layered::open(slow.clone(), layers).wait().unwrap();
    layered.fill().wait();
    let mut commit = Box::pin(layered.commit(Batch::new().put("late", "1")));
    let begun = poll_fn(|context| Poll::Ready(commit.as_mut().poll(context).is_pending())).wait();
    assert!(begun);
    drop(commit);
    slow.ends.store(true, Ordering::Relaxed);
    (0..3).for_each(|_| assert_eq!(scan(&layered, "la"), [""; 0]));
    assert_eq!([get(&layered, "late"), get(&layered, "late")], [None, None]);
    // A new filter comes meanwhile.
    let many = (0..100).fold(Batch::new(), |batch, number| batch.put(format!("{number}"), ""));
    layered.commit(many).wait().unwrap();
    for number in 0..100 {
        assert_eq!(get(&layered, &format!("no {number}")), None);
    }
    assert!(layered.fill().wait());
    slow.store.commit(Batch::new().put("late", "1")).wait().unwrap();
    assert_eq!(get(&layered, "late"), Some(b"1".to_vec()));
    assert_eq!(scan(&layered, "la"), ["late=1"]);
}
