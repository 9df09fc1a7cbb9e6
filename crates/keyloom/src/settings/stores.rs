//! What each store makes of the settings, and which it does not have.

use keyloom_store::Durability;
use keyloom_table::Error;

use super::{Preset, Settings, WriteBuffer, refused};
use crate::Location;

impl Settings {
    /// These settings as the store of this place has them: with those of the preset, but for what only the preset says
    /// and the store does not have. What else it does not have is refused.
    ///
    /// ```
    /// use keyloom::{Location, Settings};
    /// let settings: Settings = "preset=high-write&cache=on".parse()?;
    /// assert_eq!(settings.at(&Location::Memory)?.to_string(), "preset=high-write&cache=on");
    /// let settings: Settings = "durability=written".parse()?;
    /// assert!(settings.at(&Location::Memory).is_err());
    /// # Ok::<(), keyloom::Error>(())
    /// ```
    pub fn at(self, location: &Location) -> Result<Self, Error> {
        let preset = self.preset.map(Preset::settings).unwrap_or_default();
        let mut settings = self.effective();
        if settings.log.is_some() && !matches!(location, Location::File(_)) {
            let reason = "has no setting log: it is for files of LMDB's";
            leave(&mut settings.log, preset.log, location, reason)?;
        }
        let is_logged = settings.log != Some(false);
        let wrong = |durability| no_durability(location, durability, is_logged);
        if let Some(reason) = settings.durability.and_then(wrong) {
            leave(&mut settings.durability, preset.durability, location, reason)?;
            if on_disk(location) {
                // It promises more than was asked, and says so.
                settings.durability = Some(Durability::Synced);
            }
        }
        let durability = settings.durability.unwrap_or_default();
        let wrong = |most| no_buffer(location, durability, most, is_logged);
        if let Some(reason) = settings.write_buffer.and_then(wrong) {
            leave(&mut settings.write_buffer, preset.write_buffer, location, reason)?;
        }
        if settings.store_cache.is_some() && !has_cache(location) {
            let reason = "has no setting store_cache: it is for redb and RocksDB";
            leave(&mut settings.store_cache, preset.store_cache, location, reason)?;
        }
        if settings.families.is_some() && !has_families(location) {
            let reason = "has no setting families: it is for RocksDB";
            leave(&mut settings.families, preset.families, location, reason)?;
        }
        Ok(settings)
    }

    /// What a commit promises, with the room that `buffered` has.
    #[cfg(any(feature = "lmdb", feature = "redb", feature = "rocksdb"))]
    fn promise(self) -> Durability {
        match (self.durability.unwrap_or_default(), self.write_buffer) {
            (Durability::Buffered { interval, .. }, Some(WriteBuffer::Writes(entries))) => {
                Durability::Buffered { entries, interval }
            }
            (durability, _) => durability,
        }
    }

    /// How a file is opened. With a filter or a cache, by this process alone.
    #[cfg(feature = "lmdb")]
    pub fn lmdb(self) -> keyloom_lmdb::Options {
        use super::Filter;
        use keyloom_lmdb::{FilterOptions, LogOptions, Options};
        let settings = self.effective();
        let layers = settings.layers();
        let filter = match (settings.filter, layers.filter) {
            // One is enough, and none if that is said.
            (Some(Filter::Off), _) | (_, Some(_)) => None,
            _ => {
                let options = FilterOptions::default();
                Some(FilterOptions { bytes: settings.filter_bytes.unwrap_or(options.bytes), ..options })
            }
        };
        let log = LogOptions::default();
        let log = match settings.write_buffer {
            None => log,
            Some(WriteBuffer::Writes(entries)) => LogOptions { entries, ..log },
            Some(WriteBuffer::Bytes(bytes)) => LogOptions { bytes, ..log },
        };
        Options {
            durability: settings.promise(),
            log: (settings.log != Some(false)).then_some(log),
            exclusive: layers.filter.is_some() || layers.cache.is_some(),
            filter,
            ..Options::default()
        }
    }

