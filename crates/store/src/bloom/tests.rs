//! No key is ever denied, and few are taken for another.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::{Bloom, hash};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_inserted_is_never_denied(keys in btree_set(vec(any::<u8>(), 1..40), 1..500), room in 0..600_usize) {
        // Also where it is far too small.
        let bloom = Bloom::new(room);
        for key in &keys {
            bloom.insert(hash(key));
            prop_assert!(bloom.may_contain(hash(key)));
        }
        prop_assert!(keys.iter().all(|key| bloom.may_contain(hash(key))));
        prop_assert!(bloom.keys() <= keys.len());
    }
}

/// Keys as they come: numbers that follow each other, or texts that begin alike.
#[test]
fn one_in_a_hundred_is_taken_for_another() {
    const KEYS: u64 = 100_000;
    for form in [|n: u64| n.to_be_bytes().to_vec(), |n: u64| format!("user:{n:09}:order").into_bytes()] {
        let bloom = Bloom::new(100_000);
        (0..KEYS).for_each(|n| bloom.insert(hash(&form(n))));
        let wrong = (KEYS..2 * KEYS).filter(|n| bloom.may_contain(hash(&form(*n)))).count();
        assert!((400..1_200).contains(&wrong), "{wrong} of {KEYS}");
        assert!((98_000..=100_000).contains(&bloom.keys()), "{}", bloom.keys());
    }
}

#[test]
fn it_takes_ten_bits_a_key() {
    // In whole lines.
    assert_eq!(Bloom::new(100_000).bytes(), 125_056);
    assert_eq!(Bloom::new(0).bytes(), 64);
    let seen: BTreeSet<bool> = (0..1_000).map(|n| Bloom::new(1).may_contain(n)).collect();
    assert_eq!(seen, BTreeSet::from([false]));
}
