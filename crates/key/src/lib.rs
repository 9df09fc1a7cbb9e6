//! Typed values to sorted bytes and back.
//!
//! A key is the bytes that a sorted store sorts by. Made here, keys sort as their values do, field by field; different
//! values never give the same bytes; and none is a prefix of another, so that the keys of user `U1` are one span that
//! holds nothing of `U10`.
//!
//! ```
//! use keyloom_key::{DecodeKey, Desc, EncodeKey, KeyStr};
//! let mut key = Vec::new();
//! ("U1", Desc(7_u64)).encode_key(&mut key)?;
//! assert_eq!(key, b"U1\x00\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xF8");
//! let (user, Desc(number)) = <(KeyStr, Desc<u64>)>::decode_key(&key)?;
//! assert_eq!((user.as_str()?, number), ("U1", 7));
//! # Ok::<(), keyloom_key::Error>(())
//! ```
//!
//! # The way through
//!
//! - [`EncodeKey`] and [`DecodeKey`]: keys of Rust tuples, in the [native] format.
//! - [`KeyFormat`]: keys of [`Fields`] and [`Value`]s that are known at run time, in any format: [`Native`],
//!   [`lexkey`], [`rowkey`], [`composite`], [`keystone`]. What a format can promise is a value, [`Promises`].
//! - [`Span`] and [`prefix_end`]: where a read of a prefix or a range begins and ends.
//! - [`placement`]: which shard or stripe a value belongs to.
//!
//! # It is not
//!
//! - a serializer: a key holds what is searched and sorted by, not the record;
//! - self-describing: a key is read with its fields;
//! - lenient: what cannot be kept exactly is refused by name, never rounded or cut.

#![forbid(unsafe_code)]
#![deny(clippy::little_endian_bytes, clippy::host_endian_bytes)]

pub mod casefold;
mod compare;
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
