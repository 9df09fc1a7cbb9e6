//! What the log in front of LMDB costs those who read: beside a writer, and while its memory is full.
//!
//! ```text
//! beside a writer   one thread reads, another inserts orders at an even pace; without a log, and with one
//! full              orders that wait in memory, beside the same orders in the file
//! ```

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use keyloom::lmdb::{LmdbStore, LogOptions, Options};
use keyloom::store::Durability;
use keyloom_workload::{Error, Keyloom, Order, Questions, Shop, Times, Work, Writes as _};

use crate::report::{Figure, Pair, Unit, progress};
use crate::sides::{self, Side};

const BESIDE: [&str; 2] = ["beside-no-log", "beside-log"];
const FULL: [&str; 2] = ["full-file", "full-log"];
/// Both parts, with the names of their systems in figures.
pub(crate) const PARTS: [Pair; 2] = [("beside a writer", BESIDE), ("full", FULL)];

/// How long a writer is alone: its log is taken into the file once by then, and that of the other store too.
const SETTLE: Duration = Duration::from_millis(1_200);
/// The seed of orders that are written.
const WRITTEN: u64 = 7;

/// What is run.
pub(crate) struct Scale {
    pub(crate) count: usize,
    pub(crate) rounds: usize,
    /// Orders a second that a writer inserts.
    pub(crate) rate: u32,
    /// Orders that wait in the log's memory.
    pub(crate) waiting: usize,
}

/// Runs every work in both parts.
pub(crate) fn measure(scale: &Scale, folder: &Path) -> Result<Vec<Figure>, Error> {
    let shop = Shop::of(scale.count);
    let questions = Questions::new(&shop, scale.count, |most| sides::asked(scale.count, most));
    let mut figures = beside(scale, &shop, &questions, folder)?;
    figures.extend(full(scale, &shop, &questions, folder)?);
    Ok(figures)
}

/// A store that is read and written at once.
struct Busy<'a> {
    side: Side<'a>,
    shop: &'a Shop,
    /// How many orders were written.
    written: u64,
    /// The times of each work.
    times: Vec<Times>,
    /// Commits while the works were done, and how long that was.
    commits: u64,
    time: Duration,
}

impl<'a> Busy<'a> {
    fn new(side: Side<'a>, shop: &'a Shop) -> Self {
        let times = Work::ALL.iter().map(|_| Times::default()).collect();
        Self { side, shop, written: 0, times, commits: 0, time: Duration::ZERO }
    }

    /// Does all works while another thread writes.
    fn turn(&mut self, rate: u32) -> Result<(), Error> {
        let (side, shop, written, is_over) =
            (self.side, self.shop, &mut self.written, AtomicBool::new(false));
        let (before, start) = (*written, Instant::now());
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| insert(side.keyloom, shop, written, rate, &is_over));
            std::thread::sleep(SETTLE);
            let mut read = Work::ALL.into_iter().zip(&mut self.times);
            let read = read.try_for_each(|(work, times)| side.ask(work, times).map(drop));
            is_over.store(true, Ordering::Relaxed);
            writer.join().map_err(|_| "the writer has panicked")??;
            read
        })?;
        self.commits += self.written - before;
        self.time += start.elapsed();
        Ok(())
    }

    /// Begins the figures anew.
    fn forget(&mut self) {
        *self = Self { written: self.written, ..Self::new(self.side, self.shop) };
    }

    #[allow(clippy::cast_precision_loss, reason = "a figure is rounded anyway")]
    fn figures(&self) -> impl Iterator<Item = Figure> {
        let works = Work::ALL.into_iter().zip(&self.times);
        let commits = self.commits as f64 / self.time.as_secs_f64().max(1e-9);
        let commits = Figure::new("commits", self.side.name, Unit::PerSecond, commits);
        works.map(|(work, times)| self.side.figure(work, times)).chain([commits])
    }
}

