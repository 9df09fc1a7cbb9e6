//! Where a page ended: opaque bytes that the next page goes on from.
//!
//! ```text
//! │version, 1│flags, 1│tree, 4│layout, 8│query, 8│remaining, 8│values, 8│stretch or length, 4│bytes …│checksum, 8│
//! ```
//!
//! All numbers are big-endian; `remaining` and `values` stand there only where a flag says so. The layout is a hash of
//! what the keys' bytes depend on, the query one of its filter, order and fields: a cursor goes on with nothing else.

use std::fmt;
use std::str::FromStr;

use keyloom_schema::{Table, Tree};
use twox_hash::XxHash3_64;

use crate::error::{Error, Stale};
use crate::plan::{Access, Plan};
use crate::query::Query;

const VERSION: u8 = 1;
const SKIP: u8 = 1;
const BACKWARD: u8 = 2;
const SORTED: u8 = 4;
const LIMITED: u8 = 8;

/// Where a page ended.
///
/// Its text can be handed to anyone: it is refused if it is changed, or passed to another query or table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor(Vec<u8>);

/// The last row of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// The rows come as their keys do.
    Key {
        /// The number of its stretch, or of its place where values are skipped over.
        stretch: u32,
        /// Its key in the tree that is read.
        key: Vec<u8>,
    },
    /// The rows were sorted.
    Sorted {
        /// Its sort key.
        order: Vec<u8>,
        /// Its primary key.
        key: Vec<u8>,
    },
}

/// What a cursor says of the page before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The number of the tree that is read.
    pub tree: u32,
    /// How many values were known to be skipped over, if any are.
    pub skip: Option<u64>,
    /// Whether the tree is read from its end.
    pub backward: bool,
    /// The last row.
    pub position: Position,
    /// How many records are left of the limit.
    pub remaining: Option<u64>,
}

impl Cursor {
    /// The cursor behind the row at `position`, with so many records left of the limit.
    pub fn new(
        table: &Table,
        query: &Query,
        plan: &Plan,
        position: &Position,
        remaining: Option<u64>,
    ) -> Self {
        let mut flags = 0;
        let mut set = |flag: u8, on: bool| flags |= if on { flag } else { 0 };
        let values = match &plan.access {
            Access::Skip { values, .. } => Some(*values),
            _ => None,
        };
        set(SKIP, values.is_some());
        set(BACKWARD, plan.backward);
        set(SORTED, matches!(position, Position::Sorted { .. }));
        set(LIMITED, remaining.is_some());
        let mut bytes = vec![VERSION, flags];
        bytes.extend(plan.tree.to_be_bytes());
        bytes.extend(tree(table, plan.tree).map_or(0, |tree| layout(table, tree)).to_be_bytes());
        bytes.extend(fingerprint(table, query).to_be_bytes());
        bytes.extend(remaining.into_iter().chain(values).flat_map(u64::to_be_bytes));
        match position {
            Position::Key { stretch, key } => {
                bytes.extend(stretch.to_be_bytes());
                bytes.extend(key);
            }
            Position::Sorted { order, key } => {
                bytes.extend(u32::try_from(order.len()).unwrap_or(u32::MAX).to_be_bytes());
                bytes.extend(order);
                bytes.extend(key);
            }
        }
        bytes.extend(checksum(&bytes).to_be_bytes());
        Self(bytes)
    }

    /// What it says, if it is of this query to this table.
    pub fn read(&self, table: &Table, query: &Query) -> Result<Resume, Error> {
        self.parse(table, query).map_err(Error::Cursor)
    }

    fn parse(&self, table: &Table, query: &Query) -> Result<Resume, Stale> {
        let mut rest = Self::checked(&self.0)?;
        let [_, flags] = rest.take()?;
        let tree_id = u32::from_be_bytes(rest.take()?);
        let (written, asked) = (u64::from_be_bytes(rest.take()?), u64::from_be_bytes(rest.take()?));
        // The table first: where it is another one, so is every query to it.
        let tree = tree(table, tree_id).ok_or(Stale::Index)?;
        if written != layout(table, tree) {
            return Err(Stale::Table);
        }
        if asked != fingerprint(table, query) {
            return Err(Stale::Query);
        }
        let mut number = |flag: u8| match flags & flag {
            0 => Ok(None),
            _ => rest.take().map(|bytes| Some(u64::from_be_bytes(bytes))),
        };
        let (remaining, skip) = (number(LIMITED)?, number(SKIP)?);
        let count = u32::from_be_bytes(rest.take()?);
        let position = if flags & SORTED == 0 {
            Position::Key { stretch: count, key: rest.0.to_vec() }
        } else {
            let length = usize::try_from(count).map_err(|_| Stale::Damaged)?;
            let (order, key) = rest.0.split_at_checked(length).ok_or(Stale::Damaged)?;
            Position::Sorted { order: order.to_vec(), key: key.to_vec() }
        };
        Ok(Resume { tree: tree_id, skip, backward: flags & BACKWARD != 0, position, remaining })
    }

    /// The bytes before the checksum, if it is theirs.
    fn checked(bytes: &[u8]) -> Result<Rest<'_>, Stale> {
        let (content, sum) = bytes.split_last_chunk().ok_or(Stale::Damaged)?;
        if u64::from_be_bytes(*sum) != checksum(content) {
            return Err(Stale::Damaged);
        }
        match content.first() {
            Some(&VERSION) => Ok(Rest(content)),
            Some(&later) => Err(Stale::Version(later)),
            None => Err(Stale::Damaged),
        }
    }
}

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Stale> {
        let (first, rest) = self.0.split_first_chunk().ok_or(Stale::Damaged)?;
        self.0 = rest;
        Ok(*first)
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(u64::from_be_bytes(*b"cursor v"), bytes)
}

/// The tree of this number.
fn tree(table: &Table, id: u32) -> Option<&Tree> {
    let indexes = table.indexes().iter().map(keyloom_schema::Index::tree);
    std::iter::once(table.primary()).chain(indexes).find(|tree| tree.id() == id)
}

/// What the bytes of a position mean: keys of the tree, and of the primary key that they end with.
fn layout(table: &Table, tree: &Tree) -> u64 {
    tree.fingerprint() ^ table.primary().fingerprint().rotate_left(1)
}

/// What must stay the same from page to page: the filter, the order and the fields.
fn fingerprint(table: &Table, query: &Query) -> u64 {
    // Bound to the table's types, the same question has the same text whoever wrote it.
    let filter = query.filter.clone().bind(table).unwrap_or_else(|_| query.filter.clone());
    XxHash3_64::oneshot(format!("{} {filter} {:?} {:?}", table.name(), query.order, query.select).as_bytes())
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let damaged = Error::Cursor(Stale::Damaged);
        let Ok(bytes) = hex::decode(text.trim()) else { return Err(damaged) };
        Self::checked(&bytes).map_err(Error::Cursor)?;
        Ok(Self(bytes))
    }
}
