//! Shards that split while rows are written: sizes, what is copied and written twice, and how hot the hottest is.
//!
//! ```text
//! full → announce → wait → prepare → wait → copy → swap → wait → clear → wait → done
//!                          │ writes are made twice               │
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::costs::Costs;
use crate::keys::{Keys, mix};

/// Microseconds.
type Time = u64;
const SECOND: Time = 1_000_000;

/// What is counted at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// Rows written so far.
    pub written: u64,
    /// Shards.
    pub shards: usize,
    /// Rows of the largest shard.
    pub largest: usize,
    /// Rows copied so far.
    pub copied: u64,
    /// Rows written twice so far.
    pub doubled: u64,
    /// Splits under way.
    pub running: usize,
    /// Of the last writes, those to the shard that got most.
    pub hottest: u64,
    /// How many the last writes were.
    pub window: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Prepare,
    Copy,
    Swap,
    Clear,
    Done,
}

#[derive(Debug, Default)]
struct Shard {
    keys: Vec<u64>,
    /// The first key that moves, and whether it is written to both shards yet.
    split: Option<(u64, bool)>,
    /// It was split off, and its rows are still written to where they were.
    echo: bool,
    /// What it was split off from is not cleared yet: it cannot be split again.
    clearing: bool,
    window: u64,
}

/// Shards under writers.
#[derive(Debug)]
pub struct Splits {
    limit: usize,
    uneven: bool,
    wait: Time,
    /// Rows that are copied in a second.
    copies: u64,
    shards: BTreeMap<u64, Shard>,
    /// What happens next: when, at the shard that starts here.
    events: BinaryHeap<Reverse<(Time, u64, Stage)>>,
    copied: u64,
    doubled: u64,
    running: usize,
    /// The most splits at once.
    pub most: usize,
    /// The most rows that a shard ever had.
    pub largest: usize,
}

impl Splits {
    /// One empty shard. With `uneven`, each shard has a limit of its own, between half of it and all.
    pub fn new(costs: &Costs, limit: usize, uneven: bool) -> Self {
        Self {
            limit,
            uneven,
            wait: costs.wait() * SECOND,
            copies: costs.batched.value,
            shards: BTreeMap::from([(0, Shard::default())]),
            events: BinaryHeap::new(),
            copied: 0,
            doubled: 0,
            running: 0,
            most: 0,
            largest: 0,
        }
    }

    /// Writes `rows` rows, `rate` in a second, and tells how it went at `moments` moments and when all splits are over.
    pub fn run(&mut self, keys: Keys, rows: u64, rate: u64, moments: u64) -> Vec<Moment> {
        let step = (rows / moments).max(1);
        // Few enough to see which shard is hot before it is split.
        let window = (self.limit as u64 / 10).clamp(1, step);
        let mut told = Vec::new();
        for (number, key) in (1..=rows).zip(keys.iter()) {
            let now = number * SECOND / rate;
            self.until(now);
            self.write(key, now);
            match number % step {
                0 => told.push(self.moment(number, window)),
                last if last == step - window => self.shards.values_mut().for_each(|shard| shard.window = 0),
                _ => {}
            }
        }
        self.until(Time::MAX);
        let last = self.moment(rows, window);
        // Nothing is written any more, so what was hot stays so.
        let hottest = told.last().map_or(0, |moment: &Moment| moment.hottest);
        told.push(Moment { hottest, ..last });
        told
    }

    /// The shards: their first keys and how many rows they have.
    pub fn sizes(&self) -> impl Iterator<Item = (u64, usize)> {
        self.shards.iter().map(|(start, shard)| (*start, shard.keys.len()))
    }

    /// Whether every row is in the shard whose keys it is among.
    pub fn is_sorted(&self) -> bool {
        let ends = self.shards.keys().skip(1).map(|end| Some(*end)).chain([None]);
        self.shards.iter().zip(ends).all(|((start, shard), end)| {
            shard.keys.iter().all(|key| key >= start && end.is_none_or(|end| *key < end))
        })
    }

    fn write(&mut self, key: u64, now: Time) {
        let Some((&start, shard)) = self.shards.range_mut(..=key).next_back() else { return };
        shard.keys.push(key);
        shard.window += 1;
        let twice = shard.echo || shard.split.is_some_and(|(from, both)| both && key >= from);
        self.doubled += u64::from(twice);
        self.largest = self.largest.max(shard.keys.len());
        self.begin(start, now);
    }

    /// Splits a shard that has too many rows, if nothing is being done with it.
    fn begin(&mut self, start: u64, now: Time) {
        let Some(shard) = self.shards.get_mut(&start) else { return };
        let less = if self.uneven { mix(start) % (self.limit as u64 / 2).max(1) } else { 0 };
        if shard.keys.len() as u64 + less <= self.limit as u64 || shard.split.is_some() || shard.clearing {
            return;
        }
        let middle = shard.keys.len() / 2;
        let (_, from, _) = shard.keys.select_nth_unstable(middle);
        shard.split = Some((*from, false));
        self.running += 1;
        self.most = self.most.max(self.running);
        self.events.push(Reverse((now + self.wait, start, Stage::Prepare)));
    }

    /// Lets happen what happens until then.
    fn until(&mut self, end: Time) {
        while let Some(&Reverse((now, start, stage))) = self.events.peek() {
            if now > end {
                return;
            }
            self.events.pop();
            self.happen(now, start, stage);
        }
    }

    fn happen(&mut self, now: Time, start: u64, stage: Stage) {
        let Some(shard) = self.shards.get_mut(&start) else { return };
        let next = match (stage, shard.split) {
            (Stage::Prepare, Some((from, _))) => {
                shard.split = Some((from, true));
                Some((now + self.wait, start, Stage::Copy))
            }
            (Stage::Copy, Some((from, _))) => {
                let rows = shard.keys.iter().filter(|key| **key >= from).count() as u64;
                self.copied += rows;
                Some((now + rows * SECOND / self.copies, start, Stage::Swap))
            }
            (Stage::Swap, Some((from, _))) => {
                shard.split = None;
                let (left, right) = std::mem::take(&mut shard.keys).into_iter().partition(|key| *key < from);
                shard.keys = left;
                self.shards
                    .insert(from, Shard { keys: right, echo: true, clearing: true, ..Shard::default() });
                Some((now + self.wait, from, Stage::Clear))
            }
            (Stage::Clear, _) => {
                shard.echo = false;
                Some((now + self.wait, start, Stage::Done))
            }
            (Stage::Done, _) => {
                shard.clearing = false;
                self.running -= 1;
                None
            }
            (Stage::Prepare | Stage::Copy | Stage::Swap, None) => None,
        };
        self.events.extend(next.map(Reverse));
        // What came meanwhile may be too much again.
        self.begin(start, now);
    }

    fn moment(&self, written: u64, window: u64) -> Moment {
        let hottest = self.shards.values().map(|shard| shard.window).max().unwrap_or(0);
        Moment {
            written,
            shards: self.shards.len(),
            largest: self.sizes().map(|(_, rows)| rows).max().unwrap_or(0),
            copied: self.copied,
            doubled: self.doubled,
            running: self.running,
            hottest,
            window,
        }
    }
}
