//! When an entry is used, step by step.

use std::time::Duration;

use super::{Cache, Cached, Note};
use crate::bloom::hash;
use crate::layers::CacheOptions;

fn cache(bytes: usize, time_to_live: Duration) -> Cache {
    Cache::new(CacheOptions { bytes, time_to_live })
}

fn known(cache: &Cache, key: &[u8]) -> Option<Option<Vec<u8>>> {
    match cache.get(key, hash(key)) {
        Cached::Known(value) => Some(value.map(|value| value.to_vec())),
        _ => None,
    }
}

fn note(cache: &Cache, key: &[u8]) -> Note {
    match cache.get(key, hash(key)) {
        Cached::Unknown(note) => note,
        _ => panic!("it is known, or being written"),
    }
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_value_and_an_absence_are_kept() {
    let cache = cache(1 << 16, LONG);
    cache.leave(b"a", Some(b"1".as_slice().into()), note(&cache, b"a"));
    cache.leave(b"b", None, note(&cache, b"b"));
    assert_eq!(known(&cache, b"a"), Some(Some(b"1".to_vec())));
    assert_eq!(known(&cache, b"b"), Some(None));
    assert_eq!(known(&cache, b"c"), None);
}

#[test]
fn what_was_read_before_or_during_a_commit_is_never_used() {
    let cache = cache(1 << 16, LONG);
    let hashes = [hash(b"a")];
    let before = note(&cache, b"a");
    cache.leave(b"a", Some(b"old".as_slice().into()), before);
    cache.begin(&hashes);
    assert!(matches!(cache.get(b"a", hash(b"a")), Cached::Moving));
    cache.begin(&hashes);
    cache.end(&hashes);
    assert!(matches!(cache.get(b"a", hash(b"a")), Cached::Moving), "one of two is still on its way");
    cache.end(&hashes);
    assert_eq!(known(&cache, b"a"), None);
    // The slow reader comes last.
    cache.leave(b"a", Some(b"old".as_slice().into()), before);
    assert_eq!(known(&cache, b"a"), None);
    cache.leave(b"a", Some(b"new".as_slice().into()), note(&cache, b"a"));
    assert_eq!(known(&cache, b"a"), Some(Some(b"new".to_vec())));
}

#[test]
fn an_entry_has_its_time() {
    let cache = cache(1 << 16, Duration::ZERO);
    cache.leave(b"a", None, note(&cache, b"a"));
    assert_eq!(known(&cache, b"a"), None);
}

#[test]
fn it_keeps_to_its_bytes() {
    let cache = cache(100_000, LONG);
    for number in 0..10_000_u32 {
        let key = number.to_be_bytes();
        cache.leave(&key, Some([7; 100].as_slice().into()), note(&cache, &key));
    }
    assert!((50_000..=100_000).contains(&cache.bytes()), "{}", cache.bytes());
    assert!(cache.entries() > 200, "{}", cache.entries());
}
