//! The conditions of a filter, each in the simplest words for the same.
//!
//! ```text
//! a = 1 OR a = 2               a IN (1, 2)
//! a > 1 AND a <= 5 AND a > 3   a > 3 AND a <= 5
//! a IN (1, 7) AND a < 5        a = 1
//! a > 5 AND a < 3              nothing is like this
//! ```
//!
//! Conditions on a list are left apart: each asks for some element, perhaps another.

use std::cmp::Ordering;
use std::ops::Bound;

use keyloom_key::{Field, Type, Value};
use keyloom_schema::{Column, Predicate, Source, Table};

use crate::error::Error;

/// What must hold of a record, condition by condition.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions {
    /// All of them; none of them follows from another one on the same field.
    pub(crate) all: Vec<Predicate>,
    /// Whether they contradict one another, so that no record is like this.
    pub(crate) never: bool,
}

/// A field of one value, to ask conditions on it alone.
struct Alone<'a>(&'a Type, &'a Value<'static>);

impl Source for Alone<'_> {
    fn value(&self, _: &str) -> Result<Value<'_>, keyloom_schema::Error> {
        Ok(self.1.clone())
    }

    fn kind(&self, _: &str) -> Option<&Type> {
        Some(self.0)
    }
}

/// Whether a condition that asks for this field alone is true of a value.
pub(crate) fn holds_of(kind: &Type, value: &Value<'static>, condition: &Predicate) -> Result<bool, Error> {
    Ok(condition.holds(&Alone(kind, value))?)
}

/// Compares two values of a type, neither of them null.
pub(crate) fn compare(kind: &Type, a: &Value<'_>, b: &Value<'_>) -> Ordering {
    Field::from(kind.clone()).compare(a, b)
}

impl Conditions {
    /// The conditions of a filter whose values are of the table's types already.
    pub(crate) fn of(table: &Table, filter: Predicate) -> Result<Self, Error> {
        let mut all = Vec::new();
        reword(table, filter, &mut all);
        // What tuples compare by, their own fields' directions and nulls, is not what a filter compares by.
        let merged = |column: &&Column| !column.kind.is_many() && !is_tuple(column.kind.element());
        for column in table.columns().iter().filter(merged) {
            let about = |one: &Predicate| is_about(one, &column.name);
            let Some(at) = all.iter().position(about) else { continue };
            // One alone says what it says, unless it is a range that may be of one value.
            let alone = !all.iter().skip(at + 1).any(about);
            if alone
                && matches!(
                    all.get(at),
                    Some(
                        Predicate::In { .. }
                            | Predicate::Range { upper: Bound::Unbounded, .. }
                            | Predicate::Range { lower: Bound::Unbounded, .. }
                    )
                )
            {
                continue;
            }
            let (mine, others): (Vec<_>, Vec<_>) = all.into_iter().partition(about);
            all = others;
            let mine = merge(column, mine)?;
            all.splice(at.min(all.len())..at.min(all.len()), mine);
        }
        let never = all.iter().any(|one| is_never(table, one));
        Ok(Self { all, never })
    }

    /// Those on this field alone, with their numbers.
    pub(crate) fn on<'a>(&'a self, name: &str) -> impl Iterator<Item = (usize, &'a Predicate)> {
        self.all.iter().enumerate().filter(move |(_, one)| match one {
            Predicate::In { field, .. }
            | Predicate::Range { field, .. }
            | Predicate::BeginsWith { field, .. }
            | Predicate::IsNull { field } => field == name,
            _ => false,
        })
    }

    /// Whether every record has the same value of this field, which is no list.
    pub(crate) fn fixes(&self, name: &str) -> bool {
        self.on(name).any(|(_, one)| match one {
            Predicate::In { values, .. } => values.len() == 1,
            other => matches!(other, Predicate::IsNull { .. }),
        })
    }

    /// Whether no record has a null in this field.
    pub(crate) fn excludes_null(&self, name: &str) -> bool {
        self.on(name).any(|(_, one)| !matches!(one, Predicate::IsNull { .. }))
    }
}

