//! Keyloom weaves the fields of a record into one sorted key, so that any sorted store answers exact, prefix and
//! range queries with bounded reads.
//!
//! This is the crate to depend on. So far it holds the heart: [`key`], which turns typed values into sorted bytes and
//! back, and below it [`store`], the trait of what keeps them sorted, in memory or in a file ([`lmdb`]). A key of
//! Rust's own types:
//!
//! ```
//! use keyloom::key::{DecodeKey, Desc, EncodeKey, KeyStr};
//!
//! let mut key = Vec::new();
//! ("U1", Desc(7_u64)).encode_key(&mut key)?;
//! let (user, Desc(number)) = <(KeyStr, Desc<u64>)>::decode_key(&key)?;
//! assert_eq!((user.as_str()?, number), ("U1", 7));
//! # Ok::<(), keyloom::key::Error>(())
//! ```
//!
//! A key of fields that are known only when the program runs, and the span of all keys of one user:
//!
//! ```
//! use keyloom::key::{Fields, KeyFormat, Native};
//!
//! let fields: Fields = "str,timestamp:desc,uuid".parse()?;
//! let span = Native.prefix(&fields, &["U1".into()])?;
//! assert_eq!(span.start, b"U1\x00\x01");
//! assert_eq!(span.end.as_deref(), Some(b"U1\x00\x02".as_slice()));
//! # Ok::<(), keyloom::key::Error>(())
//! ```
//!
//! # It is not
//!
//! - a serializer for values: a key holds the fields that are searched and sorted by, not the record;
//! - self-describing: a key is read with its fields, which are the schema's to remember.
//!
//! # Features
//!
//! - `lmdb` (on by default): the store in one file.
//! - `json`: keys as JSON arrays ([`key::json`]), as the command line and the published vectors have them.

#![forbid(unsafe_code)]
#![cfg_attr(not(all(feature = "json", feature = "lmdb")), allow(rustdoc::broken_intra_doc_links))]

pub use keyloom_derive::Record;
#[doc(inline)]
pub use keyloom_key as key;
#[cfg(feature = "lmdb")]
#[doc(inline)]
pub use keyloom_lmdb as lmdb;
#[doc(inline)]
pub use keyloom_plan as plan;
#[doc(inline)]
pub use keyloom_schema as schema;
pub use keyloom_schema::{Document, field, row};
#[doc(inline)]
pub use keyloom_store as store;
pub use keyloom_store::{MemoryStore, Wait};
pub use keyloom_table::*;

/// The README's example, compiled and run with the others.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
