//! A change becomes writes: the record and every index entry that it moves.

use std::borrow::Cow;

use keyloom_key::{Timestamp, Value};
use keyloom_schema::{Document, Index, State, Table};
use keyloom_store::{Batch, Read};

use crate::blind::{self, Before};
use crate::change::{Change, What, When};
use crate::entries::{self, Columns, Entry, EntryValue, Fields, Scratch};
use crate::error::Error;

/// What a change does.
#[derive(Debug, Default)]
pub(crate) struct Applied<'c> {
    /// The key of the record.
    pub(crate) key: Vec<u8>,
    pub(crate) writes: Batch,
    /// The keys of records that have ended and are in the way: the writes delete them too.
    pub(crate) ended: Vec<Vec<u8>>,
    /// The record before; `None` if it was not there, or not looked at.
    pub(crate) before: Option<Document>,
    /// The record after; `None` if it is not there any more.
    pub(crate) after: Option<Cow<'c, Document>>,
}

/// How the store commits what a change writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commits {
    /// Any keys as one.
    All,
    /// A record with its entries as one. It knows whose an entry is.
    Record,
}

/// Works out what a change does to what can be read now.
pub(crate) async fn apply<'c>(
    read: &impl Read,
    table: &Table,
    change: &'c Change,
    now: Timestamp,
    commits: Commits,
    before: Before,
) -> Result<Applied<'c>, Error> {
    let put = match &change.what {
        What::Put(document) => Some(table.checked(document)?),
        _ => None,
    };
    let fields = put.as_deref().map(|document| Fields::of(table, document));
    let key = match (&change.what, &fields) {
        (What::Update(values, _) | What::Delete(values), _) => entries::given_key(table, values)?,
        // Seldom: kept apart, so that every put need not have room for them.
        (What::Enter { key, tree }, _) => return Box::pin(enter(read, table, key, *tree, now)).await,
        (What::Leave { key, entry }, _) => return Box::pin(leave(read, table, key, entry)).await,
        (What::Put(_), fields) => {
            let mut key = Vec::with_capacity(64);
            if let Some(fields) = fields {
                entries::write_key(table, fields, &mut key)?;
            }
            key
        }
    };
    let blind = blind::is_blind(table, change, commits, before);
    let stored = if blind { None } else { read_record(read, table, &key).await? };
    let visible = stored.as_ref().filter(|document| !is_expired(table, document, now));
    change.when.iter().try_for_each(|when| check(table, when, visible))?;
    let seen = visible.is_some();
    let mut applied = Applied { key, ..Applied::default() };
    let updated = match (&change.what, visible) {
        (What::Update(..), None) => return Ok(Applied::default()),
        (What::Update(_, update), Some(before)) => {
            if let Some(field) = update.fields().find(|field| is_key(table, field)) {
                let reason =
                    "is part of the primary key and cannot change: delete the record and put another";
                return Err(
                    keyloom_schema::Error::Value { field: field.to_owned(), reason: reason.into() }.into()
                );
            }
            let mut document = before.clone();
            update.apply(&mut document)?;
            Some(Cow::Owned(table.check(document)?))
        }
        _ => None,
    };
    match (&stored, &fields) {
        (None, Some(fields)) if !table.indexes().iter().any(Index::is_unique) => {
            let Applied { key, writes, .. } = &mut applied;
            add(table, fields, |out| entries::payload(fields, out), key, writes)?;
        }
        (None, None) if blind => blind::delete(table, &applied.key, &mut applied.writes)?,
        (None, None) => {}
        // Kept apart, so that a record that is new need not have room for it.
        (before, _) => {
            let (before, after) = (before.as_ref(), put.as_deref().or(updated.as_deref()));
            Box::pin(replace(read, table, before, after, now, commits, &mut applied)).await?;
        }
    }
    drop(fields);
    (applied.before, applied.after) = (stored.filter(|_| seen), put.or(updated));
    Ok(applied)
}

/// Adds the writes of a record that is new and whose entries nobody else can have; `payload` appends its own.
pub(crate) fn add(
    table: &Table,
    record: &impl Columns,
    payload: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
    key: &[u8],
    writes: &mut Batch,
) -> Result<(), Error> {
    let mut scratch = Scratch::with_room();
    for index in table.indexes().iter().filter(|index| index.state().is_kept_up()) {
        let write = |entry: &[u8], value: &[u8], _| writes.write(entry, Some(value));
        entries::each_entry(table, index, record, key, &mut scratch, write)?;
    }
    writes.write_with(key, payload)
}

