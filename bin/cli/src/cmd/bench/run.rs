//! The orders in every store, one store after the other in each round.

use std::time::{Duration, Instant};

use keyloom::UrlStore;
use keyloom::store::Durability;
use keyloom_workload::{Error, Keyloom, Order, Questions, Shop, Tally, Times, Work, Writes as _, write_with};

use super::figure::Figure;
use super::place::Place;
use crate::cmd::stats::figures::number;
use crate::progress::Progress;

/// The works that show how costs grow with the number of orders.
pub(super) const GROWTH: [&str; 5] = ["get", "prefix100", "range20", "index20", "single_write"];

/// The fewest questions of a work.
const LEAST: usize = 64;
/// How many calls are timed one by one.
const SINGLE: usize = 10_000;

/// A run on its way.
pub(super) struct Run<'a> {
    pub(super) places: &'a mut [Place],
    pub(super) works: &'a dyn Fn(&str) -> bool,
    pub(super) durability: Durability,
    pub(super) rounds: usize,
    pub(super) seconds: u64,
    pub(super) progress: &'a Progress,
    pub(super) figures: &'a mut Vec<Figure>,
}

/// The stores with so many orders in them.
struct Loaded {
    size: usize,
    is_full: bool,
    shop: Shop,
    /// In the order of the places; nothing while one is opened anew.
    held: Vec<Option<Keyloom<UrlStore>>>,
    /// Of the orders that are written next.
    seed: u64,
}

impl Loaded {
    /// So many questions, fewer for fewer orders and where only growth is looked at.
    fn count(&self, most: usize) -> usize {
        let most = if self.is_full { most } else { most / 10 };
        most.min(self.size / 2).max(LEAST)
    }

    fn held(&self, place: usize) -> Result<&Keyloom<UrlStore>, Error> {
        self.held.get(place).and_then(Option::as_ref).ok_or_else(|| "a store is not open".into())
    }

    /// Orders that are nowhere yet.
    fn new_orders(&mut self, count: usize) -> Vec<Order> {
        self.seed += 1;
        self.shop.orders(count, self.seed).collect()
    }
}

