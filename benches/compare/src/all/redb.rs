//! redb by hand, with its own settings.

use std::path::Path;

use keyloom_workload::{Error, Layout, Order};
use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase as _, TableDefinition};

use super::by_hand::{ByHand, Bytes, there};
use super::peer::Promise;

const DATA: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("data");
/// How many rows a transaction of a load has: more of them would only wait in memory.
const LOADED: usize = 100_000;

/// A file of redb.
pub(crate) struct Redb {
    data: Database,
    durability: Durability,
}

/// Sorted, in transactions that only the last one syncs.
pub(crate) fn load(folder: &Path, orders: &[Order], layout: Layout) -> Result<ByHand<Redb>, Error> {
    let data = Database::create(folder.join("redb"))?;
    let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::with_capacity(LOADED);
    let write = |rows: &mut Vec<(Vec<u8>, Vec<u8>)>, durability| {
        let mut txn = data.begin_write()?;
        txn.set_durability(durability)?;
        let mut table = txn.open_table(DATA)?;
        for (key, value) in rows.drain(..) {
            table.insert(key.as_slice(), value.as_slice())?;
        }
        drop(table);
        Ok::<_, Error>(txn.commit()?)
    };
    layout.each_sorted(orders, |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        if rows.len() == LOADED { write(&mut rows, Durability::None) } else { Ok(()) }
    })?;
    write(&mut rows, Durability::Immediate)?;
    Ok(ByHand { bytes: Redb { data, durability: Durability::Immediate }, layout })
}

impl Bytes for Redb {
    type View<'a> = ReadOnlyTable<&'static [u8], &'static [u8]>;

    fn view(&self) -> Result<Self::View<'_>, Error> {
        Ok(self.data.begin_read()?.open_table(DATA)?)
    }

    fn get(
        view: &Self::View<'_>,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        view.get(key)?.map_or(Ok(()), |value| look(value.value()))
    }

    fn scan(
        view: &Self::View<'_>,
        (start, end): (&[u8], &[u8]),
        backward: bool,
        limit: usize,
        mut look: impl FnMut(&[u8], &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut range = view.range::<&[u8]>(start..end)?;
        for _ in 0..limit {
            let Some(found) = (if backward { range.next_back() } else { range.next() }) else { break };
            let (key, value) = found?;
            look(key.value(), value.value())?;
        }
        Ok(())
    }

    fn commit(&self, rows: [(Vec<u8>, Vec<u8>); 2]) -> Result<(), Error> {
        let mut txn = self.data.begin_write()?;
        txn.set_durability(self.durability)?;
        let mut table = txn.open_table(DATA)?;
        for (key, value) in &rows {
            if table.insert(key.as_slice(), value.as_slice())?.is_some() {
                return Err(there());
            }
        }
        drop(table);
        Ok(txn.commit()?)
    }

    /// What is not synced is gone with the process.
    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error> {
        let (durability, name) = match promise {
            Promise::Synced => (Durability::Immediate, "redb"),
            Promise::Less => (Durability::None, "redb-none"),
            Promise::Written => return Ok(None),
        };
        self.durability = durability;
        Ok(Some(name))
    }
}
