//! How far conditions reach into the keys of a tree, and the spans that they bound there.
//!
//! The parts of a key are walked from the first on. While a part is fixed to values, one by one, the walk goes on; a
//! range, a beginning or a row of fields is the last that bounds anything; a part without a condition ends it.
//!
//! ```text
//! (user_id, day, order_id)   user_id IN ('U1', 'U2') AND day >= 7
//!
//!     points  user_id  'U1', 'U2'
//!     tail    day      >= 7
//!     spans   U1 00 01 07 … U1 00 02      U2 00 01 07 … U2 00 02
//! ```

mod tail;

use std::borrow::Cow;

use keyloom_key::{Fields, KeyFormat, Span, Type, Value};
use keyloom_schema::{Format, Part, Predicate, Tree};
use smallvec::{SmallVec, smallvec};

use crate::constraint::Conditions;
use crate::error::Error;
pub(crate) use tail::{Edge, Tail};

/// How many spans a query with lists of values may have. Beyond it a list is read as the range that it lies in.
pub const MAX_SPANS: usize = 4096;

/// The keys that are walked: those of a tree, or what stands behind their first parts.
#[derive(Debug)]
pub(crate) struct Keys<'t> {
    /// The parts that every key has.
    pub(crate) parts: &'t [Part],
    /// The fields, also of parts that only some keys have.
    pub(crate) fields: Cow<'t, Fields>,
    /// How they are written.
    pub(crate) format: &'t Format,
    /// In how many places the same values may lie.
    pub(crate) places: usize,
}

/// Values of a part; mostly one.
pub(crate) type Points<'c> = SmallVec<[&'c Value<'static>; 1]>;

/// The first values of a key.
pub(crate) type Row<'r> = SmallVec<[Value<'r>; 4]>;

/// How far conditions reach into keys.
#[derive(Debug)]
pub(crate) struct Reach<'c> {
    /// For each of the first parts, the values that it is fixed to, in the order of the keys.
    pub(crate) points: Vec<Points<'c>>,
    /// What is read behind each row of points.
    pub(crate) tails: SmallVec<[Tail; 1]>,
    /// How the part behind the points is bounded.
    pub(crate) edge: Edge,
    /// The numbers of the conditions that the spans say in full.
    pub(crate) used: SmallVec<[usize; 4]>,
    /// The number of the condition on a list that a record may meet with several of its elements.
    pub(crate) once: Option<usize>,
    /// What the reader of the plan should know.
    pub(crate) notes: Vec<String>,
}

/// One span of keys with what it stands for.
#[derive(Debug)]
pub(crate) struct Run<'r> {
    /// The values that all its keys start with.
    pub(crate) equal: Row<'r>,
    /// The span of the fields' bytes.
    pub(crate) span: Span,
    /// The same in words; empty where nobody asks for them.
    pub(crate) text: String,
}

impl<'t> Keys<'t> {
    /// The keys of a tree; `unique` if those of equal declared values are one and end behind them.
    pub(crate) fn of(tree: &'t Tree, unique: bool) -> Self {
        let parts = tree.parts();
        let parts = if unique { parts.get(..tree.declared()).unwrap_or(parts) } else { parts };
        let places = usize::try_from(tree.placement().count()).unwrap_or(usize::MAX);
        Self { parts, fields: Cow::Borrowed(tree.fields()), format: tree.format(), places }
    }

    /// What stands behind the first `skipped` parts, where it does not depend on them.
    pub(crate) fn behind(&self, skipped: usize) -> Self {
        let parts = self.parts.get(skipped..).unwrap_or_default();
        let fields = self.fields.iter().skip(skipped).cloned().collect();
        Self { parts, fields: Cow::Owned(fields), format: self.format, places: 1 }
    }

    /// Whether keys that agree on so many fields sort as the others do.
    pub(crate) fn sorts_after(&self, equal: usize) -> Result<bool, Error> {
        self.format.sorts_after(&self.fields, equal).map_err(wrong)
    }

