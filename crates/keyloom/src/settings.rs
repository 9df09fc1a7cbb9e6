//! How a database is opened: what a commit promises, how much is gathered, filtered and cached.
//!
//! | name | value | without it |
//! |---|---|---|
//! | `preset` | `high-write`, `high-read`, `balanced`: all but the compression | none |
//! | `durability` | `synced`, `written`, `buffered`: what a [commit promises](Durability) | `synced` |
//! | `write_buffer` | the most in memory that is not in the file yet: [writes or bytes](WriteBuffer) | the store's |
//! | `log` | `on`, `off`: whether small commits to a file of LMDB's go to a log first | `on` |
//! | `filter` | `on`, `off`, or how many keys are expected | the store's own, if it has one |
//! | `filter_bytes` | the most bytes that the filter may take, or the store's own, as in `64MB` | 32 MiB, or what the expected keys take |
//! | `cache` | `on` (64 MiB), `off`, bytes as in `256MB`, or a share of the free memory as in `30%` | `off` |
//! | `cache_ttl` | how long an entry may be used, as in `5m`, `30s`, `100ms` | `5m` |
//! | `compression` | `none`, `lz4`, `zstd`: how new values are written | as the database was told last |
//! | `store_cache` | bytes of the file that redb, or RocksDB, may keep in memory, as in `512MB` | 256 MiB |
//! | `families` | `off`, or in how many trees of RocksDB's the stripes of a new table lie | `off` |
//!
//! What a store does not have is [refused](Settings::at). In a [URL](crate::Url) they stand behind a `?` with `&` between them, in a [file](Settings::read) one a line.

mod stores;
mod text;

use std::path::Path;
use std::time::Duration;

use keyloom_layers::{CacheOptions, Compression, FilterOptions, Layers};
use keyloom_store::Durability;
use keyloom_table::Error;

/// How a database is opened. What is `None` is left to whoever is asked next: the [preset](Self::preset), then the default.
///
/// ```
/// use keyloom::{Cache, Preset, Settings};
/// let own = Settings { cache: Some(Cache::Off), ..Preset::HighRead.settings() };
/// let read: Settings = "preset=high-read&cache=off".parse()?;
/// assert_eq!(read.effective().write_buffer, own.write_buffer);
/// assert_eq!(read.effective().cache, Some(Cache::Off));
/// # Ok::<(), keyloom::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// What the others are, where they are not said.
    pub preset: Option<Preset>,
    /// What a commit promises.
    pub durability: Option<Durability>,
    /// The most in memory that is not in the file yet.
    pub write_buffer: Option<WriteBuffer>,
    /// Whether small commits go to a log first: LMDB.
    pub log: Option<bool>,
    /// Whether a filter tells which keys are not there.
    pub filter: Option<Filter>,
    /// The most bytes that it may take, or the one that a file on LMDB has of its own. With more keys than fit there is none.
    pub filter_bytes: Option<usize>,
    /// What is kept of what was read.
    pub cache: Option<Cache>,
    /// How long it is kept.
    pub cache_ttl: Option<Duration>,
    /// How new values are written.
    pub compression: Option<Compression>,
    /// How many bytes of its file a store may keep in memory: redb, RocksDB.
    pub store_cache: Option<usize>,
    /// In how many trees the stripes of new tables lie, at most 256: RocksDB. 0 is the one tree that all tables share.
    pub families: Option<u16>,
}

/// The most that may be in memory and not in the file yet.
///
/// | store | `synced`, `written` | `buffered` |
/// |---|---|---|
/// | a file (LMDB) | writes (700,000) or bytes (96 MiB): what is in the log only | writes (1,000): what a crash loses |
/// | redb | none: what is synced is in the file | writes |
/// | RocksDB | bytes of one tree (64 MiB): what is in the log only | writes |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriteBuffer {
    /// So many writes.
    Writes(usize),
    /// So many bytes of keys and values.
    Bytes(usize),
}

/// Settings that go together, as the composite-key specification has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Many writes: `written`, gathered by 10,000; no cache, and no filter but the store's own.
    HighWrite,
    /// Many reads: a filter, a cache of 30 % of the free memory; writes gathered by 1,000.
    HighRead,
    /// Both: a filter, a cache of 64 MiB; writes gathered by 5,000.
    Balanced,
}

