//! keystone: to be written.
