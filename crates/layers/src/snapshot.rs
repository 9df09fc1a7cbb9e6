//! A state of a store behind its layers: what is cached counts if it has not been written since.

use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_key::Span;
use keyloom_store::{Direction, Error, Limits, Page, Read};

use crate::front::{Front, State};

/// A state of a [`Layered`](crate::Layered) store.
#[derive(Debug)]
pub struct LayeredSnapshot<R> {
    below: R,
    /// `None` if nothing in front matters here: a filter does not.
    front: Option<(Arc<Front>, State)>,
}

impl<R> LayeredSnapshot<R> {
    pub(crate) fn new(below: R, front: Option<(Arc<Front>, State)>) -> Self {
        let front = front.filter(|(front, _)| front.format.is_some() || front.cache.is_some());
        Self { below, front }
    }
}

impl<R: Read> Read for LayeredSnapshot<R> {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        match &self.front {
            None => self.below.get(key, look).await,
            Some((front, state)) => front.get(&self.below, Some(*state), key, look).await,
        }
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        match &self.front {
            None => self.below.get_many(keys, look).await,
            Some((front, state)) => front.get_many(&self.below, Some(*state), keys, look).await,
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
            None => self.below.scan(span, direction, limits, look).await,
            Some((front, state)) => {
                front.scan(&self.below, Some(*state), (span, direction, limits), look).await
            }
        }
    }
}
