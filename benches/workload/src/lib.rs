//! What every benchmark of Keyloom shares: the orders, what is asked of them, Keyloom as one of the systems, and clocks.
//!
//! ```text
//! (user_id, order_date, order_id) → amount, status, note     about 150 bytes
//! (status, order_date)            → the record
//! ```
//!
//! `keyloom bench` asks the stores of Keyloom, `benches/compare` also others. Every system reads the same rows in the same
//! random order, and what they found is compared.
//!
//! ```
//! use keyloom::MemoryStore;
//! use keyloom_workload::{Keyloom, Questions, Reads, Shop, Tally, Work};
//! let shop = Shop::of(1_000);
//! let system = Keyloom::open(MemoryStore::new())?;
//! system.load_all(shop.orders(1_000, 0))?;
//! let questions = Questions::new(&shop, 1_000, |most| most.min(100));
//! let found = questions.ask(Work::Get, &system)?;
//! assert_eq!(found, Tally::of(&questions.picked));
//! # Ok::<(), keyloom_workload::Error>(())
//! ```

pub mod allocated;
mod keyloom;
mod layout;
mod orders;
mod questions;
pub mod seed;
mod times;

pub use keyloom::Keyloom;
pub use layout::{Layout, end, record_of};
pub use orders::{Ask, Order, Random, Shop, Tally};
pub use questions::{Questions, Work};
pub use times::{Latency, Times};

/// Why a run failed.
pub type Error = Box<dyn std::error::Error>;

/// A system that has the orders, to be read. Each call answers one question after the other.
pub trait Reads {
    /// The records with the keys of these orders.
    fn get(&self, orders: &[Order]) -> Result<Tally, Error>;
    /// All orders of each user.
    fn prefix(&self, asks: &[Ask]) -> Result<Tally, Error>;
    /// 20 orders of each user, from the date on or, backward, up to it.
    fn range(&self, asks: &[Ask], backward: bool) -> Result<Tally, Error>;
    /// The 20 newest orders of each status up to the date.
    fn index(&self, asks: &[Ask]) -> Result<Tally, Error>;
    /// Every order, by the primary key.
    fn scan(&self) -> Result<Tally, Error>;
}

/// A system that takes orders, from several threads.
pub trait Writes: Reads + Sync {
    /// Adds orders, each a commit of its own. When it returns, all of them are what a commit promises, and nothing more.
    fn write(&self, orders: &[Order]) -> Result<(), Error>;
}

/// Adds orders from as many threads as there are clients.
pub fn write_with(clients: usize, system: &dyn Writes, orders: &[Order]) -> Result<(), Error> {
    if clients <= 1 {
        return system.write(orders);
    }
    let share = orders.len().div_ceil(clients).max(1);
    std::thread::scope(|scope| {
        let clients: Vec<_> = orders
            .chunks(share)
            .map(|orders| scope.spawn(move || system.write(orders).map_err(|error| error.to_string())))
            .collect();
        for client in clients {
            client.join().map_err(|_| "a client has panicked")??;
        }
        Ok(())
    })
}

/// Reads how many there are to be: `1000`, `100k`, `10M`.
pub fn count(text: &str) -> Result<usize, String> {
    let (digits, times) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => text.strip_suffix(['m', 'M']).map_or((text, 1), |digits| (digits, 1_000_000)),
    };
    let number = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(times));
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("`{text}` is no number of orders: 1000, 100k or 10M"))
}
