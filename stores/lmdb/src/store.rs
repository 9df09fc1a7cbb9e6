//! The store itself: opening a file, reading from its map, sending commits to the writer.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::future::{Future, ready};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, RoTxn, WithoutTls};
use keyloom_key::Span;
use keyloom_store::{Batch, Capability, Direction, Error, Limits, Page, Read, Sequence, Store};
use tokio::sync::oneshot;

use crate::config::Options;
use crate::error::{engine, file};
use crate::lock::WriterLock;
use crate::writer::{Request, Writer, sequence};
use crate::{scan, value};

/// The longest key, in bytes.
///
/// LMDB's own limit depends on the page size of the machine; this one holds on all, so that a file can move.
pub const MAX_KEY: usize = 1_900;

/// What the file says of itself, so that another engine's file is not taken for ours.
const FORMAT: (&[u8], &[u8]) = (b"format", b"keyloom lmdb 0");

/// A store in one file. Clones share it, and so do all that open the same file in one process.
#[derive(Debug, Clone)]
pub struct LmdbStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    env: Env<WithoutTls>,
    data: Database<Bytes, Bytes>,
    meta: Database<Bytes, Bytes>,
    // Taken when the store is dropped: the writer ends when nobody can send, and must have ended before the
    // file can be opened again.
    requests: Option<Sender<Request>>,
    writer: Option<JoinHandle<()>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// The files that this process has open: LMDB must not open one twice.
static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<Shared>>>> = LazyLock::new(Mutex::default);

impl LmdbStore {
    /// Opens the file, or creates it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, Options::default())
    }

    /// Opens the file with these options, or creates it. A file that this process has open already is shared as it is.
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        let path = absolute(path.as_ref())?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = open.get(&path).and_then(Weak::upgrade) {
            return Ok(Self { shared });
        }
        open.retain(|_, shared| shared.strong_count() > 0);
        let shared = Arc::new(Shared::open(&path, options)?);
        open.insert(path, Arc::downgrade(&shared));
        Ok(Self { shared })
    }

    fn read<T>(&self, read: impl FnOnce(&RoTxn<'_, WithoutTls>) -> Result<T, Error>) -> Result<T, Error> {
        read(&self.shared.env.read_txn().map_err(engine)?)
    }

    fn send(&self, batch: Batch) -> Result<oneshot::Receiver<Result<Sequence, Error>>, Error> {
        let (writes, conditions) = batch.into_parts();
        for write in &writes {
            match write.key.len() {
                0 => return Err(Error::Refused("the empty key".into())),
                length if length > MAX_KEY => {
                    let start = write.key.get(..32).unwrap_or_default().escape_ascii();
                    let reason = format!("a key of {length} bytes ({start}…), where {MAX_KEY} is the most");
                    return Err(Error::Refused(reason.into()));
                }
                _ => {}
            }
        }
        let (answer, answered) = oneshot::channel();
        let sent =
            self.shared.requests.as_ref().map(|sender| sender.send(Request { writes, conditions, answer }));
        match sent {
            Some(Ok(())) => Ok(answered),
            _ => Err(gone()),
        }
    }
}

fn gone() -> Error {
    Error::Failed("the writer has ended: open the file anew".into())
}

/// The path from the root, with its links followed, so that a file has one name.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    let (Some(name), parent) = (path.file_name(), path.parent()) else {
        return Err(Error::Failed(format!("{}: not the name of a file", path.display()).into()));
    };
    let folder = parent.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let named = folder.canonicalize().map_err(|error| file(folder, &error))?.join(name);
    Ok(named.canonicalize().unwrap_or(named))
}

impl Shared {
    fn open(path: &Path, options: Options) -> Result<Self, Error> {
        let created = !path.exists();
        let env = open_env(path, options)?;
        check_length(path, &env)?;
        // Readers that died in the middle would keep old pages for ever.
        env.clear_stale_readers().map_err(engine)?;
        let (data, meta) = open_databases(&env)?;
        if created && let Some(folder) = path.parent() {
            // The file's name must survive a crash as the file does.
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| file(folder, &error))?;
        }
        let lock = WriterLock::open(path, options.busy_timeout)?;
        let (requests, received) = channel();
        let writer = Writer { env: env.clone(), data, meta, lock };
        let writer = std::thread::Builder::new()
            .name("keyloom-writer".to_owned())
            .spawn(move || writer.run(&received));
        let writer = writer.map_err(|error| Error::Failed(format!("no thread to write: {error}").into()))?;
        Ok(Self { env, data, meta, requests: Some(requests), writer: Some(writer) })
    }
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
            // Address space is what a small machine, a limit or a checker like valgrind is short of.
            Err(heed::Error::Io(error))
                if error.kind() == std::io::ErrorKind::OutOfMemory && map_size > 1 << 26 =>
            {
                map_size /= 2;
            }
            Err(heed::Error::Io(error)) => return Err(file(path, &error)),
            opened => return opened.map_err(engine),
        }
    }
}

