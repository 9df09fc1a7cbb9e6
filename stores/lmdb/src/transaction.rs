//! A write transaction: what is put behind the last key is appended, which needs no search and fills pages whole.

use std::ops::Deref;

use heed::{PutFlags, RoTxn, RwTxn};
use keyloom_store::{Error, Sequence};

use crate::engine::{Engine, SALTS, SEQUENCE};
use crate::error::engine;
use crate::log::Salts;
use crate::value;

/// Writes that become visible, and durable, as one.
pub(crate) struct Transaction<'a> {
    engine: &'a Engine,
    txn: RwTxn<'a>,
    /// No key is greater. Empty if there is none.
    last: Vec<u8>,
}

impl<'a> Transaction<'a> {
    pub(crate) fn begin(open: &'a Engine) -> Result<Self, Error> {
        let txn = open.env.write_txn().map_err(engine)?;
        let last = open.data.last(&txn).map_err(engine)?.map(|(key, _)| key.to_vec()).unwrap_or_default();
        Ok(Self { engine: open, txn, last })
    }

    /// Puts a value, or deletes the key if there is none.
    pub(crate) fn write(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Error> {
        let (data, txn) = (self.engine.data, &mut self.txn);
        let Some(value) = value else {
            return data.delete(txn, key).map(drop).map_err(engine);
        };
        let length = value.len() + value::SEAL;
        if key > self.last.as_slice() {
            self.last.clear();
            self.last.extend_from_slice(key);
            let found = data.get_or_put_reserved_with_flags(txn, PutFlags::APPEND, key, length, |space| {
                value::seal(key, value, space)
            });
            match found.map_err(engine)? {
                None => return Ok(()),
                Some(_) => return Err(Error::Damaged("keys lie behind the last one of the file".into())),
            }
        }
        data.put_reserved(txn, key, length, |space| value::seal(key, value, space)).map_err(engine)
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
        })
    }
}

impl<'a> Deref for Transaction<'a> {
    type Target = RoTxn<'a>;

    fn deref(&self) -> &RoTxn<'a> {
        &self.txn
    }
}
