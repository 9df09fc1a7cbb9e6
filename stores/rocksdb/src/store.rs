//! The store itself: opening a folder, reading it, judging and writing commits one after the other.

use std::future::{Future, ready};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use keyloom_key::Span;
use keyloom_store::{
    Aging, Batch, Capability, Direction, Durability, Error, Limits, Page, Read, Registry, Sequence, Store,
    Thread, check,
};
use tokio::sync::oneshot;

use crate::config::{Options, Stripes};
use crate::engine::Engine;
use crate::error::unknown;
use crate::ingest::Sorted;
use crate::keeper::{Keeper, Progress, Request};
use crate::pieces::Striped;
use crate::scan::Reading;
use crate::snapshot::{RocksSnapshot, State};

/// The longest key, in bytes. RocksDB takes longer ones, and keeps each in memory while it is looked for.
pub const MAX_KEY: usize = 65_535;

/// A store in a folder. Clones share it, and so do all that open the same folder in one process.
///
/// When the last of them and the last snapshot is dropped, what is buffered is synced and the folder is closed.
#[derive(Debug, Clone)]
pub struct RocksStore {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Arc<Engine>,
    snapshots: Arc<Aging<State>>,
    progress: Arc<Progress>,
    /// Held from the look at a commit's conditions until it is written.
    writing: Mutex<()>,
    // Dropped in this order: the thread ends when nobody can send to it, and must have ended before the folder can be
    // opened again.
    requests: Sender<Request>,
    _keeper: Thread,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.engine.fmt(f)
    }
}

/// The folders that this process has open: RocksDB must not open one twice.
static OPEN: LazyLock<Registry<Shared>> = LazyLock::new(Registry::default);

impl RocksStore {
    /// Opens the folder, or creates it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, Options::default())
    }

    /// Opens the folder with these options, or creates it. One that this process has open already is shared as it is.
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        let shared = OPEN.share(path.as_ref(), |path| Shared::open(path, options))?;
        Ok(Self { shared })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    fn reading(&self) -> Reading<'_> {
        Reading::newest(&self.shared.engine)
    }
}

impl Shared {
    fn open(path: &Path, options: Options) -> Result<Self, Error> {
        let engine = Arc::new(Engine::open(path, options)?);
        let snapshots = Arc::new(Aging::new(options.max_snapshot_age));
        let progress = Arc::new(Progress::default());
        let (requests, received) = channel();
        let keeper = Keeper {
            snapshots: Arc::clone(&snapshots),
            progress: Arc::clone(&progress),
            engine: Arc::clone(&engine),
        };
        let _keeper = Thread::start("keeper", move || keeper.run(&received))?;
        Ok(Self { engine, snapshots, progress, writing: Mutex::default(), requests, _keeper })
    }

    /// Judges and writes a batch; its place among all commits, and whether it must be waited for until it is synced.
    fn write(&self, batch: &Batch, sorted: Option<Sorted>) -> Result<(Sequence, bool), Error> {
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let last = Sequence(self.engine.db.latest_sequence_number());
        check(&Reading::newest(&self.engine), batch.conditions_after(last))?;
        let writes = match sorted.filter(|sorted| sorted.fits(&self.engine)) {
            None => self.engine.writes(batch)?,
            Some(sorted) => {
                sorted.ingest(&self.engine)?;
                // Files that lie beside all others do not count as a commit.
                self.engine.writes(&Batch::new())?
            }
        };
        self.engine.write(writes).map_err(|error| unknown(&error))?;
        let sequence = Sequence(self.engine.db.latest_sequence_number());
        let (waiting, first) = self.progress.write(batch.writes().len());
        drop(writing);
        let wait = match self.engine.options.durability {
            Durability::Synced => true,
            Durability::Written => false,
            Durability::Buffered { entries, .. } => {
                if first {
                    // If it cannot be told there is nobody left to tell.
                    let _ = self.requests.send(Request::Soon);
                }
                waiting > u64::try_from(entries).unwrap_or(u64::MAX)
            }
        };
        Ok((sequence, wait))
    }

    async fn sync(&self) -> Result<(), Error> {
        let gone = || Error::Failed("the thread that syncs has ended: open the folder anew".into());
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request::Sync(answer)).map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}

impl Read for RocksStore {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        ready(self.reading().get(key, look))
    }

    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        ready(self.reading().get_many(keys, look))
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        ready(self.reading().page(span, direction, limits, look))
    }
}

impl Store for RocksStore {
    type Snapshot = RocksSnapshot;

    fn capability(&self) -> Capability {
        Capability::embedded("rocksdb", self.shared.snapshots.age(), MAX_KEY)
    }

    async fn commit(&self, mut batch: Batch) -> Result<Sequence, Error> {
        batch.check_keys(MAX_KEY)?;
        let (sequence, wait) = match batch.size() < self.engine().options.ingest {
            true => self.shared.write(&batch, None)?,
            false => {
                let store = self.clone();
                let (answer, answered) = oneshot::channel();
                // It takes a while, which an async program has other work for.
                let load = move || {
                    let sorted = Sorted::write(store.engine(), &mut batch);
                    let _ = answer.send(sorted.and_then(|sorted| store.shared.write(&batch, sorted)));
                };
                let thread = std::thread::Builder::new().name("keyloom-load".into()).spawn(load);
                thread.map_err(|error| Error::Failed(format!("no thread to load: {error}").into()))?;
                let cut = |_| Err(Error::Unknown("the thread that loads has ended".into()));
                answered.await.unwrap_or_else(cut)?
            }
        };
        if wait {
            self.shared.sync().await?;
        }
        Ok(sequence)
    }

    async fn flush(&self) -> Result<(), Error> {
        match self.engine().options.durability {
            Durability::Synced => Ok(()),
            _ => self.shared.sync().await,
        }
    }

    async fn stripe(&self, prefix: &[u8], stripes: u16) -> Result<(), Error> {
        match self.engine().options.stripes {
            Stripes::Prefix => Ok(()),
            Stripes::Families(families) => {
                let _writing = self.shared.writing.lock().unwrap_or_else(PoisonError::into_inner);
                self.engine().stripe(prefix, Striped::new(stripes, families))
            }
        }
    }

    fn sequence(&self) -> impl Future<Output = Result<Sequence, Error>> + Send {
        ready(Ok(Sequence(self.engine().db.latest_sequence_number())))
    }

    fn snapshot(&self) -> impl Future<Output = Result<RocksSnapshot, Error>> + Send {
        let state = self.shared.snapshots.hold(State::take(Arc::clone(&self.shared.engine)));
        ready(Ok(RocksSnapshot { state, _store: self.clone() }))
    }
}
