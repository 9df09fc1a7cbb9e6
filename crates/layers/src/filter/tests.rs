//! How a filter fills, step by step.

use keyloom_store::bloom::hash;
use keyloom_store::{Batch, MemoryStore, Store, Wait};

use super::Filter;
use crate::layers::FilterOptions;

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// As large as it likes.
fn of(keys: usize) -> FilterOptions {
    FilterOptions { keys, bytes: usize::MAX }
}

fn store(keys: u32) -> MemoryStore {
    let store = MemoryStore::new();
    let batch = (0..keys).fold(Batch::new(), |batch, number| batch.put(key(number), ""));
    store.commit(batch).wait().unwrap();
    store
}

fn fill(filter: &Filter, store: &MemoryStore) {
    while filter.grow(store).wait() {}
    assert!(filter.is_whole());
}

#[test]
fn it_says_nothing_before_it_is_whole() {
    let (filter, store) = (Filter::new(of(1_000)), store(300));
    assert!(filter.grow(&store).wait());
    assert_eq!(filter.may_contain(hash(&key(999))), None);
    fill(&filter, &store);
    assert_eq!(filter.may_contain(hash(&key(299))), Some(true));
    assert_eq!(filter.may_contain(hash(&key(999))), Some(false));
}

#[test]
fn it_grows_to_what_is_there() {
    let (filter, store) = (Filter::new(of(1)), store(5_000));
    fill(&filter, &store);
    assert!((0..5_000).all(|number| filter.may_contain(hash(&key(number))) == Some(true)));
    let wrong =
        (5_000..15_000).filter(|number| filter.may_contain(hash(&key(*number))) == Some(true)).count();
    assert!(wrong < 120, "{wrong} of 10,000");
    // Ten bits for at most 8,192.
    assert_eq!(filter.size().bytes, 10_240);
}

/// It grew with the keys for as long as they came.
#[test]
fn it_takes_no_more_bytes_than_it_may() {
    // Room for 4,096 keys, and a quarter of it is kept.
    let options = FilterOptions { keys: usize::MAX, bytes: 5_120 };
    let (filter, few) = (Filter::new(options), store(3_000));
    assert_eq!(filter.size().bytes, 5_120);
    fill(&filter, &few);
    assert_eq!(filter.may_contain(hash(&key(2_999))), Some(true));
    // Full, and made anew: there is no room for both.
    let churn: Vec<u64> = (10_000..14_096).map(|number| hash(&key(number))).collect();
    let lane = filter.begin(&churn);
    filter.end(lane, &churn, false);
    assert!(filter.grow(&few).wait());
    assert_eq!((filter.size().bytes, filter.may_contain(hash(&key(9_999)))), (5_120, None));
    fill(&filter, &few);
    assert_eq!(filter.may_contain(hash(&key(2_999))), Some(true));

    let (filter, many) = (Filter::new(FilterOptions { keys: 1, ..options }), store(4_000));
    while filter.grow(&many).wait() {
        assert!(filter.size().bytes <= 5_120);
    }
    let size = filter.size();
    assert_eq!((size.bytes, size.whole, size.overflown), (0, false, true));
    assert!(!filter.is_whole() && filter.may_contain(hash(&key(9_999))).is_none());
    // Commits go on as they did.
    let lane = filter.begin(&churn);
    filter.end(lane, &churn, false);
    assert!(!filter.grow(&many).wait());
}

#[test]
fn a_full_one_is_made_anew_without_the_keys_that_are_gone() {
    let (filter, store) = (Filter::new(of(1_024)), store(100));
    fill(&filter, &store);
    let churn: Vec<u64> = (1_000..3_000).map(|number| hash(&key(number))).collect();
    let lane = filter.begin(&churn);
    filter.end(lane, &churn, false);
    fill(&filter, &store);
    let size = filter.size();
    assert_eq!((size.keys, size.bytes), (100, 1_280));
    assert_eq!(filter.may_contain(hash(&key(1_500))), Some(false));
}

/// The commit has told the old filter of its keys, and becomes visible behind the scan that fills the new one.
#[test]
fn a_new_one_waits_for_commits_that_know_only_the_old_one() {
    let (filter, store) = (Filter::new(of(64)), store(10));
    fill(&filter, &store);
    let slow = [hash(b"slow")];
    let lane = filter.begin(&slow);
    let many: Vec<u64> = (0..100).map(|number| hash(&key(1_000 + number))).collect();
    let other = filter.begin(&many);
    filter.end(other, &many, false);
    assert!(!filter.grow(&store).wait(), "the slow one is on its way");
    assert_eq!(filter.may_contain(slow[0]), Some(true));
    store.commit(Batch::new().put("slow", "")).wait().unwrap();
    filter.end(lane, &slow, false);
    fill(&filter, &store);
    assert_eq!(filter.may_contain(slow[0]), Some(true));
}

/// It may become visible at any time, so every later filter has its keys.
#[test]
fn a_commit_that_was_given_up_is_never_denied() {
    let (filter, store) = (Filter::new(of(64)), store(10));
    fill(&filter, &store);
    let lost = [hash(b"lost")];
    let lane = filter.begin(&lost);
    for round in 1..4_u32 {
        let many: Vec<u64> = (0..200).map(|number| hash(&key(round * 1_000 + number))).collect();
        let other = filter.begin(&many);
        filter.end(other, &many, false);
        if round == 1 {
            assert!(!filter.grow(&store).wait());
            filter.end(lane, &lost, true);
        }
        fill(&filter, &store);
        assert_eq!(filter.may_contain(lost[0]), Some(true));
    }
}
