//! Tables and plain indexes on a real node, which `KEYLOOM_CASSANDRA` names: `./test cluster` starts one.

// The futures of a cluster that nothing boxes are deep.
#![recursion_limit = "256"]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    unreachable_pub,
    missing_docs,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod eindex;
mod histories;
mod schema;
mod shards;
#[path = "../world/mod.rs"]
mod world;

use std::thread;
use std::time::{Duration, Instant};

use keyloom_cassandra::CassandraStore;
use keyloom_key::Span;
use keyloom_store::{Direction, Limits, Read, Wait};
use keyloom_table::Database;

const ALL: Span = Span { start: Vec::new(), end: None };

/// A keyspace of this process by its name, as a URL; none without a node. `more` are options behind the `?`.
fn url(keyspace: &str, more: &str) -> Option<String> {
    let Ok(node) = std::env::var("KEYLOOM_CASSANDRA") else {
        println!("not run: KEYLOOM_CASSANDRA names no node: ./test cluster starts one");
        return None;
    };
    let keyspace = format!("{keyspace}_{}", std::process::id());
    Some(format!("cassandra://{node}/{keyspace}?replication=1&lease=1s&timeout=3s&{more}"))
}

/// A client of its own.
fn open(url: &str) -> CassandraStore {
    let config = url.parse().unwrap_or_else(|error| panic!("{url}: {error}"));
    CassandraStore::open(&config).wait().unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn database(url: &str) -> Database<CassandraStore> {
    Database::open(open(url)).wait().unwrap()
}

/// The keyspace that all tests share whose shards split at so many rows.
fn shared(split_rows: usize) -> Option<String> {
    url("tables", &format!("split_rows={split_rows}"))
}

/// All keys of a span, read in pages of so many.
fn keys(store: &CassandraStore, span: &Span, direction: Direction, page: usize) -> Vec<Vec<u8>> {
    let (mut keys, mut rest) = (Vec::new(), Some(span.clone()));
    while let Some(span) = rest.take() {
        let mut taken = 0;
        let look = |key: &[u8], _: &[u8]| {
            keys.push(key.to_vec());
            taken += 1;
            if taken == page { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        };
        rest = store.scan(&span, direction, Limits::default(), look).wait().unwrap().rest;
    }
    keys
}

/// Waits until a span lies in so many shards at least, and returns in how many.
fn split_into(store: &CassandraStore, span: &Span, shards: usize) -> usize {
    let began = Instant::now();
    loop {
        let there = store.shards(span).wait().unwrap().len();
        if there >= shards {
            return there;
        }
        assert!(began.elapsed() < Duration::from_secs(90), "only {there} shards");
        thread::sleep(Duration::from_millis(200));
    }
}

/// Not a test of its own: another process.
#[test]
fn as_a_child() {
    if let Some((task, url)) = keyloom_testkit::child::task() {
        schema::child(&task, url.to_str().unwrap());
    }
}
