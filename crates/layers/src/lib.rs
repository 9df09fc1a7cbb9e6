//! Layers in front of any store: a filter, a cache, compression of values. Each may be left out.
//!
//! ```text
//! get ─→ cache ─→ filter ─→ compression ─→ store        a value that is cached, a key that is not there: no store is asked
//! scan ─→ cache ─→ compression ─→ store                  a page that is cached: no store is asked
//! commit ─→ filter and cache are told ─→ compression ─→ store
//! ```
//!
//! ```
//! use keyloom_layers::{CacheOptions, Compression, FilterOptions, Layered, Layers};
//! use keyloom_store::{Batch, Blocking, MemoryStore, Wait};
//!
//! let layers = Layers {
//!     filter: Some(FilterOptions::default()),
//!     cache: Some(CacheOptions { bytes: 1 << 20, ..CacheOptions::default() }),
//!     compression: Some(Compression::Lz4),
//! };
//! let store = Blocking::new(Layered::open(MemoryStore::new(), layers).wait()?);
//! store.commit(Batch::new().put("user:1", "Ada"))?;
//! for _ in 0..2 {
//!     assert_eq!(store.get(b"user:1", <[u8]>::to_vec)?.as_deref(), Some(b"Ada".as_slice()));
//! }
//! assert_eq!(store.inner().stats().hits, 1);
//! # Ok::<(), keyloom_store::Error>(())
//! ```
//!
//! # What each does, and asks
//!
//! - **Filter**: ten bits a key tell that a key is not there, but for one in a hundred. It is filled page by page by the
//!   gets that find nothing, so opening costs nothing; [`Layered::fill`] fills it at once.
//! - **Cache**: what gets have found, and that they found nothing, and pages of scans that were asked for twice, for five
//!   minutes at most. A snapshot uses what has not been written since it was taken, so it is one state still;
//!   [`get_many`](keyloom_store::Read::get_many) of the newest state goes past the cache.
//! - **Compression**: each value by itself, LZ4 where speed counts and Zstd where room does. A value says how it is
//!   written, so the choice can change at any time, and one that does not shrink is left as it is. A store that compresses
//!   its own blocks, as RocksDB does, needs none of this and does it better: neighbours share what they have in common.
//!
//! The first two are refused where others may write behind their back: the store must be this process's alone
//! ([`Capability::exclusive`](keyloom_store::Capability::exclusive)), and every commit must go through the layer and its
//! clones. A commit that is given up before it has ended may still happen: its keys are never cached again.
//!
//! # What drops an entry
//!
//! Commits, and nothing else has to: a commit marks the slots of its keys, and of their prefixes, before the store has it,
//! and an entry counts only while its slot is as it was. So there is no `invalidate`: whoever could call it would know of a
//! write that did not go through the layer, and such a store is refused. Pages go by prefix: one is dropped by every write
//! to the longest prefix that its whole span has, or to a shorter one while that is not in use yet, which is a few writes
//! too many and never one too few. It costs a commit the same however many pages there are.

#![forbid(unsafe_code)]

mod cache;
mod compression;
mod filter;
mod format;
mod front;
mod layered;
mod layers;
mod lengths;
mod pending;
mod rows;
mod slots;
mod snapshot;
mod stats;

pub use compression::{Compression, UnknownCompression};
pub use layered::Layered;
pub use layers::{CacheOptions, FilterOptions, Layers};
pub use snapshot::LayeredSnapshot;
pub use stats::LayerStats;
