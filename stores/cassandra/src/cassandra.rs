//! The store on a real cluster.

use std::sync::Arc;

use keyloom_store::Error;

use crate::config::Config;
use crate::driver::Driver;
use crate::order::Order;
use crate::settings::Settings;
use crate::store::ClusterStore;

/// The store on a Cassandra cluster.
pub type CassandraStore = ClusterStore<Driver>;

impl ClusterStore<Driver> {
    /// Opens the store that the URL names; a keyspace that is not there is made.
    ///
    /// It may be used from any executor, or from none. Opened inside a tokio runtime of several threads, its connections
    /// live there, which is fastest, and end with it; that runtime needs clocks and sockets (`enable_all`), and threads
    /// that are not all blocked. Elsewhere the store has two threads of its own.
    pub async fn open(config: &Config) -> Result<Self, Error> {
        let driver = Driver::connect(config).await?;
        let settings = Settings {
            lease: driver.lease(),
            margin: driver.lease() / 5,
            cache: config.cache,
            split_rows: config.split_rows,
            split_bytes: config.split_bytes,
            statement: config.timeout,
            ..Settings::default()
        };
        Ok(Self::new(Order::new(Arc::new(driver), settings)))
    }
}
