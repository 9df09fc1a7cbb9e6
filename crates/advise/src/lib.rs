//! How large tables are, how their keys spread, and which indexes queries need.
//!
//! [`measure`] goes once through a table and its indexes, in bounded memory. [`advise`] takes what it found and a list
//! of queries, and says which indexes to create, which queries each serves, what it costs, and which are of no use.
//!
//! ```
//! use keyloom_advise::{advise, measure};
//! use keyloom_schema::{Document, field};
//! use keyloom_store::{MemoryStore, Wait};
//! use keyloom_table::{Database, Query};
//!
//! let database = Database::open(MemoryStore::new()).wait()?;
//! database.define("CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, day INTEGER)").wait()?;
//! let orders = database.table("orders").wait()?;
//! for id in 0..100_i64 {
//!     let order = Document::new().with("id", id).with("day", id / 10);
//!     orders.put(order.with("status", if id % 2 == 0 { "open" } else { "paid" })).wait()?;
//! }
//! let measured = measure(&orders, |_| ()).wait()?;
//! assert_eq!((measured.rows(), measured.column("status").unwrap().distinct), (100, 2));
//!
//! let open = Query::new().filter(field("status").eq("open"));
//! let newest = open.clone().order_by_desc("day").limit(10);
//! let advice = advise(&*orders.definition()?, &measured, &database.statistics(), &[open, newest])?;
//! assert_eq!(advice.create.len(), 1, "one index serves both");
//! assert_eq!(advice.create[0].sql, "CREATE INDEX orders_by_status_day ON orders (status, day DESC)");
//! # Ok::<(), keyloom_table::Error>(())
//! ```
//!
//! # The way through
//!
//! ```text
//! table ─→ measure ─→ Measured ─┐
//!          (sketch, partitions) ├─→ advise ─→ Advice
//! queries ─→ Wish (plan) ───────┘   (layout: wishes that one key grants are merged)
//! ```
//!
//! # The rules
//!
//! A key is ordered by how its columns are asked for, not by how many values they have:
//!
//! 1. columns that are compared with `=` or `IN` come first;
//! 2. then the order that is asked for, or one range: behind it nothing bounds a read;
//! 3. among those of rule 1, the one with the most different values comes first, unless another query has only some of
//!    them: those come first, so that one index serves both.
//!
//! Each proposal says which of them made it what it is. A query that reads less than [`SMALL`] rows needs no index.

#![forbid(unsafe_code)]

mod advise;
mod layout;
mod measure;
mod partitions;
mod reasons;
mod sketch;

pub use advise::{Advice, Proposal, Redundant, SMALL, Served, advise};
pub use measure::{ColumnMeasure, Measured, Place, TreeMeasure, measure};
pub use partitions::{Newest, Partition, Partitions};
pub use sketch::Distinct;
