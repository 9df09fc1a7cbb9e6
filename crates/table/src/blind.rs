//! Writes without a look at the record that was there.
//!
//! ```text
//! put (user, day) → (day, user)    │record│ and │entry│ are written: an older record had the same entry
//! delete          → (day, user)    │record│ and │entry│ go: the key says which entry that is
//! ```

use keyloom_schema::{Document, Index, Table};
use keyloom_store::Batch;

use crate::apply::Commits;
use crate::change::{Change, What};
use crate::entries;
use crate::error::Error;

/// What becomes of the record that was there before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// The caller is told of it.
    Told,
    /// Nobody asks.
    Untold,
}

/// Whether a change is made without a look at the record that was there.
///
/// Nothing may depend on that record: no condition, no caller, and no entry ([`follows_keys`]). A put into a table
/// without indexes never looks, even if its caller would be told.
pub(crate) fn is_blind(table: &Table, change: &Change, commits: Commits, before: Before) -> bool {
    if !change.when.is_empty() {
        return false;
    }
    match change.what {
        What::Put(_) if table.indexes().is_empty() => true,
        What::Put(_) | What::Delete(_) => before == Before::Untold && follows_keys(table, commits),
        // What is changed has to be read, and who enters or leaves an index stays as it is.
        What::Update(..) | What::Enter { .. } | What::Leave { .. } => false,
    }
}

/// Whether the keys of all entries follow from those of their records ([`Index::is_of_key`]): then a record has its entries
/// where the one that it replaces had them, and its key says where.
///
/// All indexes have to be kept up: where one comes or goes, a record that is written loses its entries in it, if it has any.
/// That one is being filled is no matter: who fills it writes the same entries, or nothing if a record has changed.
///
/// A store that commits one record at a time is read all the same: there an entry that stays costs nothing, and one that
/// is written anew as much as another.
pub(crate) fn follows_keys(table: &Table, commits: Commits) -> bool {
    let follows = |index: &Index| index.is_of_key() && index.state().is_kept_up();
    commits == Commits::All && table.indexes().iter().all(follows)
}

/// Adds the writes that delete a record of a table that [follows its keys](follows_keys), if it is there.
pub(crate) fn delete(table: &Table, key: &[u8], writes: &mut Batch) -> Result<(), Error> {
    if !table.indexes().is_empty() {
        let parts = table.primary().parts().iter().zip(table.primary().values(key)?);
        let record: Document = parts.map(|(part, value)| (part.name.clone(), value.into_owned())).collect();
        for index in table.indexes() {
            match entries::index_entries(table, index, &record, key) {
                Ok(entries) => entries.iter().for_each(|entry| writes.write(&entry.key, None)),
                // Its keys cannot hold these values, so it has no entry of them.
                Err(Error::Schema(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    writes.write(key, None);
    Ok(())
}

#[cfg(test)]
mod tests;