/// Refuses a file that ends before its last page: reading there would kill the process.
fn check_length(path: &Path, env: &Env<WithoutTls>) -> Result<(), Error> {
    let length = std::fs::metadata(path).map_err(|error| file(path, &error))?.len();
    let page = u64::from(env.stat().page_size);
    let pages = u64::try_from(env.info().last_page_number).unwrap_or(u64::MAX).saturating_add(1);
    let needed = pages.saturating_mul(page);
    if length < needed {
        let reason = format!("{}: cut short: {length} bytes of {needed}", path.display());
        return Err(Error::Damaged(reason.into()));
    }
    Ok(())
}

type Databases = (Database<Bytes, Bytes>, Database<Bytes, Bytes>);

fn open_databases(env: &Env<WithoutTls>) -> Result<Databases, Error> {
    let txn = env.read_txn().map_err(engine)?;
    let data = env.open_database(&txn, Some("data")).map_err(engine)?;
    let meta: Option<Database<Bytes, Bytes>> = env.open_database(&txn, Some("meta")).map_err(engine)?;
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
    drop(txn);
    let mut txn = env.write_txn().map_err(engine)?;
    let data = env.create_database(&mut txn, Some("data")).map_err(engine)?;
    let meta: Database<Bytes, Bytes> = env.create_database(&mut txn, Some("meta")).map_err(engine)?;
    meta.put(&mut txn, FORMAT.0, FORMAT.1).map_err(engine)?;
    txn.commit().map_err(engine)?;
    Ok((data, meta))
}

impl Read for LmdbStore {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        ready(self.read(|txn| get(self.shared.data, txn, key, look)))
    }

    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        ready(self.read(|txn| get_many(self.shared.data, txn, keys, look)))
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        ready(self.read(|txn| scan::page(self.shared.data, txn, span, direction, limits, look)))
    }
}

impl Store for LmdbStore {
    type Snapshot = LmdbSnapshot;

    fn capability(&self) -> Capability {
        let mut capability = Capability::least("lmdb");
        capability.atomic_batch = true;
        capability.conditions = true;
        capability.snapshot = true;
        capability.ordered = true;
        capability.durable = true;
        capability.max_key = MAX_KEY;
        capability.max_value = 1 << 30;
        capability
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        self.send(batch)?.await.unwrap_or_else(|_| Err(gone()))
    }

    fn sequence(&self) -> impl Future<Output = Result<Sequence, Error>> + Send {
        ready(self.read(|txn| sequence(self.shared.meta, txn)))
    }

    fn snapshot(&self) -> impl Future<Output = Result<LmdbSnapshot, Error>> + Send {
        let txn = self.shared.env.clone().static_read_txn().map_err(engine);
        ready(txn.map(|txn| LmdbSnapshot { txn: Mutex::new(txn), store: self.clone() }))
    }
}

/// A [`LmdbStore`] as it was. While it lives, the file keeps every page that it can see, and grows.
pub struct LmdbSnapshot {
    txn: Mutex<RoTxn<'static, WithoutTls>>,
    // Behind the transaction, so that it is dropped after it.
    store: LmdbStore,
}

impl fmt::Debug for LmdbSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LmdbSnapshot").finish_non_exhaustive()
    }
}

impl LmdbSnapshot {
    fn read<T>(&self, read: impl FnOnce(&RoTxn<'_, WithoutTls>) -> Result<T, Error>) -> Result<T, Error> {
        read(&self.txn.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Read for LmdbSnapshot {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        ready(self.read(|txn| get(self.store.shared.data, txn, key, look)))
    }

    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        ready(self.read(|txn| get_many(self.store.shared.data, txn, keys, look)))
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        ready(self.read(|txn| scan::page(self.store.shared.data, txn, span, direction, limits, look)))
    }
}

fn get<T>(
    data: Database<Bytes, Bytes>,
    txn: &RoTxn<'_>,
    key: &[u8],
    look: impl FnOnce(&[u8]) -> T,
) -> Result<Option<T>, Error> {
    // LMDB takes no such keys, and so has none.
    if key.is_empty() || key.len() > MAX_KEY {
        return Ok(None);
    }
    let sealed = data.get(txn, key).map_err(engine)?;
    sealed.map(|sealed| value::open(key, sealed).map(look)).transpose()
}

fn get_many<K: AsRef<[u8]>>(
    data: Database<Bytes, Bytes>,
    txn: &RoTxn<'_>,
    keys: &[K],
    mut look: impl FnMut(usize, Option<&[u8]>),
) -> Result<(), Error> {
    for (number, key) in keys.iter().enumerate() {
        if get(data, txn, key.as_ref(), |value| look(number, Some(value)))?.is_none() {
            look(number, None);
        }
    }
    Ok(())
}
