//! What is written reads back, and nothing else is read.

use keyloom_key::Span;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::{id, ids, maybe_id, pairs, state, stored_ids, stored_pairs, stored_state};
use crate::cluster::State;
use crate::id::Id;

fn an_id() -> impl Strategy<Value = Id> {
    any::<[u8; 16]>().prop_map(Id::from_bytes)
}

fn a_key() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..6)
}

fn shards() -> impl Strategy<Value = Vec<(Id, Span)>> {
    let span = (a_key(), option::of(a_key())).prop_map(|(start, end)| Span { start, end });
    vec((an_id(), span), 0..4)
}

fn a_state() -> impl Strategy<Value = State> {
    let plan = || (an_id(), a_key(), any::<i64>());
    prop_oneof![
        Just(State::Active),
        plan().prop_map(|(to, from, since)| State::Announce { to, from, since }),
        plan().prop_map(|(to, from, since)| State::Prepare { to, from, since }),
        shards().prop_map(|to| State::Echo { to }),
        shards().prop_map(|of| State::Clear { of }),
    ]
}

proptest! {
    #[test]
    fn a_state_reads_back(written in a_state()) {
        prop_assert_eq!(state(&stored_state(&written)), Ok(written));
    }

    #[test]
    fn only_what_was_written_is_read(bytes in vec(0u8..6, 0..60)) {
        if let Ok(read) = state(&bytes) {
            prop_assert_eq!(stored_state(&read), bytes);
        }
    }

    #[test]
    fn lists_read_back(past in vec(an_id(), 0..5), rows in vec((any::<u128>(), an_id()), 0..5)) {
        prop_assert_eq!(ids(&stored_ids(&past)), Ok(past));
        prop_assert_eq!(pairs(&stored_pairs(&rows)), Ok(rows));
    }
}

#[test]
fn what_is_cut_off_is_damaged() {
    for bytes in [&b"15 bytes long, "[..], b"17 bytes in all.."] {
        assert!(id(bytes).is_err());
        assert!(maybe_id(bytes).is_err());
        assert!(ids(bytes).is_err());
        assert!(pairs(bytes).is_err());
    }
    assert_eq!(maybe_id(b""), Ok(None));
    assert!(state(b"").is_err());
    assert!(state(&[0, 0]).is_err());
    assert!(state(&[9]).is_err());
}