/// Whether a condition asks for this field and no other.
fn is_about(condition: &Predicate, name: &str) -> bool {
    match condition {
        Predicate::In { field, .. }
        | Predicate::Range { field, .. }
        | Predicate::BeginsWith { field, .. }
        | Predicate::IsNull { field } => field == name,
        other => {
            let fields = other.fields();
            !fields.is_empty() && fields.iter().all(|field| *field == name)
        }
    }
}

fn is_tuple(kind: &Type) -> bool {
    matches!(kind, Type::Tuple(_))
}

/// Whether a value equals nothing and compares with nothing.
pub(crate) fn is_unordered(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Float(number) => number.is_nan(),
        _ => false,
    }
}

/// Appends what the predicate asks for, in simpler words. Only what is true counts: false and unknown are the same.
fn reword(table: &Table, predicate: Predicate, out: &mut Vec<Predicate>) {
    match predicate {
        Predicate::And(all) => all.into_iter().for_each(|one| reword(table, one, out)),
        Predicate::Or(any) => {
            let mut arms = Vec::new();
            any.into_iter().for_each(|one| flatten(one, &mut arms));
            match one_field(&arms) {
                Some(field) => {
                    let values = arms.into_iter().flat_map(|arm| match arm {
                        Predicate::In { values, .. } => values,
                        _ => Vec::new(),
                    });
                    let values = values.collect();
                    reword(table, Predicate::In { field, values }, out);
                }
                None if arms.len() == 1 => arms.into_iter().for_each(|arm| reword(table, arm, out)),
                None => out.push(Predicate::Or(arms)),
            }
        }
        Predicate::Not(inner) => match *inner {
            Predicate::Not(twice) => reword(table, *twice, out),
            Predicate::IsNull { field }
                if table.column(&field).is_some_and(|column| !column.kind.is_many()) =>
            {
                let open = Predicate::Range { field, lower: Bound::Unbounded, upper: Bound::Unbounded };
                reword(table, open, out);
            }
            other => out.push(Predicate::Not(Box::new(other))),
        },
        Predicate::In { field, mut values } => {
            values.retain(|value| !is_unordered(value));
            if let Some(column) = table.column(&field).filter(|column| !is_tuple(column.kind.element())) {
                let kind = column.kind.element();
                values.sort_by(|a, b| compare(kind, a, b));
                values.dedup_by(|a, b| compare(kind, a, b).is_eq());
            }
            out.push(Predicate::In { field, values });
        }
        Predicate::Range { lower, upper, .. } if [&lower, &upper].into_iter().any(is_nowhere) => {
            out.push(Predicate::none());
        }
        Predicate::Range { field, lower: Bound::Unbounded, upper: Bound::Unbounded }
            if table.column(&field).is_some_and(|column| !column.nullable && !column.kind.is_many()) => {}
        Predicate::Row { mut fields, comparison, mut values } if fields.len() == 1 && values.len() == 1 => {
            if let (Some(field), Some(value)) = (fields.pop(), values.pop()) {
                use keyloom_schema::Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
                let (lower, upper) = match comparison {
                    Less => (Bound::Unbounded, Bound::Excluded(value)),
                    LessOrEqual => (Bound::Unbounded, Bound::Included(value)),
                    Greater => (Bound::Excluded(value), Bound::Unbounded),
                    GreaterOrEqual => (Bound::Included(value), Bound::Unbounded),
                };
                reword(table, Predicate::Range { field, lower, upper }, out);
            }
        }
        other => out.push(other),
    }
}

fn flatten(predicate: Predicate, arms: &mut Vec<Predicate>) {
    match predicate {
        Predicate::Or(any) => any.into_iter().for_each(|one| flatten(one, arms)),
        Predicate::And(mut all) if all.len() == 1 => all.drain(..).for_each(|one| flatten(one, arms)),
        other => arms.push(other),
    }
}

