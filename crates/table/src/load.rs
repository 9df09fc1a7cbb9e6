//! Loading many records at once: sorted first, then written in their order, a group of them as one commit.

use keyloom_schema::Document;
use keyloom_store::{Batch, Fingerprint, Limits, Store};
use std::ops::ControlFlow;

use crate::database::Patience;
use crate::entries;
use crate::error::Error;
use crate::table::Table;

/// How many bytes of records and entries are sorted and committed as one group.
const GROUP: usize = 512 << 20;

/// How far a load has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded {
    /// Records that were committed.
    pub records: u64,
}

impl<S: Store> Table<S> {
    /// Inserts many records, in any order.
    ///
    /// They are sorted and written in the order of their keys, in groups of half a gigabyte, each with its index entries
    /// as one commit: what the store likes best. A record whose key or unique values are there already is an error, and
    /// the group that it is in is not written; the groups before it are, as `progress` was told.
    pub async fn load<D: Into<Document>>(
        &self,
        documents: impl IntoIterator<Item = D>,
        mut progress: impl FnMut(Loaded),
    ) -> Result<Loaded, Error> {
        let mut loaded = Loaded::default();
        let mut documents = documents.into_iter();
        loop {
            let group = self.load_group(&mut documents, loaded.records).await?;
            if group == 0 {
                return Ok(loaded);
            }
            loaded.records += group;
            progress(loaded);
        }
    }

    /// Sorts and commits the next records, as many as a group may have; returns how many.
    async fn load_group<D: Into<Document>>(
        &self,
        documents: &mut impl Iterator<Item = D>,
        before: u64,
    ) -> Result<u64, Error> {
        let catalog = self.database().catalog();
        let table = catalog.table(self.name())?;
        let mut group = Group::default();
        for document in documents.by_ref() {
            let document = table.check(document.into())?;
            let key = entries::record_key(table, &table.key_values(&document))?;
            for (number, entry) in entries::all_entries(table, &document, &key)? {
                group.push(Row {
                    key: entry.key,
                    value: entry.value,
                    unique: entry.unique.then_some(number),
                });
            }
            let mut payload = Vec::with_capacity(128);
            entries::payload(table, &document, &mut payload)?;
            group.push(Row { key, value: payload, unique: None });
            group.records += 1;
            if group.bytes >= GROUP {
                break;
            }
        }
        let records = group.records;
        if records == 0 {
            return Ok(0);
        }
        group.rows.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        group.check(table, before)?;
        // In a table that is empty nothing can be in the way, and one condition says so for all.
        let empty = before == 0 && self.is_empty(table).await?;
        let mut batch = Batch::new().require(catalog.version.unchanged());
        if empty {
            batch = batch.require_unchanged(table.primary().span(), Fingerprint::empty());
        }
        let primary = table.primary().span();
        for row in group.rows {
            if !empty && (row.unique.is_some() || primary.contains(&row.key)) {
                batch = batch.require_absent(row.key.clone());
            }
            batch = batch.put(row.key, row.value);
        }
        match self.database().store().commit(batch).await {
            Ok(_) => Ok(records),
            Err(keyloom_store::Error::Conflict(condition)) => {
                self.database().overtaken(&condition, &mut Patience::new()).await?;
                Err(Error::Conflict(
                    format!("{condition}: it is there already, or others wrote it meanwhile").into(),
                ))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn is_empty(&self, table: &keyloom_schema::Table) -> Result<bool, Error> {
        let look = |_: &[u8], _: &[u8]| ControlFlow::Break(());
        let direction = keyloom_store::Direction::Forward;
        let page =
            self.database().store().scan(&table.primary().span(), direction, Limits::rows(1), look).await?;
        Ok(page.rows == 0)
    }
}

/// Records and entries that are committed as one.
#[derive(Default)]
struct Group {
    rows: Vec<Row>,
    records: u64,
    bytes: usize,
}

struct Row {
    key: Vec<u8>,
    value: Vec<u8>,
    /// The number of the unique index that it is an entry of.
    unique: Option<usize>,
}

impl Group {
    fn push(&mut self, row: Row) {
        self.bytes += row.key.len() + row.value.len();
        self.rows.push(row);
    }

    /// Refuses two records with the same key, or with the same values in a unique index.
    fn check(&self, table: &keyloom_schema::Table, before: u64) -> Result<(), Error> {
        for (row, next) in self.rows.iter().zip(self.rows.iter().skip(1)) {
            if row.key != next.key {
                continue;
            }
            if let Some(number) = row.unique {
                return Err(crate::apply::violation(table, number, &row.key));
            }
            let values = table.primary().values(&row.key)?;
            let key = table.primary().parts().iter().zip(values);
            let key =
                key.map(|(part, value)| keyloom_schema::field(&part.name).eq(value.into_owned()).to_string());
            let key = key.collect::<Vec<_>>().join(", ");
            let from = before + 1;
            let reason =
                format!("{}: two records with {key} among those from number {from} on", table.name());
            return Err(Error::Exists(reason.into()));
        }
        Ok(())
    }
}
