//! The folder as RocksDB has it: a tree that all share, families for stripes, and one for what the folder says of itself.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use keyloom_store::{Batch, Durability, Error};
use rocksdb::{
    BlockBasedOptions, BoundColumnFamily, Cache, ColumnFamilyDescriptor, DBCompressionType, DBWithThreadMode,
    IteratorMode, LogLevel, MultiThreaded, ReadOptions, WriteBatch, WriteOptions,
};

use crate::config::Options;
use crate::error::{engine, file, is_locked};
use crate::holes::{self, MARK};
use crate::pieces::{Family, Pieces, Striped};

/// The engine's handle.
pub(crate) type Db = DBWithThreadMode<MultiThreaded>;

/// The tree that all share, as RocksDB calls it.
const DEFAULT: &str = "default";
/// The family of what the folder says of itself.
const META: &str = "meta";
/// The format, so that another program's folder is not taken for ours.
const FORMAT: (&[u8], &[u8]) = (b"format", b"keyloom rocksdb 1");
/// What stands before a prefix whose keys have stripes.
const STRIPED: &[u8] = b"striped:";
/// Written where a commit writes nothing else, so that it has a sequence of its own.
const COMMIT: (&[u8], &[u8]) = (b"commit", b"");

/// An open folder.
pub(crate) struct Engine {
    pub(crate) db: Db,
    pub(crate) options: Options,
    /// How trees are written, those that are made later too.
    pub(crate) tree: rocksdb::Options,
    /// How the newest state is read.
    pub(crate) newest: ReadOptions,
    pieces: RwLock<Arc<Pieces>>,
    /// The names of the families.
    names: Vec<String>,
    /// Whether the next write is [marked](MARK).
    mark: AtomicBool,
    /// How batches are written: without a sync, which is the keeper's.
    unsynced: WriteOptions,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("db", &self.db).finish_non_exhaustive()
    }
}

