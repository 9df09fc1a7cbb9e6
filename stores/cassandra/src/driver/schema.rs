//! The keyspace and its tables.

use std::iter;
use std::time::Duration;

use keyloom_store::Error;
use scylla::client::session::Session;
use scylla::policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy};
use scylla::response::query_result::QueryResult;
use scylla::serialize::row::SerializeRow;
use scylla::statement::unprepared::Statement;

use crate::config::{Config, LEASE, Replication};

use super::ask::{Patience, Repeat};

/// The tables, as the statements of [`Cluster`](crate::Cluster) need them. Deletions are remembered for ten days
/// (`gc_grace_seconds`), on which the age of an unfinished split depends.
const TABLES: [&str; 6] = [
    "settings (name text PRIMARY KEY, value text)",
    "spaces (part tinyint, space blob, PRIMARY KEY (part, space))",
    "map (space blob, start_key blob, end_key blob, shard blob, epoch bigint, state blob, \
     PRIMARY KEY (space, start_key))",
    "rows (space blob, shard blob, key blob, id blob, kind tinyint, owner blob, base blob, value blob, \
     PRIMARY KEY ((space, shard), key, id)) WITH gc_grace_seconds = 864000",
    "cells (key blob PRIMARY KEY, version blob, past blob, counted blob, value blob)",
    "claims (key blob PRIMARY KEY, id blob, owner blob, base blob)",
];

/// The form of the tables.
const FORMAT: &str = "1";

/// Makes the keyspace and its tables if they are not there, and returns its lease.
pub(super) async fn prepare(session: &Session, config: &Config) -> Result<Duration, Error> {
    let keyspace = config.keyspace();
    let complete = session
        .get_cluster_state()
        .get_keyspace(keyspace)
        .is_some_and(|known| TABLES.iter().all(|table| known.tables.contains_key(name(table))));
    if !complete {
        let replication = replication(config.replication());
        let made = format!("CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {replication}");
        let tables = TABLES.iter().map(|table| format!("CREATE TABLE IF NOT EXISTS {keyspace}.{table}"));
        let what = format!("make the keyspace {keyspace} and its tables");
        for text in iter::once(made).chain(tables) {
            let patience = Patience::new(&what, Repeat::Always, config.patience);
            define(session, text, config.patience, patience).await?;
        }
    }
    let format = setting(session, config, "format", FORMAT).await?;
    if format != FORMAT {
        return Err(Error::Refused(
            format!(
                "the keyspace {keyspace} has the form {format}, this program knows {FORMAT}: use a newer one"
            )
            .into(),
        ));
    }
    lease(session, config).await
}

/// The lease of the keyspace: whoever came first has set it, and all must keep to it.
async fn lease(session: &Session, config: &Config) -> Result<Duration, Error> {
    let asked = config.lease().unwrap_or(LEASE).as_millis().to_string();
    let lease = setting(session, config, "lease_ms", &asked).await?;
    if config.lease().is_some() && lease != asked {
        let keyspace = config.keyspace();
        return Err(Error::Refused(
            format!(
                "the keyspace {keyspace} has a lease of {lease} ms, not of {asked} ms: leave the option away"
            )
            .into(),
        ));
    }
    lease
        .parse()
        .map(Duration::from_millis)
        .map_err(|_| Error::Damaged(format!("the keyspace has a lease of {lease:?} ms").into()))
}

/// A setting that is written once.
async fn setting(session: &Session, config: &Config, name: &str, value: &str) -> Result<String, Error> {
    let keyspace = config.keyspace();
    // Repeating it changes nothing: the first value stays.
    let write = format!("INSERT INTO {keyspace}.settings (name, value) VALUES (?, ?) IF NOT EXISTS");
    let read = format!("SELECT value FROM {keyspace}.settings WHERE name = ?");
    for write in [None, Some(write)] {
        if let Some(write) = write {
            ask(session, config, write, (name, value)).await?;
        }
        let found = ask(session, config, read.clone(), (name,)).await?.into_rows_result();
        let found = found.map_err(|error| strange(&error.to_string()))?;
        let row: Option<(String,)> = found.maybe_first_row().map_err(|error| strange(&error.to_string()))?;
        if let Some((stored,)) = row {
            return Ok(stored);
        }
    }
    Err(strange(&format!("{name} is not there although it was written")))
}

/// What is done with settings, for errors.
const SETTINGS: &str = "read the settings of the keyspace";

fn strange(error: &str) -> Error {
    Error::Failed(format!("cannot {SETTINGS}: {error}").into())
}

/// Asks about a setting as often as it takes and patience allows.
async fn ask(
    session: &Session,
    config: &Config,
    text: String,
    values: impl SerializeRow,
) -> Result<QueryResult, Error> {
    let mut statement = Statement::new(text);
    statement.set_is_idempotent(true);
    let mut patience = Patience::new(SETTINGS, Repeat::Always, config.patience);
    loop {
        match session.query_unpaged(statement.clone(), &values).await {
            Ok(answer) => return Ok(answer),
            Err(error) => {
                patience.wait(error).await.map_err(|fault| Error::Failed(fault.to_string().into()))?
            }
        }
    }
}

/// Changes the schema. All clients ask the same node: two that make one table at the same time on two nodes would make
/// it with two ids, and what is written under one of them is lost. For that reason it is not marked as one that may be
/// asked of a second node when the first is slow. It takes a node far longer than other statements. That node may be asked
/// again: it does one change of the schema after the other, and what is there by then it leaves alone.
async fn define(
    session: &Session,
    text: String,
    time: Duration,
    mut patience: Patience<'_>,
) -> Result<(), Error> {
    let state = session.get_cluster_state();
    let first =
        state.get_nodes_info().iter().filter(|node| node.is_connected()).min_by_key(|node| node.host_id);
    let mut statement = Statement::new(text);
    statement.set_request_timeout(Some(time));
    statement.set_load_balancing_policy(
        first.map(|node| SingleTargetLoadBalancingPolicy::new(NodeIdentifier::HostId(node.host_id), None)),
    );
    while let Err(error) = session.query_unpaged(statement.clone(), ()).await {
        patience.wait(error).await.map_err(|fault| Error::Failed(fault.to_string().into()))?;
    }
    Ok(())
}

fn replication(copies: &Replication) -> String {
    let copies = match copies {
        Replication::Each(copies) => format!("'replication_factor': {copies}"),
        Replication::Of(all) => {
            all.iter().map(|(name, copies)| format!("'{name}': {copies}")).collect::<Vec<_>>().join(", ")
        }
    };
    format!("{{'class': 'NetworkTopologyStrategy', {copies}}}")
}

fn name(table: &str) -> &str {
    table.split(' ').next().unwrap_or_default()
}