/// Adds the writes that turn a record and its entries into another; what was is removed where it moves.
async fn replace(
    read: &impl Read,
    table: &Table,
    before: Option<&Document>,
    after: Option<&Document>,
    now: Timestamp,
    commits: Commits,
    applied: &mut Applied<'_>,
) -> Result<(), Error> {
    let key = &applied.key;
    let entries = |document: Option<&Document>| match document {
        None => Ok(Vec::new()),
        Some(document) => entries::all_entries(table, document, key),
    };
    let (old, mut new) = (entries(before)?, entries(after)?);
    let state = |number: usize| table.indexes().get(number).map(|index| index.state());
    new.retain(|(number, _)| state(*number).is_some_and(State::is_kept_up));
    for (number, entry) in &old {
        if new.iter().any(|(_, other)| other.key == entry.key) {
            continue;
        }
        if commits == Commits::Record || is_own(read, table, *number, entry, &applied.key).await? {
            applied.writes.write(&entry.key, None);
        }
    }
    let changed: Vec<(usize, Entry)> =
        new.into_iter().filter(|(_, entry)| !old.iter().any(|(_, other)| other == entry)).collect();
    // All make room before any is written: one ended record may have been in the way of several.
    for (number, entry) in changed.iter().filter(|(_, entry)| entry.unique) {
        make_room(read, table, *number, entry, now, applied).await?;
    }
    changed.iter().for_each(|(_, entry)| applied.writes.write(&entry.key, Some(&entry.value)));
    match after {
        None => applied.writes.write(&applied.key, None),
        Some(document) => {
            let fields = Fields::of(table, document);
            applied.writes.write_with(&applied.key, |out| entries::payload(&fields, out))?;
        }
    }
    Ok(())
}

/// Writes a record as it is, with all its entries in one index.
async fn enter(
    read: &impl Read,
    table: &Table,
    key: &[u8],
    tree: u32,
    now: Timestamp,
) -> Result<Applied<'static>, Error> {
    let mut applied = Applied { key: key.to_vec(), ..Applied::default() };
    let mut indexes = table.indexes().iter().enumerate();
    let Some((number, index)) = indexes.find(|(_, index)| index.tree().id() == tree) else {
        return Ok(applied);
    };
    let Some(payload) = read.get(key, <[u8]>::to_vec).await? else { return Ok(applied) };
    let document = entries::document(table, key, &payload)?;
    if is_expired(table, &document, now) {
        // It is not there, so it must not stand in the way of one that is.
        applied.ended.push(key.to_vec());
        return Ok(applied);
    }
    let entries = entries::index_entries(table, index, &document, key)?;
    for entry in entries.iter().filter(|entry| entry.unique) {
        make_room(read, table, number, entry, now, &mut applied).await?;
    }
    entries.iter().for_each(|entry| applied.writes.write(&entry.key, Some(&entry.value)));
    applied.writes.write(key, Some(&payload));
    Ok(applied)
}

/// Writes a record as it is, without an entry that is none of its own.
async fn leave(read: &impl Read, table: &Table, key: &[u8], entry: &[u8]) -> Result<Applied<'static>, Error> {
    let mut applied = Applied { key: key.to_vec(), ..Applied::default() };
    let Some(payload) = read.get(key, <[u8]>::to_vec).await? else { return Ok(applied) };
    let document = entries::document(table, key, &payload)?;
    if entries::all_entries(table, &document, key)?.iter().all(|(_, own)| own.key != entry) {
        applied.writes.write(entry, None);
        applied.writes.write(key, Some(&payload));
    }
    Ok(applied)
}

/// The key of the record that an entry is of.
async fn owner(read: &impl Read, entry: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    let owner =
        |value: &[u8]| EntryValue::parse(value).map(|value| value.primary_key.to_vec()).unwrap_or_default();
    Ok(read.get(entry, owner).await?)
}

/// Whether a record has an entry that it should have. While a unique index is being filled, the place of one that it has
/// not yet may be another's.
async fn is_own(
    read: &impl Read,
    table: &Table,
    number: usize,
    entry: &Entry,
    key: &[u8],
) -> Result<bool, Error> {
    let filled = table.indexes().get(number).is_none_or(|index| index.state() == State::Ready);
    Ok(!entry.unique || filled || owner(read, &entry.key).await?.is_some_and(|owner| owner == key))
}

