//! Tables answer here as they do in memory, whatever happens to them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    unreachable_pub,
    missing_docs,
    reason = "helpers of tests, which clippy does not see as such"
)]

#[path = "../../../crates/table/tests/world/mod.rs"]
mod world;

use keyloom_rocksdb::{Options, RocksStore, Stripes};
use keyloom_store::{Durability, MemoryStore};
use proptest::prelude::*;

use world::{run, steps, tables};

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_answer_as_in_memory(spec in tables(), history in steps::histories(30)) {
        let said = run::run(MemoryStore::new(), &spec, &history);
        for stripes in [Stripes::Prefix, Stripes::Families(3)] {
            let folder = tempfile::tempdir().unwrap();
            let options = Options { durability: Durability::Written, stripes, ..Options::default() };
            let store = RocksStore::open_with(folder.path().join("test"), options).unwrap();
            prop_assert_eq!(&run::run(store, &spec, &history), &said);
        }
    }
}
