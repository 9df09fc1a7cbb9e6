//! The orders that every system keeps, and what is asked of them; the same in every run.

use keyloom::key::{Timestamp, Uuid};

/// One order.
pub(crate) struct Order {
    pub(crate) user: String,
    /// Microseconds since 1970.
    pub(crate) date: i64,
    pub(crate) id: Uuid,
    pub(crate) amount: i64,
    pub(crate) status: &'static str,
    pub(crate) note: String,
}

impl Order {
    pub(crate) fn date(&self) -> Timestamp {
        Timestamp::from_micros(self.date)
    }
}

/// Orders of a user or of a status, from a date on or up to one.
pub(crate) struct Ask {
    pub(crate) name: String,
    pub(crate) date: i64,
}

impl Ask {
    pub(crate) fn date(&self) -> Timestamp {
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
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Seeds that differ little must not begin alike.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(crate) fn index(&mut self, end: usize) -> usize {
        usize::try_from(self.below(u64::try_from(end).unwrap_or(u64::MAX))).unwrap_or(0)
    }

    fn one_of(&mut self, of: &[&'static str]) -> &'static str {
        let index = self.index(of.len());
        of.get(index).copied().unwrap_or_default()
    }

    fn user(&mut self, users: u64) -> String {
        format!("USR_{:05}", self.below(users))
    }

    fn date(&mut self) -> i64 {
        START + i64::try_from(self.below(YEAR)).unwrap_or(0)
    }
}

/// How many users so many orders have: about 100 orders each.
pub(crate) fn users(orders: usize) -> u64 {
    u64::try_from(orders / 100).unwrap_or(u64::MAX).max(1)
}

/// So many orders, in no order.
pub(crate) fn orders(count: usize, users: u64, seed: u64) -> Vec<Order> {
    let mut random = Random::new(seed);
    let mut one = || {
        let mut note = String::with_capacity(NOTE + 16);
        while note.len() < NOTE {
            note.push_str(random.one_of(&WORDS));
            note.push_str(", ");
        }
        note.truncate(NOTE);
        Order {
            user: random.user(users),
            date: random.date(),
            id: Uuid::from_u64_pair(random.next(), random.next()),
            amount: i64::try_from(random.below(10_000_000)).unwrap_or(0),
            status: random.one_of(&STATUSES),
            note,
        }
    };
    (0..count).map(|_| one()).collect()
}

/// So many users with a date each.
pub(crate) fn of_users(count: usize, users: u64, seed: u64) -> Vec<Ask> {
    let mut random = Random::new(seed);
    (0..count).map(|_| Ask { name: random.user(users), date: random.date() }).collect()
}

/// So many statuses with a date each.
pub(crate) fn of_statuses(count: usize, seed: u64) -> Vec<Ask> {
    let mut random = Random::new(seed);
    (0..count).map(|_| Ask { name: random.one_of(&STATUSES).to_owned(), date: random.date() }).collect()
}

/// What was read, in its order: equal only if the rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) rows: u64,
    sum: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, amount: i64, note: &[u8]) {
        let length = u64::try_from(note.len()).unwrap_or(0);
        let last = u64::from(note.last().copied().unwrap_or(0));
        self.rows += 1;
        self.sum =
            self.sum.wrapping_mul(31).wrapping_add(amount.cast_unsigned()).wrapping_add(length ^ (last << 8));
    }

    pub(crate) fn of<'a>(orders: impl IntoIterator<Item = &'a Order>) -> Self {
        let mut tally = Self::default();
        orders.into_iter().for_each(|order| tally.add(order.amount, order.note.as_bytes()));
        tally
    }
}
