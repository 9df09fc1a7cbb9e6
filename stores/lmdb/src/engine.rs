//! The file as LMDB has it: two tables, one for the data and one for what the file says of itself.

use std::fs::File;
use std::io::ErrorKind;
use std::iter::empty;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, RoTxn, WithoutTls};
use keyloom_key::Span;
use keyloom_store::bloom::hash;
use keyloom_store::{Direction, Error, Limits, Look, Now, Page, Sequence, sealed};

use crate::config::Options;
use crate::error::{engine, file};
use crate::filter::{Adding, Filter, Keys};
use crate::habit;
use crate::log::Salts;
use crate::pages::{Map, Root, Tree};
use crate::parked::Parked;
use crate::reach;
use crate::scan::{self, Written};
use crate::store::MAX_KEY;
use crate::view::View;

/// The names of both tables.
const DATA: &str = "data";
const META: &str = "meta";

/// What the file says of itself, so that another engine's file is not taken for ours.
const FORMAT: (&[u8], &[u8]) = (b"format", b"keyloom lmdb 1");

/// The key of the last sequence among the file's own facts.
pub(crate) const SEQUENCE: &[u8] = b"sequence";

/// The key of the logs' salts among them.
pub(crate) const SALTS: &[u8] = b"salts";

/// An open file. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    pub(crate) env: Env<WithoutTls>,
    pub(crate) data: Database<Bytes, Bytes>,
    pub(crate) meta: Database<Bytes, Bytes>,
    /// Every table by its name.
    names: Database<Bytes, Bytes>,
    /// Where the file is in memory, if its pages can be read without LMDB.
    pub(crate) map: Option<Map>,
    newest: Arc<Newest>,
    pub(crate) filter: Option<Arc<Filter>>,
    pub(crate) parked: Arc<Parked>,
}

/// The file as it was at one time.
pub(crate) struct Reading {
    pub(crate) txn: RoTxn<'static, WithoutTls>,
    /// Where the rows are, if they can be read without LMDB.
    pub(crate) root: Option<Root>,
    /// Which keys there are at the most, if that is known.
    keys: Option<Arc<Keys>>,
}

impl Reading {
    /// Whether it is known that there is no key with this hash.
    #[inline]
    pub(crate) fn lacks(&self, hash: u64) -> bool {
        self.keys.as_ref().is_some_and(|keys| keys.lacks(hash))
    }
}

/// The newest of LMDB's transactions whose sequence was looked up, so that it need not be again.
///
/// Both numbers only grow, and the sequence is put down first: whoever finds the transaction finds its sequence, or that
/// of a later one.
#[derive(Debug, Default)]
struct Newest {
    transaction: AtomicUsize,
    sequence: AtomicU64,
}

impl Engine {
    pub(crate) fn open(path: &Path, options: Options) -> Result<Self, Error> {
        let created = !path.exists();
        let env = open_env(path, options)?;
        check_length(path, &env)?;
        // Readers that died in the middle would keep old pages for ever.
        env.clear_stale_readers().map_err(engine)?;
        let (data, meta) = open_databases(&env)?;
        if created && let Some(folder) = path.parent() {
            sync_folder(folder)?;
        }
        let txn = env.read_txn().map_err(engine)?;
        let names = env.open_database(&txn, None).map_err(engine)?;
        let names: Database<Bytes, Bytes> =
            names.ok_or_else(|| Error::Damaged("the file has no tables".into()))?;
        let table = names.get(&txn, DATA.as_bytes()).map_err(engine)?;
        let map = table.and_then(|table| Map::around(table, env.stat().page_size, path));
        txn.commit().map_err(engine)?;
        let filter = options.filter.map(|options| Arc::new(Filter::new(options)));
        Ok(Self { env, data, meta, names, map, newest: Arc::default(), filter, parked: Arc::default() })
    }

    /// The newest state that is in the file. Who has read it may [park](Parked::put) it.
    pub(crate) fn read(&self) -> Result<Reading, Error> {
        if let Some(reading) = self.parked.take()
            && reading.txn.id() == self.env.info().last_txn_id
        {
            return Ok(reading);
        }
        let txn = match self.env.clone().static_read_txn() {
            Err(heed::Error::Mdb(heed::MdbError::ReadersFull)) => {
                self.parked.clear();
                self.env.clone().static_read_txn().map_err(engine)?
            }
            begun => begun.map_err(engine)?,
        };
        let root = match self.map {
            None => None,
            Some(_) => {
                let table = self.names.get(&txn, DATA.as_bytes()).map_err(engine)?.unwrap_or_default();
                Root::of(table, pages(&self.env))
            }
        };
        let keys = self.filter.as_ref().and_then(|filter| filter.keys(txn.id()));
        Ok(Reading { txn, root, keys })
    }

