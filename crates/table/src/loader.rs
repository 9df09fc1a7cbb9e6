//! Loading more records than memory holds: sorted by key in files, then written in that order.
//!
//! ```text
//! push ─→ sorted runs ─→ merged, the last of each key ─→ a batch of neighbours ─→ commit
//!                                                    └─→ new trees of an empty table ─→ it has them
//! ```
//!
//! ```
//! use keyloom_schema::{Document, Table};
//! use keyloom_store::{MemoryStore, Wait};
//! use keyloom_table::{Database, Existing, Loader};
//!
//! let database = Database::open(MemoryStore::new()).wait()?;
//! let users = database.create_table(Table::named("users").column("id", "i64").key(["id"])).wait()?;
//! let mut loader = Loader::new(&users, 64 << 20)?;
//! for id in (0..1000_i64).rev() {
//!     loader.push(Document::new().with("id", id))?;
//! }
//! let merged = loader.finish(&users, Existing::Replace, |_| {}).wait()?;
//! assert_eq!(merged.new, 1000);
//! # Ok::<(), keyloom_table::Error>(())
//! ```

mod merge;
mod runs;

use std::path::Path;

use keyloom_schema::{self as schema, Document};
use keyloom_store::Store;

use crate::entries;
use crate::error::Error;
use crate::keyed::Keyed;
use crate::sort::Spill;
use crate::table::Table;
use runs::Runs;

/// What becomes of a record that is there already and is another than the one that is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// It is replaced.
    #[default]
    Replace,
    /// It stays.
    Keep,
    /// It is [`Error::Exists`], and no more is written.
    Refuse,
}

/// What has become of the records that were loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Merged {
    /// Records that were not there before.
    pub new: u64,
    /// Records that were another before.
    pub replaced: u64,
    /// Records that were there already, and the same.
    pub unchanged: u64,
    /// Records that are another and stayed: [`Existing::Keep`].
    pub kept: u64,
    /// Records whose key a later one has too: the last one counts.
    pub repeated: u64,
    /// Records that the load had written before it was cut off.
    pub resumed: u64,
    /// How many records' worth of the work is done where a table gets all of them at its end; none when it has ended.
    pub staged: u64,
}

impl Merged {
    /// How many records have been dealt with.
    pub fn records(&self) -> u64 {
        self.new + self.replaced + self.unchanged + self.kept + self.repeated + self.resumed + self.staged
    }
}

/// Takes any number of records in any order, in bounded memory, and writes them in the order of their keys.
///
/// Nothing is written before [`finish`](Self::finish): a record that is refused by [`push`](Self::push) leaves the table
/// as it was.
#[derive(Debug)]
pub struct Loader {
    table: schema::Table,
    memory: usize,
    max_key: usize,
    rows: Vec<Keyed>,
    used: usize,
    /// The number of the next record.
    next: u64,
    runs: Runs,
    /// What stands for this load in the store.
    identity: Option<u64>,
}

impl Loader {
    /// A load into a table that uses about so many bytes of memory, and temporary files.
    pub fn new<S: Store>(table: &Table<S>, memory: usize) -> Result<Self, Error> {
        let max_key = table.database().store().capability().max_key;
        Ok(Self::of(&*table.definition()?, memory, max_key))
    }

    /// The same for a table that need not be there before [`finish`](Self::finish). No key may be longer than this.
    pub fn of(table: &schema::Table, memory: usize, max_key: usize) -> Self {
        Self {
            table: table.clone(),
            memory,
            max_key,
            rows: Vec::new(),
            used: 0,
            next: 0,
            runs: Runs::default(),
            identity: None,
        }
    }

    /// The same with files in a folder of its own, so that it goes on where it was cut off.
    ///
    /// `identity` stands for what is loaded and where to: a load with the same number and folder must push the same
    /// records. The folder is made when memory is full, and removed when the load is done.
    pub fn resumable(self, folder: impl AsRef<Path>, identity: u64) -> Result<Self, Error> {
        let runs = Runs::in_folder(folder.as_ref())?;
        Ok(Self { next: runs.records(), runs, identity: Some(identity), ..self })
    }

