//! placement: to be written.
