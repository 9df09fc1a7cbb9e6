//! Whatever happens to a table, it answers as the simplest of tables does: a list that is gone through.
//!
//! `KEYLOOM_MODEL_CASES` asks for more histories than usual.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    unreachable_pub,
    missing_docs,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod world;

use std::time::Duration;

use keyloom_store::MemoryStore;
use keyloom_testkit::Weak;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use world::{run, steps, tables};

fn config(share: u32) -> ProptestConfig {
    let asked = std::env::var("KEYLOOM_MODEL_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(6_000) / share,
        max_shrink_iters: 20_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/model.txt"))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(1))]

    #[test]
    fn a_table_answers_as_the_simplest_one_does(spec in tables(), history in steps::histories(60)) {
        run::run(MemoryStore::new(), &spec, &history);
    }
}

proptest! {
    #![proptest_config(config(6))]

    #[test]
    fn a_store_that_commits_one_record_at_a_time_answers_so_too(
        spec in tables(),
        history in steps::histories(60),
    ) {
        run::run(Weak::new(Duration::ZERO), &spec, &steps::apart(&history));
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn what_is_known_too_long_changes_no_answer(spec in tables(), history in steps::histories(60)) {
        run::run(Weak::new(Duration::from_millis(3)), &spec, &steps::apart(&history));
    }
}
