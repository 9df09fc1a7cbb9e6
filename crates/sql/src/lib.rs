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
//! # Statements
//!
//! - `CREATE TABLE`, `CREATE INDEX` as [`keyloom_schema::sql`] has them, `ALTER TABLE … ADD COLUMN` (nullable),
//!   `DROP TABLE`, `DROP INDEX name [ON table]`, all with `IF [NOT] EXISTS`; `ANALYZE [table]`.
//! - `INSERT` of several rows, as one: all or none. `ON CONFLICT [(key)] DO NOTHING`, `DO UPDATE SET … [WHERE …]` with
//!   `excluded.column`, `INSERT OR REPLACE`, `INSERT OR IGNORE`; else a key that is there already is an error.
//! - `UPDATE … SET` with expressions on the record as it was, `DELETE`. Up to 1,000 records change as one; more, outside
//!   of a transaction, change in batches of as many, each as one, those that are still as WHERE says.
//! - `SELECT` of `*` or expressions, `WHERE`, `ORDER BY` columns, `LIMIT`, `OFFSET`; `COUNT(*)`, `COUNT(x)`, `MIN`,
//!   `MAX` of all rows. `MIN` and `MAX` of a column that a key orders read one key.
//! - `EXPLAIN` of `SELECT`, `UPDATE` and `DELETE`.
//! - `BEGIN`, `COMMIT`, `ROLLBACK`: no lock is held. Reads see the transaction's own writes and otherwise one state;
//!   `COMMIT` fails if something that was read has changed, and then the transaction has to be run again. A statement
//!   that fails while writing leaves nothing to do but `ROLLBACK`.
//! - `SET allow_scan = on|off`, `SET max_rows = n` (how many rows a statement may examine to filter or sort them).
//!
//! Values may be given apart from the text, as [`Parameters`]. What else SQL has is refused with a sentence that names
//! it.
//!
//! # Where answers differ from SQLite's
//!
//! - Types are checked, and nothing becomes another type by itself, but text beside a column of a UUID, a time or a
//!   decimal. `1 = '1'` is an error, and so is `n < 1.5` in WHERE where `n` holds integers.
//! - Names are taken as they are written, capitals and all; one that is not declared is an error.
//! - Truth is `TRUE` and `FALSE` and no number; only truth can stand for a condition.
//! - Decimals and integers are exact: an integer that grows too large becomes a decimal instead of a float, and what
//!   has more than 38 digits or no end is an error. A float makes the other side of an operator a float.
//! - `LIKE` minds capitals where the column does, and only `'start%'` is taken. `COLLATE NOCASE`, `lower` and `upper` know all of Unicode.
//! - `%` takes whole numbers, `length` and the like take texts, `CAST` of a text takes all of it.
//! - A field that is a list is like a value if one of its elements is.
//! - `INSERT OR REPLACE` replaces the record with the same key; one that has the same values in a unique index is an
//!   error. `UPDATE` cannot change the primary key.
//!
//! Nulls are as SQLite has them: smaller than every value in `ORDER BY`, unknown in comparisons, any number of them in
//! a unique index. So are integer division, `x / 0`, `substr`, `OFFSET` and a negative `LIMIT`.

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

pub use answer::{Answer, Rows};
pub use error::Error;
pub use parameters::Parameters;
pub use session::Session;
pub use statement::{Statement, parse};
