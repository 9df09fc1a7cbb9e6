//! Whether every index says what the records say, in both directions, and mending it where not: the record wins.

use std::fmt;
use std::ops::ControlFlow;

use keyloom_key::Span;
use keyloom_schema::{Index, Table as Definition};
use keyloom_store::{Direction, Limits, Overlay, Read, Store};

use crate::database::{Database, Patience};
use crate::entries::{self, Entry, EntryValue};
use crate::error::Error;
use crate::staged::Recorded;

/// How much is compared in one snapshot.
const PAGE: Limits = Limits { rows: 1_000, bytes: 4 << 20, time: std::time::Duration::from_secs(5) };

/// Something that an index says otherwise than the records do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The table's name.
    pub table: String,
    /// The index's name; `None` is the table itself.
    pub index: Option<String>,
    /// What is wrong.
    pub wrong: Wrong,
    /// The fields of the key: `status = 'open', order_id = 7`.
    pub fields: String,
    /// The key.
    pub key: Vec<u8>,
    /// The key of the record.
    pub record: Vec<u8>,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// A record has no entry.
    Missing,
    /// An entry says something else than its record.
    Other,
    /// An entry has no record that is like it.
    Stale,
    /// The bytes of a record or an entry are damaged: restore them; they cannot be mended from elsewhere.
    Damaged(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = self.index.as_deref().unwrap_or("primary");
        let what = match &self.wrong {
            Wrong::Missing => "a record has no entry".to_owned(),
            Wrong::Other => "an entry says something else than its record".to_owned(),
            Wrong::Stale => "an entry has no record like it".to_owned(),
            Wrong::Damaged(reason) => format!("damaged: {reason}"),
        };
        write!(f, "{} {index}: {what}: {} │ ", self.table, self.fields)?;
        self.key.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Records that were compared.
    pub records: u64,
    /// Index entries that were compared.
    pub entries: u64,
    /// What differs.
    pub differences: Vec<Difference>,
}

impl<S: Store> Database<S> {
    /// Compares every index of a table with its records, in both directions, page by page, each in one snapshot.
    pub async fn verify(&self, table: &str) -> Result<Verified, Error> {
        self.refresh().await?;
        let definition = self.catalog().table(table)?.clone();
        let mut verified = Verified::default();
        let mut left = Some(definition.primary().span());
        while let Some(span) = left.take() {
            let snapshot = self.store().snapshot().await?;
            left = records(&snapshot, &definition, &span, &mut verified).await?;
        }
        for index in definition.indexes() {
            let mut left = Some(index.tree().span());
            while let Some(span) = left.take() {
                let snapshot = self.store().snapshot().await?;
                left = index_page(&snapshot, &definition, index, &span, &mut verified).await?;
            }
        }
        Ok(verified)
    }

    /// Mends what [`verify`](Self::verify) finds, unless `dry_run`; returns what it found.
    ///
    /// Every mend reads the record and the entry anew and happens only if both are still as they were.
    pub async fn repair(&self, table: &str, dry_run: bool) -> Result<Verified, Error> {
        let verified = self.verify(table).await?;
        if !dry_run {
            for difference in &verified.differences {
                self.mend(difference).await?;
            }
        }
        Ok(verified)
    }