/// The one field that all of these compare with values, if they do nothing else.
fn one_field(arms: &[Predicate]) -> Option<String> {
    let mut names = arms.iter().map(|arm| match arm {
        Predicate::In { field, .. } => Some(field),
        _ => None,
    });
    let first = names.next()??;
    names.all(|name| name == Some(first)).then(|| first.clone())
}

/// Whether nothing lies on the wanted side of a bound.
fn is_nowhere(bound: &Bound<Value<'static>>) -> bool {
    matches!(bound, Bound::Included(value) | Bound::Excluded(value) if is_unordered(value))
}

/// The conditions on one field that has one value, together.
fn merge(column: &Column, mut mine: Vec<Predicate>) -> Result<Vec<Predicate>, Error> {
    let kind = column.kind.element();
    // Values known one by one are asked all the rest right here.
    if let Some(at) = mine.iter().position(|one| matches!(one, Predicate::In { .. }))
        && let Predicate::In { field, values } = mine.swap_remove(at)
    {
        let mut kept = Vec::with_capacity(values.len());
        'values: for value in values {
            for other in &mine {
                if !holds_of(kind, &value, other)? {
                    continue 'values;
                }
            }
            kept.push(value);
        }
        return Ok(vec![Predicate::In { field, values: kept }]);
    }
    if let Some(at) = mine.iter().position(|one| matches!(one, Predicate::IsNull { .. })) {
        let null = mine.swap_remove(at);
        for other in &mine {
            if !holds_of(kind, &Value::Null, other)? {
                return Ok(vec![Predicate::none()]);
            }
        }
        return Ok(vec![null]);
    }
    let (ranges, mut rest): (Vec<_>, Vec<_>) =
        mine.into_iter().partition(|one| matches!(one, Predicate::Range { .. }));
    let mut both: Option<(Bound<Value<'static>>, Bound<Value<'static>>)> = None;
    for range in ranges {
        let Predicate::Range { lower, upper, .. } = range else { continue };
        both = Some(match both {
            None => (lower, upper),
            Some((from, to)) => {
                (tighter(kind, from, lower, Ordering::Greater), tighter(kind, to, upper, Ordering::Less))
            }
        });
    }
    let field = column.name.clone();
    match both {
        Some((Bound::Included(from), Bound::Included(to))) if compare(kind, &from, &to).is_eq() => {
            return merge(column, [vec![Predicate::In { field, values: vec![from] }], rest].concat());
        }
        Some((lower, upper)) => rest.insert(0, Predicate::Range { field, lower, upper }),
        None => {}
    }
    Ok(rest)
}

/// Of two bounds the one that leaves less: the `wanted` one of two values, or the one that leaves out its value.
fn tighter(
    kind: &Type,
    a: Bound<Value<'static>>,
    b: Bound<Value<'static>>,
    wanted: Ordering,
) -> Bound<Value<'static>> {
    let (Bound::Included(one) | Bound::Excluded(one)) = &a else { return b };
    let (Bound::Included(other) | Bound::Excluded(other)) = &b else { return a };
    match compare(kind, one, other) {
        Ordering::Equal if matches!(a, Bound::Excluded(_)) => a,
        Ordering::Equal => b,
        order if order == wanted => a,
        _ => b,
    }
}

fn is_never(table: &Table, condition: &Predicate) -> bool {
    match condition {
        Predicate::In { values, .. } => values.is_empty(),
        Predicate::Or(any) => any.is_empty(),
        Predicate::IsNull { field } => table.column(field).is_some_and(|column| !column.nullable),
        Predicate::Range {
            field,
            lower: lower @ (Bound::Included(from) | Bound::Excluded(from)),
            upper: upper @ (Bound::Included(to) | Bound::Excluded(to)),
        } => {
            let kind = table.column(field).map(|column| column.kind.element()).filter(|kind| !is_tuple(kind));
            let closed = matches!((lower, upper), (Bound::Included(_), Bound::Included(_)));
            kind.is_some_and(|kind| match compare(kind, from, to) {
                Ordering::Less => false,
                Ordering::Equal => !closed,
                Ordering::Greater => true,
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
