//! The nodes, by the script that governs them.

use std::error::Error;
use std::process::Command;

/// The contact points of the cluster: `host:port,…`.
pub(crate) const CLUSTER: &str = "KEYLOOM_CLUSTER";
/// The script that governs it.
const SCRIPT: &str = "KEYLOOM_CLUSTER_SCRIPT";

#[derive(Debug, Clone)]
pub(crate) struct Nodes {
    points: String,
    script: String,
}

impl Nodes {
    pub(crate) fn given() -> Option<Self> {
        let points = std::env::var(CLUSTER).ok()?;
        Some(Self { points, script: std::env::var(SCRIPT).expect("the script of the cluster") })
    }

    /// The URL of a keyspace with three copies, splits that come soon, and time-outs that are short.
    pub(crate) fn url(&self, keyspace: &str) -> String {
        let points = &self.points;
        format!(
            "cassandra://{points}/{keyspace}?replication=3&lease=2s&split_rows=30&timeout=8s&patience=60s"
        )
    }

    /// Whether nodes can be parted: each has a network of its own.
    pub(crate) fn part(&self) -> bool {
        !self.points.starts_with("127.")
    }

    /// Tells the script.
    pub(crate) fn tell(&self, words: &[&str]) -> Result<(), Box<dyn Error + Send + Sync>> {
        let done = Command::new(&self.script).args(words).output()?;
        match done.status.success() {
            true => Ok(()),
            false => Err(format!("{words:?}: {}", String::from_utf8_lossy(&done.stderr)).into()),
        }
    }
}
