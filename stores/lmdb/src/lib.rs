//! The embedded store: one file, on LMDB.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("shop.klm");
//! use keyloom_lmdb::LmdbStore;
//! use keyloom_store::{Batch, Blocking};
//!
//! let store = Blocking::new(LmdbStore::open(&path)?);
//! store.commit(Batch::new().put("user:1", "Ada"))?;
//! assert_eq!(store.get(b"user:1", <[u8]>::to_vec)?.as_deref(), Some(b"Ada".as_slice()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Reads go to the memory map, from any thread and any process. Commits that come one upon the other are written to a log
//! first, whose sync they share, and are read from memory until one thread takes them into the file:
//!
//! ```text
//! commit ─┐              ┌─→ log ─→ sync ─→ answers
//! commit ─┼─→ conditions ┤
//! commit ─┘              └─→ memory ─→ writer thread, many at once and sorted ─→ write transaction ─→ sync
//! ```
//!
//! A commit that is synced and comes alone, or that is large, goes into the file by itself. So does every commit where there is no
//! [log](Options::log): the writer thread takes all that wait and gives them one sync. With
//! [`Durability::Buffered`](keyloom_store::Durability::Buffered) a commit is answered when it is in memory, and its log is
//! synced soon; without a log the file is.
//!
//! What it promises, and what it does not yet do, is in the crate's README.

mod arena;
mod beside;
mod buffer;
mod config;
mod copy;
mod early;
mod engine;
mod error;
mod filter;
mod generation;
mod habit;
mod large_pages;
mod lock;
mod log;
mod logger;
mod pages;
mod parked;
mod part;
mod prefetch;
mod reach;
mod room;
mod scan;
mod snapshot;
mod store;
mod tally;
mod transaction;
mod view;
mod writer;

pub use config::{FilterOptions, LogOptions, Options};
pub use copy::Compacted;
pub use filter::FilterStats;
pub use snapshot::LmdbSnapshot;
pub use store::{LmdbStore, MAX_KEY};