/// Refuses an entry of a unique index that another record has; an expired one makes room.
async fn make_room(
    read: &impl Read,
    table: &Table,
    number: usize,
    entry: &Entry,
    now: Timestamp,
    applied: &mut Applied<'_>,
) -> Result<(), Error> {
    let found = owner(read, &entry.key).await?;
    match found.filter(|owner| *owner != applied.key) {
        None => Ok(()),
        // Seldom, and kept apart too.
        Some(other) => Box::pin(end(read, table, number, entry, other, now, applied)).await,
    }
}

/// Ends an expired record that stands in the way of an entry; refuses if it has not expired.
async fn end(
    read: &impl Read,
    table: &Table,
    number: usize,
    entry: &Entry,
    owned_by: Vec<u8>,
    now: Timestamp,
    applied: &mut Applied<'_>,
) -> Result<(), Error> {
    let other = read_record(read, table, &owned_by).await?;
    let Some(other) = other else {
        // It may have gone between the two reads, and its entry with it.
        if owner(read, &entry.key).await? != Some(owned_by) {
            return Err(Error::Conflict("a record with the same unique values has just gone".into()));
        }
        let reason = format!("an entry of {} leads to no record", index_name(table, number));
        return Err(Error::Damaged(reason.into()));
    };
    if !is_expired(table, &other, now) {
        return Err(violation(table, number, &entry.key));
    }
    for (number, stale) in entries::all_entries(table, &other, &owned_by)? {
        if is_own(read, table, number, &stale, &owned_by).await? {
            applied.writes.write(&stale.key, None);
        }
    }
    applied.writes.write(&owned_by, None);
    applied.ended.push(owned_by);
    Ok(())
}

fn index_name(table: &Table, number: usize) -> String {
    table.indexes().get(number).map_or_else(String::new, |index| index.name().to_owned())
}

/// The error of an entry whose place in a unique index is taken.
pub(crate) fn violation(table: &Table, number: usize, entry: &[u8]) -> Error {
    let (mut index, mut values) = (String::new(), String::new());
    if let Some(found) = table.indexes().get(number) {
        index = found.name().to_owned();
        let parts = found.tree().parts().iter();
        let read = found.tree().declared_values(entry).unwrap_or_default();
        let pairs =
            parts.zip(read).map(|(part, value)| keyloom_schema::field(&part.name).eq(value.into_owned()));
        values = pairs.map(|pair| pair.to_string()).collect::<Vec<_>>().join(", ");
    }
    Error::Unique { table: table.name().to_owned(), index, values }
}

/// The record with this key, expired or not.
pub(crate) async fn read_record(
    read: &impl Read,
    table: &Table,
    key: &[u8],
) -> Result<Option<Document>, Error> {
    read.get(key, |payload| entries::document(table, key, payload)).await?.transpose()
}

/// Whether a record has ended.
pub(crate) fn is_expired(table: &Table, document: &Document, now: Timestamp) -> bool {
    let ends = table.expiry().and_then(|column| document.get(&column.name));
    matches!(ends, Some(Value::Timestamp(end)) if *end <= now)
}

fn is_key(table: &Table, field: &str) -> bool {
    table.primary().parts().iter().any(|part| part.name == field)
}

fn check(table: &Table, when: &When, record: Option<&Document>) -> Result<(), Error> {
    let (holds, text) = match (when, record) {
        (When::Exists, Some(_)) | (When::Absent, None) => return Ok(()),
        (When::Exists, None) => (false, "it exists".to_owned()),
        (When::Absent, Some(_)) => (false, "it does not exist".to_owned()),
        (When::Is(predicate), None) => (false, predicate.to_string()),
        (When::Is(predicate), Some(document)) => {
            let holds = predicate.clone().bind(table)?.holds(&Fields::of(table, document))?;
            (holds, predicate.to_string())
        }
        (When::Same(expected), record) => {
            let bytes = |document: &Document| {
                let mut bytes = Vec::new();
                entries::payload(&Fields::of(table, document), &mut bytes).map(|()| bytes)
            };
            let same = record.map(|record| Ok::<_, Error>(bytes(record)? == bytes(expected)?));
            (same.transpose()?.unwrap_or(false), "it has not changed".to_owned())
        }
    };
    if holds { Ok(()) } else { Err(Error::Condition { table: table.name().to_owned(), condition: text }) }
}