    /// How many bytes of the file its newest state takes.
    pub(crate) fn length(&self) -> u64 {
        length(&self.env)
    }

    /// Makes the file as long as its newest state says: what was put and deleted in one transaction is counted, and never
    /// written. The caller has the right to write.
    pub(crate) fn lengthen(&self) {
        let (path, needed) = (self.env.path(), self.length());
        if std::fs::metadata(path).is_ok_and(|file| file.len() < needed) {
            // If it cannot be, whoever opens it looks whether anything leads there.
            let _ = File::options().write(true).open(path).and_then(|file| file.set_len(needed));
        }
    }

    /// Notes that a key was not there.
    fn missed(&self) {
        if let Some(filter) = &self.filter {
            filter.missed();
        }
    }

    /// Whether keys should [come into the filter](Self::fill).
    pub(crate) fn is_filling(&self) -> bool {
        let filter = self.filter.as_ref().filter(|_| self.map.is_some());
        filter.is_some_and(|filter| filter.is_wanted(self.env.info().last_txn_id))
    }

    /// Takes some keys of the file into the filter. Only the thread that writes does.
    pub(crate) fn fill(&self) {
        if let Some(filter) = &self.filter {
            match self.read() {
                Ok(reading) => match self.tree(&reading) {
                    // Of one who was killed behind its root, readers see what was before.
                    Some(tree) if reading.txn.id() == self.env.info().last_txn_id => {
                        filter.fill(&tree, reading.txn.id());
                    }
                    _ => filter.put_off(),
                },
                // Whoever reads is told.
                Err(_) => filter.put_off(),
            }
        }
    }

