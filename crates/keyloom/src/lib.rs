//! x
pub use keyloom_key as key;
