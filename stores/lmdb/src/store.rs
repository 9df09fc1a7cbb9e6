//! The store itself: opening a file, reading from its map, sending commits to the thread that writes.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::{Batch, Capability, Direction, Durability, Error, Limits, Page, Read, Sequence, Store};
use tokio::sync::oneshot;

use crate::buffer::{Admission, Buffer};
use crate::config::Options;
use crate::engine::Engine;
use crate::error::file;
use crate::flusher::{Flusher, Request};
use crate::lock::{Hold, WriterLock};
use crate::snapshot::{LmdbSnapshot, Snapshots};
use crate::writer::{Commit, Writer};

/// The longest key, in bytes.
///
/// LMDB's own limit depends on the page size of the machine; this one holds on all, so that a file can move.
pub const MAX_KEY: usize = 1_900;

/// A store in one file. Clones share it, and so do all that open the same file in one process.
///
/// When the last of them and the last snapshot is dropped, what is buffered is flushed and the file is closed.
#[derive(Debug, Clone)]
pub struct LmdbStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    engine: Engine,
    snapshots: Arc<Snapshots>,
    // Dropped in this order: the thread ends when nobody can send, and must have ended before the file can be
    // opened again.
    way: Way,
    _thread: Thread,
    // Last of all: until here the file must not be replaced.
    _hold: Hold,
}

/// The way of a commit.
#[derive(Debug)]
enum Way {
    Synced(Sender<Commit>),
    Buffered { buffer: Arc<Buffer>, requests: Sender<Request> },
}

/// A thread that is waited for when this is dropped.
#[derive(Debug)]
struct Thread(Option<JoinHandle<()>>);

impl Thread {
    fn start(work: impl FnOnce() + Send + 'static) -> Result<Self, Error> {
        let thread = std::thread::Builder::new().name("keyloom-writer".to_owned()).spawn(work);
        let thread = thread.map_err(|error| Error::Failed(format!("no thread to write: {error}").into()))?;
        Ok(Self(Some(thread)))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
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
        if options.durability == Durability::Written {
            // LMDB can only do so by leaving the order of its writes to the system, which may ruin the file.
            let what = "promise `written`: open it `synced` or `buffered`".into();
            return Err(Error::Unsupported { store: "lmdb", what });
        }
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

    pub(crate) fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    pub(crate) fn snapshots(&self) -> &Snapshots {
        &self.shared.snapshots
    }

    fn get_now<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error> {
        let engine = self.engine();
        let Way::Buffered { buffer, .. } = &self.shared.way else {
            return engine.get(&*engine.read()?, key, look);
        };
        let state = buffer.read()?;
        match state.get(key) {
            Some(value) => Ok(value.map(look)),
            None => {
                let txn = engine.read()?;
                drop(state);
                engine.get(&txn, key, look)
            }
        }
    }

    fn get_many_now<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        mut look: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        let engine = self.engine();
        let Way::Buffered { buffer, .. } = &self.shared.way else {
            return engine.get_many(&*engine.read()?, keys, look);
        };
        let state = buffer.read()?;
        let txn = engine.read()?;
        for (number, key) in keys.iter().enumerate() {
            let key = key.as_ref();
            match state.get(key) {
                Some(value) => look(number, value),
                None => engine.get_many(&txn, &[key], |_, value| look(number, value))?,
            }
        }
        Ok(())
    }

