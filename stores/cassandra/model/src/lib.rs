//! The protocols of the cluster as models: every order of their steps is tried, within small bounds.
//!
//! | model | who | what must hold in every state |
//! |---|---|---|
//! | [`shards`] | two writers, two movers, a reader | no acknowledged row is lost, no deleted row comes back |
//! | [`index`] | two or three updaters of one record, a reader that clears up | an entry of a committed write is there; nobody is told a wrong outcome |
//! | [`claims`] | two or three writers of two records | a unique value has one owner |
//!
//! A crash is a process that takes no more steps, so each model has one at every step. A statement under way takes effect at
//! any later step, or never. A conditional statement that times out stays under way.
//!
//! The bounds (how many writers, writes, attempts, time-outs) stand with each run in `tests/protocols.rs`; within them nothing
//! is left out. `cargo test --release` in this folder runs all of it in under a minute; with `-- --nocapture` it tells the
//! number of states and the way to each break.
//!
//! Each model takes a [`broken`](shards::Broken) rule, and the tests see that the checker finds what goes wrong without it.

pub mod claims;
pub mod index;
pub mod shards;
