//! The store itself: opening a file, reading from its map, sending commits to the thread that writes.

use std::future::{Future, ready};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::bloom::hash;
use keyloom_store::{
    Batch, Capability, Direction, Durability, Error, Limits, Page, Read, Registry, Sequence, Store, Thread,
};
use tokio::sync::oneshot;

use crate::buffer::{Admission, Buffer, Promise};
use crate::config::{LogOptions, Options};
use crate::engine::{Engine, Reading};
use crate::filter::FilterStats;
use crate::lock::{Hold, WriterLock};
use crate::log;
use crate::logger;
use crate::room::Room;
use crate::snapshot::{LmdbSnapshot, Snapshots};
use crate::view::View;
use crate::writer::{Commit, Gathering, Request, Writer};

/// The longest key, in bytes.
///
/// LMDB's own limit depends on the page size of the machine; this one holds on all, so that a file can move.
pub const MAX_KEY: usize = 1_900;

/// A store in one file. Clones share it, and so do all that open the same file in one process, unless one wants it
/// [alone](Options::exclusive).
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
    // Dropped in this order: a thread ends when nobody can send to it, and must have ended before the file can be
    // opened again.
    buffer: Option<Arc<Buffer>>,
    requests: Sender<Request>,
    syncs: Option<Sender<()>>,
    // The writer first: it asks the logger too.
    _writer: Thread,
    _logger: Option<Thread>,
    exclusive: bool,
    // Last of all: until here the file must not be replaced.
    _hold: Hold,
}

/// The longest that a flush or a sync is put off. It is beyond any use, and can be added to any moment.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The files that this process has open: LMDB must not open one twice.
static OPEN: LazyLock<Registry<Shared>> = LazyLock::new(Registry::default);

impl LmdbStore {
    /// Opens the file, or creates it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, Options::default())
    }

    /// Opens the file with these options, or creates it. A file that this process has open already is shared as it is,
    /// or [busy](Error::Busy) if one of both wants it [alone](Options::exclusive).
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        if options.durability == Durability::Written && options.log.is_none() {
            // LMDB can only do so by leaving the order of its writes to the system, which may ruin the file.
            let what = "promise `written` without a log: open it with one, or `synced`, or `buffered`".into();
            return Err(Error::Unsupported { store: "lmdb", what });
        }
        let path = path.as_ref();
        let mut is_new = false;
        let shared = OPEN.share(path, |path| {
            is_new = true;
            Shared::open(path, options)
        })?;
        if !is_new && (shared.exclusive || options.exclusive) {
            let reason =
                format!("{}: is open in this process, and exclusive: share the store", path.display());
            return Err(Error::Busy(reason.into()));
        }
        Ok(Self { shared })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    pub(crate) fn snapshots(&self) -> &Snapshots {
        &self.shared.snapshots
    }

    /// The newest state that is in the file, and what is in memory in front of it.
    fn look<T>(
        &self,
        read: impl FnOnce(&Engine, &Reading, Option<&View>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let engine = self.engine();
        let (reading, view) = match &self.shared.buffer {
            None => (engine.read()?, None),
            Some(buffer) => buffer.look(engine)?,
        };
        let found = read(engine, &reading, view.as_ref());
        self.park(reading);
        found
    }

    /// Leaves a reading to the next who reads.
    pub(crate) fn park(&self, reading: Reading) {
        if self.engine().parked.put(reading) {
            // Only to wake the thread: it sees how long it may sleep.
            let _ = self.shared.requests.send(Request::Parked);
        }
    }

    /// The state that a snapshot begins with.
    pub(crate) fn keep(&self) -> Result<(Reading, Option<View>), Error> {
        match &self.shared.buffer {
            None => Ok((self.engine().read()?, None)),
            Some(buffer) => buffer.keep(|| self.engine().read()),
        }
    }

    fn get_now<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error> {
        self.look(|engine, reading, view| engine.get_in(reading, view, key, look))
    }

    fn get_many_now<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        self.look(|engine, reading, view| engine.get_many_in(reading, view, keys, look))
    }

    fn scan_now(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Page, Error> {
        self.look(|engine, reading, view| engine.page_in(reading, view, span, direction, limits, look))
    }

    fn sequence_now(&self) -> Result<Sequence, Error> {
        // What leaves the buffer after this look is in the file before the next.
        let buffered = self.shared.buffer.as_ref().map_or(Ok(None), |buffer| buffer.sequence())?;
        buffered.map_or_else(|| self.engine().newest_sequence(), Ok)
    }

    /// Brings all that is committed into the file: what is in memory here, and what other processes have in their logs.
    pub(crate) async fn drain(&self) -> Result<(), Error> {
        if let Some(buffer) = &self.shared.buffer {
            // Whoever was not told of a failure is told now.
            buffer.sequence()?;
        }
        ask(&self.shared.requests, Request::Flush).await
    }

    /// How large the filter of the file's keys is, and what it has done; `None` if the file was opened without one.
    pub fn filter_stats(&self) -> Option<FilterStats> {
        self.engine().filter.as_ref().map(|filter| filter.stats())
    }

    fn has_turn(&self) -> bool {
        self.shared.buffer.as_ref().is_some_and(|buffer| buffer.is_open())
    }

    /// Whether another process has the right to write now: what it has committed may be in its log only.
    fn is_behind_now(&self) -> Result<bool, Error> {
        Ok(!self.has_turn()
            && WriterLock::open(self.engine().env.path(), Duration::ZERO)?.take_now().is_none())
    }
}

