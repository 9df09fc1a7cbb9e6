//! The last part that conditions bound: a range, a beginning, or a row of fields.

use std::ops::Bound;

use keyloom_key::{KeyFormat, Native, Span, Value};
use keyloom_schema::{Comparison, Format, Part, Predicate, field};
use smallvec::smallvec;

use crate::constraint::Conditions;
use crate::error::Error;
use crate::spans::{Keys, MAX_SPANS, Reach, is_comparable, is_of_element, unsorted, wrong};

/// What is read behind a row of points.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tail {
    /// The values of the next parts: more than none only in a row of fields.
    pub(crate) equal: Vec<Value<'static>>,
    /// What bounds the part behind them.
    last: Last,
}

#[derive(Debug, Clone, PartialEq)]
enum Last {
    Whole,
    Range(Bound<Value<'static>>, Bound<Value<'static>>),
    BeginsWith(Value<'static>),
}

/// How the part behind the points is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edge {
    /// Not at all.
    Free,
    /// On one side, or by being there.
    Open,
    /// On both sides.
    Closed,
}

impl Tail {
    /// Everything.
    pub(crate) fn whole() -> Self {
        Self { equal: Vec::new(), last: Last::Whole }
    }

    /// The values from one to another, both belonging to it.
    pub(crate) fn between(lower: Value<'static>, upper: Value<'static>) -> Self {
        Self::range(Bound::Included(lower), Bound::Included(upper))
    }

    fn range(lower: Bound<Value<'static>>, upper: Bound<Value<'static>>) -> Self {
        Self { equal: Vec::new(), last: Last::Range(lower, upper) }
    }

    /// In words: the parts that equal these values, which end with the tail's own, and what bounds the next.
    pub(crate) fn text(&self, parts: &[Part], equal: &[Value<'_>]) -> String {
        let equals = parts.iter().zip(equal).map(|(part, value)| match value {
            Value::Null => field(&part.name).is_null(),
            value => field(&part.name).eq(value.clone().into_owned()),
        });
        let last = parts.get(equal.len()).and_then(|part| match &self.last {
            Last::Whole => None,
            Last::Range(lower, upper) => Some(field(&part.name).range(lower.clone(), upper.clone())),
            Last::BeginsWith(start) => Some(field(&part.name).begins_with(start.clone())),
        });
        let texts: Vec<String> = equals.chain(last).map(|predicate| predicate.to_string()).collect();
        if texts.is_empty() { "every key".to_owned() } else { texts.join(", ") }
    }

    /// The span of the keys that start with these values, which end with the tail's own.
    pub(crate) fn span(&self, keys: &Keys<'_>, equal: &[Value<'_>]) -> Result<Span, Error> {
        let (fields, format) = (&keys.fields, keys.format);
        match &self.last {
            Last::Whole => format.prefix(fields, equal),
            Last::Range(Bound::Unbounded, Bound::Unbounded) => format.not_null(fields, equal),
            Last::Range(lower, upper) => format.range(fields, equal, lower.as_ref(), upper.as_ref()),
            Last::BeginsWith(start) => Native.begins_with(fields, equal, start),
        }
        .map_err(wrong)
    }
}

