//! A write transaction: what is put behind the last key is appended, which needs no search and fills pages whole.

use std::ops::Deref;
use std::sync::mpsc::sync_channel;
use std::thread;

use heed::{PutFlags, ReservedSpace, RoTxn, RwTxn};
use keyloom_store::{Batch, Error, Sequence, sealed};

use crate::engine::{Engine, SALTS, SEQUENCE};
use crate::error::engine;
use crate::filter::Adding;
use crate::log::Salts;

/// From so many bytes on a batch is worth a thread that [brings its rows together](Transaction::write_together).
const LARGE: usize = 4 << 20;
/// How many bytes of rows it brings together at once, and how many times as much may wait: all of it stays in the cache.
const TOGETHER: usize = 64 << 10;
const WAITING: usize = 2;

/// Writes that become visible, and durable, as one.
pub(crate) struct Transaction<'a> {
    engine: &'a Engine,
    txn: RwTxn<'a>,
    /// The keys that it puts.
    adding: Option<Adding<'a>>,
    /// No key is greater. Empty if there is none.
    last: Vec<u8>,
}

impl<'a> Transaction<'a> {
    pub(crate) fn begin(open: &'a Engine) -> Result<Self, Error> {
        let txn = open.env.write_txn().map_err(engine)?;
        let last = open.data.last(&txn).map_err(engine)?.map(|(key, _)| key.to_vec()).unwrap_or_default();
        Ok(Self { engine: open, adding: open.adding(&txn), txn, last })
    }

    /// Puts values, or deletes keys that have none, one after the other.
    pub(crate) fn write_all<'w>(
        &mut self,
        writes: impl Iterator<Item = (&'w [u8], Option<&'w [u8]>)>,
    ) -> Result<(), Error> {
        let adding = &self.adding;
        let writes = writes.inspect(|(key, value)| {
            if let (Some(adding), Some(_)) = (adding, value) {
                adding.add(key);
            }
        });
        let mut writes = writes.peekable();
        while let Some((key, value)) = writes.next() {
            match value {
                Some(value) if key > self.last.as_slice() => {
                    self.last.clear();
                    self.last.extend_from_slice(key);
                    let next = || {
                        let last = &mut self.last;
                        let (key, value) =
                            writes.next_if(|(key, value)| *key > last.as_slice() && value.is_some())?;
                        last.clear();
                        last.extend_from_slice(key);
                        Some((key, value?))
                    };
                    let rows = std::iter::once((key, value)).chain(std::iter::from_fn(next));
                    append(self.engine, &mut self.txn, rows)?;
                }
                Some(value) => {
                    let seal = |space: &mut ReservedSpace<'_>| sealed::seal(key, value, space);
                    let length = value.len() + sealed::SEAL;
                    self.engine.data.put_reserved(&mut self.txn, key, length, seal).map_err(engine)?;
                }
                None => drop(self.engine.data.delete(&mut self.txn, key).map_err(engine)?),
            }
        }
        Ok(())
    }

    /// Does what a batch says.
    pub(crate) fn write(&mut self, batch: &Batch) -> Result<(), Error> {
        if batch.size() < LARGE { self.write_all(batch.writes()) } else { self.write_together(batch) }
    }

    /// Does what a large batch says. Its rows lie all over memory, because it was sorted, so a thread beside copies the next
    /// ones to where they lie side by side.
    fn write_together(&mut self, batch: &Batch) -> Result<(), Error> {
        let (send, receive) = sync_channel(WAITING);
        thread::scope(|scope| {
            let bring = move || {
                let mut together = Batch::new();
                for (key, value) in batch.writes() {
                    together.write(key, value);
                    // Nobody takes them when the transaction has failed.
                    if together.size() >= TOGETHER && send.send(std::mem::take(&mut together)).is_err() {
                        return;
                    }
                }
                let _ = send.send(together);
            };
            match thread::Builder::new().name("keyloom-together".to_owned()).spawn_scoped(scope, bring) {
                Ok(_) => receive.into_iter().try_for_each(|rows| self.write_all(rows.writes())),
                Err(_) => self.write_all(batch.writes()),
            }
        })
    }

    /// Commits, with the sequence of the last commit that is in it, and other salts for the logs if there are any.
    ///
    /// After [`Error::Unknown`] nothing more can be written; after any other error nothing was.
    pub(crate) fn commit(mut self, last: Sequence, salts: Option<Salts>) -> Result<(), Error> {
        if let Some(salts) = salts {
            self.engine.meta.put(&mut self.txn, SALTS, &salts.to_bytes()).map_err(engine)?;
        }
        self.engine.meta.put(&mut self.txn, SEQUENCE, &last.0.to_be_bytes()).map_err(engine)?;
        // LMDB writes the pages, syncs them, and writes the root. Only when the last fails is it in doubt, and it then
        // begins no transaction any more.
        self.txn.commit().map_err(|error| match self.engine.env.write_txn() {
            Err(heed::Error::Mdb(heed::MdbError::Panic)) => {
                Error::Unknown(format!("the root of the file could not be written: {error}").into())
            }
            _ => engine(error),
        })?;
        self.engine.lengthen();
        self.adding.into_iter().for_each(Adding::committed);
        Ok(())
    }
}

/// Puts rows behind the last one of the file. One cursor stays at the end, so that it is not searched for each.
#[allow(unsafe_code, reason = "a cursor that writes must not be fed with what was read through it")]
fn append<'w>(
    open: &Engine,
    txn: &mut RwTxn<'_>,
    rows: impl Iterator<Item = (&'w [u8], &'w [u8])>,
) -> Result<(), Error> {
    let mut end = open.data.iter_mut(txn).map_err(engine)?;
    for (key, value) in rows {
        let seal = |space: &mut ReservedSpace<'_>| sealed::seal(key, value, space);
        let length = value.len() + sealed::SEAL;
        // SAFETY: nothing is read through the cursor, and keys and values are not of the file. LMDB refuses a key that is
        // not behind the last one.
        let put = unsafe { end.put_current_reserved_with_flags(PutFlags::APPEND, key, length, seal) };
        put.map_err(|error| match error {
            heed::Error::Mdb(heed::MdbError::KeyExist) => {
                Error::Damaged("keys lie behind the last one of the file".into())
            }
            error => engine(error),
        })?;
    }
    Ok(())
}

impl<'a> Deref for Transaction<'a> {
    type Target = RoTxn<'a>;

    fn deref(&self) -> &RoTxn<'a> {
        &self.txn
    }
}

#[cfg(test)]
mod tests;
