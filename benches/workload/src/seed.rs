//! The benchmark of the composite-key specification (its §8): 10,000 orders in memory, written, looked up and scanned.
//!
//! 100 users have 100 orders each, with a key, an amount and a status. Each work does what a user's code does: it makes the
//! record or the key, and reads the amount and the status of what it finds. Beside Keyloom there are the two maps of the
//! standard library, with the bytes of the same keys and values made by hand.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use keyloom::key::Value;
use keyloom::{Database, MemoryStore, Query, Row, Table, Wait, field};

use crate::keyloom::{bare, bare_document, key};
use crate::layout::Layout;
use crate::{Ask, Error, Order, Random, Shop, Tally, Times, allocated};

/// How many orders there are.
pub const ORDERS: usize = 10_000;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// One order after the other into a table that is empty at first.
    Write,
    /// An order by its key, its fields read where they lie.
    Lookup,
    /// All 100 orders of a user.
    Prefix,
}

impl Work {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Write, Self::Lookup, Self::Prefix];

    /// As it is called in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Lookup => "lookup",
            Self::Prefix => "prefix100",
        }
    }

    /// What the specification says of its implementation in Go: operations a second, and bytes an operation.
    pub fn published(self) -> (f64, f64) {
        match self {
            Self::Write => (202_714.0, 1_988.0),
            Self::Lookup => (173_641.0, 1_296.0),
            Self::Prefix => (195.0, 124_345.0),
        }
    }
}

/// What a system reached in a work.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The work.
    pub work: Work,
    /// `keyloom`, `btreemap` or `hashmap`.
    pub system: &'static str,
    /// Operations a second, the median of the rounds.
    pub per_second: f64,
    /// The bytes that an operation allocates, if the binary counts them.
    pub bytes: Option<f64>,
}

/// A system with the orders in memory.
trait Held {
    fn write(&mut self, orders: &[Order]) -> Result<(), Error>;
    fn lookup(&self, orders: &[Order]) -> Result<Tally, Error>;
    /// Nothing where there is no order to scan in.
    fn prefix(&self, asks: &[Ask]) -> Result<Option<Tally>, Error>;
}

/// The systems, each made anew.
type Make = fn() -> Result<Box<dyn Held>, Error>;
const SYSTEMS: [(&str, Make); 3] = [
    ("keyloom", Bare::boxed),
    ("btreemap", Mapped::<BTreeMap<_, _>>::boxed),
    ("hashmap", Mapped::<HashMap<_, _>>::boxed),
];

/// What is written, looked up and scanned.
struct Questions {
    orders: Vec<Order>,
    picked: Vec<Order>,
    users: Vec<Ask>,
}

impl Questions {
    fn new() -> Self {
        let shop = Shop::of(ORDERS);
        let mut orders: Vec<Order> = shop.orders(ORDERS, 0).collect();
        for (number, order) in orders.iter_mut().enumerate() {
            order.user = shop.user(number);
        }
        let mut random = Random::new(1);
        let picked = (0..5 * ORDERS).filter_map(|_| orders.get(random.index(ORDERS)).cloned()).collect();
        Self { orders, picked, users: shop.of_users(ORDERS / 5, 3) }
    }

    fn count(&self, work: Work) -> usize {
        match work {
            Work::Write => self.orders.len(),
            Work::Lookup => self.picked.len(),
            Work::Prefix => self.users.len(),
        }
    }

    /// Does a work; tells what was read, or nothing if it cannot be done.
    fn run(&self, work: Work, held: &mut dyn Held) -> Result<Option<Tally>, Error> {
        match work {
            Work::Write => held.write(&self.orders).map(|()| Some(Tally::default())),
            Work::Lookup => held.lookup(&self.picked).map(Some),
            Work::Prefix => held.prefix(&self.users),
        }
    }
}

/// Runs each work in each system, one system after the other in each round, and then once more to count bytes.
pub fn measure(rounds: usize, mut told: impl FnMut(usize)) -> Result<Vec<Figure>, Error> {
    let questions = Questions::new();
    let mut figures = Vec::new();
    let mut times: [[Times; SYSTEMS.len()]; Work::ALL.len()] = Default::default();
    for round in 1..=rounds.max(1) {
        told(round);
        let mut held = SYSTEMS.iter().map(|(_, make)| make()).collect::<Result<Vec<_>, _>>()?;
        for (work, times) in Work::ALL.into_iter().zip(&mut times) {
            let mut found = None;
            for (((system, _), held), times) in SYSTEMS.iter().zip(&mut held).zip(times) {
                let mut time = Times::default();
                let Some(tally) = time.run(|| questions.run(work, &mut **held))? else { continue };
                if tally != *found.get_or_insert(tally) {
                    return Err(format!("{}: {system} found something else", work.name()).into());
                }
                times.push(time.median());
            }
        }
    }
    let mut held = SYSTEMS.iter().map(|(_, make)| make()).collect::<Result<Vec<_>, _>>()?;
    for (work, times) in Work::ALL.into_iter().zip(&times) {
        for (((system, _), held), times) in SYSTEMS.iter().zip(&mut held).zip(times) {
            let (done, bytes) = allocated::bytes(|| questions.run(work, &mut **held));
            if done?.is_some() {
                let count = questions.count(work);
                let bytes = bytes.map(|bytes| each(bytes, count));
                figures.push(Figure { work, system, per_second: times.per_second(count), bytes });
            }
        }
    }
    Ok(figures)
}

