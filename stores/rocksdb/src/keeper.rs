//! The thread that syncs the log for all who wait, and lets go of snapshots that are past their age.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use keyloom_store::{Aging, Durability, Error};
use tokio::sync::oneshot;

use crate::engine::Engine;
use crate::error::unknown;
use crate::snapshot::State;

/// What the thread is asked.
pub(crate) enum Request {
    /// To sync all that is written, and to say so.
    Sync(oneshot::Sender<Result<(), Error>>),
    /// To sync what is written when its time has come.
    Soon,
}

/// How many writes there have been since the folder was opened, and how many of them are synced.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    written: AtomicU64,
    synced: AtomicU64,
}

impl Progress {
    /// Counts the writes of a commit; how many wait to be synced now, and whether none did before.
    pub(crate) fn write(&self, writes: usize) -> (u64, bool) {
        let writes = u64::try_from(writes).unwrap_or(u64::MAX).max(1);
        let before = self.written.fetch_add(writes, Ordering::SeqCst);
        let synced = self.synced.load(Ordering::SeqCst);
        (before + writes - synced, before == synced)
    }

    fn is_behind(&self) -> bool {
        self.written.load(Ordering::SeqCst) > self.synced.load(Ordering::SeqCst)
    }
}

/// What the thread works on.
pub(crate) struct Keeper {
    pub(crate) snapshots: Arc<Aging<State>>,
    pub(crate) progress: Arc<Progress>,
    // Last, so that nobody reads from it when it is closed.
    pub(crate) engine: Arc<Engine>,
}

impl Keeper {
    /// Serves until nobody can ask any more, and then syncs what is left.
    pub(crate) fn run(self, requests: &Receiver<Request>) {
        let interval = match self.engine.options.durability {
            // A day is beyond any use, and can be added to any moment.
            Durability::Buffered { interval, .. } => interval.min(Duration::from_secs(86_400)),
            _ => Duration::ZERO,
        };
        let mut due: Option<Instant> = None;
        loop {
            let pause = self.snapshots.pause();
            let wait = due.map_or(pause, |due| due.saturating_duration_since(Instant::now()).min(pause));
            let first = requests.recv_timeout(wait);
            self.snapshots.expire();
            let ended = matches!(first, Err(RecvTimeoutError::Disconnected));
            let mut waiting = Vec::new();
            for request in first.into_iter().chain(requests.try_iter()) {
                match request {
                    Request::Sync(answer) => waiting.push(answer),
                    Request::Soon => due = due.or_else(|| Some(Instant::now() + interval)),
                }
            }
            if ended || !waiting.is_empty() || due.is_some_and(|due| due <= Instant::now()) {
                let synced = self.sync();
                for answer in waiting {
                    let _ = answer.send(match &synced {
                        Ok(()) => Ok(()),
                        Err(error) => Err(unknown(error)),
                    });
                }
                due = (due.is_some() && self.progress.is_behind()).then(|| Instant::now() + interval);
            }
            if ended {
                return;
            }
        }
    }

    /// One sync for all that is written. After one that fails the engine takes nothing more, and tells whoever comes.
    fn sync(&self) -> Result<(), rocksdb::Error> {
        let written = self.progress.written.load(Ordering::SeqCst);
        self.engine.db.flush_wal(true)?;
        self.progress.synced.fetch_max(written, Ordering::SeqCst);
        Ok(())
    }
}