    /// The bytes that keys with these first values start with; `None` if a value has no place in the key.
    fn encode(&self, values: &[Value<'_>]) -> Result<Option<Vec<u8>>, Error> {
        let mut bytes = Vec::with_capacity(64);
        match self.format.encode(&self.fields, values, &mut bytes) {
            Ok(()) => Ok(Some(bytes)),
            Err(keyloom_key::Error::Value { .. }) => Ok(None),
            Err(error) => Err(wrong(error)),
        }
    }

    /// How many bytes keys with these first values share.
    pub(crate) fn shared(&self, values: &[Value<'_>]) -> Result<usize, Error> {
        Ok(self.encode(values)?.map_or(0, |bytes| bytes.len()))
    }
}

/// A key that cannot be made, though its values were asked one by one.
fn wrong(error: keyloom_key::Error) -> Error {
    Error::Schema(error.into())
}

/// Whether a filter compares values of this type as keys do.
///
/// A tuple in a key obeys its fields' directions, nulls and collations, which a filter does not know.
fn is_comparable(kind: &Type) -> bool {
    use keyloom_key::{Collation, Direction};
    let Type::Tuple(fields) = kind else { return true };
    fields.iter().all(|field| {
        field.direction == Direction::Ascending
            && field.nulls.is_none()
            && field.kind != Type::Str(Collation::NoCase)
            && is_comparable(&field.kind)
    })
}

impl<'c> Reach<'c> {
    /// Walks the keys as far as the conditions go.
    pub(crate) fn into(keys: &Keys<'_>, conditions: &'c Conditions) -> Result<Self, Error> {
        let mut reach = Self {
            points: Vec::new(),
            tails: smallvec![Tail::whole()],
            edge: Edge::Free,
            used: SmallVec::new(),
            once: None,
            notes: Vec::new(),
        };
        for part in keys.parts {
            if !is_comparable(&part.field.kind) || !reach.fix(keys, part, conditions)? {
                break;
            }
        }
        if !reach.bounds_list(keys.parts) {
            // Not reached, a list still gives each record as often as it has elements.
            let many = keys.parts.iter().find(|part| part.many);
            reach.once = many
                .and_then(|part| conditions.on(&part.name).find(|(_, one)| is_of_element(one)))
                .map(|(number, _)| number);
        }
        Ok(reach)
    }

    /// Fixes the next part to values, or bounds it and ends the walk.
    fn fix(&mut self, keys: &Keys<'_>, part: &Part, conditions: &'c Conditions) -> Result<bool, Error> {
        let position = self.points.len();
        let Some((number, values)) = points_of(part, conditions) else {
            self.bound(keys, part, conditions)?;
            return Ok(false);
        };
        let mut row = self.first_row();
        let mut points: SmallVec<[_; 1]> = SmallVec::with_capacity(values.len());
        for value in values {
            row.truncate(position);
            row.push(value.borrowed());
            // What the key cannot hold, no record has.
            if let Some(bytes) = keys.encode(&row)? {
                points.push((bytes, value));
            }
        }
        points.sort_by(|(a, _), (b, _)| a.cmp(b));
        points.dedup_by(|(a, _), (b, _)| a == b);
        let points: Points<'_> = points.into_iter().map(|(_, value)| value).collect();
        if points.len() > 1 && self.rows().saturating_mul(points.len()) > MAX_SPANS {
            self.hull(keys, part, number, &points)?;
            return Ok(false);
        }
        // Of one element, a record has one entry.
        if part.many && points.len() > 1 {
            self.once = Some(number);
        } else {
            self.used.push(number);
        }
        let impossible = points.is_empty();
        self.points.push(points);
        Ok(!impossible)
    }

    /// The range that too many values lie in.
    fn hull(
        &mut self,
        keys: &Keys<'_>,
        part: &Part,
        number: usize,
        points: &[&Value<'static>],
    ) -> Result<(), Error> {
        let count = points.len();
        if part.many {
            self.once = Some(number);
        }
        if !keys.sorts_after(self.points.len())? {
            self.notes.push(unsorted(keys, part));
            return Ok(());
        }
        self.notes.push(format!(
            "{count} values of {} would make more than {MAX_SPANS} spans: the range that they lie in is read",
            part.name
        ));
        let mut ends = [points.first(), points.last()].map(|end| end.map(|value| (*value).clone()));
        if part.field.direction == keyloom_key::Direction::Descending {
            ends.reverse();
        }
        if let [Some(lower), Some(upper)] = ends {
            self.tails = smallvec![Tail::between(lower, upper)];
            self.edge = Edge::Closed;
        }
        Ok(())
    }

    /// The first of the rows of points, to try values behind.
    fn first_row<'r>(&self) -> Row<'r>
    where
        'c: 'r,
    {
        self.points.iter().filter_map(|values| values.first().map(|value| value.borrowed())).collect()
    }

    /// How many rows of points there are.
    fn rows(&self) -> usize {
        self.points.iter().fold(1, |rows, values| rows.saturating_mul(values.len()))
    }

    /// Whether a list is among the parts that are bounded.
    pub(crate) fn bounds_list(&self, parts: &[Part]) -> bool {
        let bounded = self.points.len() + usize::from(self.edge != Edge::Free);
        parts.iter().take(bounded).any(|part| part.many)
    }

    /// Whether the part at this position is fixed to one value.
    pub(crate) fn is_one(&self, position: usize) -> bool {
        self.points.get(position).is_some_and(|values| values.len() == 1)
    }

    /// The spans, one for each row of points and each tail, without those that are empty; said in words if wanted.
    pub(crate) fn runs<'r>(&'r self, keys: &Keys<'_>, words: bool) -> Result<Vec<Run<'r>>, Error> {
        let mut rows: SmallVec<[Row<'r>; 1]> = smallvec![Row::new()];
        for values in &self.points {
            if let ([row], [value]) = (rows.as_mut_slice(), values.as_slice()) {
                row.push(value.borrowed());
                continue;
            }
            let longer = rows.iter().flat_map(|row| {
                values.iter().map(|value| row.iter().cloned().chain([value.borrowed()]).collect())
            });
            rows = longer.collect();
        }
        let mut runs = Vec::with_capacity(rows.len().saturating_mul(self.tails.len()));
        for row in rows {
            for tail in &self.tails {
                let equal: Row<'r> =
                    row.iter().cloned().chain(tail.equal.iter().map(Value::borrowed)).collect();
                let span = tail.span(keys, &equal)?;
                if !span.is_empty() {
                    let text = if words { tail.text(keys.parts, &equal) } else { String::new() };
                    runs.push(Run { equal, span, text });
                }
            }
        }
        Ok(runs)
    }
}

/// Why a part bounds nothing.
fn unsorted(keys: &Keys<'_>, part: &Part) -> String {
    format!("the {} format does not sort by {}", keys.format, part.name)
}

/// Whether of a list, some element is asked for.
fn is_of_element(condition: &Predicate) -> bool {
    matches!(condition, Predicate::In { .. } | Predicate::Range { .. } | Predicate::BeginsWith { .. })
}

const NULL: &[Value<'static>] = &[Value::Null];

/// The values that a condition leaves to a part, the fewest if several do.
fn points_of<'c>(part: &Part, conditions: &'c Conditions) -> Option<(usize, &'c [Value<'static>])> {
    let points = conditions.on(&part.name).filter_map(|(number, one)| match one {
        Predicate::In { values, .. } => Some((number, values.as_slice())),
        Predicate::IsNull { .. } if part.field.nulls.is_some() => Some((number, NULL)),
        _ => None,
    });
    points.min_by_key(|(_, values)| values.len())
}
