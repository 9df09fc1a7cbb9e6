//! Snapshots: states that the engine keeps until they are past their age.

use std::fmt;
use std::future::{Future, ready};
use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_key::Span;
use keyloom_store::{Aged, Direction, Error, Limits, Page, Read};
use self_cell::self_cell;

use crate::engine::Engine;
use crate::scan::{Kept, Reading};
use crate::store::RocksStore;

self_cell! {
    /// A state with the engine that keeps it.
    pub(crate) struct State {
        owner: Arc<Engine>,
        #[covariant]
        dependent: Kept,
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrow_owner().fmt(f)
    }
}

impl State {
    /// The state of now.
    pub(crate) fn take(engine: Arc<Engine>) -> Self {
        Self::new(engine, |engine| engine.db.snapshot())
    }

    fn reading(&self) -> Reading<'_> {
        Reading { engine: self.borrow_owner(), kept: Some(self.borrow_dependent()) }
    }
}

/// A [`RocksStore`] as it was.
///
/// While it can be read, no version that it sees is thrown away.
#[derive(Debug)]
pub struct RocksSnapshot {
    pub(crate) state: Aged<State>,
    // Behind the state, so that it is dropped after it.
    pub(crate) _store: RocksStore,
}

impl Read for RocksSnapshot {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        ready(self.state.read(|state| state.reading().get(key, look)))
    }

    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        ready(self.state.read(|state| state.reading().get_many(keys, look)))
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        ready(self.state.read(|state| state.reading().page(span, direction, limits, look)))
    }
}
