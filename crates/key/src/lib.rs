//! scratch
#![forbid(unsafe_code)]
pub mod casefold;
pub mod composite;
mod decimal;
mod error;
mod field;
mod format;
#[cfg(feature = "json")]
pub mod json;
pub mod keystone;
pub mod lexkey;
pub mod native;
mod numbers;
pub mod placement;
pub mod rowkey;
mod span;
mod time;
mod value;

pub use decimal::{Decimal, MAX_DIGITS};
pub use error::{Error, Refusal};
pub use field::{Collation, Direction, Field, Fields, Nulls, Scale, Type, Width};
pub use format::{KeyFormat, Promises};
pub use native::{DecodeKey, DecodePart, Desc, EncodeKey, EncodePart, KeyStr, Native, NoCase, NullsLast};
pub use span::{Span, prefix_end};
pub use time::{Date, Duration, Precision, Timestamp};
pub use uuid::Uuid;
pub use value::Value;
