//! fjall by hand, with its own settings, but for a cache that holds the orders.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use keyloom_workload::{Error, Layout, Order};

use super::by_hand::{ByHand, Bytes, there};
use super::peer::Promise;

/// A folder of fjall.
pub(crate) struct Fjall {
    database: Database,
    data: Keyspace,
    mode: PersistMode,
}

/// Sorted and ingested.
pub(crate) fn load(folder: &Path, orders: &[Order], layout: Layout) -> Result<ByHand<Fjall>, Error> {
    let database = Database::builder(folder.join("fjall")).cache_size(1 << 30).open()?;
    let data = database.keyspace("data", KeyspaceCreateOptions::default)?;
    let mut ingestion = data.start_ingestion()?;
    layout.each_sorted(orders, |key, value| ingestion.write(key, value))?;
    ingestion.finish()?;
    database.persist(PersistMode::SyncAll)?;
    Ok(ByHand { bytes: Fjall { database, data, mode: PersistMode::SyncData }, layout })
}

impl Bytes for Fjall {
    /// An index's entries and its records are not of one state then, which saves it a snapshot.
    type View<'a> = &'a Keyspace;

    fn view(&self) -> Result<Self::View<'_>, Error> {
        Ok(&self.data)
    }

    fn get(
        view: &Self::View<'_>,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        view.get(key)?.map_or(Ok(()), |value| look(&value))
    }

    fn scan(
        view: &Self::View<'_>,
        (start, end): (&[u8], &[u8]),
        backward: bool,
        limit: usize,
        mut look: impl FnMut(&[u8], &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut range = view.range(start..end);
        for _ in 0..limit {
            let Some(found) = (if backward { range.next_back() } else { range.next() }) else { break };
            let (key, value) = found.into_inner()?;
            look(&key, &value)?;
        }
        Ok(())
    }

    fn commit(&self, rows: [(Vec<u8>, Vec<u8>); 2]) -> Result<(), Error> {
        let [(record, _), _] = &rows;
        if self.data.contains_key(record)? {
            return Err(there());
        }
        let mut batch = self.database.batch().durability(Some(self.mode));
        for (key, value) in rows {
            batch.insert(&self.data, key, value);
        }
        Ok(batch.commit()?)
    }

    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error> {
        self.mode = match promise {
            Promise::Synced => PersistMode::SyncData,
            Promise::Written => PersistMode::Buffer,
            Promise::Less => return Ok(None),
        };
        Ok(Some("fjall"))
    }
}
