//! A committed state, which stays as it is, and the one that is the newest.

use std::sync::{Arc, PoisonError, RwLock};

use keyloom_store::{Error, Sequence};
use redb::{Database, ReadOnlyTable, ReadableDatabase, TableDefinition};

use crate::error::engine;

/// The rows.
pub(crate) const DATA: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("data");
/// What the file says of itself.
pub(crate) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// The format, so that another program's file is not taken for ours.
pub(crate) const FORMAT: (&str, &[u8]) = ("format", b"keyloom redb 1");
/// The key of the last sequence.
pub(crate) const SEQUENCE: &str = "sequence";

/// A committed state. The file keeps its pages while this is there.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) data: ReadOnlyTable<&'static [u8], &'static [u8]>,
    pub(crate) sequence: Sequence,
}

impl View {
    /// What is committed now.
    pub(crate) fn take(database: &Database) -> Result<Self, Error> {
        let txn = database.begin_read().map_err(engine)?;
        let meta = txn.open_table(META).map_err(engine)?;
        let format = meta.get(FORMAT.0).map_err(engine)?;
        let found = format.as_ref().map_or(b"".as_slice(), |format| format.value());
        if found != FORMAT.1 {
            let (found, ours) = (found.escape_ascii(), FORMAT.1.escape_ascii());
            return Err(Error::Damaged(
                format!("the file's format is `{found}`, and this is `{ours}`").into(),
            ));
        }
        let number = meta.get(SEQUENCE).map_err(engine)?;
        let number = number.as_ref().and_then(|number| number.value().try_into().ok());
        let number = number.ok_or_else(|| Error::Damaged("the sequence is not a number".into()))?;
        let data = txn.open_table(DATA).map_err(engine)?;
        Ok(Self { data, sequence: Sequence(u64::from_be_bytes(number)) })
    }
}

/// The newest state.
#[derive(Debug)]
pub(crate) struct Newest(RwLock<Arc<View>>);

impl Newest {
    pub(crate) fn new(view: View) -> Self {
        Self(RwLock::new(Arc::new(view)))
    }

    pub(crate) fn get(&self) -> Arc<View> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, view: View) {
        let view = Arc::new(view);
        // The old one is let go when nobody waits for the lock.
        let old = std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), view);
        drop(old);
    }
}