    async fn mend(&self, difference: &Difference) -> Result<(), Error> {
        let Some(name) = &difference.index else { return Ok(()) };
        let mut patience = Patience::new();
        loop {
            let catalog = self.catalog();
            let definition = catalog.table(&difference.table)?;
            let Some(index) = definition.index(name) else { return Ok(()) };
            let recorded = Recorded::new(self.store());
            let wanted = wanted(&recorded, definition, index, difference).await?;
            let is = recorded.get(&difference.key, <[u8]>::to_vec).await?;
            let mut writes = Overlay::new();
            match wanted {
                Some(value) if is.as_ref() != Some(&value) => writes.put(difference.key.clone(), value),
                None if is.is_some() => writes.delete(difference.key.clone()),
                _ => return Ok(()),
            }
            let batch = recorded.batch(writes).require(catalog.version.unchanged());
            match self.store().commit(batch).await {
                Ok(_) => return Ok(()),
                Err(keyloom_store::Error::Conflict(condition)) => {
                    self.overtaken(&condition, &mut patience).await?
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The value that an entry should have; `None` if it should not be there.
async fn wanted(
    read: &impl Read,
    table: &Definition,
    index: &Index,
    difference: &Difference,
) -> Result<Option<Vec<u8>>, Error> {
    let record = &difference.record;
    let Some(document) = crate::apply::read_record(read, table, record).await? else { return Ok(None) };
    let entries = entries::index_entries(table, index, &document, record)?;
    Ok(entries.into_iter().find(|entry| entry.key == difference.key).map(|entry| entry.value))
}

/// Looks for the entries of a page of records; returns what is left of the span.
async fn records(
    read: &impl Read,
    table: &Definition,
    span: &Span,
    verified: &mut Verified,
) -> Result<Option<Span>, Error> {
    let (rows, rest) = page(read, span).await?;
    for (record, payload) in rows {
        verified.records += 1;
        let document = match entries::document(table, &record, &payload) {
            Ok(document) => document,
            Err(error) => {
                verified.differences.push(Difference {
                    table: table.name().to_owned(),
                    index: None,
                    wrong: Wrong::Damaged(error.to_string()),
                    fields: String::new(),
                    key: record.clone(),
                    record,
                });
                continue;
            }
        };
        for (number, entry) in entries::all_entries(table, &document, &record)? {
            let Some(index) = table.indexes().get(number) else { continue };
            let Entry { key, value, .. } = entry;
            let wrong = match read.get(&key, |found| found == value).await? {
                Some(true) => continue,
                Some(false) => Wrong::Other,
                None => Wrong::Missing,
            };
            // An index that is being filled lacks entries by right.
            if index.state() == keyloom_schema::State::Building && wrong == Wrong::Missing {
                continue;
            }
            verified.differences.push(difference(table, index, wrong, key, record.clone()));
        }
    }
    Ok(rest)
}

/// Looks for the records of a page of entries; returns what is left of the span.
async fn index_page(
    read: &impl Read,
    table: &Definition,
    index: &Index,
    span: &Span,
    verified: &mut Verified,
) -> Result<Option<Span>, Error> {
    let (rows, rest) = page(read, span).await?;
    for (key, value) in rows {
        verified.entries += 1;
        let Some(entry) = EntryValue::parse(&value) else {
            let wrong = Wrong::Damaged("it is not what an entry is".to_owned());
            verified.differences.push(difference(table, index, wrong, key, Vec::new()));
            continue;
        };
        let record = entry.primary_key.to_vec();
        let found = read.get(&record, |payload| entries::document(table, &record, payload)).await?;
        let expected = match found {
            // A damaged record was reported among the records.
            Some(Err(_)) => continue,
            Some(Ok(document)) => entries::index_entries(table, index, &document, &record)?,
            None => Vec::new(),
        };
        // One that says something else was found from its record.
        if !expected.iter().any(|entry| entry.key == key) {
            verified.differences.push(difference(table, index, Wrong::Stale, key, record));
        }
    }
    Ok(rest)
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

async fn page(read: &impl Read, span: &Span) -> Result<(Rows, Option<Span>), Error> {
    let mut rows = Rows::new();
    let look = |key: &[u8], value: &[u8]| {
        rows.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    let page = read.scan(span, Direction::Forward, PAGE, look).await?;
    Ok((rows, page.rest))
}

fn difference(table: &Definition, index: &Index, wrong: Wrong, key: Vec<u8>, record: Vec<u8>) -> Difference {
    let tree = index.tree();
    let values = tree.values(&key).or_else(|_| tree.declared_values(&key)).unwrap_or_default();
    let pairs = tree.parts().iter().zip(values);
    let pairs =
        pairs.map(|(part, value)| keyloom_schema::field(&part.name).eq(value.into_owned()).to_string());
    let fields = pairs.collect::<Vec<_>>().join(", ");
    let (table, index) = (table.name().to_owned(), Some(index.name().to_owned()));
    Difference { table, index, wrong, fields, key, record }
}
