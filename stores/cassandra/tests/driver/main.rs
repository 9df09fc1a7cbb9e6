//! Every promise of [`Cluster`](keyloom_cassandra::Cluster), on a real node.
//!
//! `./test cluster` starts one and says where it is; without it nothing is tested, and said so.

#![allow(clippy::expect_used, clippy::panic, reason = "tests, which clippy does not see as such")]

mod executors;
mod gather;
mod kept;
mod order;
mod records;
mod session;
mod trouble;

use std::process::ExitCode;
use std::sync::{Arc, LazyLock};

use keyloom_cassandra::{Cluster, Config, Driver, Id, Space};
use keyloom_store::Wait;
use libtest_mimic::{Arguments, Failed, Trial};

/// Where the node is: `host:port`.
const NODE: &str = "KEYLOOM_CASSANDRA";

type Outcome = Result<(), Failed>;

fn main() -> ExitCode {
    if std::env::var_os(NODE).is_none() {
        println!("not run: {NODE} names no node: ./test cluster starts one");
        return ExitCode::SUCCESS;
    }
    let mut trials = Vec::new();
    for (name, cases) in [
        ("session", session::cases()),
        ("order", order::cases()),
        ("gather", gather::cases()),
        ("records", records::cases()),
        ("kept", kept::cases()),
        ("executors", executors::cases()),
        ("trouble", trouble::cases()),
    ] {
        trials.extend(cases.into_iter().map(|(case, run)| Trial::test(format!("{name}::{case}"), run)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A test and what it shows.
type Case = (&'static str, fn() -> Outcome);

/// The URL of a keyspace of the node.
fn url(keyspace: &str, options: &str) -> String {
    let node = std::env::var(NODE).unwrap_or_default();
    format!("cassandra://{node}/{keyspace}?replication=1{options}")
}

fn config(keyspace: &str, options: &str) -> Config {
    url(keyspace, options).parse().unwrap_or_else(|error| panic!("{error}"))
}

/// One session for all tests that need nothing of their own.
fn driver() -> Arc<Driver> {
    static DRIVER: LazyLock<Arc<Driver>> = LazyLock::new(|| {
        Arc::new(Driver::connect(&config("driver", "")).wait().unwrap_or_else(|error| panic!("{error}")))
    });
    DRIVER.clone()
}

/// An id of now.
fn id() -> Id {
    Id::new(driver().wall(), driver().random())
}

/// A space that no other test uses.
fn space() -> Space {
    let [a, b, c, d, ..] = driver().random().to_be_bytes();
    Space([a, b, c, d])
}

/// A key that no other test uses.
fn key() -> Vec<u8> {
    driver().random().to_be_bytes().to_vec()
}
