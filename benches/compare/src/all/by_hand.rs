//! Systems that keep sorted bytes, with the bytes of Keyloom's keys and values and nothing around them: no schema, no
//! planner, no condition but that a new record is not there yet.

use keyloom_workload::{Ask, Error, Layout, Order, Reads, Tally, Work, Writes, end, record_of};

use super::peer::{Fingerprint, Here, Promise};

/// A system of sorted bytes.
pub(crate) trait Bytes: Sync {
    /// What one question is answered from, so that it sees the newest state: a transaction, where the system needs one.
    type View<'a>
    where
        Self: 'a;

    fn view(&self) -> Result<Self::View<'_>, Error>;

    fn get(
        view: &Self::View<'_>,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// The first `limit` rows of a span, or backward its last.
    fn scan(
        view: &Self::View<'_>,
        span: (&[u8], &[u8]),
        backward: bool,
        limit: usize,
        look: impl FnMut(&[u8], &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// The values of several keys, where the system looks for them together.
    fn get_many(
        view: &Self::View<'_>,
        keys: &[Vec<u8>],
        mut look: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        keys.iter().try_for_each(|key| Self::get(view, key, &mut look))
    }

    /// Whether it does.
    fn gets_many(&self) -> bool {
        false
    }

    /// Writes a record that is [not there yet](there) and its entry as one. Keyloom and SQLite look, so all do.
    fn commit(&self, rows: [(Vec<u8>, Vec<u8>); 2]) -> Result<(), Error>;

    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error>;

    /// See [`Peer::settle`](super::peer::Peer::settle).
    fn settle(&mut self, layout: &Layout, orders: &[Order]) -> Result<(), Error> {
        let _ = (layout, orders);
        Ok(())
    }

    /// Whether it keeps an order.
    fn is_sorted(&self) -> bool {
        true
    }
}

/// Why a record is not inserted.
pub(crate) fn there() -> Error {
    "the record is there already".into()
}

/// The orders in such a system.
pub(crate) struct ByHand<B> {
    pub(crate) bytes: B,
    pub(crate) layout: Layout,
}

impl<B: Bytes> Reads for ByHand<B> {
    fn get(&self, orders: &[Order]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for order in orders {
            let view = self.bytes.view()?;
            B::get(&view, &self.layout.key(order)?, |value| self.layout.look(value, &mut tally))?;
        }
        Ok(tally)
    }

    fn prefix(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let (start, end) = self.layout.of_user(ask)?;
            let view = self.bytes.view()?;
            let look = |_: &[u8], value: &[u8]| self.layout.look(value, &mut tally);
            B::scan(&view, (&start, &end), false, usize::MAX, look)?;
        }
        Ok(tally)
    }

    fn range(&self, asks: &[Ask], backward: bool) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let (start, end) = self.layout.range(ask, backward)?;
            let view = self.bytes.view()?;
            let look = |_: &[u8], value: &[u8]| self.layout.look(value, &mut tally);
            B::scan(&view, (&start, &end), backward, 20, look)?;
        }
        Ok(tally)
    }

    fn index(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let (start, end) = self.layout.entries(ask)?;
            let view = self.bytes.view()?;
            if self.bytes.gets_many() {
                let mut keys = Vec::with_capacity(20);
                B::scan(&view, (&start, &end), true, 20, |_, entry| {
                    keys.push(record_of(entry)?.to_vec());
                    Ok(())
                })?;
                B::get_many(&view, &keys, |value| self.layout.look(value, &mut tally))?;
                continue;
            }
            B::scan(&view, (&start, &end), true, 20, |_, entry| {
                B::get(&view, record_of(entry)?, |value| self.layout.look(value, &mut tally))
            })?;
        }
        Ok(tally)
    }

    fn scan(&self) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        let start = self.layout.records();
        let look = |_: &[u8], value: &[u8]| self.layout.look(value, &mut tally);
        B::scan(&self.bytes.view()?, (&start, &end(&start)?), false, usize::MAX, look)?;
        Ok(tally)
    }
}

impl<B: Bytes> Writes for ByHand<B> {
    fn write(&self, orders: &[Order]) -> Result<(), Error> {
        for order in orders {
            self.bytes.commit([self.layout.record(order)?, self.layout.entry(order)?])?;
        }
        Ok(())
    }
}

impl<B: Bytes> Here for ByHand<B> {
    fn can(&self, work: Work) -> bool {
        self.bytes.is_sorted() || matches!(work, Work::Get | Work::Miss)
    }

    fn settle(&mut self, orders: &[Order]) -> Result<(), Error> {
        self.bytes.settle(&self.layout, orders)
    }

    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error> {
        self.bytes.promise(promise)
    }

    fn fingerprint(&self) -> Result<Option<u64>, Error> {
        if !self.bytes.is_sorted() {
            return Ok(None);
        }
        let mut fingerprint = Fingerprint::default();
        let look = |key: &[u8], value: &[u8]| {
            fingerprint.add(key, value);
            Ok(())
        };
        B::scan(&self.bytes.view()?, (&[0], &[0xFF; 8]), false, usize::MAX, look)?;
        Ok(Some(fingerprint.0))
    }
}
