//! LMDB by hand: the bytes of Keyloom's keys and values, and nothing around them.
//!
//! No checksums, no schema, no planner, no conditions. Every read begins a transaction of its own, as Keyloom's do, so
//! that it sees the newest state.

use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags, RoTxn, WithTls};
use keyloom::schema::Table;

use super::layout::{Layout, record_of};
use super::orders::{Ask, Order, Tally};
use super::{Error, Reads, Writes};

/// The orders in a file of LMDB.
pub(crate) struct Lmdb {
    env: Env,
    data: Database<Bytes, Bytes>,
    layout: Layout,
    writing: Mutex<()>,
}

#[allow(unsafe_code, reason = "mapping a file is unsafe: another program may change it behind the map")]
fn open(path: &Path) -> Result<Env, Error> {
    let mut options = EnvOpenOptions::new();
    options.map_size(1 << 34).max_readers(64);
    // SAFETY: NO_SUB_DIR only says that the path is a file, which lies in a folder of this run's own.
    Ok(unsafe { options.flags(EnvFlags::NO_SUB_DIR).open(path) }?)
}

impl Lmdb {
    pub(crate) fn load(folder: &Path, orders: &[Order], table: Arc<Table>) -> Result<Self, Error> {
        let layout = Layout::of(table)?;
        let (records, entries) = layout.sorted(orders)?;
        let env = open(&folder.join("raw-lmdb"))?;
        let mut txn = env.write_txn()?;
        let data: Database<Bytes, Bytes> = env.create_database(&mut txn, None)?;
        for (key, value) in records.iter().chain(&entries) {
            data.put_with_flags(&mut txn, PutFlags::APPEND, key, value)?;
        }
        txn.commit()?;
        Ok(Self { env, data, layout, writing: Mutex::new(()) })
    }

    /// Shows every key with its value.
    pub(crate) fn bytes(&self, mut look: impl FnMut(&[u8], &[u8])) -> Result<(), Error> {
        let txn = self.read()?;
        for found in self.data.iter(&txn)? {
            let (key, value) = found?;
            look(key, value);
        }
        Ok(())
    }

    fn read(&self) -> Result<RoTxn<'_, WithTls>, Error> {
        Ok(self.env.read_txn()?)
    }
}

impl Reads for Lmdb {
    fn get(&self, orders: &[&Order]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for order in orders {
            let txn = self.read()?;
            if let Some(value) = self.data.get(&txn, &self.layout.key(order)?)? {
                self.layout.look(value, &mut tally)?;
            }
        }
        Ok(tally)
    }

    fn prefix(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let prefix = self.layout.user(ask)?;
            let txn = self.read()?;
            for found in self.data.prefix_iter(&txn, &prefix)? {
                self.layout.look(found?.1, &mut tally)?;
            }
        }
        Ok(tally)
    }

    fn range(&self, asks: &[Ask], backward: bool) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let (start, end) = self.layout.range(ask, backward)?;
            let range = (Bound::Included(start.as_slice()), Bound::Excluded(end.as_slice()));
            let txn = self.read()?;
            if backward {
                for found in self.data.rev_range(&txn, &range)?.take(20) {
                    self.layout.look(found?.1, &mut tally)?;
                }
            } else {
                for found in self.data.range(&txn, &range)?.take(20) {
                    self.layout.look(found?.1, &mut tally)?;
                }
            }
        }
        Ok(tally)
    }

    fn index(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let (start, end) = self.layout.entries(ask)?;
            let range = (Bound::Included(start.as_slice()), Bound::Excluded(end.as_slice()));
            let txn = self.read()?;
            for found in self.data.rev_range(&txn, &range)?.take(20) {
                let record = record_of(found?.1)?;
                let value = self.data.get(&txn, record)?.ok_or("an entry without a record")?;
                self.layout.look(value, &mut tally)?;
            }
        }
        Ok(tally)
    }

    fn scan(&self) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        let txn = self.read()?;
        for found in self.data.prefix_iter(&txn, &self.layout.records())? {
            self.layout.look(found?.1, &mut tally)?;
        }
        Ok(tally)
    }
}

impl Writes for Lmdb {
    fn write(&self, orders: &[Order]) -> Result<(), Error> {
        for order in orders {
            let ((key, value), (entry, leads_to)) = self.layout.rows(order)?;
            // LMDB's own lock is fairer and slower than a thread's.
            let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            let mut txn = self.env.write_txn()?;
            self.data.put(&mut txn, &key, &value)?;
            self.data.put(&mut txn, &entry, &leads_to)?;
            txn.commit()?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), Error> {
        Ok(())
    }
}
