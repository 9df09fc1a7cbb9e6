//! Members of sets: rows that are there by themselves.
//!
//! Adding inserts a row with a fresh id, removing deletes the rows that were seen, each by its id. So whoever adds at the
//! same time as another removes is not undone by it, and no clock has a say.

use futures_util::future::try_join_all;
use keyloom_store::{Condition, Error};

use crate::cluster::{Cluster, Fault, Kind, Row};
use crate::commit::Writes;
use crate::id::Id;
use crate::store::{ClusterStore, failed};

/// How many members are looked at at once.
const TOGETHER: usize = 64;

impl<C: Cluster> ClusterStore<C> {
    /// Adds and removes members. Each by itself: where some were written and others not, all can be written again.
    pub(crate) async fn write_members(
        &self,
        writes: &Writes<'_>,
        leased: &[&Condition],
    ) -> Result<(), Error> {
        let (mut new, mut old) = (Vec::new(), Vec::new());
        let keys: Vec<&[u8]> = writes.keys().copied().collect();
        for keys in keys.chunks(TOGETHER) {
            let seen = try_join_all(keys.iter().map(|key| self.order().read(key))).await.map_err(failed)?;
            for (key, rows) in keys.iter().zip(seen) {
                let value = writes.get(key).copied().flatten();
                let (same, others): (Vec<Row>, Vec<Row>) = rows
                    .into_iter()
                    .filter(|row| row.kind == Kind::Member)
                    .partition(|row| Some(row.value.as_slice()) == value);
                old.extend(others.into_iter().map(|row| (row.key, row.id)));
                if let Some(value) = value.filter(|_| same.is_empty()) {
                    let id = self.order().id();
                    new.push(Row { key: key.to_vec(), id, kind: Kind::Member, value: value.to_vec() });
                }
            }
        }
        // Judged last, so that what was judged is as young as it can be when the rows are written.
        self.judge_leased(leased).await?;
        self.put_members(new, old).await.map_err(|fault| match fault {
            Fault::Unknown(reason) => {
                Error::Unknown(format!("some members may have been written: {reason}").into())
            }
            Fault::Refused(reason) => Error::Failed(reason.into()),
        })
    }

    async fn put_members(&self, new: Vec<Row>, old: Vec<(Vec<u8>, Id)>) -> Result<(), Fault> {
        self.order().insert(new).await?;
        self.order().delete(old).await
    }
}
