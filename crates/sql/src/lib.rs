//! SQL statements over tables.
//!
//! A [`Session`] runs statements over a [`Database`](keyloom_table::Database). A statement reads a bounded part of a
//! table, or is refused with the index that it lacks: `SET allow_scan = on` allows it to read everything.
//!
//! ```
//! use keyloom_sql::Session;
//! use keyloom_store::{MemoryStore, Wait};
//! use keyloom_table::Database;
//!
//! let mut session = Session::new(Database::open(MemoryStore::new()).wait().unwrap());
//! session.run("CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT)").wait()?;
//! let refused = session.run("SELECT id FROM orders WHERE status = 'open'").wait().unwrap_err();
//! assert_eq!(refused.to_string(), "\
//! refused: no index bounds `status = 'open'` on orders
//!   primary (id)   needs id
//! add:  CREATE INDEX orders_by_status ON orders (status)
//! or allow the scan: SET allow_scan = on");
//! # Ok::<(), keyloom_sql::Error>(())
//! ```
//!
//! [`Parameters`] are values that are given apart from the text; [`keyloom_schema::sql`] has the types in full.
//!
#![doc = include_str!("../../../docs/sql.md")]
#![forbid(unsafe_code)]

mod aggregate;
mod answer;
mod arithmetic;
mod context;
mod define;
mod error;
mod evaluate;
mod expression;
mod function;
mod insert;
mod modify;
mod parameters;
mod select;
mod session;
mod settings;
mod statement;
mod view;
mod writer;

pub use answer::{Answer, Rows};
pub use error::Error;
pub use parameters::Parameters;
pub use session::Session;
pub use statement::{Before, Statement, parse, parse_part};
