//! The works of reading, and the questions of each.

use std::ops::Range;
use std::sync::Arc;

use crate::orders::Random;
use crate::{Ask, Error, Order, Reads, Shop, Tally};

/// A work of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Records by their keys.
    Get,
    /// Keys that are not there.
    Miss,
    /// All orders of a user: about 100 rows.
    Prefix,
    /// 20 orders of a user, from a date on.
    Range,
    /// 20 orders of a user, backward from a date.
    RangeBack,
    /// The 20 newest orders of a status up to a date: entries of an index, and the record of each.
    Index,
    /// Every order.
    Scan,
}

impl Work {
    /// All works, in the order in which they are done.
    pub const ALL: [Self; 7] =
        [Self::Get, Self::Miss, Self::Prefix, Self::Range, Self::RangeBack, Self::Index, Self::Scan];

    /// As it is called in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Miss => "miss",
            Self::Prefix => "prefix100",
            Self::Range => "range20",
            Self::RangeBack => "range20_rev",
            Self::Index => "index20",
            Self::Scan => "full_scan",
        }
    }
}

/// The questions of every work; the same in every run.
#[derive(Debug)]
pub struct Questions {
    rows: usize,
    /// Orders that are there.
    pub picked: Vec<Order>,
    /// Orders that are not.
    pub absent: Vec<Order>,
    /// Users.
    pub whole: Vec<Ask>,
    /// Users, each with a date.
    pub from: Vec<Ask>,
    /// Statuses, each with a date.
    pub newest: Vec<Ask>,
}

impl Questions {
    /// About the first `rows` orders of seed 0. `count` says how many of a work there are, given the most that a full run
    /// takes.
    pub fn new(shop: &Shop, rows: usize, count: impl Fn(usize) -> usize) -> Self {
        let mut random = Random::new(1);
        let mut one = || shop.order(u64::try_from(random.index(rows)).unwrap_or(0), 0);
        let order = |order: Order| Order { user: at_hand(&order.user), ..order };
        let ask = |ask: Ask| Ask { name: at_hand(&ask.name), ..ask };
        Self {
            rows,
            picked: (0..count(200_000)).map(|_| order(one())).collect(),
            absent: shop.orders(count(200_000), 2).map(order).collect(),
            whole: shop.of_users(count(10_000), 3).into_iter().map(ask).collect(),
            from: shop.of_users(count(40_000), 4).into_iter().map(ask).collect(),
            newest: Shop::of_statuses(count(10_000), 5),
        }
    }

    /// How many questions a work has; for the scan, how many rows.
    pub fn count(&self, work: Work) -> usize {
        match work {
            Work::Get => self.picked.len(),
            Work::Miss => self.absent.len(),
            Work::Prefix => self.whole.len(),
            Work::Range | Work::RangeBack => self.from.len(),
            Work::Index => self.newest.len(),
            Work::Scan => self.rows,
        }
    }

    /// Asks all questions of a work.
    pub fn ask(&self, work: Work, system: &(impl Reads + ?Sized)) -> Result<Tally, Error> {
        self.ask_some(work, system, 0..self.count(work))
    }

    /// Asks some of the questions of a work; a scan is always the whole.
    pub fn ask_some(
        &self,
        work: Work,
        system: &(impl Reads + ?Sized),
        which: Range<usize>,
    ) -> Result<Tally, Error> {
        match work {
            Work::Get => system.get(some(&self.picked, which)),
            Work::Miss => system.get(some(&self.absent, which)),
            Work::Prefix => system.prefix(some(&self.whole, which)),
            Work::Range => system.range(some(&self.from, which), false),
            Work::RangeBack => system.range(some(&self.from, which), true),
            Work::Index => system.index(some(&self.newest, which)),
            Work::Scan => system.scan(),
        }
    }
}

/// A name in memory of its own, beside that of the question before: who asks has it at hand. The shop's lies anywhere, and
/// the more users there are, the longer a question itself would take to come.
fn at_hand(name: &str) -> Arc<str> {
    name.into()
}

fn some<T>(all: &[T], which: Range<usize>) -> &[T] {
    all.get(which).unwrap_or_default()
}
