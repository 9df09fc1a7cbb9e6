//! How a cluster grows: a simulation of splits, of the spread over nodes and of what clients remember of the map, and a
//! model of what that costs up to 10¹¹ rows.
//!
//! It is deterministic: the same [`Costs`] and [`Size`] give the same bytes, which [`report()`] hands over as files.

#![forbid(unsafe_code)]

mod cache;
mod costs;
mod growth;
mod keys;
mod plot;
mod report;
mod splits;
mod spread;

pub use costs::{Cost, Costs};
pub use keys::Keys;
pub use report::{Size, report};
pub use splits::{Moment, Splits};
