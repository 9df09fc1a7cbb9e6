//! A change becomes writes: the record and every index entry that it moves.

use keyloom_key::{Timestamp, Value};
use keyloom_schema::{Document, Table};
use keyloom_store::{Read, Write};

use crate::change::{Change, What, When};
use crate::entries::{self, Entry, EntryValue, Fields};
use crate::error::Error;

/// What a change does.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub(crate) writes: Vec<Write>,
    /// The record before; `None` if it was not there, or not looked at.
    pub(crate) before: Option<Document>,
    /// The record after; `None` if it is not there any more.
    pub(crate) after: Option<Document>,
}

/// Works out what a change does to what can be read now.
pub(crate) async fn apply(
    read: &impl Read,
    table: &Table,
    change: &Change,
    now: Timestamp,
) -> Result<Applied, Error> {
    let (key, put) = match &change.what {
        What::Put(document) => {
            let document = table.check(document.clone())?;
            (entries::record_key(table, &table.key_values(&document))?, Some(document))
        }
        What::Update(values, _) | What::Delete(values) => (entries::given_key(table, values)?, None),
    };
    // A record that nothing else depends on is written without a look at what it was.
    let blind = put.is_some() && table.indexes().is_empty() && change.when.is_none();
    let stored = if blind { None } else { read_record(read, table, &key).await? };
    let visible = stored.as_ref().filter(|document| !is_expired(table, document, now));
    check(table, change.when.as_ref(), visible)?;
    let after = match &change.what {
        What::Put(_) => put,
        What::Update(_, update) => match visible {
            None => return Ok(Applied::default()),
            Some(before) => {
                if let Some(field) = update.fields().find(|field| is_key(table, field)) {
                    let reason =
                        "is part of the primary key and cannot change: delete the record and put another";
                    return Err(keyloom_schema::Error::Value {
                        field: field.to_owned(),
                        reason: reason.into(),
                    }
                    .into());
                }
                let mut document = before.clone();
                update.apply(&mut document)?;
                Some(table.check(document)?)
            }
        },
        What::Delete(_) => None,
    };
    let before = visible.cloned();
    let mut writes = Vec::new();
    if after.is_none() && stored.is_none() {
        return Ok(Applied { writes, before, after });
    }
    replace(read, table, &key, stored.as_ref(), after.as_ref(), now, &mut writes).await?;
    Ok(Applied { writes, before, after })
}

/// Appends the writes that turn a record and its entries into another; what was is removed where it moves.
async fn replace(
    read: &impl Read,
    table: &Table,
    key: &[u8],
    before: Option<&Document>,
    after: Option<&Document>,
    now: Timestamp,
    writes: &mut Vec<Write>,
) -> Result<(), Error> {
    let entries = |document: Option<&Document>| match document {
        None => Ok(Vec::new()),
        Some(document) => entries::all_entries(table, document, key),
    };
    let (old, new) = (entries(before)?, entries(after)?);
    for (_, entry) in &old {
        if !new.iter().any(|(_, other)| other.key == entry.key) {
            writes.push(Write { key: entry.key.clone(), value: None });
        }
    }
    let changed: Vec<(usize, Entry)> =
        new.into_iter().filter(|(_, entry)| !old.iter().any(|(_, other)| other == entry)).collect();
    // All make room before any is written: one ended record may have been in the way of several.
    for (number, entry) in changed.iter().filter(|(_, entry)| entry.unique) {
        make_room(read, table, *number, entry, key, now, writes).await?;
    }
    let written = changed.into_iter().map(|(_, Entry { key, value, .. })| Write { key, value: Some(value) });
    writes.extend(written);
    let value = match after {
        None => None,
        Some(document) => {
            let mut payload = Vec::with_capacity(128);
            entries::payload(table, document, &mut payload)?;
            Some(payload)
        }
    };
    writes.push(Write { key: key.to_vec(), value });
    Ok(())
}

/// Refuses an entry of a unique index that another record has; an expired one makes room.
async fn make_room(
    read: &impl Read,
    table: &Table,
    number: usize,
    entry: &Entry,
    key: &[u8],
    now: Timestamp,
    writes: &mut Vec<Write>,
) -> Result<(), Error> {
    let owner = read.get(&entry.key, |value| {
        EntryValue::parse(value).map(|value| value.primary_key.to_vec()).unwrap_or_default()
    });
    let Some(owner) = owner.await?.filter(|owner| owner != key) else { return Ok(()) };
    let other = read_record(read, table, &owner).await?;
    let Some(other) = other else {
        let reason = format!("an entry of {} leads to no record", index_name(table, number));
        return Err(Error::Damaged(reason.into()));
    };
    if !is_expired(table, &other, now) {
        return Err(violation(table, number, &entry.key));
    }
    for (_, stale) in entries::all_entries(table, &other, &owner)? {
        writes.push(Write { key: stale.key, value: None });
    }
    writes.push(Write { key: owner, value: None });
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

fn check(table: &Table, when: Option<&When>, record: Option<&Document>) -> Result<(), Error> {
    let (holds, text) = match (when, record) {
        (None, _) | (Some(When::Exists), Some(_)) | (Some(When::Absent), None) => return Ok(()),
        (Some(When::Exists), None) => (false, "it exists".to_owned()),
        (Some(When::Absent), Some(_)) => (false, "it does not exist".to_owned()),
        (Some(When::Is(predicate)), None) => (false, predicate.to_string()),
        (Some(When::Is(predicate)), Some(document)) => {
            let holds = predicate.clone().bind(table)?.holds(&Fields { table, document })?;
            (holds, predicate.to_string())
        }
    };
    if holds { Ok(()) } else { Err(Error::Condition { table: table.name().to_owned(), condition: text }) }
}
