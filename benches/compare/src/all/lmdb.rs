//! LMDB by hand: no checksums. Every read begins a transaction of its own, so that it sees the newest state.

use std::ops::Bound;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use heed::types::Bytes as Raw;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags, RoTxn, WithTls};
use keyloom_workload::{Error, Layout, Order};

use super::by_hand::{ByHand, Bytes, there};
use super::peer::Promise;

/// A file of LMDB.
pub(crate) struct Lmdb {
    env: Env,
    data: Database<Raw, Raw>,
    writing: Mutex<()>,
}

#[allow(unsafe_code, reason = "mapping a file is unsafe: another program may change it behind the map")]
fn open(path: &Path) -> Result<Env, Error> {
    let mut options = EnvOpenOptions::new();
    options.map_size(1 << 35).max_readers(64);
    // SAFETY: NO_SUB_DIR only says that the path is a file, which lies in a folder of this run's own.
    Ok(unsafe { options.flags(EnvFlags::NO_SUB_DIR).open(path) }?)
}

/// Sorted and appended, in one transaction.
pub(crate) fn load(folder: &Path, orders: &[Order], layout: Layout) -> Result<ByHand<Lmdb>, Error> {
    let env = open(&folder.join("raw-lmdb"))?;
    let mut txn = env.write_txn()?;
    let data: Database<Raw, Raw> = env.create_database(&mut txn, None)?;
    layout.each_sorted(orders, |key, value| data.put_with_flags(&mut txn, PutFlags::APPEND, key, value))?;
    txn.commit()?;
    Ok(ByHand { bytes: Lmdb { env, data, writing: Mutex::new(()) }, layout })
}

impl Bytes for Lmdb {
    type View<'a> = (&'a Self, RoTxn<'a, WithTls>);

    fn view(&self) -> Result<Self::View<'_>, Error> {
        Ok((self, self.env.read_txn()?))
    }

    fn get(
        (lmdb, txn): &Self::View<'_>,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        lmdb.data.get(txn, key)?.map_or(Ok(()), look)
    }

    fn scan(
        (lmdb, txn): &Self::View<'_>,
        (start, end): (&[u8], &[u8]),
        backward: bool,
        limit: usize,
        mut look: impl FnMut(&[u8], &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let range = (Bound::Included(start), Bound::Excluded(end));
        if backward {
            for found in lmdb.data.rev_range(txn, &range)?.take(limit) {
                let (key, value) = found?;
                look(key, value)?;
            }
        } else {
            for found in lmdb.data.range(txn, &range)?.take(limit) {
                let (key, value) = found?;
                look(key, value)?;
            }
        }
        Ok(())
    }

    fn commit(&self, rows: [(Vec<u8>, Vec<u8>); 2]) -> Result<(), Error> {
        // LMDB's own lock is fairer and slower than a thread's.
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut txn = self.env.write_txn()?;
        for (key, value) in &rows {
            match self.data.put_with_flags(&mut txn, PutFlags::NO_OVERWRITE, key, value) {
                Err(heed::Error::Mdb(heed::MdbError::KeyExist)) => return Err(there()),
                put => put?,
            }
        }
        Ok(txn.commit()?)
    }

    /// Without syncs a power failure may ruin the file, which is not what the others promise.
    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error> {
        Ok((promise == Promise::Synced).then_some("raw-lmdb"))
    }
}
