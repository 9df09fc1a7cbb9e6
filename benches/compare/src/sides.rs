//! Two stores on LMDB beside each other: the same works, interleaved, medians.

use std::path::Path;
use std::time::Duration;

use keyloom::lmdb::{LmdbStore, Options};
use keyloom_workload::{Error, Keyloom, Questions, Shop, Tally, Times, Work};

use crate::report::{Figure, Unit, progress};

/// The fewest questions of a work.
const LEAST: usize = 64;

/// How many questions a work has where so many orders are asked about, given the most that a full run takes.
pub(crate) fn asked(orders: usize, most: usize) -> usize {
    most.min(orders / 2).max(LEAST)
}

/// A store, and what it is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) name: &'static str,
    pub(crate) keyloom: &'a Keyloom<LmdbStore>,
    pub(crate) questions: &'a Questions,
    /// How many orders it has.
    pub(crate) rows: usize,
}

/// A store with the first `count` orders, which are made on the way.
pub(crate) fn load(
    file: &Path,
    options: Options,
    shop: &Shop,
    count: usize,
) -> Result<Keyloom<LmdbStore>, Error> {
    let keyloom = open(file, options)?;
    keyloom.load_all(shop.orders(count, 0))?;
    Ok(keyloom)
}

pub(crate) fn open(file: &Path, options: Options) -> Result<Keyloom<LmdbStore>, Error> {
    Keyloom::open(LmdbStore::open_with(file, options)?)
}

impl Side<'_> {
    /// Answers all questions of a work.
    pub(crate) fn ask(&self, work: Work, times: &mut Times) -> Result<Tally, Error> {
        let found = times.run(|| self.questions.ask(work, self.keyloom))?;
        let known = match work {
            Work::Get => Tally::of(&self.questions.picked),
            Work::Miss => Tally::default(),
            _ => found,
        };
        if found == known { Ok(found) } else { Err(self.differs(work, found, known)) }
    }

    fn differs(&self, work: Work, found: Tally, other: Tally) -> Error {
        format!("{}: {} found {found:?}, not {other:?}", work.name(), self.name).into()
    }

    /// What one question of a work takes; a row of the scan.
    pub(crate) fn figure(&self, work: Work, times: &Times) -> Figure {
        let count = if work == Work::Scan { self.rows } else { self.questions.count(work) };
        Figure::new(work.name(), self.name, Unit::Ns, 1e9 / times.per_second(count))
    }
}

/// Checks that both find the same.
pub(crate) fn same(works: &[Work], [one, other]: &[Side<'_>; 2]) -> Result<(), Error> {
    for work in works {
        let known = one.ask(*work, &mut Times::default())?;
        let found = other.ask(*work, &mut Times::default())?;
        if found != known {
            return Err(other.differs(*work, found, known));
        }
    }
    Ok(())
}

/// Asks both sides, one after the other in each round. One round before the first counts for neither.
pub(crate) fn interleave(works: &[Work], rounds: usize, sides: &[Side<'_>; 2]) -> Result<Vec<Figure>, Error> {
    let mut found = Vec::new();
    for work in works {
        for side in sides {
            found.push(side.ask(*work, &mut Times::default())?);
        }
    }
    let_filters_fill(sides.iter().map(|side| side.rows).max().unwrap_or_default());
    let mut figures = Vec::new();
    for (work, found) in works.iter().zip(found.chunks(sides.len())) {
        let mut times = [Times::default(), Times::default()];
        for round in 1..=rounds {
            progress(work.name(), round, rounds);
            let mut turns: Vec<_> = sides.iter().zip(&mut times).zip(found).collect();
            turns.rotate_left(round % sides.len());
            for ((side, times), known) in turns {
                let found = side.ask(*work, times)?;
                if found != *known {
                    return Err(side.differs(*work, found, *known));
                }
            }
        }
        figures.extend(sides.iter().zip(&times).map(|(side, times)| side.figure(*work, times)));
    }
    Ok(figures)
}

/// Waits until stores of so many records have the filters of their keys, which they fill when keys were asked for that are not
/// there and there is nothing else to do.
pub(crate) fn let_filters_fill(rows: usize) {
    let rows = u64::try_from(rows).unwrap_or(u64::MAX);
    // A record has two keys, and some millions come in a second.
    std::thread::sleep(Duration::from_millis(300) + Duration::from_micros(rows));
}
