//! Whether a document is like a predicate, worked out the long way: by SQL's tables of true, false and unknown.
//!
//! Nothing here is shared with what tables use, so that a mistake there is not made here too.

use std::cmp::Ordering;
use std::ops::Bound;

use keyloom_key::{Collation, Nulls, Type, Value, casefold};
use keyloom_plan::OrderBy;
use keyloom_schema::{Comparison, Document, Predicate, Table};

/// True, false or unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    False,
    Unknown,
    True,
}

use Truth::{False, True, Unknown};

impl Truth {
    fn of(holds: bool) -> Self {
        if holds { True } else { False }
    }

    /// AND is the smaller of two, OR the greater, by this rank.
    fn rank(self) -> u8 {
        match self {
            False => 0,
            Unknown => 1,
            True => 2,
        }
    }

    fn all(all: impl Iterator<Item = Self>) -> Self {
        all.min_by_key(|one| one.rank()).unwrap_or(True)
    }

    fn any(any: impl Iterator<Item = Self>) -> Self {
        any.max_by_key(|one| one.rank()).unwrap_or(False)
    }

    fn not(self) -> Self {
        match self {
            False => True,
            Unknown => Unknown,
            True => False,
        }
    }
}

/// Whether the predicate is true of the document.
pub(super) fn holds(table: &Table, document: &Document, predicate: &Predicate) -> bool {
    truth(table, document, predicate) == True
}

fn truth(table: &Table, document: &Document, predicate: &Predicate) -> Truth {
    let kind = |name: &str| table.column(name).map(|column| column.kind.element());
    let value = |name: &str| document.get(name).cloned().unwrap_or(Value::Null);
    // Of a list, some element; of null, nothing is known.
    let some = |name: &str, test: &dyn Fn(&Value<'static>) -> Truth| match value(name) {
        Value::Null => Unknown,
        Value::List(elements) => Truth::any(elements.iter().map(test)),
        one => test(&one),
    };
    match predicate {
        Predicate::In { field, values } => some(field, &|value| {
            Truth::any(values.iter().map(|other| match other {
                Value::Null => Unknown,
                other => Truth::of(compare(kind(field), value, other) == Some(Ordering::Equal)),
            }))
        }),
        Predicate::Range { field, lower, upper } => some(field, &|value| {
            let side = |bound: &Bound<Value<'static>>, outside: Ordering| {
                let (Bound::Included(limit) | Bound::Excluded(limit)) = bound else { return True };
                match compare(kind(field), value, limit) {
                    None => Unknown,
                    Some(Ordering::Equal) => Truth::of(matches!(bound, Bound::Included(_))),
                    Some(order) => Truth::of(order != outside),
                }
            };
            Truth::all([side(lower, Ordering::Less), side(upper, Ordering::Greater)].into_iter())
        }),
        Predicate::BeginsWith { field, start } => some(field, &|value| match (value, start) {
            (_, Value::Null) => Unknown,
            (Value::Str(text), Value::Str(start)) => {
                let (text, start) = (collated(kind(field), text), collated(kind(field), start));
                Truth::of(text.starts_with(&start))
            }
            (Value::Bytes(bytes), Value::Bytes(start)) => Truth::of(bytes.starts_with(start)),
            _ => False,
        }),
        Predicate::IsNull { field } => Truth::of(value(field) == Value::Null),
        Predicate::Row { fields, comparison, values } => {
            // (a, b) < (x, y) is a < x OR a = x AND b < y.
            let pairs = fields.iter().zip(values);
            let compared = pairs.map(|(name, other)| compare(kind(name), &value(name), other));
            let decided = compared.into_iter().find(|order| *order != Some(Ordering::Equal));
            match (decided, comparison) {
                (Some(None), _) => Unknown,
                (Some(Some(Ordering::Less)), Comparison::Less | Comparison::LessOrEqual)
                | (Some(Some(Ordering::Greater)), Comparison::Greater | Comparison::GreaterOrEqual)
                | (None, Comparison::LessOrEqual | Comparison::GreaterOrEqual) => True,
                _ => False,
            }
        }
        Predicate::And(all) => Truth::all(all.iter().map(|one| truth(table, document, one))),
        Predicate::Or(any) => Truth::any(any.iter().map(|one| truth(table, document, one))),
        Predicate::Not(inner) => truth(table, document, inner).not(),
        // A kind that a later version of the schema crate may bring must be added here.
        _ => Unknown,
    }
}

fn collated(kind: Option<&Type>, text: &str) -> String {
    match kind {
        Some(Type::Str(Collation::NoCase)) => casefold::fold(text).collect(),
        _ => text.to_owned(),
    }
}

/// How two values compare; not at all if one is null or they are of different sorts.
pub(super) fn compare(kind: Option<&Type>, a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Uint(a), Value::Uint(b)) => Some(a.cmp(b)),
        (Value::Str(a), Value::Str(b)) => Some(collated(kind, a).cmp(&collated(kind, b))),
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.total_nanos().cmp(&b.total_nanos())),
        (a, b) => number(a)?.partial_cmp(&number(b)?),
    }
}

/// A number as a float. The numbers that tests use are small, so that nothing is lost.
fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Int(number) => number.to_string().parse().ok(),
        Value::Uint(number) => number.to_string().parse().ok(),
        Value::Decimal(number) => number.to_string().parse().ok(),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// How two documents stand in an order.
pub(super) fn in_order(table: &Table, order: &[OrderBy], a: &Document, b: &Document) -> Ordering {
    let compared = order.iter().map(|by| {
        let value = |document: &Document| document.get(&by.field).cloned().unwrap_or(Value::Null);
        let kind = table.column(&by.field).map(|column| column.kind.element());
        let null_first = by.nulls == Nulls::First;
        match (value(a), value(b)) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => {
                if null_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (_, Value::Null) => {
                if null_first {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (a, b) => {
                let order = compare(kind, &a, &b).unwrap_or(Ordering::Equal);
                if by.direction == keyloom_key::Direction::Descending { order.reverse() } else { order }
            }
        }
    });
    compared.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