impl Run<'_> {
    /// Measures all works at a size, or those that show growth.
    pub(super) fn at(&mut self, size: usize, is_full: bool) -> Result<(), Error> {
        let shop = Shop::of(size);
        let mut loaded = Loaded { size, is_full, shop, held: Vec::new(), seed: 100 };
        self.load(&mut loaded)?;
        let questions = Questions::new(&loaded.shop, size, |most| loaded.count(most));
        for work in Work::ALL {
            if self.has(work.name(), is_full) {
                self.read(&loaded, work, &questions)?;
            }
        }
        let single = if self.durability == Durability::Synced { 2_000 } else { 20_000 };
        for (work, durability, count, clients) in
            [("single_write", self.durability, single, 1), ("synced16", Durability::Synced, 3_200, 16)]
        {
            if self.has(work, is_full) {
                self.write(&mut loaded, work, durability, count, clients)?;
            }
        }
        drop(loaded);
        self.places.iter().try_for_each(Place::clear)
    }

    fn has(&self, work: &str, is_full: bool) -> bool {
        (self.works)(work) && (is_full || GROWTH.contains(&work))
    }

    /// Tells what is done, and when it has to end.
    fn begin(&self, work: &str, size: usize) -> Instant {
        let size = number(u64::try_from(size).unwrap_or(u64::MAX));
        self.progress.tell(format!("{work}, {size} orders"));
        Instant::now() + Duration::from_secs(self.seconds)
    }

    /// How many rounds there are at a size, for a work that is asked for.
    fn rounds(&self, is_full: bool) -> usize {
        if is_full { self.rounds } else { 1 }
    }

    fn load(&mut self, loaded: &mut Loaded) -> Result<(), Error> {
        let end = self.begin("load", loaded.size);
        let is_asked = self.has("load", loaded.is_full);
        let mut times: Vec<Times> = self.places.iter().map(|_| Times::default()).collect();
        for _ in 0..if is_asked { self.rounds(loaded.is_full) } else { 1 } {
            loaded.held.clear();
            for (place, times) in self.places.iter_mut().zip(&mut times) {
                let keyloom = place.fresh()?;
                times.run(|| keyloom.load_all(loaded.shop.orders(loaded.size, 0)))?;
                loaded.held.push(Some(keyloom));
            }
            if Instant::now() > end {
                break;
            }
        }
        if is_asked {
            self.keep(loaded.size, "load", loaded.size, (&times, None), Some(Durability::Synced));
        }
        self.progress.step();
        Ok(())
    }

    fn read(&mut self, loaded: &Loaded, work: Work, questions: &Questions) -> Result<(), Error> {
        let end = self.begin(work.name(), loaded.size);
        let mut times: Vec<Times> = self.places.iter().map(|_| Times::default()).collect();
        for _ in 0..self.rounds(loaded.is_full) {
            let mut found: Option<Tally> = None;
            for (at, times) in times.iter_mut().enumerate() {
                let tally = times.run(|| questions.ask(work, loaded.held(at)?))?;
                if tally != *found.get_or_insert(tally) {
                    return Err(format!("{}: the stores found different orders", work.name()).into());
                }
            }
            if Instant::now() > end {
                break;
            }
        }
        let mut calls: Vec<Times> = self.places.iter().map(|_| Times::default()).collect();
        for (at, calls) in calls.iter_mut().enumerate().filter(|_| work != Work::Scan) {
            for one in 0..questions.count(work).min(loaded.count(SINGLE)) {
                calls.run(|| questions.ask_some(work, loaded.held(at)?, one..one + 1))?;
            }
        }
        self.keep(loaded.size, work.name(), questions.count(work), (&times, Some(&calls)), None);
        self.progress.step();
        Ok(())
    }

    fn write(
        &mut self,
        loaded: &mut Loaded,
        work: &'static str,
        durability: Durability,
        count: usize,
        clients: usize,
    ) -> Result<(), Error> {
        let end = self.begin(work, loaded.size);
        for (place, held) in self.places.iter().zip(&mut loaded.held) {
            // Closed before it is opened with another promise.
            *held = None;
            *held = Some(place.open(durability)?);
        }
        let count = loaded.count(count);
        let mut times: Vec<Times> = self.places.iter().map(|_| Times::default()).collect();
        for _ in 0..self.rounds(loaded.is_full) {
            for (at, times) in times.iter_mut().enumerate() {
                let orders = loaded.new_orders(count);
                let keyloom = loaded.held(at)?;
                times.run(|| write_with(clients, keyloom, &orders))?;
            }
            if Instant::now() > end {
                break;
            }
        }
        let mut calls: Vec<Times> = self.places.iter().map(|_| Times::default()).collect();
        for (at, calls) in calls.iter_mut().enumerate().filter(|_| clients == 1) {
            let orders = loaded.new_orders(count.min(loaded.count(SINGLE)));
            for order in orders.chunks(1) {
                calls.run(|| loaded.held(at)?.write(order))?;
            }
        }
        self.keep(loaded.size, work, count, (&times, Some(&calls)), Some(durability));
        self.progress.step();
        Ok(())
    }

    fn keep(
        &mut self,
        size: usize,
        work: &'static str,
        count: usize,
        (times, calls): (&[Times], Option<&[Times]>),
        asked: Option<Durability>,
    ) {
        for (at, (place, times)) in self.places.iter().zip(times).enumerate() {
            let calls = calls.and_then(|calls| calls.get(at)).filter(|calls| !calls.is_empty());
            self.figures.push(Figure {
                rows: size,
                work,
                store: place.name.clone(),
                per_second: times.per_second(count),
                latency: calls.map(Times::latency),
                bytes: None,
                promise: asked.map(|asked| place.promise(asked)),
            });
        }
    }
}
