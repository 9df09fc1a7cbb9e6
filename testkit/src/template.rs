//! Queries taken apart: the same with values that come later.

use std::ops::Bound;

use keyloom_key::Value;
use keyloom_plan::{Given, Query};
use keyloom_schema::Predicate;

/// A query without every `each`th of its conditions on one value, these conditions, and their values.
///
/// Bound again, it asks the same of every field that has one value. Of a list it does not: a range of it holds of one
/// element, and two bounds of it may hold of two.
pub fn given_later(query: &Query, each: usize) -> (Query, Vec<Given>, Vec<Value<'static>>) {
    let conditions = match &query.filter {
        Predicate::And(all) => all.clone(),
        one => vec![one.clone()],
    };
    let (mut given, mut values, mut rest) = (Vec::new(), Vec::new(), Predicate::all());
    for (number, condition) in conditions.into_iter().enumerate() {
        let mut later = |condition: Given, value: &Value<'static>| {
            given.push(condition);
            values.push(value.clone());
        };
        match &condition {
            _ if number % each != 0 => rest = rest.and(condition),
            Predicate::In { field, values } if let [value] = values.as_slice() => {
                later(Given::equal(field), value);
            }
            // With no bound at all it still asks for a value.
            Predicate::Range { lower: Bound::Unbounded, upper: Bound::Unbounded, .. } => {
                rest = rest.and(condition);
            }
            Predicate::Range { field, lower, upper } => {
                match lower {
                    Bound::Unbounded => {}
                    Bound::Included(value) => later(Given::at_least(field), value),
                    Bound::Excluded(value) => later(Given::greater(field), value),
                }
                match upper {
                    Bound::Unbounded => {}
                    Bound::Included(value) => later(Given::at_most(field), value),
                    Bound::Excluded(value) => later(Given::less(field), value),
                }
            }
            _ => rest = rest.and(condition),
        }
    }
    (Query { filter: rest, ..query.clone() }, given, values)
}