impl Reach<'_> {
    /// Bounds the part behind the points, by the condition that leaves least.
    pub(super) fn bound(
        &mut self,
        keys: &Keys<'_>,
        part: &Part,
        conditions: &Conditions,
    ) -> Result<(), Error> {
        let mut best: Option<(Edge, usize, bool, Tail)> = None;
        for (number, condition) in conditions.on(&part.name).filter(|(_, one)| is_of_element(one)) {
            let found = match condition {
                Predicate::Range { lower, upper, .. } => self.range(keys, part, lower, upper)?,
                Predicate::BeginsWith { start, .. } => self.begins_with(keys, part, start)?,
                _ => None,
            };
            if let Some((edge, exact, tail)) = found
                && best.as_ref().is_none_or(|(best, ..)| edge > *best)
            {
                best = Some((edge, number, exact, tail));
            }
        }
        if best.as_ref().is_none_or(|(edge, ..)| *edge < Edge::Closed) && !part.many {
            for (number, condition) in conditions.all.iter().enumerate() {
                if let Predicate::Row { fields, comparison, values } = condition
                    && let Some((exact, tails)) = self.row(keys, fields, *comparison, values)?
                {
                    self.tails = tails.into();
                    self.edge = Edge::Open;
                    self.used.extend(exact.then_some(number));
                    return Ok(());
                }
            }
        }
        if let Some((edge, number, exact, tail)) = best {
            self.tails = smallvec![tail];
            self.edge = edge;
            if part.many {
                self.once = Some(number);
            } else {
                self.used.extend(exact.then_some(number));
            }
        }
        Ok(())
    }

    /// A range, and whether its bounds are both in it.
    fn range(
        &mut self,
        keys: &Keys<'_>,
        part: &Part,
        lower: &Bound<Value<'static>>,
        upper: &Bound<Value<'static>>,
    ) -> Result<Option<(Edge, bool, Tail)>, Error> {
        let open = matches!((lower, upper), (Bound::Unbounded, Bound::Unbounded));
        if !open && !keys.sorts_after(self.points.len())? {
            self.notes.push(unsorted(keys, part));
            return Ok(None);
        }
        let mut exact = true;
        let mut held = |bound: &Bound<Value<'static>>| -> Result<Bound<Value<'static>>, Error> {
            let (Bound::Included(value) | Bound::Excluded(value)) = bound else {
                return Ok(Bound::Unbounded);
            };
            let mut row = self.first_row();
            row.push(value.borrowed());
            if keys.encode(&row)?.is_some() {
                return Ok(bound.clone());
            }
            // A bound that the key cannot hold leaves that side to the filter.
            exact = false;
            Ok(Bound::Unbounded)
        };
        let (lower, upper) = (held(lower)?, held(upper)?);
        let closed = !matches!(lower, Bound::Unbounded) && !matches!(upper, Bound::Unbounded);
        let edge = if closed { Edge::Closed } else { Edge::Open };
        Ok(Some((edge, exact, Tail::range(lower, upper))))
    }

    /// A beginning, which only native keys keep in one place.
    fn begins_with(
        &mut self,
        keys: &Keys<'_>,
        part: &Part,
        start: &Value<'static>,
    ) -> Result<Option<(Edge, bool, Tail)>, Error> {
        if *keys.format != Format::Native {
            self.notes
                .push(format!("the {} format does not bound a beginning of {}", keys.format, part.name));
            return Ok(None);
        }
        let mut row = self.first_row();
        row.push(start.borrowed());
        if keys.encode(&row)?.is_none() {
            return Ok(None);
        }
        let tail = Tail { equal: Vec::new(), last: Last::BeginsWith(start.clone()) };
        Ok(Some((Edge::Closed, true, tail)))
    }

    /// A row of fields that the next parts start with: `(a, b) > (x, y)` is `a = x, b > y` and `a > x`.
    fn row(
        &self,
        keys: &Keys<'_>,
        fields: &[String],
        comparison: Comparison,
        values: &[Value<'static>],
    ) -> Result<Option<(bool, Vec<Tail>)>, Error> {
        let position = self.points.len();
        let parts = keys.parts.get(position..).unwrap_or_default();
        let same = |(part, name): &(&Part, &String)| {
            part.name == **name && !part.many && is_comparable(&part.field.kind)
        };
        let mut run = parts.iter().zip(fields).take_while(same).count();
        // Up to a null or a value that the key cannot hold; from there on the filter decides.
        let mut row = self.first_row();
        for (index, value) in values.iter().enumerate().take(run) {
            row.push(value.borrowed());
            if *value == Value::Null || keys.encode(&row)?.is_none() {
                run = index;
                break;
            }
        }
        let rows = self.rows().saturating_mul(run);
        if run == 0 || rows > MAX_SPANS || !keys.sorts_after(position)? {
            return Ok(None);
        }
        let exact = run == fields.len();
        let up = matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual);
        let or_equal = matches!(comparison, Comparison::GreaterOrEqual | Comparison::LessOrEqual);
        let mut tails = Vec::with_capacity(run);
        for (index, value) in values.iter().enumerate().take(run) {
            let value = value.clone();
            let bound = if index + 1 == run && (or_equal || !exact) {
                Bound::Included(value)
            } else {
                Bound::Excluded(value)
            };
            let (lower, upper) = if up { (bound, Bound::Unbounded) } else { (Bound::Unbounded, bound) };
            let mut tail = Tail::range(lower, upper);
            tail.equal = values.iter().take(index).cloned().collect();
            tails.push(tail);
        }
        Ok(Some((exact, tails)))
    }
}