/// Inserts the orders from `next` on, each a commit, so many a second, until it is over.
fn insert(
    keyloom: &Keyloom<LmdbStore>,
    shop: &Shop,
    next: &mut u64,
    rate: u32,
    is_over: &AtomicBool,
) -> Result<(), String> {
    let pause = Duration::from_secs(1) / rate.max(1);
    let mut due = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        keyloom.write(&[shop.order(*next, WRITTEN)]).map_err(|error| error.to_string())?;
        *next += 1;
        // What a slow commit has cost is not made up for: the pace stays even.
        due = (due + pause).max(Instant::now());
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// Reads beside a writer: without a log, and with one.
fn beside(scale: &Scale, shop: &Shop, questions: &Questions, folder: &Path) -> Result<Vec<Figure>, Error> {
    let folder = tempfile::tempdir_in(folder)?;
    let load = |name, log| {
        let options = Options { durability: Durability::Synced, log, ..Options::default() };
        sides::load(&folder.path().join(name), options, shop, scale.count)
    };
    let [without, with] = BESIDE;
    let stores = (load(without, None)?, load(with, Some(LogOptions::default()))?);
    // The scan's rows grow by less than can be seen.
    let side = |name, keyloom| Side { name, keyloom, questions, rows: scale.count };
    let sides = [side(without, &stores.0), side(with, &stores.1)];
    sides::same(&Work::ALL, &sides)?;
    let mut busy = sides.map(|side| Busy::new(side, shop));
    // The first round counts for neither.
    for round in 0..=scale.rounds {
        progress("beside a writer", round, scale.rounds);
        let mut turns: Vec<_> = busy.iter_mut().collect();
        turns.rotate_left(round % 2);
        turns.into_iter().try_for_each(|busy| busy.turn(scale.rate))?;
        if round == 0 {
            busy.iter_mut().for_each(Busy::forget);
            sides::let_filters_fill(scale.count);
        }
    }
    // What they found while orders came in depends on when: now both get the same ones, and have to find the same.
    let most = busy.iter().map(|busy| busy.written).max().unwrap_or_default();
    for Busy { side, written, .. } in &busy {
        let orders: Vec<Order> = (*written..most).map(|number| shop.order(number, WRITTEN)).collect();
        side.keyloom.write(&orders)?;
    }
    sides::same(&Work::ALL, &sides)?;
    Ok(in_pairs(&busy.each_ref().map(|busy| busy.figures().collect::<Vec<_>>())))
}

/// The figures of both, work by work.
fn in_pairs([one, other]: &[Vec<Figure>; 2]) -> Vec<Figure> {
    one.iter().zip(other).flat_map(|(one, other)| [one.clone(), other.clone()]).collect()
}

/// Reads where orders wait in memory, and where the same are in the file.
fn full(scale: &Scale, shop: &Shop, questions: &Questions, folder: &Path) -> Result<Vec<Figure>, Error> {
    let folder = tempfile::tempdir_in(folder)?;
    // Nothing is taken into the file before it is closed.
    let log = LogOptions { entries: usize::MAX, bytes: usize::MAX, interval: Duration::MAX };
    let options = Options { durability: Durability::Written, log: Some(log), ..Options::default() };
    let write = |name| {
        let keyloom = sides::load(&folder.path().join(name), options, shop, scale.count)?;
        keyloom.write(&shop.orders(scale.waiting, WRITTEN).collect::<Vec<_>>())?;
        Ok::<_, Error>(keyloom)
    };
    let [file, log] = FULL;
    drop(write(file)?);
    let stores = (sides::open(&folder.path().join(file), options)?, write(log)?);
    let side = |name, keyloom| Side { name, keyloom, questions, rows: scale.count + scale.waiting };
    let sides = [side(file, &stores.0), side(log, &stores.1)];
    sides::same(&Work::ALL, &sides)?;
    sides::interleave(&Work::ALL, scale.rounds, &sides)
}

#[cfg(test)]
mod tests {
    use keyloom_workload::Work;

    use super::{BESIDE, FULL, Scale, measure};

    #[test]
    fn every_work_has_a_figure_of_both_sides_of_both_parts() {
        let folder = tempfile::tempdir().unwrap();
        let scale = Scale { count: 300, rounds: 1, rate: 200, waiting: 100 };
        let figures = measure(&scale, folder.path()).unwrap();
        let of = |sides: [&'static str; 2], more: Option<&'static str>| {
            let works = Work::ALL.into_iter().map(Work::name).chain(more);
            works.flat_map(|work| sides.map(|side| (work, side))).collect::<Vec<_>>()
        };
        let names: Vec<_> = figures.iter().map(|figure| (figure.work, figure.system)).collect();
        assert_eq!(names, [of(BESIDE, Some("commits")), of(FULL, None)].concat());
        assert!(figures.iter().all(|figure| figure.value.is_finite() && figure.value > 0.0));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
    }
}
