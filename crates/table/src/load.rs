//! Loading many records at once: sorted first, then written in their order, a group of them as one commit.

use keyloom_schema::Document;
use keyloom_store::{Batch, Fingerprint, Limits, Store};
use std::ops::ControlFlow;

use crate::database::{Patience, is_version};
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
        let catalog = self.database().newest().await?;
        let table = catalog.table(self.name())?;
        let mut group = Group::of(table);
        for document in documents.by_ref() {
            let document = table.check(document.into())?;
            let key = entries::record_key(table, &table.key_values(&document))?;
            for (number, entry) in entries::all_entries(table, &document, &key)? {
                group.push(number + 1, Row { key: entry.key, value: entry.value, unique: entry.unique });
            }
            let mut payload = Vec::with_capacity(128);
            entries::payload(table, &document, &mut payload)?;
            group.push(0, Row { key, value: payload, unique: false });
            group.records += 1;
            if group.bytes >= GROUP {
                break;
            }
        }
        let records = group.records;
        if records == 0 {
            return Ok(0);
        }
        group.sort();
        group.check(table, before)?;
        // In a table that is empty nothing can be in the way, and one condition says so for all.
        let empty = before == 0 && self.is_empty(table).await?;
        let mut batch = Batch::new().require(catalog.version.unchanged());
        if empty {
            batch = batch.require_unchanged(table.primary().span(), Fingerprint::empty());
        }
        for Tree { id, rows, .. } in group.trees {
            for row in rows {
                if !empty && (row.unique || id == table.primary().id()) {
                    batch = batch.require_absent(row.key.clone());
                }
                batch = batch.put(row.key, row.value);
            }
        }
        match self.database().store().commit(batch).await {
            Ok(_) => Ok(records),
            Err(keyloom_store::Error::Conflict(condition)) => {
                self.database().overtaken(&condition, &mut Patience::new()).await?;
                if is_version(&condition) {
                    return Err(Error::Conflict("the schema has changed".into()));
                }
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
struct Group {
    /// The primary key's, then each index's.
    trees: Vec<Tree>,
    records: u64,
    bytes: usize,
}

/// What goes to one tree.
struct Tree {
    id: u32,
    /// The number of the index; `None` is the primary key.
    index: Option<usize>,
    rows: Vec<Row>,
}

#[derive(Default)]
struct Row {
    key: Vec<u8>,
    value: Vec<u8>,
    /// Whether another row with its key is a violation of a unique index.
    unique: bool,
}

impl Group {
    fn of(table: &keyloom_schema::Table) -> Self {
        let primary = Tree { id: table.primary().id(), index: None, rows: Vec::new() };
        let indexes = table.indexes().iter().enumerate();
        let indexes = indexes.map(|(number, index)| Tree {
            id: index.tree().id(),
            index: Some(number),
            rows: Vec::new(),
        });
        Self { trees: std::iter::once(primary).chain(indexes).collect(), records: 0, bytes: 0 }
    }

    fn push(&mut self, tree: usize, row: Row) {
        self.bytes += row.key.len() + row.value.len();
        if let Some(tree) = self.trees.get_mut(tree) {
            tree.rows.push(row);
        }
    }

    /// Brings all rows into the order of their keys, which begin with the number of their tree.
    fn sort(&mut self) {
        self.trees.sort_unstable_by_key(|tree| tree.id);
        for tree in &mut self.trees {
            tree.rows = sorted(std::mem::take(&mut tree.rows));
        }
    }

    /// Refuses two records with the same key, or with the same values in a unique index.
    fn check(&self, table: &keyloom_schema::Table, before: u64) -> Result<(), Error> {
        for tree in &self.trees {
            let pairs = tree.rows.iter().zip(tree.rows.iter().skip(1));
            // Other indexes have two such entries only of records with the same key.
            let mut same =
                pairs.filter(|(row, next)| row.key == next.key && (row.unique || tree.index.is_none()));
            let Some((row, _)) = same.next() else { continue };
            if let Some(number) = tree.index {
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

/// The rows in the order of their keys.
///
/// Keys of a tree begin alike. The 16 bytes behind that are compared as a number, which lies beside its neighbours in
/// memory; the keys themselves are looked at only where those are equal.
fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    let Some(first) = rows.first() else { return rows };
    let shared = rows.iter().fold(first.key.len(), |shared, row| {
        let alike = first.key.iter().zip(&row.key).take(shared).take_while(|(a, b)| a == b);
        alike.count()
    });
    let mut order: Vec<(u128, usize)> = rows
        .iter()
        .enumerate()
        .map(|(number, row)| {
            let rest = row.key.get(shared..).unwrap_or_default();
            let mut head = [0; 16];
            head.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
            (u128::from_be_bytes(head), number)
        })
        .collect();
    let key = |number: usize| rows.get(number).map(|row| &row.key);
    order.sort_unstable_by(|(a, one), (b, other)| a.cmp(b).then_with(|| key(*one).cmp(&key(*other))));
    order.into_iter().filter_map(|(_, number)| rows.get_mut(number).map(std::mem::take)).collect()
}
