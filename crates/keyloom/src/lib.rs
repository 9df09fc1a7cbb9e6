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
//! - [`Prepared`], [`Writer`]: what is asked and written often, with names looked for and plans made once.
//! - [`Index`] and [`Items`]: a key and its sorted set of values; raw byte keys.
//! - [`Url`]: a database by its URL: its [`Location`], whichever store that names ([`AnyStore`]), and its [`Settings`],
//!   alone or as a [`Preset`]; [`layers`] are a filter, a cache and compression in front of any store.
//! - [`store`]: sorted bytes, the trait below; [`MemoryStore`], [`lmdb`] in one file, [`redb`] without C,
//!   [`rocksdb`] for heavy writes, and [`cassandra`] on a cluster.
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
//! - `redb`: the store in one file without C.
//! - `rocksdb`: the store in a folder, for heavy writes and data far beyond memory. It builds for a quarter of an hour.
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
        feature = "redb",
        feature = "rocksdb",
        feature = "sql"
    )),
    allow(rustdoc::broken_intra_doc_links)
)]

mod any;
mod location;
mod settings;
mod url;

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
pub use keyloom_plan::{Cursor, Given, Query};
#[cfg(feature = "redb")]
#[doc(inline)]
pub use keyloom_redb as redb;
#[cfg(feature = "rocksdb")]
#[doc(inline)]
pub use keyloom_rocksdb as rocksdb;
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
    KeyKind, KeyMeaning, KeyPiece, Keys, Loaded, Loader, Match, Merged, Owner, PageLimits, Prepared, Records,
    Row, Segment, Table, Transaction, Update, Verified, When, Writer, Wrong,
};

#[doc(inline)]
pub use keyloom_layers as layers;
pub use location::Location;
pub use settings::{Cache, Filter, Preset, Settings, WriteBuffer};
pub use url::{Url, UrlStore};

/// The example of docs/tuning.md too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tuning.md")]
struct Tuning;

/// The README's example, compiled and run with the others.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
