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
//! Reads go to the memory map, from any thread and any process. Writes go to one thread, which takes all that wait,
//! checks their conditions one after the other, and commits them with one sync:
//!
//! ```text
//! commit ─┐
//! commit ─┼─→ writer thread ─→ lock file ─→ write transaction ─→ sync ─→ answers
//! commit ─┘
//! ```
//!
//! What it promises, and what it does not yet do, is in the crate's README.

mod config;
mod error;
mod lock;
mod scan;
mod store;
mod value;
mod writer;

pub use config::Options;
pub use store::{LmdbSnapshot, LmdbStore, MAX_KEY};
