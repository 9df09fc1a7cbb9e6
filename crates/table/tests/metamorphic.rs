//! Where keys lie, how they are written and which store keeps them changes no answer.

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

use keyloom_layers::{CacheOptions, Compression, FilterOptions, Layered, Layers};
use keyloom_lmdb::{LmdbStore, LogOptions, Options};
use keyloom_store::{Durability, MemoryStore, Wait};
use keyloom_testkit::Weak;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use world::steps::Step;
use world::{TableSpec, run, steps, tables};

fn config(usual: u32) -> ProptestConfig {
    let asked = std::env::var("KEYLOOM_MODEL_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        // A number in the environment is that of the model test, which runs this many times as often.
        cases: asked.map_or(usual, |cases: u32| (cases / (10_000 / usual)).max(1)),
        max_shrink_iters: 2_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "proptest-regressions/metamorphic.txt",
        ))),
        ..ProptestConfig::default()
    }
}

fn lmdb(durability: Durability) -> Options {
    Options { durability, ..Options::default() }
}

/// What a file that is opened so answers.
fn run_lmdb(options: Options, spec: &TableSpec, history: &[Step]) -> Vec<String> {
    // It stays until the end: without it there is no log.
    let folder = tempfile::tempdir().unwrap();
    // Begun at once: there are few keys.
    let filter = Some(keyloom_lmdb::FilterOptions { after: 0, ..Default::default() });
    let store = LmdbStore::open_with(folder.path().join("test.klm"), Options { filter, ..options }).unwrap();
    run::run(store, spec, history)
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn no_placement_and_no_format_changes_an_answer(
        spec in tables(),
        history in steps::tame_histories(40),
        moves in proptest::collection::vec((0..4_u32, 0..6_usize), 1..4),
    ) {
        let said = run::run(MemoryStore::new(), &spec, &history);
        for (place, format) in moves {
            let other = spec.moved(place, format);
            prop_assert_eq!(&run::run(MemoryStore::new(), &other, &history), &said, "{:?}", other);
        }
    }
}

proptest! {
    #![proptest_config(config(20))]

    #[test]
    fn no_store_changes_an_answer(spec in tables(), history in steps::histories(30)) {
        let said = run::run(MemoryStore::new(), &spec, &history);
        prop_assert_eq!(&run_lmdb(lmdb(Durability::buffered()), &spec, &history), &said);
        // So few that commits wait for room, and so long that they are read from the buffer.
        let narrow = Durability::Buffered { entries: 4, interval: Duration::from_millis(2) };
        prop_assert_eq!(&run_lmdb(lmdb(narrow), &spec, &history), &said);
        prop_assert_eq!(&run_lmdb(lmdb(Durability::Synced), &spec, &history), &said);
    }
}

proptest! {
    #![proptest_config(config(20))]

    /// Most of a history lies in memory, in front of the file; with a narrow log it goes into the file step by step,
    /// while it is read.
    #[test]
    fn no_log_changes_an_answer(spec in tables(), history in steps::histories(30)) {
        let said = run::run(MemoryStore::new(), &spec, &history);
        prop_assert_eq!(&run_lmdb(lmdb(Durability::Written), &spec, &history), &said);
        // Room for some commits, of which the first go into the file while the next ones come.
        let log = LogOptions { entries: 24, bytes: 4_096, interval: Duration::from_millis(1) };
        let buffered = Durability::Buffered { entries: 16, interval: Duration::from_millis(1) };
        for durability in [Durability::Written, Durability::Synced, buffered] {
            let narrow = Options { log: Some(log), ..lmdb(durability) };
            prop_assert_eq!(&run_lmdb(narrow, &spec, &history), &said, "{:?}", durability);
        }
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn no_layer_changes_an_answer(spec in tables(), history in steps::histories(40)) {
        // So small that entries are pushed out and the filter is made anew.
        let layers = Layers {
            filter: Some(FilterOptions { keys: 1, ..FilterOptions::default() }),
            cache: Some(CacheOptions { bytes: 4_000, ..CacheOptions::default() }),
            compression: Some(Compression::Lz4),
        };
        let said = run::run(MemoryStore::new(), &spec, &history);
        let layered = Layered::open(MemoryStore::new(), layers).wait().unwrap();
        prop_assert_eq!(&run::run(layered, &spec, &history), &said);
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn committing_one_record_at_a_time_changes_no_answer(
        spec in tables(),
        history in steps::histories(40),
    ) {
        let history = steps::apart(&history);
        let said = run::run(MemoryStore::new(), &spec, &history);
        prop_assert_eq!(&run::run(Weak::new(Duration::ZERO), &spec, &history), &said);
    }
}
