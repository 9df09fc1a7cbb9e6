//! Claims: who has a unique value.
//!
//! ```text
//! a claim (id, owner, base)   the owner's cell lists the key       held
//!                             the owner's version is the base      a write may be about to list it: wait, then shut it out
//!                             neither                              left behind: anyone may take it over
//! ```
//!
//! A claim is held by the record, not by the write: of two writes of one record that claim the same value on the same
//! base, at most one happens, and whichever claim is there is the record's.

use std::time::Duration;

use crate::cluster::{Applied, Cell, Claim, Cluster, Consistency, Fault};
use crate::id::Id;
use crate::mistake::Mistake;
use crate::store::ClusterStore;

/// How often a claim is tried anew when others come between.
const ATTEMPTS: u32 = 64;

/// Who wants a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taking<'a> {
    /// The key of the entry.
    pub(crate) key: &'a [u8],
    /// The claim's id: that of the entry's row.
    pub(crate) id: Id,
    /// The record's key.
    pub(crate) owner: &'a [u8],
    /// The version that the record has.
    pub(crate) base: Option<Id>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// The value is the record's, until the record has another version and does not list it.
    Mine {
        /// Another write of the record, on the same base, had claimed it before.
        replaced: bool,
    },
    /// Another record has it.
    Taken,
    /// The record has been written since.
    Overtaken,
}

/// How a claim stands that is in the way of another.
enum Standing<'c> {
    /// Its owner has the value.
    Held,
    /// A write of its owner, here as it is now, may be about to have it.
    Pending(&'c Claim, Option<Cell>),
    /// Another write of the record that wants the value has claimed it, on the same base.
    Shared,
    /// The record that wants the value has been written since.
    Overtaken,
    /// Nobody has it or will have it by this claim.
    Left,
}

impl<C: Cluster> ClusterStore<C> {
    /// Claims a value for a record.
    pub(crate) async fn claim(&self, taking: &Taking<'_>) -> Result<Claimed, Fault> {
        let mine = Claim { id: taking.id, owner: taking.owner.to_vec(), base: taking.base };
        let mut found: Option<Claim> = None;
        let mut replaced = false;
        // Since when a claim of another has been waited for.
        let mut waited: Option<(Id, Duration)> = None;
        for attempt in 0..ATTEMPTS {
            let standing = match &found {
                None => Standing::Left,
                Some(claim) => self.standing(claim, taking).await?,
            };
            match standing {
                Standing::Held => return Ok(Claimed::Taken),
                Standing::Overtaken => return Ok(Claimed::Overtaken),
                Standing::Pending(claim, owner) => {
                    let now = self.cluster().monotonic();
                    let since = waited.filter(|(id, _)| *id == claim.id).map_or(now, |(_, since)| since);
                    waited = Some((claim.id, since));
                    if now.saturating_sub(since) < self.settings().patience {
                        self.pause(attempt).await;
                    } else {
                        self.shut_out(&claim.owner, owner.as_ref()).await?;
                    }
                }
                Standing::Left | Standing::Shared => {
                    replaced |= matches!(standing, Standing::Shared);
                    let expected = found.as_ref().map(|claim| claim.id);
                    match self.cluster().set_claim(taking.key, expected, Some(&mine)).await {
                        Ok(Applied::Yes) => return Ok(Claimed::Mine { replaced }),
                        Err(Fault::Refused(reason)) => return Err(Fault::Refused(reason)),
                        // Not done, or not known: what is there decides.
                        Ok(Applied::No) | Err(Fault::Unknown(_)) => {}
                    }
                }
            }
            found = self.read_claim(taking.key).await?;
            if found.as_ref().is_some_and(|claim| claim.id == mine.id) {
                return Ok(Claimed::Mine { replaced });
            }
        }
        Err(Fault::Unknown("others claim the same value all the time".to_owned()))
    }

    /// How a claim stands that is in the way of another.
    async fn standing<'c>(&self, claim: &'c Claim, taking: &Taking<'_>) -> Result<Standing<'c>, Fault> {
        // Read after the claim: if the owner has another version by now than the claim's base, the base is past.
        let owner = self.cell(&claim.owner, Consistency::Serial).await?;
        let version = owner.as_ref().map(|cell| cell.version);
        Ok(if claim.owner == taking.owner {
            match claim.base == taking.base {
                _ if version != taking.base && !self.errs(Mistake::StaleClaim) => Standing::Overtaken,
                true => Standing::Shared,
                false => Standing::Left,
            }
        } else if owner.as_ref().is_some_and(|cell| cell.row_of(taking.key).is_some()) {
            Standing::Held
        } else if version == claim.base && !self.errs(Mistake::RashClaim) {
            Standing::Pending(claim, owner)
        } else {
            Standing::Left
        })
    }

    /// Gives a record another version, so that no write on the one that it has can happen.
    async fn shut_out(&self, key: &[u8], cell: Option<&Cell>) -> Result<(), Fault> {
        let renewed = Cell::renewed(cell, self.order().id());
        match self.cluster().set_cell(key, cell.map(|cell| cell.version), &renewed).await {
            // Done, overtaken or not known: whoever goes on reads the record again.
            Ok(_) | Err(Fault::Unknown(_)) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    async fn read_claim(&self, key: &[u8]) -> Result<Option<Claim>, Fault> {
        let mut attempt = 0;
        loop {
            match self.cluster().claim(key, Consistency::Serial).await {
                Err(Fault::Unknown(_)) if attempt < 3 => self.pause(attempt).await,
                answer => return answer,
            }
            attempt += 1;
        }
    }

    /// Gives a value back, if this claim is still there. One that is left behind can be taken over by anyone.
    pub(crate) async fn release(&self, key: &[u8], id: Id) {
        let _ = self.cluster().set_claim(key, Some(id), None).await;
    }
}
