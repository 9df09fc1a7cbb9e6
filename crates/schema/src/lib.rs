//! Which fields a record has and which keys are woven of them.
//!
//! A [`Table`] has typed [`Column`]s, a primary key and [indexes](Index), each a [`Tree`] of sorted keys. A record is a
//! [`Document`]: the declared columns are checked, whatever else it holds is kept.
//!
//! ```
//! use keyloom_schema::{Index, Table};
//! let orders = Table::named("orders")
//!     .column("user_id", "str")
//!     .column("order_date", "timestamp")
//!     .column("order_id", "uuid")
//!     .nullable("status", "str")
//!     .key(["user_id", "order_date desc", "order_id"])
//!     .index(Index::on(["status", "order_date desc"]))
//!     .shards(16)
//!     .build()?;
//! assert_eq!(orders.primary().fields().to_string(), "str,timestamp:desc,uuid");
//! assert_eq!(orders.indexes()[0].name(), "orders_by_status_order_date");
//! # Ok::<(), keyloom_schema::Error>(())
//! ```

#![forbid(unsafe_code)]

mod builder;
mod catalog;
mod column;
mod compare;
pub mod document;
mod error;
mod format;
mod index;
mod ordering;
mod predicate;
pub mod record;
#[cfg(feature = "sql")]
pub mod sql;
mod table;
mod tree;

pub use builder::TableBuilder;
pub use column::{Column, Kind};
pub use document::Document;
pub use error::Error;
pub use format::{CompositeRules, Format, Placement};
pub use index::{Index, IndexBuilder, State};
pub use ordering::Warning;
pub use predicate::{Comparison, Operand, Predicate, RowOperand, Source, field, quoted, row};
pub use record::{FieldValue, Record};
pub use table::Table;
pub use tree::{Part, Tree};
