//! Whether every index says what the records say, in both directions, and mending it where not: the record wins.

use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_schema::{Index, State, Table as Definition};
use keyloom_store::{Direction, Error as StoreError, Limits, Overlay, Read, Store};

use crate::apply::Commits;
use crate::change::Change;
use crate::database::{Database, Patience};
use crate::entries::{self, Entry, EntryValue};
use crate::error::Error;
use crate::pause::pause;
use crate::staged::Recorded;
use crate::view::View;

/// How long before differences are looked at once more, where there are no snapshots. Each must be there every time.
const LOOKS: [u64; 6] = [0, 1, 2, 4, 8, 16];

/// How much is compared in one snapshot.
const PAGE: Limits = Limits { rows: 1_000, bytes: 4 << 20, time: Duration::from_secs(5) };

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
    /// The bytes of a record or an entry are not what one has.
    Damaged(String),
    /// The bytes are not those that were written: their checksum says so.
    Unreadable,
}

impl Difference {
    /// Whether [`repair`](Database::repair) can mend it.
    ///
    /// A record cannot be mended from elsewhere: restore a backup. An entry that cannot be read and that no record has
    /// may be one that is just being written: drop the index and create it anew.
    pub fn can_be_mended(&self) -> bool {
        self.index.is_some() && !(self.wrong == Wrong::Unreadable && self.record.is_empty())
    }
}

