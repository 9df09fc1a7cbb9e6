//! Whether one condition follows from another: which queries a partial index may serve.

use std::cmp::Ordering;
use std::ops::Bound;

use keyloom_key::{Type, Value};
use keyloom_schema::{Predicate, Table};

use crate::constraint::{Conditions, compare, holds_of};
use crate::error::Error;

/// Whether every record that is like all of `given` is like all of `wanted`. Never wrongly; not always where it is so.
pub(crate) fn all_imply(table: &Table, given: &Conditions, wanted: &Conditions) -> Result<bool, Error> {
    for one in &wanted.all {
        if !some_implies(table, given, one)? {
            return Ok(false);
        }
    }
    Ok(!wanted.never)
}

/// Whether one of the conditions says all that `wanted` asks for.
pub(crate) fn some_implies(table: &Table, given: &Conditions, wanted: &Predicate) -> Result<bool, Error> {
    for one in &given.all {
        if implies(table, one, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn implies(table: &Table, given: &Predicate, wanted: &Predicate) -> Result<bool, Error> {
    if given == wanted {
        return Ok(true);
    }
    // One after the other: an OR on the left needs all its arms, one on the right any of them.
    if let Predicate::Or(arms) = given {
        return every(arms, |arm| implies(table, arm, wanted));
    }
    match wanted {
        Predicate::Or(arms) => return Ok(!every(arms, |arm| implies(table, given, arm).map(|yes| !yes))?),
        Predicate::And(all) => return every(all, |one| implies(table, given, one)),
        _ => {}
    }
    if let Predicate::And(all) = given {
        return Ok(!every(all, |one| implies(table, one, wanted).map(|yes| !yes))?);
    }
    if says_not_null(wanted).is_some_and(|field| needs_value(given) == Some(field)) {
        return Ok(true);
    }
    let fields = |condition: &Predicate| condition.fields().first().map(|name| (*name).to_owned());
    let Some(column) = fields(given).and_then(|name| table.column(&name)) else { return Ok(false) };
    let same = given.fields().iter().chain(&wanted.fields()).all(|name| *name == column.name);
    // Of a list, what holds of some element follows only from what holds of that element.
    let of_an_element =
        matches!(wanted, Predicate::In { .. } | Predicate::Range { .. } | Predicate::BeginsWith { .. });
    let kind = column.kind.element();
    if !same || matches!(kind, Type::Tuple(_)) || !of_an_element && column.kind.is_many() {
        return Ok(false);
    }
    match (given, wanted) {
        (Predicate::In { values, .. }, _) => every(values, |value| holds_of(kind, value, wanted)),
        (Predicate::BeginsWith { start, .. }, Predicate::BeginsWith { .. }) => holds_of(kind, start, wanted),
        (Predicate::Range { lower, upper, .. }, Predicate::Range { lower: from, upper: to, .. }) => {
            Ok(within(kind, lower, from, Ordering::Greater) && within(kind, upper, to, Ordering::Less))
        }
        _ => Ok(false),
    }
}

fn every<T>(items: &[T], mut test: impl FnMut(&T) -> Result<bool, Error>) -> Result<bool, Error> {
    for item in items {
        if !test(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The field that is only asked to have a value.
fn says_not_null(condition: &Predicate) -> Option<&str> {
    match condition {
        Predicate::Range { field, lower: Bound::Unbounded, upper: Bound::Unbounded } => Some(field),
        Predicate::Not(inner) => match &**inner {
            Predicate::IsNull { field } => Some(field),
            _ => None,
        },
        _ => None,
    }
}

/// The field that must have a value, or an element, for the condition to be true.
fn needs_value(condition: &Predicate) -> Option<&str> {
    match condition {
        Predicate::In { field, .. }
        | Predicate::Range { field, .. }
        | Predicate::BeginsWith { field, .. } => Some(field),
        // Behind the first field that differs, a row is not looked at.
        Predicate::Row { fields, .. } => fields.first().map(String::as_str),
        _ => None,
    }
}

/// Whether the bound `inner` leaves nothing that `outer` does not: it is the `side` one, or the same.
fn within(kind: &Type, inner: &Bound<Value<'_>>, outer: &Bound<Value<'_>>, side: Ordering) -> bool {
    let (Bound::Included(limit) | Bound::Excluded(limit)) = outer else { return true };
    let (Bound::Included(value) | Bound::Excluded(value)) = inner else { return false };
    match compare(kind, value, limit) {
        Ordering::Equal => matches!(inner, Bound::Excluded(_)) || matches!(outer, Bound::Included(_)),
        order => order == side,
    }
}

#[cfg(test)]
mod tests;
