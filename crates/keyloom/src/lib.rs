//! Keyloom weaves the fields of a record into one sorted key, so that any sorted store answers exact, prefix and range
//! queries with bounded reads and never a full scan.
//!
//! This is the crate to depend on. A [`Database`] is a store with tables in it, in memory or in a file:
//!
#![cfg_attr(feature = "lmdb", doc = "```")]
#![cfg_attr(not(feature = "lmdb"), doc = "```ignore")]
//! use keyloom::lmdb::LmdbStore;
//! use keyloom::{Database, Query, Record, Wait, field};
//!
//! #[derive(Debug, PartialEq, Record)]
//! #[record(table = "orders", key(user, number desc))]
//! #[record(index(status, number desc))]
//! struct Order {
//!     user: String,
//!     number: i64,
//!     status: Option<String>,
//! }
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("shop.klm");
//! let database = Database::open(LmdbStore::open(path)?).wait()?;
//! let orders = database.open_records::<Order>().wait()?;
//! orders.put(&Order { user: "U1".into(), number: 7, status: Some("open".into()) }).wait()?;
//!
//! let open = Query::new().filter(field("status").eq("open")).limit(10);
//! assert_eq!(orders.query(&open).wait()?[0].number, 7);
//! println!("{}", orders.table().explain(&open).wait()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The way through
//!
//! - [`Database`], [`Table`], [`Transaction`]: documents or structs ([`Records`]) with their indexes, written as one.
//! - [`schema`]: what a table is, by builder, by `#[derive(Record)]` or by SQL text ([`Database::define`]).
//! - [`Query`], [`field`], [`plan`]: what is asked, and how it is answered; [`Table::explain`] shows it.
//! - [`Index`] and [`Items`]: a key and its sorted set of values; raw byte keys.
//! - [`Location`]: a database by its URL, whichever store that names ([`AnyStore`]).
//! - [`store`]: sorted bytes, the trait below; [`MemoryStore`], [`lmdb`] in one file, and [`cassandra`] on a cluster.
//! - [`key`]: typed values to sorted bytes and back, for those who have a sorted store of their own.
//!
//! Calls are async; [`Wait::wait`] waits for them where there is no runtime.
//!
//! # It is not
//!
//! - a database for questions that nobody thought of: a query that no key serves is refused, with the index to create,
//!   unless it says `allow_scan`;
//! - relational: there are no joins; a record may hold lists and maps, and transactions span tables;
//! - lenient: what cannot be kept exactly is refused by name, never rounded or cut.
//!
//! # Features
//!
//! - `lmdb` (on by default): the store in one file.
//! - `cassandra`: the store on a Cassandra cluster.
//! - `sql`: statements over tables ([`sql`]).
//! - `advise`: how large tables are, how their keys spread, and which indexes queries need ([`advise`]).
//! - `json`: documents as JSON, and keys as JSON arrays ([`key::json`]), as the command line and the vectors have them.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(
        feature = "advise",
        feature = "cassandra",
        feature = "json",
        feature = "lmdb",
        feature = "sql"
    )),
    allow(rustdoc::broken_intra_doc_links)
)]

mod any;
mod location;

pub use any::{AnySnapshot, AnyStore};
#[cfg(feature = "advise")]
#[doc(inline)]
pub use keyloom_advise as advise;
#[cfg(feature = "cassandra")]
#[doc(inline)]
pub use keyloom_cassandra as cassandra;
pub use keyloom_derive::Record;
#[doc(inline)]
pub use keyloom_key as key;
#[cfg(feature = "lmdb")]
#[doc(inline)]
pub use keyloom_lmdb as lmdb;
#[doc(inline)]
pub use keyloom_plan as plan;
#[doc(inline)]
pub use keyloom_plan::{Cursor, Query};
#[doc(inline)]
pub use keyloom_schema as schema;
#[doc(inline)]
pub use keyloom_schema::{Document, field, row};
#[cfg(feature = "sql")]
#[doc(inline)]
pub use keyloom_sql as sql;
#[doc(inline)]
pub use keyloom_store as store;
#[doc(inline)]
pub use keyloom_store::{MemoryStore, Wait};
#[doc(inline)]
pub use keyloom_table::{
    Change, Clock, Database, Difference, Error, Examined, Existing, Filled, Found, Index, ItemQuery, Items,
    KeyKind, KeyMeaning, KeyPiece, Keys, Loaded, Loader, Match, Merged, Owner, PageLimits, Records, Row,
    Segment, Table, Transaction, Update, Verified, When, Wrong,
};

pub use location::Location;

/// The README's example, compiled and run with the others.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
