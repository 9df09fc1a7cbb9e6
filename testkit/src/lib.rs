//! What proves Keyloom, for anyone to run on their own: the laws of keys and values built to break them, and the
//! behaviour of stores; processes that are killed and disks that lose what was not synced.
//!
//! ```
//! use keyloom_key::{Fields, Native};
//! use keyloom_testkit::{hurtful, laws};
//!
//! let fields: Fields = "str,u64:desc".parse().unwrap();
//! laws::check(&Native, &fields, &hurtful::rows(&fields)).unwrap();
//!
//! // A type of your own: any tuple of parts that has an order.
//! laws::check_type(&[("a".to_owned(), 1_u64), ("ab".to_owned(), 0), ("a\0".to_owned(), 2)]).unwrap();
//! ```

#![forbid(unsafe_code)]

pub mod behavior;
pub mod child;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod disk;
pub mod hurtful;
pub mod laws;
pub mod model;
pub mod random;
pub mod sqlite;
pub mod tables;
pub mod template;
pub mod transcripts;
mod weak;

pub use weak::{Never, Weak};