    /// How a file of redb's is opened.
    #[cfg(feature = "redb")]
    pub fn redb(self) -> keyloom_redb::Options {
        let settings = self.effective();
        let options = keyloom_redb::Options::default();
        keyloom_redb::Options {
            durability: settings.promise(),
            cache: settings.store_cache.unwrap_or(options.cache),
            ..options
        }
    }

    /// How a folder of RocksDB's is opened.
    #[cfg(feature = "rocksdb")]
    pub fn rocksdb(self) -> keyloom_rocksdb::Options {
        use keyloom_rocksdb::{Options, Stripes};
        let settings = self.effective();
        let mut options = Options { durability: settings.promise(), ..Options::default() };
        if let Some(WriteBuffer::Bytes(bytes)) = settings.write_buffer {
            options.tree_buffer = bytes;
            // One that is written to a file and one that is written to must fit, and the log must have room for both: else
            // they would be written earlier than was asked.
            options.buffer = options.buffer.max(bytes.saturating_mul(2));
            options.log =
                options.log.max(u64::try_from(options.buffer).unwrap_or(u64::MAX).saturating_mul(2));
        }
        options.cache = settings.store_cache.unwrap_or(options.cache);
        options.stripes = match settings.families {
            None | Some(0) => Stripes::Prefix,
            Some(families) => Stripes::Families(families),
        };
        options
    }
}

/// Takes away a setting that is the preset's; another is refused.
fn leave<T: PartialEq>(
    setting: &mut Option<T>,
    preset: Option<T>,
    location: &Location,
    reason: &str,
) -> Result<(), Error> {
    if *setting != preset {
        return Err(refused(format!("{location} {reason}")));
    }
    *setting = None;
    Ok(())
}

/// Whether there is something that can be synced.
fn on_disk(location: &Location) -> bool {
    match location {
        Location::File(_) => true,
        #[cfg(feature = "redb")]
        Location::Redb(_) => true,
        #[cfg(feature = "rocksdb")]
        Location::Rocks(_) => true,
        _ => false,
    }
}

fn has_cache(location: &Location) -> bool {
    on_disk(location) && !matches!(location, Location::File(_))
}

fn has_families(location: &Location) -> bool {
    match location {
        #[cfg(feature = "rocksdb")]
        Location::Rocks(_) => true,
        _ => false,
    }
}

/// Why it cannot promise that.
fn no_durability(location: &Location, durability: Durability, is_logged: bool) -> Option<&'static str> {
    match (location, durability) {
        (Location::File(_), Durability::Written) if !is_logged => Some(
            "has no durability written with log=off: what LMDB does not sync may ruin the file: write synced or buffered",
        ),
        #[cfg(feature = "redb")]
        (Location::Redb(_), Durability::Written) => Some(
            "has no durability written: what redb does not sync is in memory only: write synced or buffered",
        ),
        _ if on_disk(location) => None,
        _ => Some("has no setting durability: it is for files"),
    }
}

/// Why it has no such buffer.
fn no_buffer(
    location: &Location,
    durability: Durability,
    most: WriteBuffer,
    is_logged: bool,
) -> Option<&'static str> {
    match (location, durability, most) {
        _ if !on_disk(location) => Some("has no setting write_buffer: it is for files"),
        (_, Durability::Buffered { .. }, WriteBuffer::Bytes(_)) => Some(
            "has no write_buffer in bytes with durability=buffered: write a number of writes, as in 1000",
        ),
        (_, Durability::Buffered { .. }, WriteBuffer::Writes(_)) => None,
        _ if !is_logged => {
            Some("has no write_buffer with log=off: every commit goes into the file: leave one of both out")
        }
        #[cfg(feature = "redb")]
        (Location::Redb(_), ..) => {
            Some("has no write_buffer without durability=buffered: what is synced is in the file")
        }
        #[cfg(feature = "rocksdb")]
        (Location::Rocks(_), _, WriteBuffer::Writes(_)) => {
            Some("has no write_buffer in writes without durability=buffered: write bytes, as in 64MB")
        }
        _ => None,
    }
}
