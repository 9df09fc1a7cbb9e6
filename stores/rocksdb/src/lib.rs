//! The embedded store for heavy writes and for data far beyond memory: a folder, on RocksDB.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("shop");
//! use keyloom_rocksdb::RocksStore;
//! use keyloom_store::{Batch, Blocking};
//!
//! let store = Blocking::new(RocksStore::open(&path)?);
//! store.commit(Batch::new().put("user:1", "Ada"))?;
//! assert_eq!(store.get(b"user:1", <[u8]>::to_vec)?.as_deref(), Some(b"Ada".as_slice()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A commit is judged and written by whoever makes it, one after the other; a thread syncs the log for all who wait:
//!
//! ```text
//! commit ─┐
//! commit ─┼─→ one at a time: conditions ─→ log and memory ─→ keeper thread: one sync ─→ answers
//! commit ─┘                                      └─→ sorted files, merged in the background
//! ```
//!
//! A batch of some megabytes becomes sorted files by itself, and goes neither through the log nor through memory. Tables
//! with stripes may have [trees of their own](Stripes), as RocksDB's column families: one log and one order of commits for
//! all of them.
//!
//! What it promises, and what it does not do, is in the crate's README.

#![forbid(unsafe_code)]

mod checkpoint;
mod config;
mod engine;
mod error;
mod holes;
mod ingest;
mod keeper;
mod pieces;
mod scan;
mod snapshot;
mod store;

pub use config::{Options, Stripes};
pub use snapshot::RocksSnapshot;
pub use store::{MAX_KEY, RocksStore};