    fn scan_now(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Page, Error> {
        let engine = self.engine();
        let Way::Buffered { buffer, .. } = &self.shared.way else {
            return engine.page(&*engine.read()?, span, direction, limits, look);
        };
        let state = buffer.read()?;
        let txn = engine.read()?;
        if state.sequence().is_none() {
            drop(state);
            return engine.page(&txn, span, direction, limits, look);
        }
        state.page(engine, &txn, span, direction, limits, &mut look)
    }

    fn sequence_now(&self) -> Result<Sequence, Error> {
        let buffered = match &self.shared.way {
            Way::Synced(_) => None,
            // What leaves the buffer after this look is in the file before the next.
            Way::Buffered { buffer, .. } => buffer.read()?.sequence(),
        };
        let engine = self.engine();
        buffered.map_or_else(|| engine.sequence(&*engine.read()?), Ok)
    }
}

/// Hands something to the thread that writes, and waits for its answer.
async fn ask<T, Q>(
    to: &Sender<Q>,
    question: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Q,
) -> Result<T, Error> {
    let gone = || Error::Failed("the writer has ended: open the file anew".into());
    let (answer, answered) = oneshot::channel();
    to.send(question(answer)).map_err(|_| gone())?;
    answered.await.unwrap_or_else(|_| Err(gone()))
}

/// Refuses keys that LMDB does not take, before anything is written.
fn check_keys(batch: &Batch) -> Result<(), Error> {
    for (key, _) in batch.writes() {
        match key.len() {
            0 => return Err(Error::Refused("the empty key".into())),
            length if length > MAX_KEY => {
                let start = key.get(..32).unwrap_or_default().escape_ascii();
                let reason = format!("a key of {length} bytes ({start}…), where {MAX_KEY} is the most");
                return Err(Error::Refused(reason.into()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The path from the root, with its links followed, so that a file has one name.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    let (Some(name), parent) = (path.file_name(), path.parent()) else {
        return Err(Error::Failed(format!("{}: not the name of a file", path.display()).into()));
    };
    let folder = parent.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let named = folder.canonicalize().map_err(|error| file(folder, &error))?.join(name);
    Ok(named.canonicalize().unwrap_or(named))
}

impl Shared {
    fn open(path: &Path, options: Options) -> Result<Self, Error> {
        let hold = Hold::shared(path, options.busy_timeout)?;
        let engine = Engine::open(path, options)?;
        let lock = WriterLock::open(path, options.busy_timeout)?;
        let snapshots = Arc::new(Snapshots::new(options.max_snapshot_age));
        let (way, thread) = match options.durability {
            Durability::Buffered { entries, interval } => {
                let buffer = Arc::new(Buffer::new(entries));
                let (requests, received) = channel();
                let flusher = Flusher {
                    engine: engine.clone(),
                    lock,
                    buffer: Arc::clone(&buffer),
                    // A day is beyond any use, and can be added to any moment.
                    interval: interval.min(Duration::from_secs(86_400)),
                    snapshots: Arc::clone(&snapshots),
                };
                (Way::Buffered { buffer, requests }, Thread::start(move || flusher.run(&received))?)
            }
            Durability::Synced | Durability::Written => {
                let (commits, received) = channel();
                let snapshots = Arc::clone(&snapshots);
                let writer = Writer { engine: engine.clone(), lock, snapshots, failed: None };
                (Way::Synced(commits), Thread::start(move || writer.run(&received))?)
            }
        };
        Ok(Self { engine, snapshots, way, _thread: thread, _hold: hold })
    }
}

impl Read for LmdbStore {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        ready(self.get_now(key, look))
    }

    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        ready(self.get_many_now(keys, look))
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        ready(self.scan_now(span, direction, limits, look))
    }
}

impl Store for LmdbStore {
    type Snapshot = LmdbSnapshot;

    fn capability(&self) -> Capability {
        let mut capability = Capability::least("lmdb");
        capability.atomic_batch = true;
        capability.conditions = true;
        capability.snapshot = true;
        capability.snapshot_age = Some(self.shared.snapshots.age());
        capability.ordered = true;
        capability.durable = true;
        capability.max_key = MAX_KEY;
        capability.max_value = 1 << 30;
        capability
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        check_keys(&batch)?;
        match &self.shared.way {
            Way::Synced(commits) => ask(commits, |answer| Commit { batch, answer }).await,
            Way::Buffered { buffer, requests } => match buffer.admit(self.engine(), batch)? {
                Admission::Done { sequence, flush } => {
                    if flush {
                        // A hint: without it the flush begins when the interval is over.
                        let _ = requests.send(Request::Nudge);
                    }
                    Ok(sequence)
                }
                Admission::Closed(batch) => ask(requests, |answer| Request::Commit { batch, answer }).await,
            },
        }
    }

    async fn flush(&self) -> Result<(), Error> {
        match &self.shared.way {
            Way::Synced(_) => Ok(()),
            Way::Buffered { buffer, .. } if buffer.read()?.sequence().is_none() => Ok(()),
            Way::Buffered { requests, .. } => ask(requests, Request::Flush).await,
        }
    }

    fn sequence(&self) -> impl Future<Output = Result<Sequence, Error>> + Send {
        ready(self.sequence_now())
    }

    /// Flushes first, so that all is in the one state that is held.
    async fn snapshot(&self) -> Result<LmdbSnapshot, Error> {
        self.flush().await?;
        LmdbSnapshot::take(self)
    }
}
