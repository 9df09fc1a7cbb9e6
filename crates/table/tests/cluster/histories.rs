//! Whatever happens to a table on a cluster, it answers as the simplest of tables does, and as one in memory.
//!
//! `KEYLOOM_MODEL_CASES` asks for more histories than usual.

use std::sync::atomic::{AtomicU32, Ordering};

use keyloom_store::MemoryStore;
use proptest::prelude::*;

use crate::world::{run, steps, tables};
use crate::{open, url};

static NUMBER: AtomicU32 = AtomicU32::new(0);

fn config() -> ProptestConfig {
    let asked = std::env::var("KEYLOOM_MODEL_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: if std::env::var_os("KEYLOOM_CASSANDRA").is_some() { asked.unwrap_or(3) } else { 1 },
        // Each history takes seconds.
        max_shrink_iters: 20,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A keyspace for one history. Shards are split at so few rows that they are while it runs.
fn fresh() -> Option<String> {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    url(&format!("history_{number}"), "split_rows=8")
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_cluster_changes_no_answer(spec in tables(), history in steps::histories(16)) {
        let Some(url) = fresh() else { return Ok(()) };
        let history = steps::apart(&history);
        let said = run::run(MemoryStore::new(), &spec, &history);
        prop_assert_eq!(&run::run(open(&url), &spec, &history), &said);
    }

    #[test]
    fn no_placement_and_no_format_changes_an_answer_of_a_cluster(
        spec in tables(),
        history in steps::tame_histories(16),
        place in 0..4_u32,
        format in 0..6_usize,
    ) {
        let Some(url) = fresh() else { return Ok(()) };
        let history = steps::apart(&history);
        let said = run::run(MemoryStore::new(), &spec, &history);
        let other = spec.moved(place, format);
        prop_assert_eq!(&run::run(open(&url), &other, &history), &said, "{:?}", other);
    }
}
