//! Whether a record is like that.

use std::cmp::Ordering;
use std::ops::Bound;

use keyloom_key::{Collation, Type, Value, casefold};

use crate::error::Error;
use crate::predicate::{Comparison, Predicate};

/// Where a predicate finds the fields that it asks for.
pub trait Source {
    /// The value of a field; null if it is not there.
    fn value(&self, name: &str) -> Result<Value<'_>, Error>;

    /// The declared type of a field, or of its elements; `None` if it is not declared.
    fn kind(&self, name: &str) -> Option<&Type>;
}

impl Predicate {
    /// Whether the record is like this: not if that is unknown.
    pub fn holds(&self, source: &impl Source) -> Result<bool, Error> {
        Ok(self.evaluate(source)? == Some(true))
    }

    /// True, false, or unknown.
    fn evaluate(&self, source: &impl Source) -> Result<Option<bool>, Error> {
        match self {
            Self::In { field, values } => some_element(source, field, |kind, value| {
                let mut unknown = false;
                for candidate in values {
                    match compare(kind, value, candidate) {
                        Some(Ordering::Equal) => return Some(true),
                        Some(_) => {}
                        None => unknown |= matches!(candidate, Value::Null),
                    }
                }
                if unknown { None } else { Some(false) }
            }),
            Self::Range { field, lower, upper } => some_element(source, field, |kind, value| {
                let order = |bound| compare(kind, value, bound);
                let lower = match lower {
                    Bound::Unbounded => Some(true),
                    Bound::Included(bound) => order(bound).map(Ordering::is_ge),
                    Bound::Excluded(bound) => order(bound).map(Ordering::is_gt),
                };
                let upper = match upper {
                    Bound::Unbounded => Some(true),
                    Bound::Included(bound) => order(bound).map(Ordering::is_le),
                    Bound::Excluded(bound) => order(bound).map(Ordering::is_lt),
                };
                // What is outside one bound is outside, whatever the other is.
                match (lower, upper) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                }
            }),
            Self::BeginsWith { field, start } => {
                some_element(source, field, |kind, value| match (value, start) {
                    (Value::Str(text), Value::Str(start)) if is_nocase(kind) => {
                        let mut text = casefold::fold(text);
                        Some(casefold::fold(start).all(|c| text.next() == Some(c)))
                    }
                    (Value::Str(text), Value::Str(start)) => Some(text.starts_with(start.as_ref())),
                    (Value::Bytes(bytes), Value::Bytes(start)) => Some(bytes.starts_with(start)),
                    _ => Some(false),
                })
            }
            Self::IsNull { field } => Ok(Some(source.value(field)? == Value::Null)),
            Self::Row { fields, comparison, values } => row(source, fields, *comparison, values),
            Self::And(all) => {
                let mut result = Some(true);
                for one in all {
                    match one.evaluate(source)? {
                        Some(false) => return Ok(Some(false)),
                        Some(true) => {}
                        None => result = None,
                    }
                }
                Ok(result)
            }
            Self::Or(any) => {
                let mut result = Some(false);
                for one in any {
                    match one.evaluate(source)? {
                        Some(true) => return Ok(Some(true)),
                        Some(false) => {}
                        None => result = None,
                    }
                }
                Ok(result)
            }
            Self::Not(inner) => Ok(inner.evaluate(source)?.map(|holds| !holds)),
        }
    }
}

fn is_nocase(kind: Option<&Type>) -> bool {
    matches!(kind, Some(Type::Str(Collation::NoCase)))
}

/// How two values compare: as the declared type does, or as SQL does where none is declared.
fn compare(kind: Option<&Type>, a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) if is_nocase(kind) => Some(casefold::fold(a).cmp(casefold::fold(b))),
        _ => a.compare(b),
    }
}

/// What holds of a field: of its value, or of some element if it is a list; unknown of null.
fn some_element(
    source: &impl Source,
    field: &str,
    test: impl Fn(Option<&Type>, &Value<'_>) -> Option<bool>,
) -> Result<Option<bool>, Error> {
    let kind = source.kind(field);
    Ok(match source.value(field)? {
        Value::Null => None,
        Value::List(elements) => {
            let mut result = Some(false);
            for element in &elements {
                match test(kind, element) {
                    Some(true) => return Ok(Some(true)),
                    Some(false) => {}
                    None => result = None,
                }
            }
            result
        }
        value => test(kind, &value),
    })
}

fn row(
    source: &impl Source,
    fields: &[String],
    comparison: Comparison,
    values: &[Value<'_>],
) -> Result<Option<bool>, Error> {
    for (field, bound) in fields.iter().zip(values) {
        match compare(source.kind(field), &source.value(field)?, bound) {
            None => return Ok(None),
            Some(Ordering::Equal) => {}
            Some(Ordering::Less) => {
                return Ok(Some(matches!(comparison, Comparison::Less | Comparison::LessOrEqual)));
            }
            Some(Ordering::Greater) => {
                return Ok(Some(matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual)));
            }
        }
    }
    Ok(Some(matches!(comparison, Comparison::LessOrEqual | Comparison::GreaterOrEqual)))
}
