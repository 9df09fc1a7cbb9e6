//! The store does what every store must, on a cluster in memory. On a real one it does so in `./test cluster`.

use std::process::ExitCode;
use std::sync::Arc;

use keyloom_cassandra::simulation::Local;
use keyloom_cassandra::{ClusterStore, Order, Settings};
use keyloom_testkit::behavior;

fn main() -> ExitCode {
    behavior::main("cassandra, simulated", || {
        ClusterStore::new(Order::new(Arc::new(Local::default()), Settings::default()))
    })
}
