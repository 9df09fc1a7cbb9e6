//! Conditions on keys that a batch does not write: judged by a copy that is trusted for a while.
//!
//! A copy can only say yes: whoever reads that a condition does not hold reads it anew.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use keyloom_store::{Condition, Error};

use crate::cluster::Cluster;
use crate::store::ClusterStore;

/// How many copies are kept.
const KEPT: usize = 256;

/// What a key was.
#[derive(Debug, Clone)]
pub(crate) struct Copy {
    value: Option<Vec<u8>>,
    /// The monotonic clock before it was read.
    read: Duration,
}

/// The key that a condition is on; `None` if it is on a span.
pub(crate) fn key(condition: &Condition) -> Option<&[u8]> {
    match condition {
        Condition::Absent(key) | Condition::Is { key, .. } => Some(key),
        _ => None,
    }
}

/// Whether a condition holds of a key with this value.
pub(crate) fn holds(condition: &Condition, value: Option<&[u8]>) -> bool {
    match condition {
        Condition::Absent(_) => value.is_none(),
        Condition::Is { value: required, .. } => value == Some(required),
        _ => false,
    }
}

/// The error of a condition that does not hold.
pub(crate) fn conflict(condition: &Condition) -> Error {
    Error::Conflict(Box::new(condition.clone()))
}

impl<C: Cluster> ClusterStore<C> {
    fn copies(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Copy>> {
        self.0.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says until when all these hold, on the monotonic clock.
    pub(crate) async fn judge_leased(&self, conditions: &[&Condition]) -> Result<Duration, Error> {
        let mut until = Duration::MAX;
        for condition in conditions {
            until = until.min(self.judge_one(condition).await? + self.settings().lease);
        }
        Ok(until)
    }

    /// Says when it was read that a condition holds.
    async fn judge_one(&self, condition: &Condition) -> Result<Duration, Error> {
        let Some(key) = key(condition) else { return Err(conflict(condition)) };
        let now = self.cluster().monotonic();
        let fresh = |copy: &&Copy| now < copy.read + self.settings().lease;
        let copy = self.copies().get(key).filter(fresh).cloned();
        if let Some(copy) = copy.filter(|copy| holds(condition, copy.value.as_deref())) {
            return Ok(copy.read);
        }
        let value = self.value(key).await?;
        let held = holds(condition, value.as_deref());
        let mut copies = self.copies();
        if copies.len() >= KEPT {
            copies.clear();
        }
        copies.insert(key.to_vec(), Copy { value, read: now });
        if held { Ok(now) } else { Err(conflict(condition)) }
    }

    /// Judges by what is there now.
    pub(crate) async fn judge_now(&self, conditions: &[Condition]) -> Result<(), Error> {
        for condition in conditions {
            let held = match key(condition) {
                Some(key) => holds(condition, self.value(key).await?.as_deref()),
                None => false,
            };
            if !held {
                return Err(conflict(condition));
            }
        }
        Ok(())
    }

    /// Forgets what a key was.
    pub(crate) fn forget(&self, key: &[u8]) {
        self.copies().remove(key);
    }
}
