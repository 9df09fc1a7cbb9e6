//! Imports by the command, a process of its own: how fast, how much memory it takes, and how both grow with the file.

mod file;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use keyloom::key::Value;
use keyloom::lmdb::LmdbStore;
use keyloom::{Database, Query, Row, Wait};
use keyloom_workload::{Error, Order, Shop, Times};

use crate::report::{Figure, Unit, doing};

/// Both sizes, as they are called in figures.
pub(crate) const SIZES: [&str; 2] = ["tenth", "whole"];
/// How often to look how much memory it has.
const GLANCE: Duration = Duration::from_millis(20);

/// What orders make together, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sum {
    rows: u64,
    amounts: i64,
}

impl Sum {
    fn add(&mut self, amount: i64) {
        self.rows += 1;
        self.amounts = self.amounts.wrapping_add(amount);
    }
}

/// The command beside this program, if no other is named.
pub(crate) fn command(named: Option<PathBuf>) -> Result<PathBuf, Error> {
    let command = match named {
        Some(named) => named,
        None => std::env::current_exe()?.with_file_name(format!("keyloom{}", std::env::consts::EXE_SUFFIX)),
    };
    if command.is_file() {
        return Ok(command);
    }
    let remedy = "build it with `cargo build --release -p keyloom-cli`, or name it with --keyloom";
    Err(format!("{}: there is no such command: {remedy}", command.display()).into())
}

/// A file to import, and what its imports took.
struct Size {
    name: &'static str,
    count: usize,
    file: PathBuf,
    sum: Sum,
    times: Times,
    /// The most anonymous memory, if the system tells it.
    peak: Option<u64>,
    /// The database's file.
    bytes: u64,
}

impl Size {
    /// Writes the file.
    fn new(name: &'static str, count: usize, folder: &Path) -> Result<Self, Error> {
        let file = folder.join(name).with_extension("parquet");
        let (shop, mut sum) = (Shop::of(count), Sum::default());
        let orders = shop.orders(count, 0).inspect(|order: &Order| sum.add(order.amount));
        file::write(&file, orders)?;
        Ok(Self { name, count, file, sum, times: Times::default(), peak: None, bytes: 0 })
    }

    /// Imports the file into a new database, and checks that all is in it.
    fn import(&mut self, keyloom: &Path, folder: &Path) -> Result<(), Error> {
        let folder = tempfile::tempdir_in(folder)?;
        let database = folder.path().join("orders.klm");
        let mut import = Command::new(keyloom);
        import.arg("import").arg(&database).arg(&self.file);
        import.args(["--table", "orders", "--key", "user_id,order_date,order_id"]);
        // Settings of this machine would be other ones elsewhere.
        import.env_remove("KEYLOOM_CONFIG");
        let (time, peak) = watched(import)?;
        self.times.push(time);
        self.peak = self.peak.max(peak);
        self.bytes = std::fs::metadata(&database)?.len();
        let found = sum_of(&database)?;
        if found != self.sum {
            return Err(format!("{found:?} was imported, and not {:?}", self.sum).into());
        }
        Ok(())
    }

    #[allow(clippy::cast_precision_loss, reason = "a figure is rounded anyway")]
    fn figures(&self) -> [Option<Figure>; 3] {
        let bytes = |work, bytes: u64| Figure::new(work, self.name, Unit::Bytes, bytes as f64);
        [
            Some(Figure::new("import", self.name, Unit::PerSecond, self.times.per_second(self.count))),
            self.peak.map(|peak| bytes("peak_memory", peak)),
            Some(bytes("file_size", self.bytes)),
        ]
    }
}

/// Imports `count` orders and a tenth of them, `rounds` times, one after the other in each round.
pub(crate) fn measure(
    count: usize,
    rounds: usize,
    keyloom: &Path,
    folder: &Path,
) -> Result<Vec<Figure>, Error> {
    let folder = tempfile::tempdir_in(folder)?;
    doing("writing the files");
    let [tenth, whole] = SIZES;
    let mut sizes =
        [Size::new(tenth, count.div_ceil(10), folder.path())?, Size::new(whole, count, folder.path())?];
    for round in 1..=rounds {
        for size in &mut sizes {
            doing(&format!("importing {} orders: round {round} of {rounds}", size.count));
            size.import(keyloom, folder.path())?;
        }
    }
    doing("");
    let [tenth, whole] = sizes.each_ref().map(Size::figures);
    if whole.iter().any(Option::is_none) {
        println!("the peak of memory is left out: only Linux tells it");
    }
    Ok(tenth.into_iter().zip(whole).flat_map(|(tenth, whole)| [tenth, whole]).flatten().collect())
}

/// Runs a command: how long it took, and the most anonymous memory that it was seen to have.
fn watched(mut command: Command) -> Result<(Duration, Option<u64>), Error> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let child = command.spawn()?;
    let (number, is_over) = (child.id(), AtomicBool::new(false));
    let (output, time, peak) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut peak = None;
            while !is_over.load(Ordering::Relaxed) {
                peak = peak.max(anonymous(number));
                std::thread::sleep(GLANCE);
            }
            peak
        });
        let output = child.wait_with_output();
        let time = start.elapsed();
        is_over.store(true, Ordering::Relaxed);
        (output, time, watcher.join().unwrap_or_default())
    });
    let output = output?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed, {}: {}", output.status, said.trim_end()).into());
    }
    Ok((time, peak))
}

/// The anonymous memory that a process has now, in bytes: pages of mapped files are not of it, for the system may take
/// them back. `None` if the system does not tell.
fn anonymous(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kibibytes * 1_024)
}

/// What the orders of a database make together.
fn sum_of(database: &Path) -> Result<Sum, Error> {
    let orders = Database::open(LmdbStore::open(database)?).wait()?.table("orders").wait()?;
    let mut sum = Sum::default();
    let look = |row: &Row<'_>| {
        if let Value::Int(amount) = row.get("amount")? {
            sum.add(amount);
        }
        Ok(std::ops::ControlFlow::Continue(()))
    };
    orders.each(&Query::new().allow_scan(), look).wait()?;
    Ok(sum)
}

#[cfg(test)]
mod tests;
