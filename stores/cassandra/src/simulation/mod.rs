//! A cluster in memory, on an executor of its own: everything that happens follows from a seed.
//!
//! Time is a number that goes on when nobody has anything to do. Each statement of a client takes effect at some moment
//! and is answered at another, in any order with those of others; by the [`Faults`] it is answered late or never known,
//! its effect comes much later, its client sleeps, crashes, or has a wrong clock. What takes effect, does so for all: a
//! quorum reads what another has read or what was acknowledged.
//!
//! ```
//! use std::sync::Arc;
//! use keyloom_cassandra::{Cluster, Id, Kind, Order, Row, Settings};
//! use keyloom_cassandra::simulation::{Faults, Simulation};
//!
//! let simulation = Simulation::new(7, Faults::none());
//! let client = simulation.client();
//! let order = Order::new(Arc::new(client.clone()), Settings::default());
//! let row = Row { key: b"user".to_vec(), id: order.id(), kind: Kind::Member, value: vec![] };
//! let found = simulation.block_on(&client, async move {
//!     order.insert(vec![row.clone()]).await?;
//!     order.read(b"user").await
//! });
//! assert_eq!(found.unwrap().unwrap().len(), 1);
//! ```

mod client;
mod executor;
mod faults;
mod local;
mod observed;
mod random;
mod state;
mod statements;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use executor::{Handle, Simulation};
pub use faults::Faults;
pub use local::Local;
pub use observed::{Asked, Observed};
pub use random::Random;
pub use state::Stored;
