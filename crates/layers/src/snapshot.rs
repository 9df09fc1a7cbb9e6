//! A state of a store below its layers: values are as they were written, nothing is cached or filtered.

use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_key::Span;
use keyloom_store::{Direction, Error, Limits, Page, Read};

use crate::format::{Format, MARK};
use crate::layered::Front;

/// A state of a [`Layered`](crate::Layered) store.
#[derive(Debug)]
pub struct LayeredSnapshot<R> {
    below: R,
    front: Option<Arc<Front>>,
}

impl<R> LayeredSnapshot<R> {
    pub(crate) fn new(below: R, front: Option<Arc<Front>>) -> Self {
        // Only the form of values matters here.
        Self { below, front: front.filter(|front| front.format.is_some()) }
    }
}

impl<R: Read> Read for LayeredSnapshot<R> {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        let Some(front) = &self.front else { return self.below.get(key, look).await };
        if key == MARK {
            return Ok(None);
        }
        let look = |stored: &[u8]| Format::value(key, stored, &mut Vec::new(), &front.counters).map(look);
        self.below.get(key, look).await?.transpose()
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        get_many(&self.below, self.front.as_deref(), keys, look).await
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        scan(&self.below, self.front.as_deref(), (span, direction, limits), look).await
    }
}

/// [`Read::get_many`] of a store or a state of it.
pub(crate) async fn get_many<R: Read, K: AsRef<[u8]> + Sync>(
    below: &R,
    front: Option<&Front>,
    keys: &[K],
    mut look: impl FnMut(usize, Option<&[u8]>) + Send,
) -> Result<(), Error> {
    let Some(Front { format: Some(_), counters, .. }) = front else {
        return below.get_many(keys, look).await;
    };
    let (mut room, mut wrong) = (Vec::new(), None);
    let decoded = |number: usize, stored: Option<&[u8]>| {
        let key = keys.get(number).map(AsRef::as_ref).unwrap_or_default();
        match stored.filter(|_| key != MARK) {
            _ if wrong.is_some() => {}
            None => look(number, None),
            Some(stored) => match Format::value(key, stored, &mut room, counters) {
                Ok(value) => look(number, Some(value)),
                Err(error) => wrong = Some(error),
            },
        }
    };
    below.get_many(keys, decoded).await?;
    wrong.map_or(Ok(()), Err)
}

/// [`Read::scan`] of a store or a state of it.
pub(crate) async fn scan<R: Read>(
    below: &R,
    front: Option<&Front>,
    what: (&Span, Direction, Limits),
    look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
) -> Result<Page, Error> {
    match front {
        Some(Front { format: Some(_), counters, .. }) => Format::scan(below, what, counters, look).await,
        _ => {
            let (span, direction, limits) = what;
            below.scan(span, direction, limits, look).await
        }
    }
}
