//! What stands in front of a store, or of a state of it, and how reads go through it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyloom_key::Span;
use keyloom_store::bloom::hash;
use keyloom_store::{Direction, Error, Limits, Page, Read};

use crate::cache::{Cache, Cached};
use crate::filter::Filter;
use crate::format::{Format, MARK};
use crate::rows::Copied;
use crate::slots::{Moment, Note};
use crate::stats::Counters;

/// The layers of a store.
#[derive(Debug, Default)]
pub(crate) struct Front {
    pub(crate) filter: Option<Filter>,
    pub(crate) cache: Option<Cache>,
    pub(crate) format: Option<Format>,
    pub(crate) counters: Counters,
}

/// Which state of the store is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    /// It has all that had ended by then.
    since: Moment,
    taken: Instant,
    /// How long it can be read.
    age: Option<Duration>,
}

impl Front {
    /// The state that a snapshot has which is taken next, and can be read for so long.
    pub(crate) fn now(&self, age: Option<Duration>) -> State {
        let since = self.cache.as_ref().map(Cache::now).unwrap_or_default();
        State { since, taken: Instant::now(), age }
    }

    /// Whether something depends on what is written.
    pub(crate) fn watches(&self) -> bool {
        self.filter.is_some() || self.cache.is_some()
    }

    /// The cache, for a state that can still be read, and the moment that it is asked for.
    fn cache(&self, state: Option<State>) -> Option<(&Cache, Option<Moment>)> {
        let expired = |State { taken, age, .. }: State| age.is_some_and(|age| taken.elapsed() >= age);
        let cache = self.cache.as_ref().filter(|_| !state.is_some_and(expired))?;
        Some((cache, state.map(|state| state.since)))
    }

    /// [`Read::get`] of a store, or of a state of it.
    pub(crate) async fn get<T: Send>(
        &self,
        below: &impl Read,
        state: Option<State>,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        if self.format.is_some() && key == MARK {
            return Ok(None);
        }
        let hash = if self.watches() { hash(key) } else { 0 };
        let counters = &self.counters;
        let cache = self.cache(state);
        let mut note = None;
        match cache.map(|(cache, since)| cache.get(key, hash, since)) {
            Some(Cached::Known(value)) => {
                counters.hits.add(1);
                return Ok(value.as_deref().map(look));
            }
            Some(Cached::Unknown(noted)) => {
                counters.misses.add(1);
                note = Some(noted);
            }
            Some(Cached::Passing) => counters.misses.add(1),
            None => {}
        }
        // The filter knows the keys that are there now: another state may have others.
        let filter = self.filter.as_ref().filter(|_| state.is_none());
        let may_contain = filter.and_then(|filter| filter.may_contain(hash));
        if may_contain == Some(false) {
            counters.filtered.add(1);
            return Ok(None);
        }
        let (found, copy) = self.read(below, key, note, look).await?;
        if let (Some((cache, _)), Some(note)) = (cache, note) {
            cache.leave(key, copy, note);
        }
        if let (Some(filter), true) = (filter, found.is_none()) {
            counters.false_positives.add(usize::from(may_contain.is_some()));
            filter.grow(below).await;
        }
        Ok(found)
    }

    /// Reads the store, and takes a copy for the cache.
    async fn read<T: Send>(
        &self,
        below: &impl Read,
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
            None => below.get(key, shown).await?,
            Some(_) => {
                let decoded =
                    |stored: &[u8]| Format::value(key, stored, &mut Vec::new(), &self.counters).map(shown);
                below.get(key, decoded).await?.transpose()?
            }
        };
        Ok((found, copy))
    }

    /// [`Read::get_many`] of a store, or of a state of it.
    pub(crate) async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        below: &impl Read,
        state: Option<State>,
        keys: &[K],
        mut look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        // What is cached and what the store has now need not be of one state; what a snapshot has, is.
        let Some((cache, since)) = state.and_then(|state| self.cache(Some(state))) else {
            return self.get_many_below(below, keys, look).await;
        };
        let ask = |key: &K| {
            let hash = hash(key.as_ref());
            (hash, cache.get(key.as_ref(), hash, since))
        };
        let answers: Vec<_> = keys.iter().map(ask).collect();
        let known = |number: usize| match answers.get(number) {
            Some((_, Cached::Known(value))) => Some(value.as_deref()),
            _ => None,
        };
        let missing: Vec<usize> = (0..keys.len()).filter(|number| known(*number).is_none()).collect();
        let left: Vec<&[u8]> =
            missing.iter().filter_map(|number| keys.get(*number)).map(AsRef::as_ref).collect();
        self.counters.hits.add(keys.len() - missing.len());
        self.counters.misses.add(missing.len());
        let mut next = 0;
        let shown = |place: usize, value: Option<&[u8]>| {
            let (Some(number), Some(key)) = (missing.get(place), left.get(place)) else { return };
            (next..*number)
                .for_each(|number| known(number).into_iter().for_each(|value| look(number, value)));
            next = next.max(number + 1);
            match answers.get(*number) {
                Some((hash, Cached::Unknown(note))) if cache.was_asked(*hash) => {
                    cache.leave(key, value.map(Into::into), *note);
                }
                _ => {}
            }
            look(*number, value);
        };
        if !left.is_empty() {
            self.get_many_below(below, &left, shown).await?;
        }
        (next..keys.len()).for_each(|number| known(number).into_iter().for_each(|value| look(number, value)));
        Ok(())
    }

    async fn get_many_below<K: AsRef<[u8]> + Sync>(
        &self,
        below: &impl Read,
        keys: &[K],
        mut look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        if self.format.is_none() {
            return below.get_many(keys, look).await;
        }
        let (mut room, mut wrong) = (Vec::new(), None);
        let decoded = |number: usize, stored: Option<&[u8]>| {
            let key = keys.get(number).map(AsRef::as_ref).unwrap_or_default();
            match stored.filter(|_| key != MARK) {
                _ if wrong.is_some() => {}
                None => look(number, None),
                Some(stored) => match Format::value(key, stored, &mut room, &self.counters) {
                    Ok(value) => look(number, Some(value)),
                    Err(error) => wrong = Some(error),
                },
            }
        };
        below.get_many(keys, decoded).await?;
        wrong.map_or(Ok(()), Err)
    }

    /// [`Read::scan`] of a store, or of a state of it.
    pub(crate) async fn scan(
        &self,
        below: &impl Read,
        state: Option<State>,
        what: (&Span, Direction, Limits),
        mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        let Some((cache, since)) = self.cache(state) else { return self.scan_below(below, what, look).await };
        let note = match cache.page(what, since) {
            Cached::Known(rows) => {
                self.counters.page_hits.add(1);
                return Ok(rows.show(what, look));
            }
            Cached::Unknown(note) => Some(note),
            Cached::Passing => None,
        };
        self.counters.page_misses.add(1);
        let Some(note) = note else { return self.scan_below(below, what, look).await };
        let mut copied = Copied::new(cache.largest());
        let copy = |key: &[u8], value: &[u8]| {
            copied.row(key, value);
            look(key, value)
        };
        let page = self.scan_below(below, what, copy).await?;
        let (span, direction, limits) = what;
        if let Some(rows) = copied.of(&page, limits) {
            cache.leave_page(span, direction, rows, note);
        }
        Ok(page)
    }

    async fn scan_below(
        &self,
        below: &impl Read,
        what: (&Span, Direction, Limits),
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        match self.format {
            Some(_) => Format::scan(below, what, &self.counters, look).await,
            None => {
                let (span, direction, limits) = what;
                below.scan(span, direction, limits, look).await
            }
        }
    }
}
