//! What growth costs: Keyloom on LMDB with some orders and with ten times as many, in one run.

use std::path::Path;
use std::time::Instant;

use keyloom::lmdb::{LmdbStore, Options};
use keyloom_workload::{Error, Keyloom, Questions, Shop, Times, Work};
use tempfile::TempDir;

use crate::report::{Figure, Unit, progress};
use crate::sides::{self, Side};

/// Both sizes, as they are called in figures.
pub(crate) const SIZES: [&str; 2] = ["1x", "10x"];
/// How often orders are loaded, at most.
const LOADS: usize = 3;

/// Orders in a file.
struct Size {
    name: &'static str,
    count: usize,
    shop: Shop,
    /// Nothing only before the first load. Closed before its folder goes.
    loaded: Option<(Keyloom<LmdbStore>, TempDir)>,
    times: Times,
}

impl Size {
    fn new(name: &'static str, count: usize) -> Self {
        Self { name, count, shop: Shop::of(count), loaded: None, times: Times::default() }
    }

    /// Loads the orders into a new file. The one before it goes.
    fn load(&mut self, folder: &Path) -> Result<(), Error> {
        self.loaded = None;
        let folder = tempfile::tempdir_in(folder)?;
        let start = Instant::now();
        let keyloom =
            sides::load(&folder.path().join("orders.klm"), Options::default(), &self.shop, self.count)?;
        self.times.push(start.elapsed());
        self.loaded = Some((keyloom, folder));
        Ok(())
    }

    /// As many questions as the smaller size can be asked.
    fn questions(&self, smaller: usize) -> Questions {
        Questions::new(&self.shop, self.count, |most| sides::asked(smaller, most))
    }

    fn side<'a>(&'a self, questions: &'a Questions) -> Result<Side<'a>, Error> {
        let (keyloom, _) = self.loaded.as_ref().ok_or("nothing was loaded")?;
        Ok(Side { name: self.name, keyloom, questions, rows: self.count })
    }
}

/// Runs these works, or all but the full scan, with `count` orders and with ten times as many.
pub(crate) fn measure(
    count: usize,
    rounds: usize,
    only: &[String],
    folder: &Path,
) -> Result<Vec<Figure>, Error> {
    let has = |work: &str| only.iter().any(|only| only == work);
    let works = Work::ALL.into_iter();
    let works = works.filter(|work| if only.is_empty() { *work != Work::Scan } else { has(work.name()) });
    let works: Vec<Work> = works.collect();
    let is_load_wanted = only.is_empty() || has("load");
    let loads = if is_load_wanted { rounds.min(LOADS) } else { 1 };

    let [one, ten] = SIZES;
    let mut sizes = [Size::new(one, count), Size::new(ten, count.saturating_mul(10))];
    for round in 1..=loads {
        progress("load", round, loads);
        sizes.iter_mut().try_for_each(|size| size.load(folder))?;
    }
    let mut figures = Vec::new();
    if is_load_wanted {
        let per_second = |size: &Size| size.times.per_second(size.count);
        figures.extend(
            sizes.iter().map(|size| Figure::new("load", size.name, Unit::PerSecond, per_second(size))),
        );
    }
    let [one, ten] = &sizes;
    let (few, many) = (one.questions(count), ten.questions(count));
    figures.extend(sides::interleave(&works, rounds, &[one.side(&few)?, ten.side(&many)?])?);
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::{SIZES, measure};

    fn names(only: &[&str]) -> Vec<(&'static str, &'static str)> {
        let only: Vec<String> = only.iter().map(|work| (*work).to_owned()).collect();
        let folder = tempfile::tempdir().unwrap();
        let figures = measure(200, 2, &only, folder.path()).unwrap();
        assert!(figures.iter().all(|figure| figure.value.is_finite() && figure.value > 0.0));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
        figures.iter().map(|figure| (figure.work, figure.system)).collect()
    }

    #[test]
    fn every_work_has_a_figure_of_both_sizes() {
        let works = ["load", "get", "miss", "prefix100", "range20", "range20_rev", "index20"];
        let both: Vec<_> = works.into_iter().flat_map(|work| SIZES.map(|size| (work, size))).collect();
        assert_eq!(names(&[]), both);
    }

    #[test]
    fn only_what_is_asked_for_is_measured() {
        let both: Vec<_> =
            ["get", "full_scan"].into_iter().flat_map(|work| SIZES.map(|size| (work, size))).collect();
        assert_eq!(names(&["full_scan", "get"]), both);
    }
}
