//! A query becomes bounded spans of keys, or a refusal that names the missing index.
//!
//! [`plan`] takes a [`Table`](keyloom_schema::Table), what is known of it ([`Statistics`], perhaps nothing) and a
//! [`Query`], and gives a [`Plan`]: which tree of keys is read, which spans of it, what is left to filter, whether the
//! order comes for free, and how many rows are read at most.
//!
//! ```
//! use keyloom_plan::{Class, Query, Statistics, plan};
//! use keyloom_schema::{Index, Table, field};
//! let orders = Table::named("orders")
//!     .column("user_id", "str")
//!     .column("day", "u32")
//!     .column("order_id", "u64")
//!     .column("status", "str")
//!     .key(["user_id", "day desc", "order_id"])
//!     .index(Index::on(["status", "day desc"]))
//!     .build()?;
//! let open = Query::new().filter(field("status").eq("open")).order_by_desc("day").limit(20);
//! let plan = plan(&orders, &Statistics::default(), &open)?;
//! assert_eq!(plan.index.as_deref(), Some("orders_by_status_day"));
//! assert_eq!((plan.class, plan.bound), (Class::Output, Some(21)));
//! println!("{}", plan.explain());
//! # Ok::<(), keyloom_plan::Error>(())
//! ```
//!
//! # The way through
//!
//! ```text
//! filter ─→ conditions ─→ for each tree: spans, order, class ─→ the best ─→ plan
//!           (constraint)  (spans, order, implies)               (planner)   or refusal (refuse)
//! ```
//!
//! - [`Query`]: filter, order, limit, fields, cursor, budget. [`Template`]: one whose values are given later.
//! - [`Plan`]: what is read; [`Plan::explain`] says it in words and bytes.
//! - [`Class`]: what bounds the rows that are read. A scan is [refused](Refusal) unless the query allows it.
//! - [`Wish`]: what an index must be like to serve a query.
//! - [`Cursor`]: where a page ended; [`Plan::resume`] is what is left behind it.
//!
//! # It is not
//!
//! - an optimizer of joins: a query asks one table;
//! - a guess: statistics choose between plans that are all right, and never make a wrong one;
//! - an executor: nothing here reads or waits.

#![forbid(unsafe_code)]

mod constraint;
mod cursor;
mod error;
mod explain;
mod implies;
mod order;
mod plan;
mod planner;
mod query;
mod refuse;
mod resume;
mod spans;
mod statistics;
mod template;
mod wish;

pub use cursor::{Cursor, Position, Resume};
pub use error::{Error, Stale};
pub use plan::{Access, Class, Order, Plan, Rejected, Stretch};
pub use planner::{plan, route};
pub use query::{Budget, OrderBy, Query};
pub use refuse::Refusal;
pub use spans::MAX_SPANS;
pub use statistics::{Statistics, TreeStatistics};
pub use template::{Given, Shortcut, Template};
pub use wish::{Wanted, Wish};
