//! Loading many records at once: sorted first, then written in their order, a group of them as one commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{TrySendError, sync_channel};
use std::thread;

use keyloom_key::Value;
use keyloom_schema::{Document, Table as Definition, Tree};
use keyloom_store::{Batch, Fingerprint, Store};
use smallvec::SmallVec;

use crate::apply::Commits;
use crate::catalog::Catalog;
use crate::database::{Patience, is_version};
use crate::each::side_by_side;
use crate::entries::{self, Columns, Fields, Scratch};
use crate::error::Error;
use crate::fresh::{Fresh, is_empty, is_whole};
use crate::keyed::Keyed;
use crate::places::{Places, check_count};
use crate::sort::Sorter;
use crate::table::Table;

/// How many bytes of records and entries are sorted and committed as one group.
const GROUP: usize = 512 << 20;
/// How many bytes of an empty table that is loaded with more are committed at once.
const PART: usize = 16 << 20;
/// How many records go from the thread that makes them to the one that encodes them at once.
const CHUNK: usize = 256;
/// How many chunks may wait in between.
const WAITING: usize = 8;

/// After how many records that are inserted one by one the caller is told.
const TOLD: usize = 4_096;

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
    ///
    /// An empty table gets all of them at the same moment, or none, however many there are. What memory does not hold
    /// waits in temporary files.
    ///
    /// A store that commits one record at a time gets them as they come, 64 on their way at the same time. An error ends
    /// the load; some of the 4,096 records behind those that `progress` was told of may have been written then.
    pub async fn load<D: Into<Document>>(
        &self,
        documents: impl IntoIterator<Item = D>,
        mut progress: impl FnMut(Loaded),
    ) -> Result<Loaded, Error> {
        let mut documents = documents.into_iter().map(Into::into).fuse();
        if self.database().commits() == Commits::All {
            let add = |group: &mut Group<'_>, document| group.add(document);
            return self.load_groups(documents, &add, GROUP, progress).await;
        }
        let mut loaded = Loaded::default();
        loop {
            let records = self.load_each(&mut documents).await?;
            if records == 0 {
                return Ok(loaded);
            }
            loaded.records += records;
            progress(loaded);
        }
    }

    /// Does what [`load`](Self::load) does with records whose values are given in the order of `columns`: the fastest way
    /// into a table, because values are borrowed and no record has to say the names of its fields.
    ///
    /// ```
    /// use keyloom_schema::Table;
    /// use keyloom_store::{MemoryStore, Wait};
    /// use keyloom_table::Database;
    ///
    /// let database = Database::open(MemoryStore::new()).wait()?;
    /// let users = Table::named("users").column("id", "i64").column("name", "str").key(["id"]);
    /// let users = database.create_table(users).wait()?;
    /// let names = ["Ada".to_owned(), "Grace".to_owned()];
    /// let rows = names.iter().zip(1_i64..).map(|(name, id)| [name.as_str().into(), id.into()]);
    /// assert_eq!(users.load_rows(&["name", "id"], rows, |_| {}).wait()?.records, 2);
    /// # Ok::<(), keyloom_table::Error>(())
    /// ```
    pub async fn load_rows<'v, R: IntoIterator<Item = Value<'v>> + Send>(
        &self,
        columns: &[&str],
        rows: impl IntoIterator<Item = R>,
        progress: impl FnMut(Loaded),
    ) -> Result<Loaded, Error> {
        if self.database().commits() == Commits::Record {
            let named = |row: R| {
                let values = row.into_iter().map(Value::into_owned);
                columns.iter().map(|name| (*name).to_owned()).zip(values).collect::<Document>()
            };
            return self.load(rows.into_iter().map(named), progress).await;
        }
        let add = |group: &mut Group<'_>, row: R| group.add_row(columns, row);
        self.load_groups(rows.into_iter().fuse(), &add, GROUP, progress).await
    }

    /// Inserts the next records one by one, some of them side by side; returns how many.
    async fn load_each(&self, documents: &mut impl Iterator<Item = Document>) -> Result<u64, Error> {
        let documents: Vec<Document> = documents.take(TOLD).collect();
        let records = u64::try_from(documents.len()).unwrap_or(u64::MAX);
        side_by_side(documents, |document| Box::pin(self.load_one(document))).await?;
        Ok(records)
    }

    async fn load_one(&self, document: Document) -> Result<(), Error> {
        match self.insert(document).await {
            Err(Error::Condition { table, .. }) => {
                Err(Error::Exists(format!("a record with the key of one that is loaded into {table}").into()))
            }
            inserted => inserted.map(drop),
        }
    }

    /// Loads all records, sorted, in groups of so many bytes.
    async fn load_groups<T: Send>(
        &self,
        records: impl Iterator<Item = T>,
        add: &(impl Fn(&mut Group<'_>, T) -> Result<(), Error> + Sync),
        bytes: usize,
        mut progress: impl FnMut(Loaded),
    ) -> Result<Loaded, Error> {
        let mut loaded = Loaded::default();
        let mut records = records.peekable();
        while records.peek().is_some() {
            let catalog = self.database().newest().await?;
            let table = catalog.table(self.name())?;
            // In a table that is empty nothing can be in the way, and one condition says so for all.
            let empty = loaded.records == 0 && is_empty(self.database().store(), table).await?;
            let group = gather(table, &mut records, add, empty, bytes)?;
            if empty && records.peek().is_some() && is_whole(table) {
                let next = || gather(table, &mut records, add, empty, bytes);
                loaded.records = self.load_fresh(table, group, next).await?;
            } else {
                loaded.records += group.records;
                self.load_group(&catalog, group).await?;
            }
            progress(loaded);
        }
        Ok(loaded)
    }

    /// Loads an empty table with these records and with all that `next` gives until there are none: sorted in files, then
    /// into new trees. Returns how many there were.
    async fn load_fresh<'t>(
        &self,
        table: &Arc<Definition>,
        first: Group<'t>,
        mut next: impl FnMut() -> Result<Group<'t>, Error>,
    ) -> Result<u64, Error> {
        let (mut group, mut records) = (first, 0);
        let mut trees: Vec<Sorter<Keyed>> = group.trees.iter().map(|_| Sorter::new(0)).collect();
        while group.records > 0 {
            records += group.records;
            group.spill(&mut trees)?;
            group = next()?;
        }
        let mut fresh = Fresh::begin(self, table, PART, None).await?;
        let tree = fresh.definition().primary().id();
        let filled = async {
            for (number, rows) in trees.into_iter().enumerate() {
                let in_tree = |row: Keyed| if number == 0 { row } else { row.of_record_in(tree) };
                fresh.fill(number, rows.finish()?.map(|row| row.map(in_tree)), |_| ()).await?;
            }
            fresh.finish().await
        };
        if let Err(error) = filled.await {
            // If this fails too, what is left is cleared later.
            drop(fresh.abandon().await);
            return Err(error);
        }
        Ok(records)
    }

    /// Commits a group.
    async fn load_group(&self, catalog: &Catalog, group: Group<'_>) -> Result<(), Error> {
        let (table, empty) = (group.table, group.empty);
        let mut batch = group.into_batch()?.require(catalog.version.unchanged());
        if empty {
            batch = batch.require_unchanged(table.primary().span(), Fingerprint::empty());
        }
        match self.database().store().commit(batch).await {
            Ok(_) => Ok(()),
            Err(keyloom_store::Error::Conflict(condition)) => {
                self.database().overtaken(&condition, &mut Patience::default()).await?;
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
}

/// Encodes the next records, as many as a group may have, on this thread, which makes them, and on one beside it.
fn gather<'t, T: Send>(
    table: &'t Definition,
    records: &mut impl Iterator<Item = T>,
    add: &(impl Fn(&mut Group<'_>, T) -> Result<(), Error> + Sync),
    empty: bool,
    bytes: usize,
) -> Result<Group<'t>, Error> {
    let mut chunks = std::iter::from_fn(|| Some(records.by_ref().take(CHUNK).collect::<Vec<_>>()))
        .take_while(|chunk| !chunk.is_empty());
    let mut group = Group::of(table, empty);
    let add_all =
        |group: &mut Group<'_>, chunk: Vec<T>| chunk.into_iter().try_for_each(|record| add(group, record));
    let Some(first) = chunks.next() else { return Ok(group) };
    let few = first.len() < CHUNK;
    add_all(&mut group, first)?;
    if few {
        return Ok(group);
    }
    let (full, (send, receive)) = (AtomicBool::new(false), sync_channel(WAITING));
    thread::scope(|scope| {
        let beside = scope.spawn(|| -> Result<Group<'t>, Error> {
            let mut group = Group::of(table, empty);
            for chunk in receive {
                add_all(&mut group, chunk)?;
                full.store(group.size() >= bytes / 2, Ordering::Relaxed);
            }
            Ok(group)
        });
        while !full.load(Ordering::Relaxed)
            && group.size() < bytes / 2
            && let Some(chunk) = chunks.next()
        {
            match send.try_send(chunk) {
                Ok(()) => {}
                Err(TrySendError::Full(chunk)) => add_all(&mut group, chunk)?,
                // The other thread has met an error, and returns it.
                Err(TrySendError::Disconnected(_)) => break,
            }
        }
        drop(send);
        group.append(joined(beside)?);
        Ok(group)
    })
}

/// What a thread returns; a panic goes on here.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Records and entries that are committed as one.
pub(crate) struct Group<'t> {
    table: &'t Definition,
    /// Whether nothing is in the table yet.
    empty: bool,
    /// What goes to the primary key's tree, then to each index's.
    trees: Vec<Batch>,
    records: u64,
    /// Where values go that come without names.
    places: Option<Places>,
    /// Memory for one record.
    key: Vec<u8>,
    scratch: Scratch,
}

impl<'t> Group<'t> {
    pub(crate) fn of(table: &'t Definition, empty: bool) -> Self {
        let trees = vec![Batch::new(); 1 + table.indexes().len()];
        Self { table, empty, trees, records: 0, places: None, key: Vec::new(), scratch: Scratch::default() }
    }

    /// How many bytes its rows have.
    fn size(&self) -> usize {
        self.trees.iter().map(Batch::size).sum()
    }

    fn append(&mut self, other: Self) {
        self.trees.iter_mut().zip(other.trees).for_each(|(tree, other)| tree.append(other));
        self.records += other.records;
    }

    fn add(&mut self, document: Document) -> Result<(), Error> {
        let document = self.table.check(document)?;
        let fields = Fields::of(self.table, &document);
        self.add_record(&fields, |payload| entries::payload(&fields, payload))
    }

    /// Adds a record by the values of these columns.
    fn add_row<'v>(
        &mut self,
        columns: &[&str],
        row: impl IntoIterator<Item = Value<'v>>,
    ) -> Result<(), Error> {
        let table = self.table;
        let places = match self.places.take() {
            Some(places) => places,
            None => Places::of(table, columns)?,
        };
        let row: SmallVec<[Value<'v>; 8]> = row.into_iter().collect();
        check_count(table.name(), columns, row.len())?;
        let record = places.record(table, &row)?;
        self.add_record(&record, |payload| record.payload(payload))?;
        self.places = Some(places);
        Ok(())
    }

    /// Adds a record whose values are of the table's types; `write` appends its payload.
    fn add_record(
        &mut self,
        record: &impl Columns,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut key = std::mem::take(&mut self.key);
        let mut scratch = std::mem::take(&mut self.scratch);
        key.clear();
        entries::write_key(self.table, record, &mut key)?;
        for (number, index) in self.table.indexes().iter().enumerate() {
            entries::each_entry(self.table, index, record, &key, &mut scratch, |entry, value, unique| {
                self.push(number + 1, entry, value, unique);
            })?;
        }
        if let Some(records) = self.trees.first_mut() {
            records.write_with(&key, write)?;
        }
        self.require_absent(0, &key);
        self.records += 1;
        (self.key, self.scratch) = (key, scratch);
        Ok(())
    }

    /// Puts a row into a tree; `alone` says that no other may have its key.
    pub(crate) fn push(&mut self, tree: usize, key: &[u8], value: &[u8], alone: bool) {
        if let Some(tree) = self.trees.get_mut(tree) {
            tree.write(key, Some(value));
        }
        if alone {
            self.require_absent(tree, key);
        }
    }

    /// Refuses the load if a key of a tree is there already.
    fn require_absent(&mut self, tree: usize, key: &[u8]) {
        if !self.empty
            && let Some(tree) = self.trees.get_mut(tree)
        {
            *tree = std::mem::take(tree).require_absent(key);
        }
    }

    /// The rows of each tree in the order of their keys. Two records with the same key, or with the same values in a
    /// unique index, are refused.
    fn sorted(self) -> Result<Vec<Batch>, Error> {
        let (table, mut trees) = (self.table, self.trees);
        let sort = |tree: &mut Batch| tree.sort().map(<[u8]>::to_vec);
        let twins: Vec<Option<Vec<u8>>> = if self.records < CHUNK as u64 {
            trees.iter_mut().map(sort).collect()
        } else {
            thread::scope(|scope| {
                let sorting: Vec<_> = trees.iter_mut().map(|tree| scope.spawn(move || sort(tree))).collect();
                sorting.into_iter().map(joined).collect()
            })
        };
        let mut twins = twins.into_iter();
        if let Some(twin) = twins.next().flatten() {
            return Err(same_key(table, &twin));
        }
        // Other indexes have two entries with one key only of records with one key.
        let unique =
            table.indexes().iter().enumerate().zip(twins).filter(|((_, index), _)| index.is_unique());
        for ((number, _), twin) in unique {
            if let Some(twin) = twin {
                return Err(crate::apply::violation(table, number, &twin));
            }
        }
        Ok(trees)
    }

    /// All rows in the order of their keys.
    pub(crate) fn into_batch(self) -> Result<Batch, Error> {
        let ids = self.table.trees().map(Tree::id);
        let mut trees: Vec<_> = ids.zip(self.sorted()?).collect();
        trees.sort_by_key(|(id, _)| *id);
        let mut all = Batch::new();
        trees.into_iter().for_each(|(_, tree)| all.append(tree));
        Ok(all)
    }

    /// Brings the rows of each tree, sorted, to those of it that wait in files.
    fn spill(self, waiting: &mut [Sorter<Keyed>]) -> Result<(), Error> {
        let trees = self.sorted()?;
        thread::scope(|scope| {
            let spill = |(tree, waiting): (Batch, &mut Sorter<Keyed>)| {
                waiting.add_run(tree.writes().map(|(key, value)| Keyed::row(key, value.unwrap_or_default())))
            };
            let threads: Vec<_> =
                trees.into_iter().zip(waiting).map(|tree| scope.spawn(move || spill(tree))).collect();
            threads.into_iter().try_for_each(joined)
        })
    }
}

/// Two records with this key are loaded.
pub(crate) fn same_key(table: &Definition, key: &[u8]) -> Error {
    let values = match table.primary().values(key) {
        Ok(values) => values,
        Err(error) => return error.into(),
    };
    let fields = table.primary().parts().iter().zip(values);
    let fields =
        fields.map(|(part, value)| keyloom_schema::field(&part.name).eq(value.into_owned()).to_string());
    let fields = fields.collect::<Vec<_>>().join(", ");
    Error::Exists(format!("a record with {fields} among those that are loaded into {}", table.name()).into())
}

#[cfg(test)]
mod tests;
