//! What every key format is: bytes from values, values from bytes, and what it promises about them.

use std::ops::Bound;

use crate::error::Error;
use crate::field::{Direction, Fields};
use crate::span::Span;
use crate::value::Value;

/// What a format promises about the keys of given fields. The planner reads it, the laws prove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Promises {
    /// Comparing bytes is comparing values, field by field.
    pub order: bool,
    /// Different values never give the same bytes.
    pub injective: bool,
    /// No key is a prefix of another.
    pub prefix_free: bool,
    /// The values can be read back.
    pub decodable: bool,
}

impl Promises {
    /// All of them.
    pub const ALL: Self = Self { order: true, injective: true, prefix_free: true, decodable: true };
}

/// The room that a key is given at first: most need no more.
const ROOM: usize = 64;

/// A key format: how the values of some fields become one key.
///
/// The laws that each implementation must obey are functions of the testkit, to be run on any fields.
pub trait KeyFormat {
    /// The name that a schema and the command line know it by.
    fn name(&self) -> &'static str;

    /// What holds for keys of these fields.
    ///
    /// # Behavior
    /// - Fields that the format cannot hold at all are an error that names the field and the remedy.
    fn promises(&self, fields: &Fields) -> Result<Promises, Error>;

    /// Appends the key of these values to `out`.
    ///
    /// # Behavior
    /// - Allocates nothing once `out` has the room.
    /// - Leaves `out` as it was if a value is refused.
    /// - Fewer values than fields give the bytes that every key with these first values starts with.
    fn encode(&self, fields: &Fields, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Error>;

    /// Reads the values of a key.
    ///
    /// # Behavior
    /// - Borrows text and bytes from `key` where they stand there as they are.
    /// - Bytes that no values have are an error that says where; no bytes make it panic.
    /// - What it accepts, `encode` gives back byte for byte.
    fn decode<'a>(&self, fields: &Fields, key: &'a [u8]) -> Result<Vec<Value<'a>>, Error>;

    /// The span of the keys whose first fields are `values`, and of no others.
    ///
    /// # Behavior
    /// - No values: every key. All values: exactly their key.
    fn prefix(&self, fields: &Fields, values: &[Value<'_>]) -> Result<Span, Error> {
        let mut start = Vec::with_capacity(ROOM);
        self.encode(fields, values, &mut start)?;
        if values.len() < fields.len() {
            return Ok(Span::prefix(start));
        }
        // The next key after this one; where keys may extend one another, `prefix_end` would reach too far.
        let mut end = start.clone();
        end.push(0);
        Ok(Span { start, end: Some(end) })
    }

    /// The span of the keys whose first fields are `equal` and whose next field lies within the bounds.
    ///
    /// # Behavior
    /// - Bounds are values, whichever way the field runs: `lower` is the smaller one.
    /// - A field with nulls: an open side does not reach them, as in SQL.
    /// - A format without order refuses.
    fn range(
        &self,
        fields: &Fields,
        equal: &[Value<'_>],
        lower: Bound<&Value<'_>>,
        upper: Bound<&Value<'_>>,
    ) -> Result<Span, Error> {
        if !self.sorts_after(fields, equal.len())? {
            let reason = format!(
                "({fields}) does not sort as its values do, so a range of values is no range of keys"
            );
            return Err(Error::layout(self.name(), reason));
        }
        let Some(field) = fields.get(equal.len()) else {
            return Err(Error::layout(self.name(), format!("({fields}) has no field {}", equal.len() + 1)));
        };
        let (first, last) = match field.direction {
            Direction::Ascending => (lower, upper),
            Direction::Descending => (upper, lower),
        };
        let whole = self.not_null(fields, equal)?;
        let at = |value: &Value<'_>| {
            let mut row = Vec::with_capacity(equal.len() + 1);
            row.extend(equal.iter().map(Value::borrowed));
            row.push(value.borrowed());
            self.prefix(fields, &row)
        };
        // Nothing sorts behind a span without an end: a range that starts there is empty.
        let start = match first {
            Bound::Unbounded => Some(whole.start),
            Bound::Included(value) => Some(at(value)?.start),
            Bound::Excluded(value) => at(value)?.end,
        };
        let Some(start) = start else {
            return Ok(Span { start: Vec::new(), end: Some(Vec::new()) });
        };
        let end = match last {
            Bound::Unbounded => whole.end,
            Bound::Included(value) => at(value)?.end,
            Bound::Excluded(value) => Some(at(value)?.start),
        };
        Ok(Span { start, end })
    }

    /// Whether keys that agree on their first `equal` fields sort as the rest of their values do.
    fn sorts_after(&self, fields: &Fields, equal: usize) -> Result<bool, Error> {
        let _ = equal;
        Ok(self.promises(fields)?.order)
    }

    /// The span of the keys whose first fields are `equal` and whose next field is not null.
    fn not_null(&self, fields: &Fields, equal: &[Value<'_>]) -> Result<Span, Error> {
        self.prefix(fields, equal)
    }
}
