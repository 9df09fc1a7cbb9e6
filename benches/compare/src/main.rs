//! Keyloom beside its peers: the same work, in one run, interleaved, medians.
//!
//! `cargo run --release -p compare -- keys --json keys.json`
//!
//! `cargo run --release -p compare -- tables --json tables.json`
//!
//! `cargo run --release -p compare -- cluster --url cassandra://127.0.0.1/compare?replication=1 --json cluster.json`

mod cluster;
mod keys;
mod report;
mod tables;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use report::Unit;

/// Measures Keyloom beside its peers: the same work, in one run, interleaved.
#[derive(Parser)]
#[command(
    after_help = "Examples:\n  cargo run --release -p compare -- keys --json keys.json\n  cargo run --release -p compare -- tables --json tables.json\n  cargo run --release -p compare -- cluster --url 'cassandra://127.0.0.1/compare?replication=1'"
)]
struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Subcommand)]
enum Suite {
    /// Key codecs: encode into a reused buffer, encode fresh, borrowed decode
    Keys {
        /// How many keys
        #[arg(long, default_value_t = 1_000_000)]
        count: usize,
        /// How many rounds the median is taken over
        #[arg(long, default_value_t = 15)]
        rounds: usize,
        /// Also write the figures to this file, as an array of {"work", "system", "ns"}
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Tables with an index: Keyloom on LMDB beside LMDB by hand and SQLite
    Tables {
        /// How many records
        #[arg(long, default_value_t = 1_000_000)]
        rows: usize,
        /// How many rounds the median is taken over
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Where the files go, in a folder that is removed at the end; they should be on a disk. The system's folder for
        /// temporary files if not given
        #[arg(long, value_name = "FOLDER")]
        folder: Option<PathBuf>,
        /// Run only these works, for a look at one of them
        #[arg(long, value_name = "WORK", value_delimiter = ',')]
        only: Vec<String>,
        #[arg(
            long,
            value_name = "FILE",
            help = r#"Also write the figures to this file, as an array of {"work", "system", "per_second"}"#
        )]
        json: Option<PathBuf>,
    },
    /// The store on a Cassandra cluster, beside the same statements by hand; what splits and shards cost
    Cluster {
        /// The cluster, and what the names of two keyspaces begin with that are made and dropped
        #[arg(long)]
        url: String,
        /// How many records
        #[arg(long, default_value_t = 2_000)]
        count: u64,
        /// How many rounds the median is taken over
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        #[arg(
            long,
            value_name = "FILE",
            help = r#"Also write the figures to this file, as an array of {"work", "system", "per_second"}"#
        )]
        json: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().suite) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(suite: Suite) -> Result<(), String> {
    let (figures, unit, ours, json) = match suite {
        Suite::Keys { count, rounds, json } => {
            (keys::measure(count.max(1), rounds.max(1)), Unit::Ns, "keyloom", json)
        }
        Suite::Tables { rows, rounds, folder, only, json } => {
            let folder = folder.unwrap_or_else(std::env::temp_dir);
            let figures = tables::measure(rows.max(1), rounds.max(1), &folder, &only);
            (figures.map_err(|error| error.to_string())?, Unit::PerSecond, "keyloom-lmdb", json)
        }
        Suite::Cluster { url, count, rounds, json } => {
            let figures = cluster::measure(&url, count.max(200), rounds.max(1));
            (figures.map_err(|error| error.to_string())?, Unit::PerSecond, "keyloom", json)
        }
    };
    print!("{}", report::table(&figures, unit, ours));
    json.map_or(Ok(()), |path| report::write_json(&figures, unit, &path))
}