    /// Begins a transaction that says which keys it puts.
    pub(crate) fn adding(&self, txn: &RoTxn<'_>) -> Option<Adding<'_>> {
        self.filter.as_ref().map(|filter| filter.adding(txn.id()))
    }

    /// The rows of a reading, if they can be read without LMDB.
    #[inline]
    pub(crate) fn tree<'t>(&self, reading: &'t Reading) -> Option<Tree<'t>> {
        Some(Tree::new(self.map?, reading.root?, &reading.txn))
    }

    pub(crate) fn get<T>(
        &self,
        reading: &Reading,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, Error> {
        if !can_be(key) {
            return Ok(None);
        }
        let lacks = habit::expects_nothing() && reading.lacks(hash(key));
        let sealed = match self.tree(reading) {
            _ if lacks => None,
            Some(tree) => tree.get(key)?,
            None => self.data.get(&reading.txn, key).map_err(engine)?,
        };
        habit::found(sealed.is_some());
        if sealed.is_none() && !lacks {
            self.missed();
        }
        opened(key, sealed, look)
    }

    pub(crate) fn get_many<K: AsRef<[u8]>>(
        &self,
        reading: &Reading,
        keys: &[K],
        mut look: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        if let Some(tree) = self.tree(reading) {
            return tree.get_many(keys, |number, sealed| {
                let key = keys.get(number).map_or(&[][..], AsRef::as_ref);
                look(number, sealed.map(|sealed| sealed::open(key, sealed)).transpose()?);
                Ok(())
            });
        }
        for (number, key) in keys.iter().enumerate() {
            if self.get(reading, key.as_ref(), |value| look(number, Some(value)))?.is_none() {
                look(number, None);
            }
        }
        Ok(())
    }

    /// Does what [`get`](Self::get) does, and `meanwhile` before the value is looked for to the end. The key has this hash,
    /// and is expected not to be there.
    pub(crate) fn get_meanwhile<T, W>(
        &self,
        reading: &Reading,
        key: &[u8],
        hash: u64,
        meanwhile: impl FnOnce() -> W,
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<(W, Option<T>), Error> {
        match self.tree(reading) {
            _ if reading.lacks(hash) => Ok((meanwhile(), None)),
            Some(tree) if can_be(key) => {
                let (done, sealed) = tree.get_meanwhile(key, meanwhile)?;
                if sealed.is_none() {
                    self.missed();
                }
                Ok((done, opened(key, sealed, look)?))
            }
            _ => Ok((meanwhile(), self.get(reading, key, look)?)),
        }
    }

    /// A page of the file, and of what is ahead of it.
    pub(crate) fn page<'w>(
        &self,
        reading: &Reading,
        ahead: impl Iterator<Item = Written<'w>>,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Page, Error> {
        match (self.tree(reading), direction) {
            (Some(tree), _) => {
                let rows = |from: Bound<_>, until: Bound<_>| tree.rows(from, until, direction);
                scan::page(span, direction, limits, ahead, rows, look)
            }
            (None, Direction::Forward) => self.forward(&reading.txn, ahead, span, limits, look),
            (None, Direction::Backward) => {
                let rows = |from: Bound<_>, until: Bound<_>| {
                    let rows = self.data.rev_range(&reading.txn, &(until, from)).map_err(engine)?;
                    Ok(rows.map(|row| row.map_err(engine)))
                };
                scan::page(span, direction, limits, ahead, rows, look)
            }
        }
    }

    /// A page of what a transaction of any kind sees, and of what is ahead of it.
    fn forward<'w>(
        &self,
        txn: &RoTxn<'_>,
        ahead: impl Iterator<Item = Written<'w>>,
        span: &Span,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Page, Error> {
        let rows = |from: Bound<_>, until: Bound<_>| {
            let rows = self.data.range(txn, &(from, until)).map_err(engine)?;
            Ok(rows.map(|row| row.map_err(engine)))
        };
        scan::page(span, Direction::Forward, limits, ahead, rows, look)
    }

    /// The same with what is in memory in front of the file.
    pub(crate) fn get_in<T>(
        &self,
        reading: &Reading,
        view: Option<&View>,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, Error> {
        match view {
            None => self.get(reading, key, look),
            Some(view) => view.get(self, reading, key, look),
        }
    }

    pub(crate) fn get_many_in<K: AsRef<[u8]>>(
        &self,
        reading: &Reading,
        view: Option<&View>,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        match view {
            None => self.get_many(reading, keys, look),
            Some(view) => view.get_many(self, reading, keys, look),
        }
    }

    pub(crate) fn page_in(
        &self,
        reading: &Reading,
        view: Option<&View>,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Page, Error> {
        match view {
            None => self.page(reading, empty(), span, direction, limits, look),
            Some(view) => view.page(self, reading, span, direction, limits, look),
        }
    }

    /// The sequence of the last commit that is in the file.
    pub(crate) fn newest_sequence(&self) -> Result<Sequence, Error> {
        // Whoever has read something is not told of a commit before that.
        fence(Ordering::Acquire);
        if self.env.info().last_txn_id == self.newest.transaction.load(Ordering::Acquire) {
            return Ok(Sequence(self.newest.sequence.load(Ordering::Relaxed)));
        }
        let Reading { txn, .. } = self.read()?;
        let sequence = self.sequence(&txn)?;
        self.newest.sequence.fetch_max(sequence.0, Ordering::Relaxed);
        self.newest.transaction.fetch_max(txn.id(), Ordering::Release);
        Ok(sequence)
    }

    /// The sequence of the last commit that a transaction sees.
    pub(crate) fn sequence(&self, txn: &RoTxn<'_>) -> Result<Sequence, Error> {
        let bytes = self.meta.get(txn, SEQUENCE).map_err(engine)?.unwrap_or(&[0; 8]);
        let number = bytes.try_into().map_err(|_| Error::Damaged("the sequence is not a number".into()))?;
        Ok(Sequence(u64::from_be_bytes(number)))
    }

    /// The salts that logs must have to be read; `None` if there never was one.
    pub(crate) fn salts(&self, txn: &RoTxn<'_>) -> Result<Option<Salts>, Error> {
        let bytes = self.meta.get(txn, SALTS).map_err(engine)?;
        let damaged = || Error::Damaged("the salts of the logs are not two numbers".into());
        bytes.map(|bytes| Salts::parse(bytes).ok_or_else(damaged)).transpose()
    }
}

/// What a transaction sees that writes: what it has written too.
pub(crate) struct Seen<'a>(pub(crate) &'a Engine, pub(crate) &'a RoTxn<'a>);

impl Now for Seen<'_> {
    fn get<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error> {
        if !can_be(key) {
            return Ok(None);
        }
        let sealed = self.0.data.get(self.1, key).map_err(engine)?;
        opened(key, sealed, look)
    }

    fn page(&self, span: &Span, limits: Limits, look: &mut Look<'_>) -> Result<Page, Error> {
        self.0.forward(self.1, empty(), span, limits, look)
    }
}

/// Whether LMDB takes such a key: of others it has none.
fn can_be(key: &[u8]) -> bool {
    !key.is_empty() && key.len() <= MAX_KEY
}