#[allow(clippy::cast_precision_loss, reason = "a figure is rounded anyway")]
fn each(bytes: u64, count: usize) -> f64 {
    bytes as f64 / count.max(1) as f64
}

/// Keyloom, without an index, as the specification's table is.
struct Bare(Table<MemoryStore>);

impl Bare {
    fn boxed() -> Result<Box<dyn Held>, Error> {
        Ok(Box::new(Self(Database::open(MemoryStore::new()).wait()?.open_table(bare()).wait()?)))
    }
}

fn look(row: &Row<'_>, tally: &mut Tally) -> Result<(), keyloom::Error> {
    if let (Value::Int(amount), Value::Str(status)) = (row.get("amount")?, row.get("status")?) {
        tally.add(amount, status.as_bytes());
    }
    Ok(())
}

impl Held for Bare {
    fn write(&mut self, orders: &[Order]) -> Result<(), Error> {
        for order in orders {
            self.0.put(bare_document(order)).wait()?;
        }
        Ok(())
    }

    fn lookup(&self, orders: &[Order]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for order in orders {
            self.0.get_with(key(order), |row| look(row, &mut tally)).wait()?;
        }
        Ok(tally)
    }

    fn prefix(&self, asks: &[Ask]) -> Result<Option<Tally>, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let query = Query::new().filter(field("user_id").eq(ask.name.to_string()));
            let visit = |row: &Row<'_>| look(row, &mut tally).map(ControlFlow::Continue);
            self.0.each(&query, visit).wait()?;
        }
        Ok(Some(tally))
    }
}

/// The bytes of Keyloom's keys and values, by the table that it makes of them.
fn layout() -> Result<Layout, Error> {
    let table = Database::open(MemoryStore::new()).wait()?.open_table(bare()).wait()?;
    Layout::of(table.definition()?)
}

/// A map of bytes by hand.
trait Map: Default + 'static {
    fn insert(&mut self, key: Vec<u8>, value: Vec<u8>);
    fn get(&self, key: &[u8]) -> Option<&[u8]>;
    /// The values from one key up to another; nothing where there is no order.
    fn range(&self, start: Vec<u8>, end: Vec<u8>) -> Option<impl Iterator<Item = &[u8]>>;
}

impl Map for BTreeMap<Vec<u8>, Vec<u8>> {
    fn insert(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.insert(key, value);
    }

    fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.get(key).map(Vec::as_slice)
    }

    fn range(&self, start: Vec<u8>, end: Vec<u8>) -> Option<impl Iterator<Item = &[u8]>> {
        Some(self.range(start..end).map(|(_, value)| value.as_slice()))
    }
}

/// A hash index.
impl Map for HashMap<Vec<u8>, Vec<u8>> {
    fn insert(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.insert(key, value);
    }

    fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.get(key).map(Vec::as_slice)
    }

    fn range(&self, _: Vec<u8>, _: Vec<u8>) -> Option<impl Iterator<Item = &[u8]>> {
        None::<std::iter::Empty<&[u8]>>
    }
}

/// The orders in a map, with Keyloom's bytes.
struct Mapped<M>(Layout, M);

impl<M: Map> Mapped<M> {
    fn boxed() -> Result<Box<dyn Held>, Error> {
        Ok(Box::new(Self(layout()?, M::default())))
    }
}

impl<M: Map> Held for Mapped<M> {
    fn write(&mut self, orders: &[Order]) -> Result<(), Error> {
        for order in orders {
            let (key, value) = self.0.record(order)?;
            self.1.insert(key, value);
        }
        Ok(())
    }

    fn lookup(&self, orders: &[Order]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for order in orders {
            if let Some(value) = self.1.get(&self.0.key(order)?) {
                self.0.look(value, &mut tally)?;
            }
        }
        Ok(tally)
    }

    fn prefix(&self, asks: &[Ask]) -> Result<Option<Tally>, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let (start, end) = self.0.of_user(ask)?;
            let Some(values) = self.1.range(start, end) else { return Ok(None) };
            for value in values {
                self.0.look(value, &mut tally)?;
            }
        }
        Ok(Some(tally))
    }
}
