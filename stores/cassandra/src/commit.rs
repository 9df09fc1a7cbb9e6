//! What a batch asks for: a change of one record, members that come and go, or nothing but conditions.

use std::collections::BTreeMap;

use keyloom_store::{About, Batch, Condition, Error};

use crate::cluster::Cluster;
use crate::lease;
use crate::store::{ClusterStore, MAX_KEY, MAX_VALUE, unsupported};

/// The last write to each key.
pub(crate) type Writes<'a> = BTreeMap<&'a [u8], Option<&'a [u8]>>;

/// What a batch does to a record.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    /// The record's key.
    pub(crate) key: &'a [u8],
    /// The record's new value, or that it goes; `None` if it stays as it is.
    pub(crate) value: Option<Option<&'a [u8]>>,
    /// The entries that it gets and loses.
    pub(crate) entries: Writes<'a>,
    /// What must hold of the record and of those entries.
    pub(crate) conditions: Vec<&'a Condition>,
    /// What must hold of other keys.
    pub(crate) leased: Vec<&'a Condition>,
}

impl<C: Cluster> ClusterStore<C> {
    /// Commits a batch.
    pub(crate) async fn write(&self, batch: &Batch) -> Result<(), Error> {
        check(batch)?;
        let mut writes: Writes<'_> = batch.writes().collect();
        let written =
            |condition: &&Condition| lease::key(condition).is_some_and(|key| writes.contains_key(key));
        let (conditions, leased): (Vec<_>, Vec<_>) = batch.conditions().iter().partition(written);
        let outcome = match batch.subject() {
            _ if writes.is_empty() => return self.judge_now(batch.conditions()).await,
            About::Members if conditions.is_empty() => self.write_members(&writes, &leased).await,
            About::Members => return Err(unsupported("require anything of the members that a batch writes")),
            About::Record(key) => {
                // A condition on the record is judged with it, also where only its entries change.
                let own = |condition: &&&Condition| lease::key(condition) == Some(key.as_slice());
                let (own, leased): (Vec<_>, Vec<_>) =
                    leased.into_iter().partition(|condition| own(&condition));
                let conditions = conditions.into_iter().chain(own).collect();
                let value = writes.remove(key.as_slice());
                let entries = std::mem::take(&mut writes);
                self.write_record(&Change { key, value, entries, conditions, leased }).await
            }
            _ => match (writes.pop_first(), writes.is_empty()) {
                (Some((key, value)), true) => {
                    let value = Some(value);
                    self.write_record(&Change { key, value, entries: writes, conditions, leased }).await
                }
                _ => return Err(unsupported("commit several records as one: commit each by itself")),
            },
        };
        // Whatever came of it: others may trust a copy for a while, the writer does not.
        batch.writes().for_each(|(key, _)| self.forget(key));
        outcome
    }
}

/// Refuses what no cluster takes, before anything is written.
fn check(batch: &Batch) -> Result<(), Error> {
    let record = match batch.subject() {
        About::Record(key) => Some(key.as_slice()),
        _ => None,
    };
    for key in batch.writes().map(|(key, _)| key).chain(record) {
        if key.is_empty() {
            return Err(Error::Refused("the empty key".into()));
        }
        if key.len() > MAX_KEY {
            return Err(Error::Refused(
                format!("a key of {} bytes: the longest has {MAX_KEY}", key.len()).into(),
            ));
        }
    }
    if let Some(long) = batch.writes().filter_map(|(_, value)| value).find(|value| value.len() > MAX_VALUE) {
        return Err(Error::Refused(
            format!("a value of {} bytes: the longest has {MAX_VALUE}", long.len()).into(),
        ));
    }
    if batch.conditions().iter().any(|condition| lease::key(condition).is_none()) {
        return Err(unsupported("require that a span is unchanged: require keys"));
    }
    Ok(())
}
