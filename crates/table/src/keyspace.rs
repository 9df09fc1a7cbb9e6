//! Where everything lies: the catalog in tree 0, every table and index in a tree of its own.
//!
//! ```text
//! │00 00 00 00│'v'│                  the schema's version and the next free tree, 8 and 4 bytes
//! │00 00 00 00│'t'│ name │           a table
//! │00 00 00 00│'i'│ name │           a plain index
//! │00 00 00 00│'s'│ tree, 4 bytes │  statistics of a tree
//! │00 00 00 00│'b'│ tree, 4 bytes │  how far an index has been filled
//! │00 00 00 00│'l'│ load, 8 bytes │  how far a load has come that was cut off
//! │00 00 00 00│'n'│ tree, 4 bytes │  new trees that are filled for a table, this one and those behind it
//! │00 00 00 00│'c'│                  how values are compressed; kept by the layer that does so, and seen only without it
//! │tree id    │ place │ key │        a record or an index entry
//! ```
//!
//! `VALUE_FORMAT.md` says it byte by byte.

use keyloom_key::Span;

const CATALOG: [u8; 4] = [0; 4];

/// The key of the schema's version, which every commit requires unchanged.
pub(crate) const VERSION: &[u8] = &[0, 0, 0, 0, b'v'];

/// The key of a table.
pub(crate) fn table(name: &str) -> Vec<u8> {
    catalog(b't', name.as_bytes())
}

/// The key of a plain index.
pub(crate) fn index(name: &str) -> Vec<u8> {
    catalog(b'i', name.as_bytes())
}

/// The key of a tree's statistics.
pub(crate) fn statistics(tree: u32) -> Vec<u8> {
    catalog(b's', &tree.to_be_bytes())
}

/// The key of how far an index has been filled.
pub(crate) fn progress(tree: u32) -> Vec<u8> {
    catalog(b'b', &tree.to_be_bytes())
}

/// The key of how far a load has come.
pub(crate) fn load(identity: u64) -> Vec<u8> {
    catalog(b'l', &identity.to_be_bytes())
}

/// The key of the mark of new trees, of which this is the first.
pub(crate) fn fresh(tree: u32) -> Vec<u8> {
    catalog(b'n', &tree.to_be_bytes())
}

/// All keys of the catalog.
pub(crate) fn all() -> Span {
    Span::prefix(CATALOG)
}

/// All keys of a tree.
pub(crate) fn tree(id: u32) -> Span {
    Span::prefix(id.to_be_bytes())
}

/// What a key of the catalog stands for: its kind and its name.
pub(crate) fn parse(key: &[u8]) -> Option<(u8, &[u8])> {
    key.strip_prefix(&CATALOG)?.split_first().map(|(kind, name)| (*kind, name))
}

fn catalog(kind: u8, name: &[u8]) -> Vec<u8> {
    [CATALOG.as_slice(), &[kind], name].concat()
}
