//! The store itself: opening a file, reading its newest state, sending commits to the thread that writes.

use std::fs::File;
use std::future::{Future, ready};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use keyloom_key::Span;
use keyloom_store::{
    Aging, Batch, Capability, Direction, Durability, Error, Limits, Page, Read, Registry, Sequence, Store,
    Thread,
};
use redb::{Database, DatabaseError, StorageError};
use tokio::sync::oneshot;

use crate::config::Options;
use crate::error::{engine, file};
use crate::scan;
use crate::snapshot::RedbSnapshot;
use crate::view::{DATA, FORMAT, META, Newest, SEQUENCE, View};
use crate::writer::{Commit, Request, Writer};

/// The longest key, in bytes. redb takes longer ones, and has no use for them: its pages have 4,096.
pub const MAX_KEY: usize = 65_535;

/// A store in one file. Clones share it, and so do all that open the same file in one process.
///
/// When the last of them and the last snapshot is dropped, what is buffered is synced and the file is closed.
#[derive(Debug, Clone)]
pub struct RedbStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    newest: Arc<Newest>,
    snapshots: Arc<Aging<Arc<View>>>,
    // Dropped in this order: the thread ends when nobody can send to it, and must have ended before the file can be
    // opened again.
    requests: Sender<Request>,
    _writer: Thread,
}

/// The files that this process has open: redb locks them, against this process too.
static OPEN: LazyLock<Registry<Shared>> = LazyLock::new(Registry::default);

impl RedbStore {
    /// Opens the file, or creates it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, Options::default())
    }

    /// Opens the file with these options, or creates it. A file that this process has open already is shared as it is.
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        if options.durability == Durability::Written {
            // What redb does not sync it keeps in memory, and loses with the process.
            let what = "promise `written`: open it with `synced` or `buffered`".into();
            return Err(Error::Unsupported { store: "redb", what });
        }
        let shared = OPEN.share(path.as_ref(), |path| Shared::open(path, options))?;
        Ok(Self { shared })
    }
}

impl Shared {
    fn open(path: &Path, options: Options) -> Result<Self, Error> {
        let database = open_database(path, options)?;
        let newest = Arc::new(Newest::new(View::take(&database)?));
        let snapshots = Arc::new(Aging::new(options.max_snapshot_age));
        let (requests, received) = channel();
        let writer = Writer {
            newest: Arc::clone(&newest),
            snapshots: Arc::clone(&snapshots),
            durability: options.durability,
            database,
        };
        let _writer = Thread::start("writer", move || writer.run(&received))?;
        Ok(Self { newest, snapshots, requests, _writer })
    }
}

/// Opens the file and makes its tables, if it is new. Waits for another process that has it open.
fn open_database(path: &Path, options: Options) -> Result<Database, Error> {
    let new = std::fs::metadata(path).map_or(true, |file| file.len() == 0);
    let start = Instant::now();
    let database = loop {
        match Database::builder().set_cache_size(options.cache).create(path) {
            Ok(database) => break database,
            Err(DatabaseError::DatabaseAlreadyOpen) if start.elapsed() < options.busy_timeout => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(DatabaseError::DatabaseAlreadyOpen) => {
                let reason = "another process has it open, and only one can: close it there, or wait";
                return Err(Error::Busy(format!("{}: {reason}", path.display()).into()));
            }
            Err(DatabaseError::Storage(StorageError::Io(error))) => return Err(file(path, &error)),
            Err(error) => return Err(engine(error)),
        }
    };
    if new {
        let txn = database.begin_write().map_err(engine)?;
        txn.open_table(DATA).map_err(engine)?;
        let mut meta = txn.open_table(META).map_err(engine)?;
        meta.insert(FORMAT.0, FORMAT.1).map_err(engine)?;
        meta.insert(SEQUENCE, [0; 8].as_slice()).map_err(engine)?;
        drop(meta);
        txn.commit().map_err(engine)?;
        if let Some(folder) = path.parent() {
            // A file's name must survive a crash as the file does.
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| file(folder, &error))?;
        }
    }
    Ok(database)
}

pub(crate) fn get_many<K: AsRef<[u8]>>(
    view: &View,
    keys: &[K],
    mut look: impl FnMut(usize, Option<&[u8]>),
) -> Result<(), Error> {
    for (number, key) in keys.iter().enumerate() {
        if scan::get(&view.data, key.as_ref(), |value| look(number, Some(value)))?.is_none() {
            look(number, None);
        }
    }
    Ok(())
}

fn gone() -> Error {
    Error::Failed("the writer has ended: open the file anew".into())
}

/// Hands something to the thread that writes, and waits for its answer.
async fn ask<T>(
    to: &Sender<Request>,
    question: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Request,
) -> Result<T, Error> {
    let (answer, answered) = oneshot::channel();
    to.send(question(answer)).map_err(|_| gone())?;
    answered.await.unwrap_or_else(|_| Err(gone()))
}

impl Read for RedbStore {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        ready(scan::get(&self.shared.newest.get().data, key, look))
    }

    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        ready(get_many(&self.shared.newest.get(), keys, look))
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        ready(scan::page(&self.shared.newest.get().data, span, direction, limits, look))
    }
}

impl Store for RedbStore {
    type Snapshot = RedbSnapshot;

    fn capability(&self) -> Capability {
        Capability::embedded("redb", self.shared.snapshots.age(), MAX_KEY)
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        batch.check_keys(MAX_KEY)?;
        ask(&self.shared.requests, |answer| Request::Commit(Commit { batch, answer })).await
    }

    async fn flush(&self) -> Result<(), Error> {
        ask(&self.shared.requests, Request::Flush).await
    }

    fn sequence(&self) -> impl Future<Output = Result<Sequence, Error>> + Send {
        ready(Ok(self.shared.newest.get().sequence))
    }

    fn snapshot(&self) -> impl Future<Output = Result<RedbSnapshot, Error>> + Send {
        let view = self.shared.snapshots.hold(self.shared.newest.get());
        ready(Ok(RedbSnapshot { view, _store: self.clone() }))
    }
}
