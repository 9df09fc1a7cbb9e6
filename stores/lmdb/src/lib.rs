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
//! With [`Durability::Buffered`](keyloom_store::Durability::Buffered) a commit is answered when it is in memory, and the
//! thread writes what has gathered:
//!
//! ```text
//! commit ─→ buffer ─→ answer
//!              └─→ flusher thread, every few milliseconds ─→ write transaction ─→ sync
//! ```
//!
//! What it promises, and what it does not yet do, is in the crate's README.

mod buffer;
mod condition;
mod config;
mod copy;
mod engine;
mod error;
mod flusher;
mod lock;
mod part;
mod scan;
mod snapshot;
mod store;
mod transaction;
mod value;
mod writer;

pub use config::Options;
pub use copy::Compacted;
pub use snapshot::LmdbSnapshot;
pub use store::{LmdbStore, MAX_KEY};
