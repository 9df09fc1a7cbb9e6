//! lexkey: to be written.