    /// How many records were pushed, also before it was cut off: the next one is behind these.
    pub fn pushed(&self) -> u64 {
        self.next
    }

    /// Whether all records were pushed before it was cut off: what is left is to [`finish`](Self::finish).
    pub fn is_complete(&self) -> bool {
        self.runs.are_complete()
    }

    /// Takes a record, if it is one that the table can have.
    pub fn push(&mut self, document: impl Into<Document>) -> Result<(), Error> {
        let (bytes, key) = self.encode(document.into())?;
        let row = Keyed::new(self.next, bytes, key);
        self.used += row.size();
        self.rows.push(row);
        self.next += 1;
        if self.used > self.memory { self.spill() } else { Ok(()) }
    }

    /// Sees whether [`push`](Self::push) would take a record.
    pub fn check(&self, document: impl Into<Document>) -> Result<(), Error> {
        self.encode(document.into()).map(drop)
    }

    /// A record's key, behind it its payload, and how long the key is.
    fn encode(&self, document: Document) -> Result<(Vec<u8>, usize), Error> {
        let document = self.table.check(document)?;
        let mut bytes = entries::record_key(&self.table, &self.table.key_values(&document))?;
        let key = bytes.len();
        if key > self.max_key {
            let reason = format!("its key has {key} bytes, where {} is the most", self.max_key);
            let field = self.table.primary().text();
            return Err(schema::Error::Value { field, reason: reason.into() }.into());
        }
        let mut payload = Vec::with_capacity(128);
        entries::payload(&entries::Fields::of(&self.table, &document), &mut payload)?;
        bytes.reserve_exact(payload.len());
        bytes.extend_from_slice(&payload);
        Ok((bytes, key))
    }

    /// Counts a record that is left out.
    pub fn leave_out(&mut self) {
        self.next += 1;
    }

    fn spill(&mut self) -> Result<(), Error> {
        if self.rows.is_empty() && self.runs.records() == self.next {
            return Ok(());
        }
        self.rows.sort_unstable();
        self.used = 0;
        self.runs.add(std::mem::take(&mut self.rows), self.next)
    }

    /// Writes all records, neighbours as one commit; `progress` is told after each.
    ///
    /// An empty table gets all of them at the same moment, or none, however many there are.
    ///
    /// The table must be the one that the records were checked by. Records that are there already and the same are not
    /// written again.
    pub async fn finish<S: Store>(
        mut self,
        table: &Table<S>,
        existing: Existing,
        mut progress: impl FnMut(Merged),
    ) -> Result<Merged, Error> {
        // Before all were pushed nothing was written, whatever an older load has left in the store.
        let goes_on = self.is_complete();
        if self.runs.are_kept() && !self.runs.is_empty() && !goes_on {
            self.spill()?;
            self.runs.complete()?;
        }
        self.rows.sort_unstable();
        let identity = self.identity.filter(|_| !self.runs.is_empty());
        // A commit takes several times its bytes.
        let batch = (self.memory / 8).clamp(1, 16 << 20);
        let large = !self.runs.is_empty() || self.used > batch;
        let rows = self.runs.merge(std::mem::take(&mut self.rows))?;
        let merge = merge::Merge {
            table,
            checked: &self.table,
            existing,
            batch,
            identity,
            goes_on,
            memory: self.memory,
            records: self.next,
            large,
        };
        match merge.run(rows, &mut progress).await {
            Ok(merged) => {
                self.runs.remove()?;
                Ok(merged)
            }
            // The same records will be refused again: there is nothing to go on with.
            Err(error @ (Error::Unique { .. } | Error::Exists(_))) => {
                merge.forget().await?;
                self.runs.remove()?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Ends a load without writing anything, and leaves nothing to go on with.
    pub fn abandon(self) -> Result<(), Error> {
        self.runs.remove()
    }
}