/// Whether there is a filter in front of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Filter {
    /// None, and none of the store's own either.
    Off,
    /// One that begins small and grows.
    On,
    /// One that begins with room for so many keys.
    Keys(usize),
}

/// How large the cache is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cache {
    /// There is none.
    Off,
    /// 64 MiB.
    On,
    /// So many bytes.
    Bytes(usize),
    /// So many hundredths of the memory that is free when the database is opened.
    Percent(u8),
}

impl Preset {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::HighWrite, Self::HighRead, Self::Balanced];

    /// Its name: `high-write`, `high-read` or `balanced`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HighWrite => "high-write",
            Self::HighRead => "high-read",
            Self::Balanced => "balanced",
        }
    }

    /// What it stands for.
    pub const fn settings(self) -> Settings {
        let (durability, write_buffer, filter, cache) = match self {
            // It says nothing of the filter: `off` would turn off the one that a file has of its own.
            Self::HighWrite => (Durability::Written, 10_000, None, Cache::Off),
            Self::HighRead => (Durability::Synced, 1_000, Some(Filter::On), Cache::Percent(30)),
            Self::Balanced => (Durability::Synced, 5_000, Some(Filter::On), Cache::On),
        };
        Settings {
            preset: Some(self),
            durability: Some(durability),
            write_buffer: Some(WriteBuffer::Writes(write_buffer)),
            log: None,
            filter,
            filter_bytes: None,
            cache: Some(cache),
            cache_ttl: None,
            compression: None,
            store_cache: None,
            families: None,
        }
    }
}

impl Settings {
    /// These settings, and those of `other` where these say nothing.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        Self {
            preset: self.preset.or(other.preset),
            durability: self.durability.or(other.durability),
            write_buffer: self.write_buffer.or(other.write_buffer),
            log: self.log.or(other.log),
            filter: self.filter.or(other.filter),
            filter_bytes: self.filter_bytes.or(other.filter_bytes),
            cache: self.cache.or(other.cache),
            cache_ttl: self.cache_ttl.or(other.cache_ttl),
            compression: self.compression.or(other.compression),
            store_cache: self.store_cache.or(other.store_cache),
            families: self.families.or(other.families),
        }
    }

    /// These settings, and those of the preset where these say nothing.
    #[must_use]
    pub fn effective(self) -> Self {
        self.preset.map_or(self, |preset| self.over(preset.settings()))
    }

    /// The settings in a file: `name = value` on each line, in quotes or not, and `#` before what is not meant. TOML is
    /// read so.
    pub fn read(path: &Path) -> Result<Self, Error> {
        text::read(path)
    }

    /// The layers that stand in front of the store.
    pub fn layers(self) -> Layers {
        let Self { filter, filter_bytes, cache, cache_ttl, compression, .. } = self.effective();
        let FilterOptions { keys: few, bytes } = FilterOptions::default();
        let filter = match filter {
            None | Some(Filter::Off) => None,
            Some(Filter::On) => Some((few, bytes)),
            // Who expects so many has the bytes: ten bits for each, and for as many again.
            Some(Filter::Keys(keys)) => Some((keys, bytes.max(keys.saturating_mul(3)))),
        };
        let filter = filter.map(|(keys, bytes)| FilterOptions { keys, bytes: filter_bytes.unwrap_or(bytes) });
        let bytes = match cache {
            None | Some(Cache::Off) => None,
            Some(Cache::On) => Some(CacheOptions::default().bytes),
            Some(Cache::Bytes(bytes)) => Some(bytes),
            Some(Cache::Percent(share)) => Some(free_memory() / 100 * usize::from(share)),
        };
        let time_to_live = cache_ttl.unwrap_or(CacheOptions::default().time_to_live);
        Layers { filter, cache: bytes.map(|bytes| CacheOptions { bytes, time_to_live }), compression }
    }
}

fn refused(reason: String) -> Error {
    Error::Store(keyloom_store::Error::Refused(reason.into()))
}

/// The bytes of memory that are free, or can be made so; a gibibyte where the system does not tell.
fn free_memory() -> usize {
    let told = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1_024)
    });
    // A container may have less than the machine.
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|text| text.trim().parse().ok()).unwrap_or(usize::MAX);
    told.unwrap_or(1 << 30).min(limit)
}

#[cfg(test)]
mod tests;
