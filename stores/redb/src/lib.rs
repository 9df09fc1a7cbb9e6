//! The embedded store without C: one file, on redb, which is Rust alone.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("shop.redb");
//! use keyloom_redb::RedbStore;
//! use keyloom_store::{Batch, Blocking};
//!
//! let store = Blocking::new(RedbStore::open(&path)?);
//! store.commit(Batch::new().put("user:1", "Ada"))?;
//! assert_eq!(store.get(b"user:1", <[u8]>::to_vec)?.as_deref(), Some(b"Ada".as_slice()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! One thread writes: it takes all commits that wait into one transaction, with one sync, and then shows the new state to
//! those who read. They read from any thread and wait for nobody:
//!
//! ```text
//! commit ─┐
//! commit ─┼─→ writer thread ─→ conditions ─→ transaction ─→ sync ─→ the state that is read ─→ answers
//! commit ─┘
//! ```
//!
//! What it promises, and what it does not do, is in the crate's README.

#![forbid(unsafe_code)]

mod config;
mod error;
mod scan;
mod snapshot;
mod store;
mod view;
mod writer;

pub use config::Options;
pub use snapshot::RedbSnapshot;
pub use store::{MAX_KEY, RedbStore};
