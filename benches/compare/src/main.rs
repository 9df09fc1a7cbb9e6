//! Keyloom beside its peers: the same work, in one run, interleaved, medians.
//!
//! `cargo run --release -p keyloom-compare -- keys --json keys.json`
//!
//! `cargo run --release -p keyloom-compare -- tables --json tables.json`
//!
//! `cargo run --release -p keyloom-compare -- all --json all.json`
//!
//! `cargo run --release -p keyloom-compare -- readme all.json`
//!
//! `cargo run --release -p keyloom-compare -- layers --json layers.json`
//!
//! `cargo run --release -p keyloom-compare -- grow --json grow.json`
//!
//! `cargo run --release -p keyloom-compare -- buffer --json buffer.json`
//!
//! `cargo run --release -p keyloom-compare -- import --json import.json`, with `keyloom` built beside it
//!
//! `cargo run --release -p keyloom-compare -- cluster --url cassandra://127.0.0.1/compare?replication=1 --json cluster.json`

mod all;
mod buffer;
mod cluster;
mod grow;
mod import;
mod keys;
mod layers;
mod readme;
mod report;
mod sides;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use keyloom_workload::Error;
use keyloom_workload::allocated::Counting;
use serde_json::{Value, json};

/// Counts what an operation allocates; while it does not, it costs all systems the same load and branch.
#[global_allocator]
static HEAP: Counting = Counting;

/// The works of the suite `tables`.
const TABLES: [&str; 11] = [
    "load",
    "get",
    "miss",
    "prefix100",
    "range20",
    "range20_rev",
    "index20",
    "full_scan",
    "single_write",
    "synced16",
    "synced64",
];

/// The works of the suite `grow`.
const GROWS: [&str; 8] =
    ["load", "get", "miss", "prefix100", "range20", "range20_rev", "index20", "full_scan"];

/// What `--rounds` means where reads are asked as often as all else.
const ROUNDS: &str = "How many rounds the median is taken over; one before the first counts for nobody";

/// What `--json` means where the figures say what they are of.
const FIGURES: &str = r#"Also write the figures to this file, as {"count", "rounds", "cores", "figures"}, where "figures" is an array of {"work", "system", "ns" or "per_second" or "bytes"}"#;

/// Measures Keyloom beside its peers: the same work, in one run, interleaved.
#[derive(Parser)]
#[command(
    after_help = "Examples:\n  cargo run --release -p keyloom-compare -- keys --json keys.json\n  cargo run --release -p keyloom-compare -- tables --json tables.json\n  cargo run --release -p keyloom-compare -- all --json all.json\n  cargo run --release -p keyloom-compare -- all --only get,range20 --systems keyloom-lmdb,raw-lmdb\n  cargo run --release -p keyloom-compare -- readme all.json\n  cargo run --release -p keyloom-compare -- grow --count 1M --json grow.json\n  cargo run --release -p keyloom-compare -- buffer --waiting 170k --json buffer.json\n  cargo run --release -p keyloom-compare -- import --count 10M --json import.json\n  cargo run --release -p keyloom-compare -- cluster --url 'cassandra://127.0.0.1/compare?replication=1'"
)]
struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

