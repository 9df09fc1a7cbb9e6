//! Records with several indexes, written as one.
//!
//! A [`Database`] is a store with tables in it. A [`Table`] keeps records, which are documents with typed key fields,
//! and every index of them: a write changes the record and all its entries as one, or nothing. A [`Query`] is planned
//! before it is run: it reads a bounded part of a tree, or is refused with the index that it lacks.
//!
//! ```
//! use keyloom_schema::{Document, Index, Table, field};
//! use keyloom_store::{MemoryStore, Wait};
//! use keyloom_table::{Database, Query};
//!
//! let database = Database::open(MemoryStore::new()).wait()?;
//! let orders = Table::named("orders")
//!     .column("user", "str")
//!     .column("number", "i64")
//!     .nullable("status", "str")
//!     .key(["user", "number"])
//!     .index(Index::on(["status", "number desc"]));
//! let orders = database.create_table(orders).wait()?;
//! for (user, number, status) in [("U1", 1_i64, "open"), ("U1", 2, "paid"), ("U10", 3, "open")] {
//!     let order = Document::new().with("user", user).with("number", number).with("status", status);
//!     orders.put(order.with("note", "kept too")).wait()?;
//! }
//! let open = Query::new().filter(field("status").eq("open")).order_by_desc("number").limit(10);
//! let found = orders.query(&open).wait()?;
//! assert_eq!(found.records[0].key, ["U10".into(), 3_i64.into()]);
//! assert_eq!(found.examined.rows, 2);
//! # Ok::<(), keyloom_table::Error>(())
//! ```
//!
//! # The way through
//!
//! - [`Table::put`], [`Table::update`], [`Table::delete`], and [`Change`]s with conditions; [`Table::load`] for many.
//! - [`Table::get`], [`Table::query`], [`Table::page`], [`Table::explain`].
//! - [`Table::prepare`] and [`Table::writer`], for what is asked and written often: names are looked for once.
//! - [`Database::begin`]: transactions over several tables, serializable.
//! - [`Database::create_index`] on a table that has records, [`Database::verify`], [`Database::repair`],
//!   [`Database::analyze`].
//! - [`Database::inspect_key`]: what a raw key of the store is.
//! - [`Index`]: a key and its sorted set of values, without a record. [`Items`]: raw byte keys.
//!
//! All calls are async, because a cluster is; [`keyloom_store::Wait`] waits for them where there is no runtime.

#![forbid(unsafe_code)]

mod analyze;
mod apply;
mod blind;
mod build;
mod catalog;
mod change;
mod database;
mod define;
mod each;
mod entries;
mod error;
mod execute;
mod expire;
mod fresh;
mod index;
mod inspect;
mod items;
mod keyed;
mod keyspace;
mod load;
mod loader;
mod pause;
mod places;
mod prepared;
mod reader;
mod records;
mod row;
mod segments;
mod sort;
mod staged;
mod sweep;
mod table;
mod transaction;
mod verify;
mod view;
mod writer;

pub use analyze::TreeCounter;
pub use build::Filled;
pub use change::{Change, Update, When};
pub use database::{Clock, Database};
pub use entries::entry_sizes;
pub use error::Error;
pub use execute::{Examined, PageLimits};
pub use index::{Index, Keys};
pub use inspect::{KeyKind, KeyMeaning, KeyPiece, Owner};
pub use items::{ItemQuery, Items};
pub use keyloom_plan::{Cursor, Given, Plan, Query};
pub use load::Loaded;
pub use loader::{Existing, Loader, Merged};
pub use prepared::Prepared;
pub use reader::{Found, Match};
pub use records::Records;
pub use row::Row;
pub use segments::Segment;
pub use table::Table;
pub use transaction::Transaction;
pub use verify::{Difference, Verified, Wrong};
pub use writer::Writer;
