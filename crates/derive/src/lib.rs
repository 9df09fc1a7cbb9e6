//! `#[derive(Record)]`: a struct as the record of a table.
//!
//! ```
//! # use keyloom_derive::Record;
//! # use keyloom_key::{Decimal, Timestamp, Uuid};
//! # use keyloom_schema::Record as _;
//! #[derive(Record)]
//! #[record(table = "orders", key(user_id, order_date desc, order_id), shards = 16)]
//! #[record(index(status, order_date desc), covering(amount), only = "status <> 'done'")]
//! #[record(index(tags), name = "by_tag")]
//! # #[record(crate = "keyloom_schema")]
//! struct Order {
//!     user_id: String,
//!     order_date: Timestamp,
//!     order_id: Uuid,
//!     #[record(kind = "decimal(10,2)")]
//!     amount: Decimal,
//!     status: Option<String>,
//!     tags: Vec<String>,
//!     #[record(rename = "type")]
//!     kind: u8,
//! }
//!
//! let orders = Order::table().build()?;
//! assert_eq!(orders.primary().text(), "(user_id, order_date desc, order_id)");
//! assert_eq!(orders.indexes()[0].name(), "orders_by_status_order_date");
//! # Ok::<(), keyloom_schema::Error>(())
//! ```
//!
//! | in `#[record(…)]` of the struct | |
//! |---|---|
//! | `table = "name"` | the table's name |
//! | `key(a, b desc, c nulls_last)` | the primary key: fields, and how they run |
//! | `shards = n` or `stripes = n` | spread by the first field of the key |
//! | `format = "lexkey"` | the format of the primary key; native without |
//! | `expires = field` | records are gone from that instant on |
//! | `crate = "path"` | where `keyloom_schema` is; `::keyloom::schema` without |
//!
//! An index has an attribute of its own, as many as there are indexes: `index(a, b desc)` and beside it perhaps
//! `name = "…"`, `unique`, `covering(a, b)`, `only = "condition in SQL"`, `shards`, `stripes`, `format`.
//!
//! A field may say `rename = "name of the column"` and `kind = "type of the column"`. Keys, indexes and `expires` name
//! the fields of the struct; the condition of `only` names columns.

#![forbid(unsafe_code)]

mod attribute;
mod expand;

/// Implements `Record` for a struct. See the [crate].
#[proc_macro_derive(Record, attributes(record))]
pub fn record(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
