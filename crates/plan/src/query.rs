//! What is asked of a table.

use std::time::Duration;

use keyloom_key::{Direction, Nulls};
use keyloom_schema::Predicate;

use crate::cursor::Cursor;

/// A question to one table: which records, in which order, how many, what of them.
///
/// ```
/// use keyloom_plan::Query;
/// use keyloom_schema::field;
/// let newest = Query::new().filter(field("user_id").eq("U1")).order_by_desc("order_date").limit(20);
/// # let _ = newest;
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Query {
    /// What the records must be like.
    pub filter: Predicate,
    /// The order of the records; without one, the order of the plan's keys.
    pub order: Vec<OrderBy>,
    /// The most records.
    pub limit: Option<u64>,
    /// The fields that are wanted; all if `None`.
    pub select: Option<Vec<String>>,
    /// Whether a scan may be used if nothing better is there.
    pub allow_scan: bool,
    /// Where an earlier page ended.
    pub after: Option<Cursor>,
    /// What the whole query may cost.
    pub budget: Budget,
}

/// One field of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderBy {
    /// The field's name.
    pub field: String,
    /// Which way it runs.
    pub direction: Direction,
    /// Where its nulls go; without a word, null is smaller than every value.
    pub nulls: Nulls,
}

/// What a query may cost. Past it, it ends with an error that says so, never with a part of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The most rows examined by a plan that a filter or a sort makes read more than it returns.
    pub rows: u64,
    /// The most bytes examined.
    pub bytes: u64,
    /// The most time.
    pub time: Duration,
    /// How many bytes of rows are sorted in memory before they go to a temporary file.
    pub sort_memory: usize,
}

impl Default for Budget {
    /// 100,000 rows, 1 GiB, one minute, 64 MiB of sorting.
    fn default() -> Self {
        Self { rows: 100_000, bytes: 1 << 30, time: Duration::from_secs(60), sort_memory: 64 << 20 }
    }
}

impl Default for Query {
    fn default() -> Self {
        Self::new()
    }
}

impl Query {
    /// Every record, in any order.
    #[inline]
    pub fn new() -> Self {
        Self {
            filter: Predicate::all(),
            order: Vec::new(),
            limit: None,
            select: None,
            allow_scan: false,
            after: None,
            budget: Budget::default(),
        }
    }

    /// The same, of records that are also like this.
    #[inline]
    pub fn filter(mut self, predicate: Predicate) -> Self {
        self.filter = self.filter.and(predicate);
        self
    }

    /// The same, ordered by this field too, small values first.
    pub fn order_by(self, field: impl Into<String>) -> Self {
        self.ordered(OrderBy { field: field.into(), direction: Direction::Ascending, nulls: Nulls::First })
    }

    /// The same, ordered by this field too, large values first.
    pub fn order_by_desc(self, field: impl Into<String>) -> Self {
        self.ordered(OrderBy { field: field.into(), direction: Direction::Descending, nulls: Nulls::Last })
    }

    /// The same, ordered like this too.
    #[inline]
    pub fn ordered(mut self, by: OrderBy) -> Self {
        self.order.push(by);
        self
    }

    /// The same, at most this many records.
    #[inline]
    pub fn limit(self, limit: u64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The same, only these fields.
    pub fn select<'a>(self, fields: impl IntoIterator<Item = &'a str>) -> Self {
        Self { select: Some(fields.into_iter().map(str::to_owned).collect()), ..self }
    }

    /// The same, and a scan is permitted. It never displaces a better plan.
    pub fn allow_scan(self) -> Self {
        Self { allow_scan: true, ..self }
    }

    /// The same, from where an earlier page ended.
    pub fn after(self, cursor: Cursor) -> Self {
        Self { after: Some(cursor), ..self }
    }

    /// The same with another budget.
    pub fn budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }
}
