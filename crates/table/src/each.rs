//! One record at a time: what is done on a store that commits no more than a record with its entries as one, and where
//! others may go by a schema that has changed for as long as its lease.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use futures_util::stream::{FuturesUnordered, StreamExt};
use keyloom_key::Value;
use keyloom_store::{About, Store};

use crate::apply::{Applied, Commits, apply};
use crate::blind::Before;
use crate::change::{Change, When};
use crate::database::{Database, Outcome, Patience};
use crate::error::Error;
use crate::pause::pause;
use crate::staged::Recorded;

/// How many records are on their way at the same time.
pub(crate) const IN_FLIGHT: usize = 64;

impl<S: Store> Database<S> {
    /// What the store commits as one.
    pub(crate) fn commits(&self) -> Commits {
        if self.store().capability().atomic_batch { Commits::All } else { Commits::Record }
    }

    /// The error of asking for something that this store cannot do.
    pub(crate) fn unsupported(&self, what: &'static str) -> Error {
        let store = self.store().capability().name;
        keyloom_store::Error::Unsupported { store, what: what.into() }.into()
    }

    /// Waits until nobody can commit by a schema that is older than what is in the store now.
    ///
    /// The tenth on top is for clocks that do not run alike.
    pub(crate) async fn outwait_lease(&self) {
        if let Some(lease) = self.store().capability().lease {
            pause(lease + lease / 10).await;
        }
    }

    /// Makes a change of one record. Records that have ended and are in its way are deleted first, each by itself.
    pub(crate) async fn apply_one(&self, table: &str, change: &Change) -> Result<Outcome<'static>, Error> {
        let mut patience = Patience::default();
        let mut first: Vec<Change> = Vec::new();
        loop {
            let catalog = self.catalog();
            let definition = catalog.table(table)?;
            let recorded = Recorded::new(self.store());
            let (change, now) = (first.last().unwrap_or(change), self.now());
            let worked_out = apply(&recorded, definition, change, now, Commits::Record, Before::Told);
            let Applied { key, writes, ended, before, after } = match worked_out.await {
                Err(Error::Conflict(reason)) => {
                    patience.check(&reason)?;
                    continue;
                }
                // What an old schema refuses, such as by an index that is gone, the new one may not.
                Err(error) if self.is_schema(&catalog).await? => match (first.pop(), error) {
                    // It was given more time: now it is in the way by right.
                    (Some(_), Error::Condition { .. }) => continue,
                    (_, error) => return Err(error),
                },
                Err(_) => continue,
                Ok(applied) => applied,
            };
            let after = after.map(|after| Cow::Owned(after.into_owned()));
            if !ended.is_empty() {
                for key in ended {
                    let values = definition.primary().values(&key)?;
                    let delete = Change::delete(values.into_iter().map(Value::into_owned));
                    first.push(delete.when(When::Absent));
                }
                patience.check("by records that have ended")?;
                continue;
            }
            let sequence = if writes.writes().len() == 0 {
                // What was read says that there is nothing to do, if it was read by the schema as it is.
                if !self.is_schema(&catalog).await? {
                    continue;
                }
                self.store().sequence().await?
            } else {
                let batch = recorded.require(writes).require(catalog.version.unchanged());
                match self.store().commit(batch.about(About::Record(key))).await {
                    Ok(sequence) => sequence,
                    Err(keyloom_store::Error::Conflict(condition)) => {
                        self.overtaken(&condition, &mut patience).await?;
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                }
            };
            if first.pop().is_none() {
                return Ok(Outcome { sequence, records: vec![(before, after)] });
            }
        }
    }
}

/// Work on one record.
pub(crate) type Work<'w> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'w>>;

/// Does the work on each of these side by side, so many at a time; what has begun ends before the first error is returned.
pub(crate) async fn side_by_side<'w, T: Send>(
    all: Vec<T>,
    work: impl Fn(T) -> Work<'w> + Send,
) -> Result<(), Error> {
    let mut left = all.into_iter();
    let mut running: FuturesUnordered<Work<'w>> = left.by_ref().take(IN_FLIGHT).map(&work).collect();
    let mut result = Ok(());
    while let Some(done) = running.next().await {
        match (done, &result) {
            (Ok(()), Ok(())) => running.extend(left.next().map(&work)),
            (Err(error), Ok(())) => result = Err(error),
            (_, Err(_)) => {}
        }
    }
    result
}