/// Shows what is sealed, if anything is.
fn opened<T>(key: &[u8], sealed: Option<&[u8]>, look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error> {
    sealed.map(|sealed| sealed::open(key, sealed).map(look)).transpose()
}

/// Syncs a folder: a file's name must survive a crash as the file does.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| file(folder, &error))
}

#[allow(unsafe_code, reason = "mapping a file is unsafe: another program may change it behind the map")]
fn open_env(path: &Path, options: Options) -> Result<Env<WithoutTls>, Error> {
    let mut map_size = options.map_size;
    loop {
        let mut open = EnvOpenOptions::new().read_txn_without_tls();
        open.map_size(map_size).max_readers(options.readers).max_dbs(2);
        // SAFETY: NO_SUB_DIR only says that the path is a file. The file is opened once in this process (OPEN), LMDB's
        // own lock keeps other processes of ours in step, and nothing here writes to the map. That other programs do not
        // change the file is asked of the user in the README.
        let opened = unsafe { open.flags(EnvFlags::NO_SUB_DIR).open(path) };
        match opened {
            // Address space is what a small machine, a limit or a checker is short of: valgrind calls it invalid input.
            Err(heed::Error::Io(error))
                if matches!(error.kind(), ErrorKind::OutOfMemory | ErrorKind::InvalidInput)
                    && map_size > 1 << 26 =>
            {
                map_size /= 2;
            }
            Err(heed::Error::Io(error)) => return Err(file(path, &error)),
            // Its last user is gone (OPEN), and what was buffered is being flushed.
            Err(heed::Error::EnvAlreadyOpened) => {
                let closing = heed::env_closing_event(path);
                if closing.is_some_and(|closing| !closing.wait_timeout(options.busy_timeout)) {
                    return Err(Error::Busy(format!("{}: still being closed", path.display()).into()));
                }
            }
            opened => return opened.map_err(engine),
        }
    }
}

/// Refuses a file that ends before a page that something leads to: reading there would kill the process.
fn check_length(path: &Path, env: &Env<WithoutTls>) -> Result<(), Error> {
    // In this order: others may make it longer meanwhile.
    let needed = self::length(env);
    let length = std::fs::metadata(path).map_err(|error| file(path, &error))?.len();
    if length < needed && !reach::ends_within(path, length) {
        let reason = format!("{}: cut short: {length} bytes of {needed}", path.display());
        return Err(Error::Damaged(reason.into()));
    }
    Ok(())
}

/// How many pages a file has in its newest state.
fn pages(env: &Env<WithoutTls>) -> u64 {
    u64::try_from(env.info().last_page_number).unwrap_or(u64::MAX).saturating_add(1)
}

/// How many bytes that is.
fn length(env: &Env<WithoutTls>) -> u64 {
    pages(env).saturating_mul(env.stat().page_size.into())
}

type Databases = (Database<Bytes, Bytes>, Database<Bytes, Bytes>);

fn open_databases(env: &Env<WithoutTls>) -> Result<Databases, Error> {
    let txn = env.read_txn().map_err(engine)?;
    let data = env.open_database(&txn, Some(DATA)).map_err(engine)?;
    let meta: Option<Database<Bytes, Bytes>> = env.open_database(&txn, Some(META)).map_err(engine)?;
    if let (Some(data), Some(meta)) = (data, meta) {
        let found = meta.get(&txn, FORMAT.0).map_err(engine)?.unwrap_or_default();
        if found != FORMAT.1 {
            let (found, ours) = (found.escape_ascii(), FORMAT.1.escape_ascii());
            return Err(Error::Damaged(
                format!("the file's format is `{found}`, and this is `{ours}`").into(),
            ));
        }
        // Committing keeps the handles; dropping the transaction would close them.
        txn.commit().map_err(engine)?;
        return Ok((data, meta));
    }
    // Both come with the file, so one that has neither nor anything else is new.
    let names: Option<Database<Bytes, Bytes>> = env.open_database(&txn, None).map_err(engine)?;
    if let Some(names) = names
        && !names.is_empty(&txn).map_err(engine)?
    {
        let reason = "the file has tables and not ours: it is another program's, or damaged";
        return Err(Error::Damaged(reason.into()));
    }
    drop(txn);
    let mut txn = env.write_txn().map_err(engine)?;
    let data = env.create_database(&mut txn, Some(DATA)).map_err(engine)?;
    let meta: Database<Bytes, Bytes> = env.create_database(&mut txn, Some(META)).map_err(engine)?;
    meta.put(&mut txn, FORMAT.0, FORMAT.1).map_err(engine)?;
    txn.commit().map_err(engine)?;
    Ok((data, meta))
}
