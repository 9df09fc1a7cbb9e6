//! Keyloom on a Cassandra cluster.

#![forbid(unsafe_code)]

mod cache;
mod cassandra;
mod cell;
mod change;
mod claim;
mod cluster;
mod commit;
mod config;
mod driver;
mod id;
mod lease;
mod maintain;
mod map;
mod measure;
mod members;
mod mistake;
mod order;
mod page;
mod read;
mod record;
mod settings;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
mod store;

pub use cassandra::CassandraStore;
pub use cluster::{Applied, Cell, Claim, Cluster, Consistency, Fault, Kind, Range, Row, Space, State};
pub use config::{Config, ConfigError};
pub use driver::Driver;
pub use id::Id;
pub use order::Order;
pub use page::Rows;
pub use settings::Settings;
pub use store::{ClusterStore, NoSnapshot};

#[cfg(test)]
mod tests;
