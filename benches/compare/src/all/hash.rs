//! A hash index in memory: exact keys, and no order.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use keyloom_workload::{Error, Layout, Order};

use super::by_hand::{ByHand, Bytes, there};
use super::peer::Promise;

type Map = HashMap<Vec<u8>, Vec<u8>>;

/// A map behind a lock, as several threads use it.
#[derive(Default)]
pub(crate) struct Hash(RwLock<Map>);

pub(crate) fn load(orders: &[Order], layout: Layout) -> Result<ByHand<Hash>, Error> {
    let mut map = Map::new();
    for order in orders {
        for (key, value) in [layout.record(order)?, layout.entry(order)?] {
            map.insert(key, value);
        }
    }
    Ok(ByHand { bytes: Hash(RwLock::new(map)), layout })
}

impl Bytes for Hash {
    type View<'a> = RwLockReadGuard<'a, Map>;

    fn view(&self) -> Result<Self::View<'_>, Error> {
        Ok(self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn get(
        view: &Self::View<'_>,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        view.get(key).map_or(Ok(()), |value| look(value))
    }

    fn scan(
        _: &Self::View<'_>,
        _: (&[u8], &[u8]),
        _: bool,
        _: usize,
        _: impl FnMut(&[u8], &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        Err("a hash index has no order".into())
    }

    fn commit(&self, rows: [(Vec<u8>, Vec<u8>); 2]) -> Result<(), Error> {
        let mut data = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let [(record, _), _] = &rows;
        if data.contains_key(record) {
            return Err(there());
        }
        data.extend(rows);
        Ok(())
    }

    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error> {
        Ok((promise == Promise::Less).then_some("hashmap"))
    }

    fn is_sorted(&self) -> bool {
        false
    }
}