fn gone() -> Error {
    Error::Failed("the writer has ended: open the file anew".into())
}

/// Hands something to the thread that writes, and waits for its answer.
async fn ask<T, Q>(
    to: &Sender<Q>,
    question: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Q,
) -> Result<T, Error> {
    let (answer, answered) = oneshot::channel();
    to.send(question(answer)).map_err(|_| gone())?;
    answered.await.unwrap_or_else(|_| Err(gone()))
}

impl Shared {
    fn open(path: &Path, options: Options) -> Result<Self, Error> {
        let hold = match options.exclusive {
            true => Hold::alone(path, options.busy_timeout)?,
            false => Hold::shared(path, options.busy_timeout)?,
        };
        let engine = Engine::open(path, options)?;
        let lock = WriterLock::open(path, options.busy_timeout)?;
        let snapshots = Arc::new(Snapshots::new(options.max_snapshot_age));
        // What a process that died has left is for whoever comes next. One that lives is asked to bring it in: it may have
        // to be waited for, and can be read without it.
        if log::exist(path) {
            match lock.take() {
                Ok(_writing) => drop(log::recover(&engine, path)?),
                Err(Error::Busy(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let gathering = gathering(options);
        let buffer = gathering.as_ref().map(|gathering| Arc::clone(&gathering.buffer));
        let (syncs, logger) = match &buffer {
            Some(buffer) if matches!(buffer.promise(), Promise::Synced | Promise::Soon { .. }) => {
                let (syncs, asked) = channel();
                let buffer = Arc::clone(buffer);
                let run = move || match options.durability {
                    Durability::Buffered { interval, .. } => {
                        logger::run_soon(&buffer, interval.min(LONGEST), &asked);
                    }
                    _ => logger::run(&buffer, &asked),
                };
                (Some(syncs), Some(Thread::start("logger", run)?))
            }
            _ => (None, None),
        };
        let (requests, received) = channel();
        let writer = Writer {
            engine: engine.clone(),
            path: path.to_owned(),
            lock,
            snapshots: Arc::clone(&snapshots),
            buffer: gathering,
            syncs: syncs.clone(),
        };
        let writer = Thread::start("writer", move || writer.run(&received))?;
        let exclusive = options.exclusive;
        Ok(Self {
            engine,
            snapshots,
            buffer,
            requests,
            syncs,
            _writer: writer,
            _logger: logger,
            exclusive,
            _hold: hold,
        })
    }

    /// Says to the thread that syncs that there is something to.
    fn ask_for_sync(&self) {
        if let Some(syncs) = &self.syncs {
            let _ = syncs.send(());
        }
    }

    /// Waits until all that is in the buffer now is in a log that is synced.
    async fn synced(&self, buffer: &Buffer) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        buffer.tell_synced(answer);
        self.ask_for_sync();
        answered.await.unwrap_or_else(|_| Err(gone())).map(drop)
    }
}

/// Where commits gather, if these options have them do so.
fn gathering(options: Options) -> Option<Gathering> {
    let (promise, room, interval) = match (options.durability, options.log) {
        (Durability::Buffered { entries, interval }, None) => {
            (Promise::Memory, Room::for_most(entries, usize::MAX), interval)
        }
        (durability, Some(LogOptions { entries, bytes, interval })) => {
            let promise = match durability {
                Durability::Written => Promise::Written,
                Durability::Synced => Promise::Synced,
                // A batch without writes counts as one.
                Durability::Buffered { entries, .. } => Promise::Soon { entries: entries.max(1) },
            };
            (promise, Room::for_most(entries, bytes), interval)
        }
        (_, None) => return None,
    };
    let buffer = Arc::new(Buffer::new(promise, room));
    Some(Gathering { buffer, interval: interval.min(LONGEST) })
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
        let mut capability = Capability::embedded("lmdb", self.shared.snapshots.age(), MAX_KEY);
        capability.exclusive = self.shared.exclusive;
        capability
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        batch.check_keys(MAX_KEY)?;
        let shared = &*self.shared;
        let Some(buffer) = &shared.buffer else {
            return ask(&shared.requests, |answer| Request::Commit(Commit { batch, answer })).await;
        };
        if buffer.is_large(&batch) {
            return ask(&shared.requests, |answer| Request::Commit(Commit { batch, answer })).await;
        }
        let nudge = |flush| {
            if flush {
                // A hint: without it the flush begins when the interval is over.
                let _ = shared.requests.send(Request::Nudge);
            }
        };
        let mut batch = batch;
        loop {
            let (mut waiter, answered) = match buffer.promise() {
                Promise::Synced => {
                    let (answer, answered) = oneshot::channel();
                    (Some(answer), Some(answered))
                }
                Promise::Memory | Promise::Soon { .. } | Promise::Written => (None, None),
            };
            match (buffer.admit(self.engine(), batch, &mut waiter)?, answered) {
                (Admission::Done { sequence, flush, sync }, _) => {
                    if sync {
                        shared.ask_for_sync();
                    }
                    nudge(flush);
                    return Ok(sequence);
                }
                (Admission::Waits { flush }, Some(answered)) => {
                    shared.ask_for_sync();
                    nudge(flush);
                    return answered.await.unwrap_or_else(|_| Err(gone()));
                }
                (Admission::Waits { .. }, None) => return Err(gone()),
                (Admission::Late(late), _) => {
                    shared.synced(buffer).await?;
                    batch = late;
                }
                (Admission::Closed(batch), _) => {
                    return ask(&shared.requests, |answer| Request::Commit(Commit { batch, answer })).await;
                }
            }
        }
    }

    fn get_meanwhile<T: Send, W: Send>(
        &self,
        key: &[u8],
        meanwhile: impl FnOnce() -> W + Send,
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<(W, Option<T>), Error>> + Send {
        let hash = hash(key);
        ready(self.look(|engine, reading, view| match view {
            None => engine.get_meanwhile(reading, key, hash, meanwhile, look),
            Some(view) => view.get_meanwhile(engine, reading, key, hash, meanwhile, look),
        }))
    }

    async fn flush(&self) -> Result<(), Error> {
        match &self.shared.buffer {
            Some(buffer) if buffer.promise() == Promise::Memory => self.drain().await,
            // The log is enough.
            Some(buffer) if buffer.promise() == Promise::Written && buffer.sync_written() => Ok(()),
            Some(buffer) if buffer.promise() == Promise::Written => self.drain().await,
            Some(buffer) if matches!(buffer.promise(), Promise::Soon { .. }) => {
                // Whoever was not told of a failure is told now.
                buffer.sequence()?;
                self.shared.synced(buffer).await
            }
            _ => Ok(()),
        }
    }

    async fn catch_up(&self) -> Result<(), Error> {
        // Without a log beside the file, or while it is this process's, nobody has anything that is not in the file.
        if self.has_turn() || !log::exist(self.engine().env.path()) {
            return Ok(());
        }
        self.drain().await
    }

    fn is_behind(&self) -> impl Future<Output = Result<bool, Error>> + Send {
        ready(self.is_behind_now())
    }

    fn sequence(&self) -> impl Future<Output = Result<Sequence, Error>> + Send {
        ready(self.sequence_now())
    }

    fn snapshot(&self) -> impl Future<Output = Result<LmdbSnapshot, Error>> + Send {
        ready(LmdbSnapshot::take(self))
    }
}
