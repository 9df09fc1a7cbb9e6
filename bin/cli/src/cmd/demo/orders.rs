//! A year of orders, the same each time.

use keyloom::Document;
use keyloom::key::{Date, Decimal};

/// How many orders there are.
pub(crate) const ORDERS: u64 = 100_000;

/// How many users have made them.
const USERS: u64 = 1_000;

/// The first day of 2025, counted from 1970.
const NEW_YEAR: i32 = 20_089;

/// The table. Its key is what most questions are about: a user, then when, then what makes an order the only one.
pub(crate) const TABLE: &str = "\
CREATE TABLE orders (
  user_id TEXT, order_date DATE, order_id INTEGER,
  name TEXT, city TEXT, status TEXT, amount DECIMAL(10,2),
  PRIMARY KEY (user_id, order_date, order_id)
);
CREATE INDEX orders_by_status ON orders (status, order_date DESC);";

const FIRST: [&str; 20] = [
    "Ada", "Amir", "Bela", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana", "Ines", "Jonas", "Keiko",
    "Luca", "Mira", "Noor", "Olga", "Pablo", "Rosa", "Sven", "Tariq",
];

const LAST: [&str; 20] = [
    "Almeida", "Berg", "Costa", "Diaz", "Eriksen", "Fischer", "Garcia", "Haddad", "Ivanova", "Jensen", "Kim",
    "Lindberg", "Moreau", "Novak", "Okafor", "Petrov", "Rossi", "Sato", "Tanaka", "Weber",
];

const CITIES: [&str; 24] = [
    "Athens", "Bergen", "Bilbao", "Cork", "Dakar", "Gdansk", "Genoa", "Hanoi", "Izmir", "Kyoto", "Lagos",
    "Leeds", "Lima", "Lisbon", "Lyon", "Malmo", "Nairobi", "Oslo", "Porto", "Quito", "Riga", "Seoul",
    "Turin", "Vienna",
];

/// The order with this number, from 1: orders come in as the year goes on.
pub(crate) fn order(id: u64) -> Document {
    let user = mixed(id) % USERS + 1;
    let whose = mixed(user ^ 0x5EED);
    let name = format!("{} {}", pick(&FIRST, whose), pick(&LAST, whose >> 16));
    // Prices end in 9, as in most shops.
    let cents = mixed(id ^ 0xCE27) % 4_000 * 10 + 299;
    let status = match mixed(id ^ 0x57A7) % 100 {
        0..3 => "returned",
        3..8 => "cancelled",
        // What is not delivered yet came in last.
        _ if id > ORDERS - 4_000 => "open",
        _ => "delivered",
    };
    Document::new()
        .with("user_id", format!("U{user}"))
        .with("order_date", date(id))
        .with("order_id", id)
        .with("name", name)
        .with("city", pick(&CITIES, whose >> 32))
        .with("status", status)
        .with("amount", Decimal::new(cents.into(), -2))
}

/// The day on which an order comes in: in 2025, as many on each.
fn date(id: u64) -> Date {
    let day = (id - 1) * 365 / ORDERS;
    Date::from_days(NEW_YEAR.saturating_add(i32::try_from(day).unwrap_or_default()))
}

/// A number that looks like chance.
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ mixed >> 32
}

fn pick(words: &[&'static str], by: u64) -> &'static str {
    let count = u64::try_from(words.len()).unwrap_or(u64::MAX);
    usize::try_from(by % count).ok().and_then(|at| words.get(at)).copied().unwrap_or_default()
}
