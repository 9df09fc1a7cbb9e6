//! The orders that every system keeps; the same in every run.

use std::sync::{Arc, OnceLock};

use keyloom::key::{Timestamp, Uuid};

/// One order.
#[derive(Debug, Clone)]
pub struct Order {
    /// Who ordered.
    pub user: Arc<str>,
    /// Microseconds since 1970.
    pub date: i64,
    /// Another for each order.
    pub id: Uuid,
    /// In cents.
    pub amount: i64,
    /// How far it is.
    pub status: &'static str,
    /// 125 bytes of text.
    pub note: &'static str,
}

impl Order {
    /// When it was ordered.
    pub fn date(&self) -> Timestamp {
        Timestamp::from_micros(self.date)
    }
}

/// Orders of a user or of a status, from a date on or up to one.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The user, or the status.
    pub name: Arc<str>,
    /// Microseconds since 1970.
    pub date: i64,
}

impl Ask {
    /// From when on, or up to when.
    pub fn date(&self) -> Timestamp {
        Timestamp::from_micros(self.date)
    }
}

const STATUSES: [&str; 5] = ["open", "paid", "packed", "shipped", "returned"];
const WORDS: [&str; 8] =
    ["leave", "behind", "the green door", "ring twice", "fragile", "call before", "weekend", "gift wrap"];
const NOTE: usize = 125;
/// 2025, and its length.
const START: i64 = 1_735_689_600_000_000;
const YEAR: u64 = 365 * 86_400_000_000;

/// Numbers that look random, from a seed.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Numbers that only the seed decides.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        // SplitMix64: seeds that follow one another begin nothing alike, so every order can have its own.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A number below `end`.
    pub fn index(&mut self, end: usize) -> usize {
        usize::try_from(self.below(u64::try_from(end).unwrap_or(u64::MAX))).unwrap_or(0)
    }

    fn one_of(&mut self, of: &[&'static str]) -> &'static str {
        let index = self.index(of.len());
        of.get(index).copied().unwrap_or_default()
    }

    fn date(&mut self) -> i64 {
        START + i64::try_from(self.below(YEAR)).unwrap_or(0)
    }
}

/// Words one after the other, of which every note is a piece: an order needs no memory of its own for it.
fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut random = Random::new(0);
        let mut text = String::new();
        while text.len() < 1 << 20 {
            text.push_str(random.one_of(&WORDS));
            text.push_str(", ");
        }
        text
    })
}

/// Who orders. An order is made of its number, so any number of them needs no memory.
#[derive(Debug)]
pub struct Shop {
    users: Vec<Arc<str>>,
}

impl Shop {
    /// The users of so many orders: about 100 orders each.
    pub fn of(orders: usize) -> Self {
        Self { users: (0..(orders / 100).max(1)).map(|user| format!("USR_{user:05}").into()).collect() }
    }

    /// A user, by a number that may be larger than there are users.
    pub fn user(&self, number: usize) -> Arc<str> {
        self.users.get(number % self.users.len().max(1)).cloned().unwrap_or_default()
    }

    /// The order with this number among those of a seed.
    pub fn order(&self, number: u64, seed: u64) -> Order {
        let mut random = Random::new(Random::new(seed).next() ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let start = random.index(text().len() - NOTE);
        Order {
            user: self.user(random.index(self.users.len())),
            date: random.date(),
            id: Uuid::from_u64_pair(random.next(), random.next()),
            amount: i64::try_from(random.below(10_000_000)).unwrap_or(0),
            status: random.one_of(&STATUSES),
            note: text().get(start..start + NOTE).unwrap_or_default(),
        }
    }

    /// The first orders of a seed, in no order.
    pub fn orders(&self, count: usize, seed: u64) -> impl Iterator<Item = Order> {
        (0..u64::try_from(count).unwrap_or(u64::MAX)).map(move |number| self.order(number, seed))
    }

    /// So many users with a date each.
    pub fn of_users(&self, count: usize, seed: u64) -> Vec<Ask> {
        let mut random = Random::new(seed);
        let mut ask = || Ask { name: self.user(random.index(self.users.len())), date: random.date() };
        (0..count).map(|_| ask()).collect()
    }

    /// So many statuses with a date each.
    pub fn of_statuses(count: usize, seed: u64) -> Vec<Ask> {
        let mut random = Random::new(seed);
        (0..count).map(|_| Ask { name: random.one_of(&STATUSES).into(), date: random.date() }).collect()
    }
}

/// What was read, in its order: equal only if the rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// How many rows there were.
    pub rows: u64,
    /// What their amounts and notes make together.
    pub sum: u64,
}

impl Tally {
    /// One row more.
    pub fn add(&mut self, amount: i64, note: &[u8]) {
        let length = u64::try_from(note.len()).unwrap_or(0);
        let last = u64::from(note.last().copied().unwrap_or(0));
        self.rows += 1;
        self.sum =
            self.sum.wrapping_mul(31).wrapping_add(amount.cast_unsigned()).wrapping_add(length ^ (last << 8));
    }

    /// Of these orders.
    pub fn of<'a>(orders: impl IntoIterator<Item = &'a Order>) -> Self {
        let mut tally = Self::default();
        orders.into_iter().for_each(|order| tally.add(order.amount, order.note.as_bytes()));
        tally
    }
}
