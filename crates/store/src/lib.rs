//! Sorted bytes: what every store does, and the store in memory.
//!
//! A [`Store`] keeps keys in order, lends their values, scans spans of them by pages, and commits batches with
//! conditions. It knows nothing of records: keys are bytes to it, made by `keyloom-key`.
//!
//! ```
//! use std::ops::ControlFlow;
//! use keyloom_key::Span;
//! use keyloom_store::{Batch, Blocking, Direction, Limits, MemoryStore};
//!
//! let store = Blocking::new(MemoryStore::new());
//! store.commit(Batch::new().put("user:1", "Ada").put("user:2", "Grace").require_absent("user:1"))?;
//!
//! let mut names = Vec::new();
//! let page = store.scan(&Span::prefix("user:"), Direction::Backward, Limits::default(), |_key, value| {
//!     names.push(String::from_utf8_lossy(value).into_owned());
//!     ControlFlow::Continue(())
//! })?;
//! assert_eq!(names, ["Grace", "Ada"]);
//! assert_eq!(page.rest, None);
//! # Ok::<(), keyloom_store::Error>(())
//! ```
//!
//! The trait is async, because a cluster is, with static dispatch: no future is boxed and no value is copied on the way
//! to the closure that looks at it. [`Blocking`] and [`Wait`] are for programs that are not async. What a store can do
//! beyond the least is its [`Capability`]; the testkit's behaviour suite picks its cases by it. What a commit promises
//! when it returns is its [`Durability`]. An [`Overlay`] reads writes that are not committed yet as if they were.
//! What several stores need below is here too: [`check`] for conditions, [`Aging`] for snapshots, [`Registry`] for files
//! that a process must not open twice, [`sealed`] for values with checksums, [`bloom`] for keys that are not there,
//! [`Thread`] for threads that are waited for.

#![forbid(unsafe_code)]

mod aging;
mod batch;
mod blocking;
pub mod bloom;
mod capability;
mod check;
mod durability;
mod error;
mod fingerprint;
mod memory;
mod overlay;
mod registry;
mod scan;
pub mod sealed;
mod store;
mod thread;

pub use aging::{Aged, Aging};
pub use batch::{About, Batch, Condition};
pub use blocking::{Blocking, Wait, wait};
pub use capability::Capability;
pub use check::{Look, Now, check};
pub use durability::Durability;
pub use error::Error;
pub use fingerprint::{Fingerprint, Fingerprinter};
pub use memory::{MemorySnapshot, MemoryStore};
pub use overlay::{Overlaid, Overlay};
pub use registry::{Registry, absolute};
pub use scan::{Counter, Direction, Limits, Page};
pub use store::{Read, Sequence, Store};
pub use thread::Thread;
