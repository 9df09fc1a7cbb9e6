//! Snapshots: committed states that are held until they are past their age.

use std::future::{Future, ready};
use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_key::Span;
use keyloom_store::{Aged, Direction, Error, Limits, Page, Read};

use crate::scan;
use crate::store::{RedbStore, get_many};
use crate::view::View;

/// A [`RedbStore`] as it was.
///
/// While it can be read, the file keeps every page that it can see, and grows.
#[derive(Debug)]
pub struct RedbSnapshot {
    pub(crate) view: Aged<Arc<View>>,
    // Behind the state, so that it is dropped after it.
    pub(crate) _store: RedbStore,
}

impl Read for RedbSnapshot {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        ready(self.view.read(|view| scan::get(&view.data, key, look)))
    }

    fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        ready(self.view.read(|view| get_many(view, keys, look)))
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        ready(self.view.read(|view| scan::page(&view.data, span, direction, limits, look)))
    }
}
