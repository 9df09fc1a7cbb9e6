//! The order under simulated faults, and without.

mod flaws;
mod history;
mod plain;
mod storm;

use std::sync::Arc;
use std::time::Duration;

use crate::cluster::{Cluster, Kind, Row};
use crate::order::Order;
use crate::settings::Settings;

/// Short times and small shards, so that much happens at once.
fn settings() -> Settings {
    Settings {
        lease: Duration::from_millis(50),
        margin: Duration::from_millis(15),
        cache: 4,
        split_rows: 8,
        split_bytes: 1 << 20,
        abandon: Duration::from_secs(100),
        ..Settings::default()
    }
}

fn order<C: Cluster>(cluster: C, settings: Settings) -> Order<C> {
    Order::new(Arc::new(cluster), settings)
}

fn row<C: Cluster>(order: &Order<C>, key: &[u8]) -> Row {
    Row { key: key.to_vec(), id: order.id(), kind: Kind::Member, value: Vec::new() }
}
