//! What can go wrong in a store: few kinds, one for each thing the caller can do about it.

use std::borrow::Cow;
use std::time::Duration;

use crate::batch::Condition;

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This condition of the batch does not hold: nothing was written. Read again and decide anew.
    #[error("conflict: {0}")]
    Conflict(Box<Condition>),
    /// The store does not take such a key or value: nothing was written. Make it smaller; a key must not be empty.
    #[error("refused: {0}")]
    Refused(Cow<'static, str>),
    /// The store does not offer this, as its [`Capability`](crate::Capability) says: ask it of another store.
    #[error("{store} cannot {what}")]
    Unsupported {
        /// The store's name.
        store: &'static str,
        /// What was asked.
        what: Cow<'static, str>,
    },
    /// Others use the store in a way that excludes this: try again later.
    #[error("busy: {0}")]
    Busy(Cow<'static, str>),
    /// There is no room to write: nothing was written. Make room and try again.
    #[error("full: {0}")]
    Full(Cow<'static, str>),
    /// The snapshot is too old to be read: take a new one.
    #[error("snapshot is past its age of {0:?}: take a new one")]
    Expired(Duration),
    /// The data is not what was written: restore it.
    #[error("damaged: {0}")]
    Damaged(Cow<'static, str>),
    /// The value of this key is not what was written: restore it. A scan goes on behind the key.
    #[error("damaged: the value of key {} is not what was written", .0.escape_ascii())]
    DamagedValue(Box<[u8]>),
    /// Whether the batch was written is not known: read before writing again.
    #[error("unknown outcome: {0}")]
    Unknown(Cow<'static, str>),
    /// Someone wanted it to end before it was done.
    #[error("stopped")]
    Stopped,
    /// The store failed and takes nothing more: open it anew.
    #[error("store failed: {0}")]
    Failed(Cow<'static, str>),
}
