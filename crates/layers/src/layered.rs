//! A store with layers in front of it.

use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_key::Span;
use keyloom_store::{Batch, Capability, Condition, Direction, Error, Limits, Page, Read, Sequence, Store};

use crate::bloom::hash;
use crate::cache::{Cache, Cached, Note};
use crate::compression::{Compression, is_short};
use crate::filter::{Filter, Size};
use crate::format::{Format, MARK};
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

/// The layers of a store.
#[derive(Debug, Default)]
pub(crate) struct Front {
    pub(crate) filter: Option<Filter>,
    pub(crate) cache: Option<Cache>,
    pub(crate) format: Option<Format>,
    pub(crate) counters: Counters,
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
        let Size { keys, bytes, whole } = filter.unwrap_or(Size { keys: 0, bytes: 0, whole: false });
        LayerStats {
            hits: counters.hits.get(),
            misses: counters.misses.get(),
            cached: front.cache.as_ref().map_or(0, |cache| cache.entries() as u64),
            cached_bytes: front.cache.as_ref().map_or(0, Cache::bytes),
            filtered: counters.filtered.get(),
            false_positives: counters.false_positives.get(),
            filter_keys: keys as u64,
            filter_bytes: bytes as u64,
            filter_whole: whole,
            value_bytes: counters.value_bytes.get(),
            stored_bytes: counters.stored_bytes.get(),
        }
    }
}

impl Front {
    /// Whether something depends on what is written.
    pub(crate) fn watches(&self) -> bool {
        self.filter.is_some() || self.cache.is_some()
    }

    async fn get<T: Send>(
        &self,
        store: &impl Read,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        if self.format.is_some() && key == MARK {
            return Ok(None);
        }
        let hash = if self.watches() { hash(key) } else { 0 };
        let counters = &self.counters;
        let mut note = None;
        match self.cache.as_ref().map(|cache| cache.get(key, hash)) {
            Some(Cached::Known(value)) => {
                counters.hits.add(1);
                return Ok(value.as_deref().map(look));
            }
            Some(Cached::Unknown(noted)) => {
                counters.misses.add(1);
                note = Some(noted);
            }
            Some(Cached::Moving) => counters.misses.add(1),
            None => {}
        }
        let may_contain = self.filter.as_ref().and_then(|filter| filter.may_contain(hash));
        if may_contain == Some(false) {
            counters.filtered.add(1);
            return Ok(None);
        }
        let (found, copy) = self.read(store, key, note, look).await?;
        if let (Some(cache), Some(note)) = (&self.cache, note) {
            cache.leave(key, copy, note);
        }
        if let (Some(filter), true) = (&self.filter, found.is_none()) {
            counters.false_positives.add(usize::from(may_contain.is_some()));
            filter.grow(store).await;
        }
        Ok(found)
    }

    /// Reads the store, and takes a copy for the cache.
    async fn read<T: Send>(
        &self,
        store: &impl Read,
        key: &[u8],
        note: Option<Note>,
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<(Option<T>, Option<Arc<[u8]>>), Error> {
        let mut copy = None;
        let shown = |value: &[u8]| {
            copy = note.map(|_| value.into());
            look(value)
        };
        let found = match self.format {
            None => store.get(key, shown).await?,
            Some(_) => {
                let decoded =
                    |stored: &[u8]| Format::value(key, stored, &mut Vec::new(), &self.counters).map(shown);
                store.get(key, decoded).await?.transpose()?
            }
        };
        Ok((found, copy))
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
            Some(front) => front.get(&self.store, key, look).await,
        }
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        // Values of the cache and of the store need not be of one state.
        crate::snapshot::get_many(&self.store, self.front.as_deref(), keys, look).await
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        crate::snapshot::scan(&self.store, self.front.as_deref(), (span, direction, limits), look).await
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

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        let Some(front) = &self.front else { return self.store.commit(batch).await };
        let pending = Pending::begin(front, batch.writes().map(|(key, _)| key));
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

    async fn stripe(&self, prefix: &[u8], stripes: u16) -> Result<(), Error> {
        self.store.stripe(prefix, stripes).await
    }

    async fn sequence(&self) -> Result<Sequence, Error> {
        self.store.sequence().await
    }

    async fn snapshot(&self) -> Result<Self::Snapshot, Error> {
        Ok(LayeredSnapshot::new(self.store.snapshot().await?, self.front.clone()))
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
