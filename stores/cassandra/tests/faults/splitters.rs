//! Two who change the same ranges at the same time, while clients write there.

use std::sync::Arc;

use futures_util::future::join;
use keyloom_cassandra::{Config, Driver, Order, Settings};
use keyloom_store::Wait;

use crate::client::Keys;
use crate::scenario::Outcome;

/// A client that changes ranges only when it is told.
fn splitter(url: &str) -> Result<Order<Driver>, Box<dyn std::error::Error + Send + Sync>> {
    let config: Config = url.parse()?;
    let driver = Driver::connect(&config).wait()?;
    let (lease, statement) = (driver.lease(), config.timeout);
    let settings = Settings { lease, margin: lease / 5, statement, ..Settings::default() };
    Ok(Order::new(Arc::new(driver), settings))
}

/// Both split at the same key; then one joins again what the other splits elsewhere.
pub(crate) fn race(url: &str, keys: Keys) -> Outcome {
    let (one, other) = (splitter(url)?, splitter(url)?);
    let (middle, beyond) = (keys.named("4.0"), keys.named("6.0"));
    let same = join(one.split(&middle), other.split(&middle)).wait();
    let apart = join(one.merge(&middle), other.split(&beyond)).wait();
    for ended in [same.0, same.1, apart.0, apart.1] {
        ended.map_err(|fault| format!("a splitter failed: {fault}"))?;
    }
    Ok(())
}
