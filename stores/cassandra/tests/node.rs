//! The store on a real node does what every store must.

#![allow(clippy::expect_used, clippy::panic, reason = "tests, which clippy does not see as such")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};

use keyloom_cassandra::CassandraStore;
use keyloom_store::Wait;
use keyloom_testkit::behavior;

fn main() -> ExitCode {
    let Ok(node) = std::env::var("KEYLOOM_CASSANDRA") else {
        println!("not run: KEYLOOM_CASSANDRA names no node: ./test cluster starts one");
        return ExitCode::SUCCESS;
    };
    let number = AtomicU32::new(0);
    behavior::main("cassandra", move || {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let keyspace = format!("behavior_{}_{number}", std::process::id());
        let url = format!("cassandra://{node}/{keyspace}?replication=1&lease=1s");
        let config = url.parse().unwrap_or_else(|error| panic!("{url}: {error}"));
        CassandraStore::open(&config).wait().unwrap_or_else(|error| panic!("{url}: {error}"))
    })
}
