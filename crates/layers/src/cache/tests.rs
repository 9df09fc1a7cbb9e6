//! When an entry is used, step by step.

use std::sync::Arc;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::bloom::hash;
use keyloom_store::{Direction, Limits, Page};
use proptest::prelude::*;

use super::{Cache, Cached, Marked, shared};
use crate::layers::CacheOptions;
use crate::rows::{Copied, Rows};
use crate::slots::Note;

fn cache(bytes: usize, time_to_live: Duration) -> Cache {
    Cache::new(CacheOptions { bytes, time_to_live })
}

fn known(cache: &Cache, key: &[u8]) -> Option<Option<Vec<u8>>> {
    match cache.get(key, hash(key), None) {
        Cached::Known(value) => Some(value.map(|value| value.to_vec())),
        _ => None,
    }
}

fn note(cache: &Cache, key: &[u8]) -> Note {
    match cache.get(key, hash(key), None) {
        Cached::Unknown(note) => note,
        _ => panic!("it is known, or being written"),
    }
}

fn begin(cache: &Cache, keys: &[&[u8]]) -> Marked {
    cache.begin(keys.iter().map(|key| (*key, hash(key))))
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
    let before = note(&cache, b"a");
    cache.leave(b"a", Some(b"old".as_slice().into()), before);
    let first = begin(&cache, &[b"a"]);
    assert!(matches!(cache.get(b"a", hash(b"a"), None), Cached::Passing));
    let second = begin(&cache, &[b"a"]);
    cache.end(&first, false);
    assert!(matches!(cache.get(b"a", hash(b"a"), None), Cached::Passing), "one of two is still on its way");
    cache.end(&second, false);
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

fn page(cache: &Cache, span: &Span) -> Cached<Arc<Rows>> {
    cache.page((span, Direction::Forward, Limits::default()), None)
}

fn is_kept(cache: &Cache, span: &Span) -> bool {
    matches!(page(cache, span), Cached::Known(_))
}

/// Asks for a page until it may be left.
fn page_note(cache: &Cache, span: &Span) -> Note {
    let note = |_| if let Cached::Unknown(note) = page(cache, span) { Some(note) } else { None };
    (0..2).find_map(note).expect("a page that is asked for again may be left")
}

fn rows() -> Rows {
    let mut copied = Copied::new(1_000);
    copied.row(b"key", b"value");
    copied.of(&Page { rows: 1, bytes: 8, rest: None }, Limits::default()).expect("a whole page")
}

#[test]
fn a_commit_drops_the_pages_whose_span_has_one_of_its_keys() {
    let cache = cache(1 << 20, LONG);
    let spans = ["user:1/", "user:1/2024", "user:2/", "user:"].map(Span::prefix);
    for span in &spans {
        cache.leave_page(span, Direction::Forward, rows(), page_note(&cache, span));
    }
    // The longer prefixes have come into use behind the first.
    let kept = || spans.each_ref().map(|span| is_kept(&cache, span));
    assert_eq!(kept(), [true; 4]);
    let commit = begin(&cache, &[b"user:1/2023".as_slice(), b"user:1/2023/x"]);
    assert_eq!(kept(), [false, true, true, false]);
    cache.end(&commit, false);
    assert_eq!(kept(), [false, true, true, false]);
    let commit = begin(&cache, &[b"user:"]);
    cache.end(&commit, false);
    assert_eq!(
        kept(),
        [false, true, true, false],
        "a key that is shorter than the prefix is in no such span"
    );
}

#[test]
fn a_page_that_was_read_during_a_commit_is_never_used() {
    let cache = cache(1 << 20, LONG);
    let span = Span::prefix("user:1/");
    let before = page_note(&cache, &span);
    let commit = begin(&cache, &[b"user:1/a"]);
    assert!(matches!(page(&cache, &span), Cached::Passing));
    cache.leave_page(&span, Direction::Forward, rows(), before);
    assert!(!is_kept(&cache, &span));
    cache.end(&commit, false);
    assert!(!is_kept(&cache, &span));
    cache.leave_page(&span, Direction::Forward, rows(), page_note(&cache, &span));
    assert!(is_kept(&cache, &span));
    assert!(!matches!(cache.page((&span, Direction::Backward, Limits::default()), None), Cached::Known(_)));
    // One that is lost may happen at any time.
    cache.end(&begin(&cache, &[b"user:1/a"]), true);
    assert!(matches!(page(&cache, &span), Cached::Passing));
}

/// A shorter prefix was noted; then a commit came that was not told of the longer one.
#[test]
fn a_page_is_dropped_when_its_prefix_becomes_longer() {
    let cache = cache(1 << 20, LONG);
    let (short, long) = (Span::prefix("us"), Span::prefix("user:1"));
    page_note(&cache, &short);
    let other = begin(&cache, &[b"other"]);
    cache.leave_page(&long, Direction::Forward, rows(), page_note(&cache, &long));
    cache.end(&other, false);
    assert!(!is_kept(&cache, &long), "another prefix has not been looked at for as long");
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0, 1, 2, 0xFE, 0xFF]), 0..5)
}

proptest! {
    #[test]
    fn all_keys_of_a_span_have_what_is_shared(start in bytes(), end in prop::option::of(bytes()), key in bytes()) {
        let span = Span { start, end };
        if span.contains(&key) {
            prop_assert!(key.starts_with(&span.start[..shared(&span)]), "{} of {span:?}", shared(&span));
        }
    }

    #[test]
    fn all_of_a_prefix_is_shared(prefix in bytes()) {
        prop_assert_eq!(shared(&Span::prefix(prefix.clone())), prefix.len());
    }
}
