//! Files of records, which `import` and `advise` read and `export` writes.
//!
//! ```text
//! file ─→ Input ─→ Records ─→ Documents
//!         (bytes)  (lines)    (types: those of a table, or inferred)
//! ```

pub(crate) mod csv;
pub(crate) mod documents;
pub(crate) mod exact;
pub(crate) mod format;
pub(crate) mod infer;
pub(crate) mod input;
pub(crate) mod output;
pub(crate) mod parquet;
pub(crate) mod records;
pub(crate) mod values;

#[cfg(test)]
mod tests;
