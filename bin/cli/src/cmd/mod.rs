//! The verbs, one file each.

pub(crate) mod advise;
pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod key;
pub(crate) mod man;
pub(crate) mod repair;
pub(crate) mod report;
pub(crate) mod restore;
pub(crate) mod sql;
pub(crate) mod stats;
pub(crate) mod verify;
