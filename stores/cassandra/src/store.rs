//! The store: what it shares, and how it answers.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::{Batch, Capability, Direction, Error, Limits, Page, Read, Sequence, Store};

use crate::cluster::{Cell, Cluster, Consistency, Fault};
use crate::lease::Copy;
use crate::order::Order;
use crate::settings::Settings;

/// The store's name, as in its URL.
pub(crate) const NAME: &str = "cassandra";

/// The longest key: what Cassandra takes, less what stands beside the key.
pub(crate) const MAX_KEY: usize = 65_000;

/// The longest value: with its key it fits into half of what one request may have.
pub(crate) const MAX_VALUE: usize = 8 << 20;

/// A store on a cluster. Clones share it.
///
/// A batch about [one record](keyloom_store::About::Record), [of members](keyloom_store::About::Members), or that
/// writes one key is committed; one that writes several keys and does not say what they have to do with one another is
/// [unsupported](Error::Unsupported). Independent batches can be committed at the same time, as many as the cluster takes.
pub struct ClusterStore<C: Cluster>(pub(crate) Arc<Shared<C>>);

impl<C: Cluster> Clone for ClusterStore<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Cluster> fmt::Debug for ClusterStore<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterStore").field("settings", self.settings()).finish_non_exhaustive()
    }
}

pub(crate) struct Shared<C: Cluster> {
    order: Order<C>,
    /// Keys that batches required and did not write.
    pub(crate) copies: Mutex<BTreeMap<Vec<u8>, Copy>>,
    /// Whether dead rows are being deleted. One at a time is enough: a row that is left is met again.
    pub(crate) cleaning: AtomicBool,
    sequence: AtomicU64,
    #[cfg(test)]
    pub(crate) mistake: Option<crate::mistake::Mistake>,
}

impl<C: Cluster> Shared<C> {
    pub(crate) fn new(order: Order<C>) -> Self {
        Self {
            order,
            copies: Mutex::default(),
            cleaning: AtomicBool::new(false),
            sequence: AtomicU64::new(0),
            #[cfg(test)]
            mistake: None,
        }
    }
}

impl<C: Cluster> ClusterStore<C> {
    /// The store whose rows lie in this order.
    pub fn new(order: Order<C>) -> Self {
        Self(Arc::new(Shared::new(order)))
    }

    pub(crate) fn cluster(&self) -> &C {
        self.0.order.cluster()
    }

    pub(crate) fn order(&self) -> &Order<C> {
        &self.0.order
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.order.shared.settings
    }

    /// Does work near the connections: if threads have to be woken, then to begin it and to hear of its end, and not for
    /// each statement.
    pub(crate) async fn near<T, W>(&self, work: impl FnOnce(Self) -> W) -> Result<T, Fault>
    where
        T: Send + 'static,
        W: Future<Output = T> + Send + 'static,
    {
        // A cluster's futures are deep; in a box they do not make those around them deeper.
        self.cluster().run(Box::pin(work(self.clone()))).await
    }

    /// The cell of a key, in a few attempts: reading changes nothing.
    pub(crate) async fn cell(&self, key: &[u8], consistency: Consistency) -> Result<Option<Cell>, Fault> {
        let mut attempt = 0;
        loop {
            match self.cluster().cell(key, consistency).await {
                Err(Fault::Unknown(_)) if attempt < 3 => self.pause(attempt).await,
                answer => return answer,
            }
            attempt += 1;
        }
    }

    /// Waits before the next attempt: longer each time, and not all the same.
    pub(crate) async fn pause(&self, attempt: u32) {
        let most = 2_000_u64 << attempt.min(8);
        let time = self.cluster().random().checked_rem(most).unwrap_or_default();
        self.cluster().sleep(Duration::from_micros(most / 2 + time)).await;
    }

    /// The place of a commit: the time in microseconds, and greater than all that this process was given before.
    fn place(&self) -> Sequence {
        let now = u64::try_from(self.cluster().wall()).unwrap_or_default();
        let next = |last: u64| Some(now.max(last + 1));
        // The closure always gives a value, so both arms are the sequence before.
        let (Ok(last) | Err(last)) = self.0.sequence.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        Sequence(now.max(last + 1))
    }
}

/// What a read says of a statement that did not end well, or a write that has not happened.
pub(crate) fn failed(fault: Fault) -> Error {
    match fault {
        Fault::Unknown(reason) => Error::Busy(format!("the cluster did not answer: {reason}").into()),
        Fault::Refused(reason) => Error::Failed(reason.into()),
    }
}

pub(crate) fn unsupported(what: &'static str) -> Error {
    Error::Unsupported { store: NAME, what: what.into() }
}

impl<C: Cluster> Read for ClusterStore<C> {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        let key = key.to_vec();
        let value = self.near(|store| async move { store.value(&key).await }).await.map_err(failed)??;
        Ok(value.as_deref().map(look))
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        mut look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.as_ref().to_vec()).collect();
        let values = self.near(|store| async move { store.values(&keys).await }).await.map_err(failed)??;
        values.iter().enumerate().for_each(|(number, value)| look(number, value.as_deref()));
        Ok(())
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        self.page(span, direction, limits, look).await
    }
}

impl<C: Cluster> Store for ClusterStore<C> {
    type Snapshot = NoSnapshot;

    fn capability(&self) -> Capability {
        let settings = self.settings();
        let mut capability = Capability::least(NAME);
        capability.record_batch = true;
        capability.conditions = true;
        // Others go on until their copy is too old, and then a statement may still be on its way.
        capability.lease = Some(settings.lease + settings.margin + settings.statement);
        capability.ordered = true;
        capability.durable = true;
        capability.max_key = MAX_KEY;
        capability.max_value = MAX_VALUE;
        capability
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        let written = self.near(|store| async move { store.write(&batch).await }).await;
        written.map_err(|fault| Error::Unknown(fault.to_string().into()))??;
        Ok(self.place())
    }

    /// The place of this process's last commit: no order runs across the commits of all.
    async fn sequence(&self) -> Result<Sequence, Error> {
        Ok(Sequence(self.0.sequence.load(Ordering::SeqCst)))
    }

    async fn snapshot(&self) -> Result<NoSnapshot, Error> {
        Err(unsupported("hold a state while others write: read what you need by key or by scan"))
    }
}

/// A snapshot of a store that has none.
#[derive(Debug, Clone, Copy)]
pub enum NoSnapshot {}

impl Read for NoSnapshot {
    async fn get<T: Send>(
        &self,
        _key: &[u8],
        _look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        match *self {}
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        _keys: &[K],
        _look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        match *self {}
    }

    async fn scan(
        &self,
        _span: &Span,
        _direction: Direction,
        _limits: Limits,
        _look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        match *self {}
    }
}
