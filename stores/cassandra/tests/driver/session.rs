//! Connecting: the keyspace, its lease, and what cannot be reached.

use std::time::Duration;

use keyloom_cassandra::{Cluster, Driver};
use keyloom_store::Wait;

use crate::{Case, Outcome, config, driver, url};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("clients_that_come_at_once_make_one_keyspace", clients_that_come_at_once_make_one_keyspace),
        ("the_lease_is_the_keyspaces", the_lease_is_the_keyspaces),
        ("a_node_that_is_not_there_is_named", a_node_that_is_not_there_is_named),
        ("missing_replicas_are_told", missing_replicas_are_told),
    ]
}

/// A keyspace that no run before this one has made.
fn fresh() -> String {
    format!("k{:x}", driver().random())
}

fn clients_that_come_at_once_make_one_keyspace() -> Outcome {
    let keyspace = fresh();
    let spaces: Vec<_> = (0..6).map(|number| keyloom_cassandra::Space([0, 0, 0, number])).collect();
    std::thread::scope(|scope| {
        for space in &spaces {
            let config = config(&keyspace, "");
            scope.spawn(move || {
                let driver = Driver::connect(&config).wait().unwrap_or_else(|error| panic!("{error}"));
                driver.add_space(*space).wait().unwrap_or_else(|error| panic!("{error}"));
            });
        }
    });
    let driver = Driver::connect(&config(&keyspace, "")).wait()?;
    assert_eq!(driver.spaces().wait(), Ok(spaces));
    Ok(())
}

fn the_lease_is_the_keyspaces() -> Outcome {
    let keyspace = fresh();
    let first = Driver::connect(&config(&keyspace, "&lease=1500ms")).wait()?;
    assert_eq!(first.lease(), Duration::from_millis(1500));
    let second = Driver::connect(&config(&keyspace, "")).wait()?;
    assert_eq!(second.lease(), Duration::from_millis(1500));
    let error = Driver::connect(&config(&keyspace, "&lease=3s")).wait().err().map(|error| error.to_string());
    assert!(error.as_ref().is_some_and(|error| error.contains("has a lease of 1500 ms")), "{error:?}");
    Ok(())
}

fn a_node_that_is_not_there_is_named() -> Outcome {
    let config = "cassandra://127.0.0.1:1/shop".parse()?;
    let error = Driver::connect(&config).wait().err().map(|error| error.to_string());
    assert!(error.as_ref().is_some_and(|error| error.contains("127.0.0.1:1")), "{error:?}");
    Ok(())
}

fn missing_replicas_are_told() -> Outcome {
    let url = url(&fresh(), "&patience=8s").replace("replication=1", "replication=3");
    let error = Driver::connect(&url.parse()?).wait().err().map(|error| error.to_string());
    assert!(error.as_ref().is_some_and(|error| error.contains("fewer replicas")), "{error:?}");
    Ok(())
}