/// How many orders, how often, and where.
#[derive(clap::Args)]
struct Orders {
    /// How many orders: 1000000, 10M, 100k
    #[arg(long, default_value = "1M", value_parser = keyloom_workload::count)]
    count: usize,
    /// How many rounds the median is taken over; reads are asked in three times as many
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Where the files go, in a folder that is removed at the end; they should be on a disk. The system's folder for
    /// temporary files if not given
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Orders {
    fn folder(&self) -> PathBuf {
        self.folder.clone().unwrap_or_else(std::env::temp_dir)
    }

    fn rounds(&self) -> usize {
        self.rounds.max(1)
    }

    /// What the figures are of.
    fn about(&self) -> Value {
        json!({"count": self.count, "rounds": self.rounds(), "cores": cores()})
    }

    /// Measures these works of these systems.
    fn measure(&self, only: Vec<String>, systems: Vec<String>) -> Result<Vec<report::Figure>, Error> {
        let scale = all::Scale { count: self.count, rounds: self.rounds(), only, systems };
        all::measure(&scale, &self.folder())
    }
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
        #[command(flatten)]
        orders: Orders,
        #[arg(
            long,
            value_name = "WORK",
            value_delimiter = ',',
            help = "Run only these works: load, get, miss, prefix100, range20, range20_rev, index20, full_scan, \
                    single_write, synced16, synced64"
        )]
        only: Vec<String>,
        #[arg(
            long,
            value_name = "FILE",
            help = r#"Also write the figures to this file, as an array of {"work", "system", "per_second"}"#
        )]
        json: Option<PathBuf>,
    },
    /// Everything that Keyloom is beside: in memory, embedded, and in Go
    All {
        #[command(flatten)]
        orders: Orders,
        #[arg(
            long,
            value_name = "WORK",
            value_delimiter = ',',
            help = "Run only these works: memory10k, load, get, miss, prefix100, range20, range20_rev, index20, \
                    full_scan, single_write, synced16, synced64, sustained_write"
        )]
        only: Vec<String>,
        /// Run only these systems
        #[arg(long, value_name = "SYSTEM", value_delimiter = ',')]
        systems: Vec<String>,
        #[arg(
            long,
            value_name = "FILE",
            help = r#"Also write the figures to this file, as {"count", "rounds", "read_rounds", "cores", "figures"}, where "figures" is an array of {"work", "system", "per_second" or "bytes", "promise"}"#
        )]
        json: Option<PathBuf>,
    },
    /// The layers in front of a store, each on and off: gets that are hot, cold and in vain, prefixes that are hot and cold, a hot index, single writes
    Layers {
        /// How many records
        #[arg(long, default_value_t = 200_000)]
        rows: usize,
        /// How many rounds the median is taken over
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Where the files are made
        #[arg(long)]
        folder: Option<PathBuf>,
        #[arg(
            long,
            value_name = "FILE",
            help = r#"Also write the figures to this file, as an array of {"work", "system", "per_second"}"#
        )]
        json: Option<PathBuf>,
    },
    /// What growth costs: Keyloom on LMDB with some orders and with ten times as many, and how fast both were loaded
    #[command(
        mut_arg("rounds", |arg| arg.default_value("9").help(ROUNDS)),
        after_help = "Example:\n  cargo run --release -p keyloom-compare -- grow --count 1M --json grow.json"
    )]
    Grow {
        #[command(flatten)]
        orders: Orders,
        /// Run only these works; all but `full_scan` if not given
        #[arg(long, value_name = "WORK", value_delimiter = ',', value_parser = GROWS)]
        only: Vec<String>,
        #[arg(long, value_name = "FILE", help = FIGURES)]
        json: Option<PathBuf>,
    },
    /// What the log in front of LMDB costs those who read: beside a writer, and while its memory is full
    #[command(
        mut_arg("rounds", |arg| arg.default_value("9").help(ROUNDS)),
        after_help = "Example:\n  cargo run --release -p keyloom-compare -- buffer --rate 300 --json buffer.json"
    )]
    Buffer {
        #[command(flatten)]
        orders: Orders,
        /// How many orders a second the writer inserts, at an even pace
        #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
        rate: u32,
        /// How many orders wait in the log's memory: 170000, 100k
        #[arg(long, default_value = "170k", value_parser = keyloom_workload::count)]
        waiting: usize,
        #[arg(long, value_name = "FILE", help = FIGURES)]
        json: Option<PathBuf>,
    },
    /// A Parquet file and one of a tenth of it, imported by the command `keyloom` into LMDB: rows a second, and the most memory
    #[command(
        mut_arg("count", |arg| arg.default_value("10M")),
        mut_arg("rounds", |arg| arg.default_value("1").help("How many rounds the median is taken over")),
        after_help = "Example:\n  cargo build --release -p keyloom-cli\n  cargo run --release -p keyloom-compare -- import --count 10M --json import.json"
    )]
    Import {
        #[command(flatten)]
        orders: Orders,
        /// The command; the one beside this program if not given
        #[arg(long, value_name = "PATH")]
        keyloom: Option<PathBuf>,
        #[arg(long, value_name = "FILE", help = FIGURES)]
        json: Option<PathBuf>,
    },
    /// Prints the README's tables, from a file that `all` wrote
    Readme {
        /// What `all --json` wrote
        file: PathBuf,
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

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn run(suite: Suite) -> Result<(), Error> {
    let (figures, table, json, about) = match suite {
        Suite::Keys { count, rounds, json } => {
            let figures = keys::measure(count.max(1), rounds.max(1));
            let table = report::table(&figures, &["keyloom"]);
            (figures, table, json, None)
        }
        Suite::Tables { orders, only, json } => {
            let works = if only.is_empty() { TABLES.map(str::to_owned).to_vec() } else { only };
            let figures = orders.measure(works, all::TABLES.map(str::to_owned).to_vec())?;
            let table = report::table(&figures, &["keyloom-lmdb", "keyloom-buffered"]);
            (figures, table, json, None)
        }
        Suite::All { orders, only, systems, json } => {
            let figures = orders.measure(only, systems)?;
            let table = report::table(&figures, &["keyloom-lmdb", "keyloom-memory", "keyloom-buffered"]);
            let (count, rounds) = (orders.count, orders.rounds());
            let reads = all::read_rounds(rounds);
            let about = json!({"count": count, "rounds": rounds, "read_rounds": reads, "cores": cores()});
            (figures, table, json, Some(about))
        }
        Suite::Layers { rows, rounds, folder, json } => {
            let folder = folder.unwrap_or_else(std::env::temp_dir);
            let figures = layers::measure(rows.max(1_000), rounds.max(1), &folder)?;
            let table = layers::table(&figures);
            (figures, table, json, None)
        }
        Suite::Grow { orders, only, json } => {
            let figures = grow::measure(orders.count, orders.rounds(), &only, &orders.folder())?;
            let table = report::pairs(&figures, &[("", grow::SIZES)], ["1×", "10×"]);
            (figures, table, json, Some(orders.about()))
        }
        Suite::Buffer { orders, rate, waiting, json } => {
            let scale = buffer::Scale { count: orders.count, rounds: orders.rounds(), rate, waiting };
            let figures = buffer::measure(&scale, &orders.folder())?;
            let table = report::pairs(&figures, &buffer::PARTS, ["no log, in file", "log, in memory"]);
            (figures, table, json, Some(orders.about()))
        }
        Suite::Import { orders, keyloom, json } => {
            let (count, keyloom) = (orders.count, import::command(keyloom)?);
            let figures = import::measure(count, orders.rounds(), &keyloom, &orders.folder())?;
            let heads = [count.div_ceil(10), count].map(|count| format!("{count} orders"));
            let table = report::pairs(&figures, &[("", import::SIZES)], heads.each_ref().map(String::as_str));
            (figures, table, json, Some(orders.about()))
        }
        Suite::Cluster { url, count, rounds, json } => {
            let figures =
                cluster::measure(&url, count.max(200), rounds.max(1)).map_err(|error| error.to_string())?;
            let table = report::table(&figures, &["keyloom"]);
            (figures, table, json, None)
        }
        Suite::Readme { file } => {
            print!("{}", readme::of(&file)?);
            return Ok(());
        }
    };
    print!("{table}");
    let Some(path) = json else { return Ok(()) };
    let mut written = report::json(&figures);
    if let Some(mut about) = about {
        if let Some(about) = about.as_object_mut() {
            about.insert("figures".to_owned(), written);
        }
        written = about;
    }
    Ok(report::write(&written, &path)?)
}
