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