impl Difference {
    /// Whether the entry that is there now is of the record, or of none: it may have become another's since.
    fn is_of(&self, entry: &[u8]) -> bool {
        EntryValue::parse(entry).is_none_or(|entry| entry.primary_key == self.record)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("a record has no entry"),
            Self::Other => f.write_str("an entry says something else than its record"),
            Self::Stale => f.write_str("an entry has no record like it"),
            Self::Damaged(reason) => write!(f, "damaged: {reason}"),
            Self::Unreadable => f.write_str("damaged: the checksum is not that of its bytes"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = self.index.as_deref().unwrap_or("primary");
        write!(f, "{} {index}: {}: {} │ ", self.table, self.wrong, self.fields)?;
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
    ///
    /// Where the store has none, what differs is looked at again: what was written meanwhile is no difference.
    pub async fn verify(&self, table: &str) -> Result<Verified, Error> {
        self.verify_with(table, |_| ()).await
    }

    /// The same, and tells after every page what was found so far.
    pub async fn verify_with(
        &self,
        table: &str,
        mut progress: impl FnMut(&Verified) + Send,
    ) -> Result<Verified, Error> {
        self.refresh().await?;
        let definition = self.catalog().table(table)?.clone();
        let mut verified = Verified::default();
        let mut left = Some(definition.primary().span());
        while let Some(span) = left.take() {
            let known = verified.differences.len();
            let view = View::of(self.store()).await?;
            left = records(&view, &definition, &span, &mut verified).await?;
            self.look_again(&mut verified, known).await?;
            progress(&verified);
        }
        for index in definition.indexes() {
            let mut left = Some(index.tree().span());
            while let Some(span) = left.take() {
                let known = verified.differences.len();
                let view = View::of(self.store()).await?;
                left = index_page(&view, &definition, index, &span, &mut verified).await?;
                self.look_again(&mut verified, known).await?;
                progress(&verified);
            }
        }
        Ok(verified)
    }

    /// Forgets what differs behind the first `known` only because it was written between two reads.
    async fn look_again(&self, verified: &mut Verified, known: usize) -> Result<(), Error> {
        if self.store().capability().snapshot {
            return Ok(());
        }
        for milliseconds in LOOKS {
            if verified.differences.len() > known {
                pause(Duration::from_millis(milliseconds)).await;
            }
            for difference in verified.differences.split_off(known) {
                if self.is_still(&difference).await? {
                    verified.differences.push(difference);
                }
            }
        }
        Ok(())
    }

    /// Whether an index still says otherwise than a record that nobody writes meanwhile.
    async fn is_still(&self, difference: &Difference) -> Result<bool, Error> {
        let (Some(name), false) = (&difference.index, matches!(difference.wrong, Wrong::Damaged(_))) else {
            return Ok(true);
        };
        let catalog = self.newest().await?;
        let definition = catalog.table(&difference.table)?;
        let own = |index: &&Index| difference.key.starts_with(&index.tree().id().to_be_bytes());
        let Some(index) = definition.index(name).filter(own) else { return Ok(false) };
        let record = Recorded::new(self.store());
        let wanted = wanted(&record, definition, index, difference).await?;
        let differs = match (wanted, self.store().get(&difference.key, <[u8]>::to_vec).await?) {
            (Some(wanted), Some(is)) => wanted != is,
            (Some(_), None) => index.state() == State::Ready,
            (None, is) => is.is_some_and(|is| difference.is_of(&is)),
        };
        Ok(differs && record.is_unchanged().await?)
    }

    /// The same as [`mend`](Self::mend) on a store that commits one record at a time.
    async fn mend_record(&self, difference: &Difference) -> Result<bool, Error> {
        if !self.is_still(difference).await? {
            return Ok(false);
        }
        let Some((tree, _)) = difference.key.split_first_chunk() else { return Ok(false) };
        let record = difference.record.clone();
        let change = match difference.wrong {
            Wrong::Missing | Wrong::Other | Wrong::Unreadable => {
                Change::enter(record, u32::from_be_bytes(*tree))
            }
            Wrong::Stale => Change::leave(record, difference.key.clone()),
            // Whose it was is not known, and so no record can be written without it.
            Wrong::Damaged(_) => return Ok(false),
        };
        match self.apply_one(&difference.table, &change).await {
            Err(Error::Unique { .. }) => Ok(false),
            applied => applied.map(|_| true),
        }
    }

    /// Mends what [`verify`](Self::verify) finds and [can be](Difference::can_be_mended), unless `dry_run`; returns what
    /// it found.
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

    /// Mends one difference that [`verify`](Self::verify) found, if it is still there and
    /// [can be mended](Difference::can_be_mended); says whether it was.
    pub async fn mend(&self, difference: &Difference) -> Result<bool, Error> {
        let Some(name) = difference.index.as_ref().filter(|_| difference.can_be_mended()) else {
            return Ok(false);
        };
        if self.commits() == Commits::Record {
            return self.mend_record(difference).await;
        }
        let mut patience = Patience::default();
        loop {
            let catalog = self.catalog();
            let definition = catalog.table(&difference.table)?;
            let Some(index) = definition.index(name) else { return Ok(false) };
            let recorded = Recorded::new(self.store());
            let wanted = match wanted(&recorded, definition, index, difference).await {
                Err(error) if is_unreadable(&error) => return Ok(false),
                wanted => wanted?,
            };
            let is = match recorded.get(&difference.key, <[u8]>::to_vec).await {
                // It cannot be a condition. Its record is one, and an entry changes only with its record.
                Err(StoreError::DamagedValue(_)) if !difference.record.is_empty() => Some(Vec::new()),
                found => found?,
            };
            // Whose record it was is not known; now it is an entry, so somebody has written it since.
            if difference.record.is_empty() && is.as_deref().is_some_and(|is| EntryValue::parse(is).is_some())
            {
                return Ok(false);
            }
            let mut writes = Overlay::new();
            match wanted {
                Some(value) if is.as_ref() != Some(&value) => writes.put(difference.key.clone(), value),
                None if is.is_some_and(|is| difference.is_of(&is)) => writes.delete(difference.key.clone()),
                _ => return Ok(false),
            }
            let batch = recorded.require(writes.into_batch()).require(catalog.version.unchanged());
            match self.store().commit(batch).await {
                Ok(_) => return Ok(true),
                Err(StoreError::Conflict(condition)) => self.overtaken(&condition, &mut patience).await?,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Whether a value's checksum is wrong.
fn is_unreadable(error: &Error) -> bool {
    matches!(error, Error::Store(StoreError::DamagedValue(_)))
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
    let Compared { rows, unreadable, rest } = page(read, span).await?;
    for (record, payload) in rows {
        verified.records += 1;
        let document = match entries::document(table, &record, &payload) {
            Ok(document) => document,
            Err(error) => {
                let wrong = Wrong::Damaged(error.to_string());
                verified.differences.push(difference(table, None, wrong, record.clone(), record));
                continue;
            }
        };
        for (number, entry) in entries::all_entries(table, &document, &record)? {
            let Some(index) = table.indexes().get(number) else { continue };
            if !index.state().is_kept_up() {
                continue;
            }
            let Entry { key, value, .. } = entry;
            let wrong = match read.get(&key, |found| found == value).await {
                Ok(Some(true)) => continue,
                Ok(Some(false)) => Wrong::Other,
                Ok(None) => Wrong::Missing,
                Err(StoreError::DamagedValue(_)) => Wrong::Unreadable,
                Err(error) => return Err(error.into()),
            };
            // An index that is being filled lacks entries by right.
            if index.state() != State::Ready && wrong == Wrong::Missing {
                continue;
            }
            verified.differences.push(difference(table, Some(index), wrong, key, record.clone()));
        }
    }
    if let Some(record) = unreadable {
        verified.records += 1;
        verified.differences.push(difference(table, None, Wrong::Unreadable, record.clone(), record));
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
    let Compared { rows, unreadable, rest } = page(read, span).await?;
    for (key, value) in rows {
        verified.entries += 1;
        let Some(entry) = EntryValue::parse(&value) else {
            let wrong = Wrong::Damaged("it is not what an entry is".to_owned());
            verified.differences.push(difference(table, Some(index), wrong, key, Vec::new()));
            continue;
        };
        let record = entry.primary_key.to_vec();
        let expected = match read.get(&record, |payload| entries::document(table, &record, payload)).await {
            // A damaged record was reported among the records.
            Ok(Some(Err(_))) | Err(StoreError::DamagedValue(_)) => continue,
            Ok(Some(Ok(document))) => entries::index_entries(table, index, &document, &record)?,
            Ok(None) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        // One that says something else was found from its record.
        if !expected.iter().any(|entry| entry.key == key) {
            verified.differences.push(difference(table, Some(index), Wrong::Stale, key, record));
        }
    }
    if let Some(key) = unreadable {
        verified.entries += 1;
        // One that a record has was found from it.
        if !verified.differences.iter().any(|difference| difference.key == key) {
            let found = difference(table, Some(index), Wrong::Unreadable, key, Vec::new());
            verified.differences.push(found);
        }
    }
    Ok(rest)
}

/// A page of a tree.
struct Compared {
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    /// The key behind them whose value cannot be read.
    unreadable: Option<Vec<u8>>,
    /// What is left of the span.
    rest: Option<Span>,
}

async fn page(read: &impl Read, span: &Span) -> Result<Compared, Error> {
    let mut rows = Vec::new();
    let look = |key: &[u8], value: &[u8]| {
        rows.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    match read.scan(span, Direction::Forward, PAGE, look).await {
        Ok(page) => Ok(Compared { rows, unreadable: None, rest: page.rest }),
        // A key outside of the span is not behind what was read: going on there might never end.
        Err(StoreError::DamagedValue(key)) if span.contains(&key) => {
            let rest = Span { start: [&*key, &[0]].concat(), end: span.end.clone() };
            Ok(Compared { rows, unreadable: Some(key.into()), rest: Some(rest) })
        }
        Err(error) => Err(error.into()),
    }
}

fn difference(
    table: &Definition,
    index: Option<&Index>,
    wrong: Wrong,
    key: Vec<u8>,
    record: Vec<u8>,
) -> Difference {
    let tree = index.map_or(table.primary(), Index::tree);
    let values = tree.values(&key).or_else(|_| tree.declared_values(&key)).unwrap_or_default();
    let pairs = tree.parts().iter().zip(values);
    let pairs =
        pairs.map(|(part, value)| keyloom_schema::field(&part.name).eq(value.into_owned()).to_string());
    let fields = pairs.collect::<Vec<_>>().join(", ");
    let index = index.map(|index| index.name().to_owned());
    Difference { table: table.name().to_owned(), index, wrong, fields, key, record }
}
