//! rowkey: to be written.