impl Engine {
    pub(crate) fn open(path: &Path, options: Options) -> Result<Self, Error> {
        let new = is_new(path)?;
        let tree = tree_options(&options);
        let all = db_options(&options, tree.clone());
        let names: Vec<String> = (0..=u8::MAX).map(|number| format!("stripe-{number:03}")).collect();
        let open = || {
            let known = if new { Ok(vec![DEFAULT.into(), META.into()]) } else { Db::list_cf(&all, path) };
            let families = known?.into_iter().map(|name| ColumnFamilyDescriptor::new(name, tree.clone()));
            Db::open_cf_descriptors(&all, path, families)
        };
        let start = Instant::now();
        let db = loop {
            if !new {
                holes::cut(path).map_err(|error| file(path, &error))?;
            }
            match open() {
                Ok(db) => break db,
                Err(error) if is_locked(&error) && start.elapsed() < options.busy_timeout => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) if is_locked(&error) => {
                    let reason = "another process has it open, and only one can: close it there, or wait";
                    return Err(Error::Busy(format!("{}: {reason}", path.display()).into()));
                }
                Err(error) => return Err(engine(error)),
            }
        };
        let newest = ReadOptions::default();
        let mark = AtomicBool::new(true);
        let opened = Self {
            db,
            options,
            tree,
            newest,
            pieces: RwLock::default(),
            names,
            mark,
            unsynced: WriteOptions::default(),
        };
        if new {
            let mut first = opened.batch(0);
            first.put_cf(&opened.meta()?, FORMAT.0, FORMAT.1);
            opened.write(first).map_err(engine)?;
            opened.db.flush_wal(true).map_err(engine)?;
            // A folder's name must survive a crash as the folder does.
            if let Some(parent) = path.parent() {
                let synced = File::open(parent).and_then(|parent| parent.sync_all());
                synced.map_err(|error| file(parent, &error))?;
            }
        }
        opened.read_meta(path)?;
        Ok(opened)
    }

    /// Sees that the folder is ours, and which prefixes have stripes.
    fn read_meta(&self, path: &Path) -> Result<(), Error> {
        let found = self.db.get_cf(&self.meta()?, FORMAT.0).map_err(engine)?.unwrap_or_default();
        if found != FORMAT.1 {
            let (path, found, ours) = (path.display(), found.escape_ascii(), FORMAT.1.escape_ascii());
            return Err(Error::Damaged(
                format!("{path}: its format is `{found}`, and this is `{ours}`").into(),
            ));
        }
        let mut pieces = Pieces::default();
        for row in self.db.iterator_cf(&self.meta()?, IteratorMode::Start) {
            let (key, value) = row.map_err(engine)?;
            if let Some(prefix) = key.strip_prefix(STRIPED) {
                let added = Striped::parse(&value).is_some_and(|striped| pieces.add(prefix, striped));
                if !added {
                    let reason = format!("{}: how stripes lie cannot be read", path.display());
                    return Err(Error::Damaged(reason.into()));
                }
            }
        }
        self.set_pieces(pieces);
        Ok(())
    }

    fn set_pieces(&self, pieces: Pieces) {
        *self.pieces.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pieces);
    }

    pub(crate) fn pieces(&self) -> Arc<Pieces> {
        Arc::clone(&self.pieces.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn meta(&self) -> Result<Arc<BoundColumnFamily<'_>>, Error> {
        let missing =
            || Error::Damaged("the folder is another program's, or damaged: it has no `meta`".into());
        self.db.cf_handle(META).ok_or_else(missing)
    }

    /// The family of stripes of this number, if it was ever written to.
    pub(crate) fn family(&self, number: u8) -> Option<Arc<BoundColumnFamily<'_>>> {
        self.names.get(usize::from(number)).and_then(|name| self.db.cf_handle(name))
    }

    /// The tree of a family, if it was ever written to.
    pub(crate) fn tree(&self, family: Family) -> Option<Arc<BoundColumnFamily<'_>>> {
        match family {
            None => self.db.cf_handle(DEFAULT),
            Some(number) => self.family(number),
        }
    }

    /// The same as [`family`](Self::family), made if it is not there. Nobody else may write meanwhile.
    pub(crate) fn family_to_write(&self, number: u8) -> Result<Arc<BoundColumnFamily<'_>>, Error> {
        if let Some(family) = self.family(number) {
            return Ok(family);
        }
        if let Some(name) = self.names.get(usize::from(number)) {
            self.db.create_cf(name, &self.tree).map_err(engine)?;
        }
        self.family(number).ok_or_else(|| Error::Failed(format!("no family {number}").into()))
    }

    /// A batch without writes, with room for so many bytes.
    fn batch(&self, bytes: usize) -> WriteBatch {
        let mut batch = WriteBatch::with_capacity_bytes(bytes);
        if self.mark.load(Ordering::SeqCst) {
            batch.put_log_data(MARK);
        }
        batch
    }

    /// Writes a batch, one at a time.
    pub(crate) fn write(&self, batch: WriteBatch) -> Result<(), rocksdb::Error> {
        let written = self.db.write_opt(batch, &self.unsynced);
        // It is not known which numbers one that failed has taken.
        self.mark.store(written.is_err(), Ordering::SeqCst);
        written
    }

    /// The next write is behind others that have numbers and are not in the log.
    pub(crate) fn leaves_numbers_out(&self) {
        self.mark.store(true, Ordering::SeqCst);
    }

    /// The writes of a batch, each for its family, and one of our own if there is none.
    pub(crate) fn writes(&self, batch: &Batch) -> Result<WriteBatch, Error> {
        let pieces = self.pieces();
        let mut all = self.batch(batch.size() + 16 * batch.writes().len());
        if batch.writes().len() == 0 {
            all.put_cf(&self.meta()?, COMMIT.0, COMMIT.1);
        }
        for (key, value) in batch.writes() {
            match (pieces.family(key), value) {
                (None, Some(value)) => all.put(key, value),
                (None, None) => all.delete(key),
                (Some(number), Some(value)) => all.put_cf(&self.family_to_write(number)?, key, value),
                (Some(number), None) => match self.family(number) {
                    Some(family) => all.delete_cf(&family, key),
                    // It is not there. The commit has to be written all the same.
                    None => all.put_cf(&self.meta()?, COMMIT.0, COMMIT.1),
                },
            }
        }
        Ok(all)
    }

    /// Gives the keys of a prefix families, unless some are there already. Nobody may write meanwhile.
    pub(crate) fn stripe(&self, prefix: &[u8], striped: Striped) -> Result<(), Error> {
        let mut pieces = Pieces::clone(&self.pieces());
        if self.has_any(prefix)? || !pieces.add(prefix, striped) {
            return Ok(());
        }
        let mut row = self.batch(0);
        row.put_cf(&self.meta()?, [STRIPED, prefix].concat(), striped.to_bytes());
        self.write(row).map_err(|error| crate::error::unknown(&error))?;
        self.db.flush_wal(true).map_err(|error| crate::error::unknown(&error))?;
        self.set_pieces(pieces);
        Ok(())
    }

    fn has_any(&self, prefix: &[u8]) -> Result<bool, Error> {
        let mut rows = self.db.raw_iterator();
        rows.seek(prefix);
        rows.status().map_err(engine)?;
        Ok(rows.key().is_some_and(|key| key.starts_with(prefix)))
    }
}

