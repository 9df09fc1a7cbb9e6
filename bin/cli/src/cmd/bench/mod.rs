//! `keyloom bench`: how fast the stores are on this machine.

mod figure;
mod place;
mod plots;
mod run;

use std::path::PathBuf;

use keyloom::store::Durability;
use keyloom_workload::seed;

use crate::failure::Failure;
use crate::output::{self, Format};
use crate::progress::Progress;
use figure::{About, Figure};
use place::Place;
use run::Run;

/// What `keyloom bench` is asked.
#[derive(clap::Args)]
#[command(
    after_help = "Figures are medians of rounds in which every store is asked in turn, and percentiles of single \
    calls. They hold for this machine and this moment: compare figures of one run.

Examples:
  keyloom bench --quick
  keyloom bench --store memory,lmdb --count 1M --html bench.html
  keyloom bench --store lmdb --work single_write,synced16 --durability synced --format csv"
)]
pub(crate) struct Bench {
    /// The stores, by name, or a database without tables by its URL; every store that is built in if none is named: memory,
    /// lmdb, redb, rocksdb
    #[arg(long, value_name = "STORE", value_delimiter = ',')]
    store: Vec<String>,
    /// How many orders: 1000, 100k, 10M
    #[arg(long, default_value = "1M", value_parser = keyloom_workload::count)]
    count: usize,
    #[arg(
        long,
        value_name = "WORK",
        value_delimiter = ',',
        help = "Only these works: memory10k, load, get, miss, prefix100, range20, range20_rev, index20, full_scan, \
                single_write, synced16"
    )]
    work: Vec<String>,
    #[arg(
        long,
        value_enum,
        default_value = "written",
        help = "What the commits of single_write are to promise; what a store promises stands beside its figure"
    )]
    durability: Promise,
    /// How many rounds a median is taken over
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The most seconds for a work in all stores; a round that has begun is finished
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// 10,000 orders and one round: a look, not a measurement
    #[arg(long, conflicts_with_all = ["count", "rounds"])]
    quick: bool,
    /// Where files go, in a folder that is removed at the end; the system's folder for temporary files if not given
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// How the figures are printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Also writes the figures, and what they were measured with, to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also draws them as one HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// What a commit promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Promise {
    /// It survives the machine
    Synced,
    /// It survives the process
    Written,
    /// It is synced within milliseconds
    Buffered,
}

impl From<Promise> for Durability {
    fn from(promise: Promise) -> Self {
        match promise {
            Promise::Synced => Self::Synced,
            Promise::Written => Self::Written,
            Promise::Buffered => Self::buffered(),
        }
    }
}

/// Every work, in the order in which they are done.
const WORKS: [&str; 11] = [
    "memory10k",
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
];

impl Bench {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if let Some(work) = self.work.iter().find(|work| !WORKS.contains(&work.as_str())) {
            return Err(Failure::Misuse(format!("there is no work `{work}`: {}", WORKS.join(", "))));
        }
        let folder = tempfile::tempdir_in(self.folder.clone().unwrap_or_else(std::env::temp_dir))?;
        let all = || place::ALL.iter().map(|name| (*name).to_owned()).collect();
        let names: Vec<String> = if self.store.is_empty() { all() } else { self.store.clone() };
        let mut places: Vec<Place> =
            names.iter().map(|name| Place::of(name, folder.path())).collect::<Result<_, _>>()?;
        let (count, rounds) = if self.quick { (10_000, 1) } else { (self.count, self.rounds.max(1)) };
        let about = About::new(count, rounds, place::promise(self.durability.into()));
        let progress = Progress::of_steps(self.steps(count));
        let mut figures = Vec::new();
        if self.has("memory10k") {
            progress.tell("10,000 orders in memory".to_owned());
            let measured = seed::measure(3 * rounds, |_| ()).map_err(failed)?;
            figures.extend(measured.iter().map(Figure::in_memory));
            progress.step();
        }
        let mut run = Run {
            places: &mut places,
            works: &|work| self.has(work),
            durability: self.durability.into(),
            rounds,
            seconds: self.seconds,
            progress: &progress,
            figures: &mut figures,
        };
        // Only the last size is measured in full; what comes before shows how costs grow.
        if self.has_orders() {
            sizes(count).into_iter().try_for_each(|size| run.at(size, size == count)).map_err(failed)?;
        }
        drop(progress);
        output::print(self.format, &figure::COLUMNS, figures.iter().map(Figure::row))?;
        if let Some(path) = &self.json {
            write(path, &format!("{:#}\n", about.json(&figures)))?;
        }
        if let Some(path) = &self.html {
            write(path, &plots::page(&about, &figures))?;
        }
        Ok(())
    }

    fn has(&self, work: &str) -> bool {
        self.work.is_empty() || self.work.iter().any(|only| only == work)
    }

    /// Whether more is asked for than the orders in memory.
    fn has_orders(&self) -> bool {
        WORKS.iter().any(|work| *work != "memory10k" && self.has(work))
    }

    /// How many steps a run has: loads and works.
    fn steps(&self, count: usize) -> u64 {
        let (loads, works) = (sizes(count).len(), WORKS.iter().filter(|work| self.has(work)).count());
        let growth = run::GROWTH.iter().filter(|work| self.has(work)).count();
        u64::try_from(loads + works + (loads - 1) * growth).unwrap_or(u64::MAX)
    }
}

/// A thousand, ten times as many, and so on, and at last all.
fn sizes(count: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1_000_usize), |size| size.checked_mul(10));
    powers.take_while(|size| *size < count).chain([count]).collect()
}

fn failed(error: keyloom_workload::Error) -> Failure {
    Failure::Failed(error.to_string())
}

fn write(path: &std::path::Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}
