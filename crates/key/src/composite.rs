//! composite: to be written.
