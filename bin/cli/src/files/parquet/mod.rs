//! Parquet files, by its columns and records.
//!
//! | column | Parquet |
//! |---|---|
//! | bool, i8 … i64, u8 … u64, f32, f64 | BOOLEAN, INT32 or INT64 with INTEGER(bits, signed), FLOAT, DOUBLE |
//! | decimal(p,s) | `FIXED_LEN_BYTE_ARRAY(16)` with DECIMAL(p,s) |
//! | decimal | text, which holds any scale |
//! | str, bytes, uuid | `BYTE_ARRAY` with STRING, `BYTE_ARRAY`, `FIXED_LEN_BYTE_ARRAY(16)` with UUID |
//! | timestamp(3, 6, 9), date | INT64 with TIMESTAMP(UTC, unit), INT32 with DATE |
//! | duration | INT64, nanoseconds |
//! | lists, tuples, maps | `BYTE_ARRAY` with JSON |
//!
//! A file that a table was written to says in its metadata what the table was.

mod read;
mod write;

pub(crate) use read::{Cell, Rows};
pub(crate) use write::{Shape, Writer};

/// The name of the metadata that hold the table's statement.
const TABLE: &str = "keyloom.table";
/// The name of the metadata that hold the name of the column with the fields that the table does not declare.
const REST: &str = "keyloom.rest";
