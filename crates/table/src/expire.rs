//! Records that have ended are invisible at once; here they are deleted, with their entries.

use std::ops::ControlFlow;

use keyloom_key::{Timestamp, Value};
use keyloom_plan::Query;
use keyloom_schema::field;
use keyloom_store::Store;

use crate::apply::Commits;
use crate::change::{Change, When};
use crate::error::Error;
use crate::reader::Reader;
use crate::table::Table;

/// How many ended records are deleted as one commit.
const BATCH: u64 = 500;

impl<S: Store> Table<S> {
    /// Deletes records that have ended, with their index entries, and returns how many.
    ///
    /// An index that starts with the column makes it cheap; without one it reads the whole table.
    pub async fn delete_expired(&self) -> Result<u64, Error> {
        let definition = self.definition()?;
        let Some(column) = definition.expiry() else { return Ok(0) };
        let ended = field(&column.name).le(self.database().now());
        let query = Query::new().filter(ended.clone()).limit(BATCH).allow_scan();
        let mut deleted = 0;
        loop {
            let mut keys: Vec<Vec<Value<'static>>> = Vec::new();
            let catalog = self.database().catalog();
            let Some(view) = self.database().view_of(&catalog).await? else { continue };
            let reader = Reader {
                read: &view,
                table: catalog.table(self.name())?,
                statistics: &catalog.statistics,
                // At the beginning of time nothing has ended: the records are seen.
                now: Timestamp::from_micros(i64::MIN),
                one_state: self.database().store().capability().snapshot,
            };
            let look = |row: &crate::row::Row<'_>| {
                keys.push(row.key()?.into_iter().map(Value::into_owned).collect());
                Ok(ControlFlow::Continue(()))
            };
            reader.each(&query, None, look).await?;
            drop(view);
            if keys.is_empty() {
                return Ok(deleted);
            }
            let deletes = || keys.iter().map(|key| Change::delete(key.iter().cloned()).when(When::Absent));
            if self.database().commits() == Commits::All {
                match self.apply_all(deletes()).await {
                    Ok(_) => {
                        deleted += u64::try_from(keys.len()).unwrap_or(u64::MAX);
                        continue;
                    }
                    // Ended when they were read, but one has been given more time since: each is tried alone.
                    Err(Error::Condition { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            for delete in deletes() {
                match self.apply(delete).await {
                    Ok(_) => deleted += 1,
                    Err(Error::Condition { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
}
