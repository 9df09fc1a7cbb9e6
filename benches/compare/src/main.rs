//! Keyloom beside its peers: the same work, in one run, interleaved, medians.
//!
//! `cargo run --release -p compare -- keys --json keys.json`

#![forbid(unsafe_code)]

mod keys;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures Keyloom beside its peers: the same work, in one run, interleaved.
#[derive(Parser)]
#[command(after_help = "Example:\n  cargo run --release -p compare -- keys --json keys.json")]
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
}

fn main() -> ExitCode {
    let Arguments { suite: Suite::Keys { count, rounds, json } } = Arguments::parse();
    let figures = keys::measure(count.max(1), rounds.max(1));
    print!("{}", report::table(&figures));
    match json.map(|path| report::write_json(&figures, &path)) {
        Some(Err(error)) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
