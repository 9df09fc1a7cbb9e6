//! A store with layers in front of it.

use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_key::Span;
use keyloom_store::{Batch, Capability, Condition, Direction, Error, Limits, Page, Read, Sequence, Store};

use crate::cache::Cache;
use crate::compression::{Compression, is_short};
use crate::filter::{Filter, Size};
use crate::format::Format;
use crate::front::Front;
use crate::layers::Layers;
use crate::pending::Pending;
use crate::snapshot::LayeredSnapshot;
use crate::stats::{Counters, LayerStats};

/// A store with layers in front of it. Clones share both.
///
/// All commits must go through it and its clones if it has a filter or a cache.
#[derive(Debug, Clone)]
pub struct Layered<S> {
    store: S,
    /// `None` if there are no layers.
    front: Option<Arc<Front>>,
}

impl<S: Store> Layered<S> {
    /// Puts layers in front of a store.
    ///
    /// A filter or a cache is [unsupported](Error::Unsupported) where others may write to the store. Compression is
    /// [refused](Error::Refused) for a store that was begun without it; one that was begun with it is read and written so,
    /// whether it is asked for or not.
    pub async fn open(store: S, layers: Layers) -> Result<Self, Error> {
        let Capability { name, exclusive, .. } = store.capability();
        for (asked, layer) in [(layers.filter.is_some(), "filter"), (layers.cache.is_some(), "cache")] {
            if asked && !exclusive {
                let what = format!("have a {layer}: others may write to it, and the {layer} would not know");
                return Err(Error::Unsupported { store: name, what: what.into() });
            }
        }
        let format = Format::of(&store, layers.compression).await?;
        let (filter, cache) = (layers.filter.map(Filter::new), layers.cache.map(Cache::new));
        let any = filter.is_some() || cache.is_some() || format.is_some();
        let front = any.then(|| Arc::new(Front { filter, cache, format, counters: Counters::default() }));
        Ok(Self { store, front })
    }

    /// The store below. What is committed there must not be read through a filter or a cache.
    pub fn below(&self) -> &S {
        &self.store
    }

    /// How new values are written; `None` where no value says how it is.
    pub fn compression(&self) -> Option<Compression> {
        Some(self.front.as_ref()?.format.as_ref()?.compression())
    }

    /// Takes all keys into the filter, which otherwise happens by and by. Returns whether it is whole: not while someone
    /// else is at it, or while it waits for commits to end.
    pub async fn fill(&self) -> bool {
        let Some(filter) = self.front.as_ref().and_then(|front| front.filter.as_ref()) else { return false };
        while filter.grow(&self.store).await {}
        filter.is_whole()
    }

    /// What the layers have done, and how large they are.
    pub fn stats(&self) -> LayerStats {
        let Some(front) = &self.front else { return LayerStats::default() };
        let counters = &front.counters;
        let filter = front.filter.as_ref().map(Filter::size);
        let Size { keys, bytes, whole, overflown } = filter.unwrap_or_default();
        LayerStats {
            hits: counters.hits.get(),
            misses: counters.misses.get(),
            page_hits: counters.page_hits.get(),
            page_misses: counters.page_misses.get(),
            cached: front.cache.as_ref().map_or(0, |cache| cache.entries() as u64),
            cached_bytes: front.cache.as_ref().map_or(0, Cache::bytes),
            filtered: counters.filtered.get(),
            false_positives: counters.false_positives.get(),
            filter_keys: keys as u64,
            filter_bytes: bytes as u64,
            filter_whole: whole,
            filter_overflown: overflown,
            value_bytes: counters.value_bytes.get(),
            stored_bytes: counters.stored_bytes.get(),
        }
    }
}

impl<S: Store> Read for Layered<S> {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        match &self.front {
            None => self.store.get(key, look).await,
            Some(front) => front.get(&self.store, None, key, look).await,
        }
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        match &self.front {
            None => self.store.get_many(keys, look).await,
            Some(front) => front.get_many(&self.store, None, keys, look).await,
        }
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        match &self.front {
            None => self.store.scan(span, direction, limits, look).await,
            Some(front) => front.scan(&self.store, None, (span, direction, limits), look).await,
        }
    }
}

impl<S: Store> Store for Layered<S> {
    type Snapshot = LayeredSnapshot<S::Snapshot>;

    fn capability(&self) -> Capability {
        let mut capability = self.store.capability();
        if self.compression().is_some() {
            capability.max_value = capability.max_value.saturating_sub(1);
        }
        capability
    }

    async fn get_meanwhile<T: Send, W: Send>(
        &self,
        key: &[u8],
        meanwhile: impl FnOnce() -> W + Send,
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<(W, Option<T>), Error> {
        match &self.front {
            None => self.store.get_meanwhile(key, meanwhile, look).await,
            Some(_) => Ok((meanwhile(), self.get(key, look).await?)),
        }
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        let Some(front) = &self.front else { return self.store.commit(batch).await };
        let pending = Pending::begin(front, &batch);
        let outcome = match &front.format {
            None => self.store.commit(batch).await,
            Some(format) => self.commit_stored(format, &batch, &front.counters).await,
        };
        pending.end(&outcome);
        outcome
    }

    async fn flush(&self) -> Result<(), Error> {
        self.store.flush().await
    }

    async fn catch_up(&self) -> Result<(), Error> {
        self.store.catch_up().await
    }

    async fn is_behind(&self) -> Result<bool, Error> {
        self.store.is_behind().await
    }

    async fn stripe(&self, prefix: &[u8], stripes: u16) -> Result<(), Error> {
        self.store.stripe(prefix, stripes).await
    }

    async fn sequence(&self) -> Result<Sequence, Error> {
        self.store.sequence().await
    }

    async fn snapshot(&self) -> Result<Self::Snapshot, Error> {
        // Before the snapshot: what had ended by now is in it.
        let age = self.store.capability().snapshot_age;
        let front = self.front.as_ref().map(|front| (Arc::clone(front), front.now(age)));
        Ok(LayeredSnapshot::new(self.store.snapshot().await?, front))
    }
}

impl<S: Store> Layered<S> {
    /// Commits a batch in the bytes that the store has.
    async fn commit_stored(
        &self,
        format: &Format,
        batch: &Batch,
        counters: &Counters,
    ) -> Result<Sequence, Error> {
        loop {
            let stored = format.batch(&self.store, batch, counters).await?;
            match self.store.commit(stored).await {
                // It was overtaken by another spelling of the same value, or by another value: the next look tells.
                Err(Error::Conflict(condition)) if !is_plain(&condition) => {}
                Err(Error::Conflict(condition)) => return Err(Error::Conflict(shown(batch, condition))),
                outcome => return outcome,
            }
        }
    }
}

/// Whether what the store was asked is what the caller asked.
fn is_plain(condition: &Condition) -> bool {
    match condition {
        Condition::Absent(_) => true,
        Condition::Is { value, .. } => is_short(value),
        _ => false,
    }
}

/// The condition as the caller has it.
fn shown(batch: &Batch, condition: Box<Condition>) -> Box<Condition> {
    let same = |own: &&Condition| match (&*condition, own) {
        (Condition::Is { key, value }, Condition::Is { key: own, value: plain }) => {
            key == own && value.get(1..).unwrap_or_default() == plain.as_slice()
        }
        (one, other) => one == *other,
    };
    let own = batch.conditions().iter().find(same).cloned();
    own.map_or(condition, Box::new)
}
