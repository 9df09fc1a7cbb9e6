//! How a query is answered: which tree, which spans of it, and what is done with what is found there.

use keyloom_key::Span;
use keyloom_schema::Predicate;

use crate::query::OrderBy;

/// How a query is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The table.
    pub table: String,
    /// The index; `None` is the primary key.
    pub index: Option<String>,
    /// The number of the tree.
    pub tree: u32,
    /// Its key: `(user_id, order_date desc)`.
    pub key: String,
    /// The keys that are read.
    pub access: Access,
    /// Whether everything is read from its end: the last span first, and of each span the last key first.
    pub backward: bool,
    /// Whether each entry leads to a record that is read too. Not for the primary key, nor where the index covers all
    /// that is asked for.
    pub fetch: bool,
    /// What is left to be asked of each row.
    pub filter: Option<Predicate>,
    /// For a multi-valued index where a record may have several entries: a condition on its list. A record is given only
    /// at the smallest of its elements that the condition holds for, so that it comes once; an entry of an element that
    /// it does not hold for is left out.
    pub once: Option<Predicate>,
    /// How the order comes about.
    pub order: Order,
    /// The most records returned.
    pub limit: Option<u64>,
    /// The fields that are wanted; all if `None`.
    pub select: Option<Vec<String>>,
    /// What bounds the rows that are read.
    pub class: Class,
    /// How many rows are read at most, where that is known before.
    pub bound: Option<u64>,
    /// How many rows statistics expect to be read; none without statistics.
    pub estimate: Option<u64>,
    /// The trees that were not chosen, each with the reason.
    pub rejected: Vec<Rejected>,
    /// The index that would serve the query without reading more than it returns, if this one does not.
    pub advice: Option<String>,
    /// What else there is to know: why a condition bounds nothing, what is read beside the answer.
    pub notes: Vec<String>,
}

/// The keys that a plan reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Access {
    /// Spans one after the other, in the order of their fields. Where hashes place the keys, spans of different values
    /// of the first field need not be in the order of their bytes.
    InTurn(Vec<Stretch>),
    /// Spans side by side, merged by what follows in each key after [`Stretch::shared`] bytes, and among equals by
    /// their number.
    Merged(Vec<Stretch>),
    /// From value to value of the first parts, and in each of them these spans. Always forward.
    Skip {
        /// Where the tree's keys lie: one span for each place. What is read lies within it, also where a page goes on
        /// and it begins in the middle of a value.
        places: Vec<Span>,
        /// How many of the first parts are skipped over.
        parts: usize,
        /// What is read behind each value: spans of the bytes that follow the skipped parts. One without an end goes to
        /// the end of the value.
        inner: Vec<Stretch>,
        /// How many values of the skipped parts statistics know.
        values: u64,
    },
}

/// A span and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The keys.
    pub span: Span,
    /// How many bytes all its keys share at the start, that a merge does not compare.
    pub shared: usize,
    /// The fields that it stands for: `user_id = 'U1', order_date >= '2025-01-01'`.
    pub text: String,
}

/// How the order comes about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// The rows come in it.
    Free,
    /// The rows are sorted by these fields, and then by their primary key.
    Sort(Vec<OrderBy>),
}

/// What bounds the rows that a plan reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// At most so many, by uniqueness.
    Constant,
    /// No more than are returned, and one for each span.
    Output,
    /// A part of the keys, of which a filter or a sort keeps some: within the budget.
    Partition,
    /// All keys of the tree.
    Scan,
}

/// A tree that was not chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The index's name, or `primary`.
    pub index: String,
    /// Its key: `(user_id, order_date desc)`.
    pub key: String,
    /// Why not.
    pub reason: String,
}
