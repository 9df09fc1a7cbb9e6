//! The verbs.

pub(crate) mod key;