/// Whether there is nothing yet. A folder with files and without a database is refused: they are someone's.
fn is_new(path: &Path) -> Result<bool, Error> {
    match fs::read_dir(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(file(path, &error)),
        Ok(_) if path.join("CURRENT").exists() => Ok(false),
        Ok(files) => {
            // What one that was cut off while it was made has left.
            let ours = |name: &str| name == "LOCK" || name.starts_with("LOG") || name == "IDENTITY";
            let others = files.filter_map(Result::ok).map(|file| file.file_name());
            let other = others
                .map(|name| name.to_string_lossy().into_owned())
                .find(|name| !ours(name) && !name.starts_with("MANIFEST") && !name.ends_with(".dbtmp"));
            match other {
                None => Ok(true),
                Some(name) => {
                    let reason = format!("{}: has files ({name}) and no database", path.display());
                    Err(Error::Damaged(reason.into()))
                }
            }
        }
    }
}

/// How a tree lies in its files.
fn tree_options(options: &Options) -> rocksdb::Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_bloom_filter(10.0, false);
    blocks.set_block_cache(&Cache::new_lru_cache(options.cache));
    // Filters and indexes are of the cache, so that memory has one bound.
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_cache_index_and_filter_blocks_with_high_priority(true);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    let mut tree = rocksdb::Options::default();
    tree.set_block_based_table_factory(&blocks);
    tree.set_write_buffer_size(options.tree_buffer);
    tree.set_compression_type(DBCompressionType::Lz4);
    tree.set_bottommost_compression_type(DBCompressionType::Zstd);
    tree.set_level_compaction_dynamic_level_bytes(true);
    tree
}

/// How the folder is opened.
fn db_options(options: &Options, tree: rocksdb::Options) -> rocksdb::Options {
    let mut all = tree;
    all.create_if_missing(true);
    all.create_missing_column_families(true);
    all.set_db_write_buffer_size(options.buffer);
    all.set_max_total_wal_size(options.log);
    all.set_manual_wal_flush(matches!(options.durability, Durability::Buffered { .. }));
    all.set_bytes_per_sync(1 << 20);
    let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 8));
    all.set_max_background_jobs(i32::try_from(cores).unwrap_or(2));
    all.set_log_level(LogLevel::Warn);
    all.set_keep_log_file_num(2);
    all.set_max_open_files(512);
    all
}
