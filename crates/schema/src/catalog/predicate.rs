//! A predicate as the catalog keeps it: a map of one name, which says what kind it is.
//!
//! ```text
//! {in: {field, values}}             {range: {field, lower: bound, upper: bound}}
//! {begins_with: {field, start}}     {row: {fields, comparison: "<" | "<=" | ">" | ">=", values}}
//! {is_null: field}                  {and: […]}   {or: […]}   {not: predicate}
//! bound is null, {included: value} or {excluded: value}
//! ```

use std::ops::Bound;

use keyloom_key::Value;

use super::entry::{Entry, damaged, list, text, unknown};
use crate::error::Error;
use crate::predicate::{Comparison, Predicate};

const COMPARISONS: [Comparison; 4] =
    [Comparison::Less, Comparison::LessOrEqual, Comparison::Greater, Comparison::GreaterOrEqual];

pub(super) fn write(predicate: &Predicate) -> Value<'static> {
    let (kind, value) = match predicate {
        Predicate::In { field, values } => (
            "in",
            Value::map([("field", Value::from(field.clone())), ("values", Value::list(values.clone()))]),
        ),
        Predicate::Range { field, lower, upper } => (
            "range",
            Value::map([
                ("field", Value::from(field.clone())),
                ("lower", write_bound(lower)),
                ("upper", write_bound(upper)),
            ]),
        ),
        Predicate::BeginsWith { field, start } => {
            ("begins_with", Value::map([("field", Value::from(field.clone())), ("start", start.clone())]))
        }
        Predicate::IsNull { field } => ("is_null", field.clone().into()),
        Predicate::Row { fields, comparison, values } => (
            "row",
            Value::map([
                ("fields", Value::list(fields.iter().cloned())),
                ("comparison", comparison.to_string().into()),
                ("values", Value::list(values.clone())),
            ]),
        ),
        Predicate::And(all) => ("and", Value::list(all.iter().map(write))),
        Predicate::Or(any) => ("or", Value::list(any.iter().map(write))),
        Predicate::Not(inner) => ("not", write(inner)),
    };
    Value::map([(kind, value)])
}

fn write_bound(bound: &Bound<Value<'static>>) -> Value<'static> {
    match bound {
        Bound::Unbounded => Value::Null,
        Bound::Included(value) => Value::map([("included", value.clone())]),
        Bound::Excluded(value) => Value::map([("excluded", value.clone())]),
    }
}

pub(super) fn read(value: Value<'static>) -> Result<Predicate, Error> {
    let (kind, value) = Entry::read("a predicate", value)?.only()?;
    let predicate = match kind.as_str() {
        "and" => return read_list(value).map(Predicate::And),
        "or" => return read_list(value).map(Predicate::Or),
        "not" => return read(value).map(|inner| Predicate::Not(Box::new(inner))),
        "is_null" => return Ok(Predicate::IsNull { field: text("a predicate", value)? }),
        "in" | "range" | "begins_with" | "row" => Entry::read("a predicate", value),
        other => Err(unknown("a predicate", other)),
    };
    let mut entry = predicate?;
    let predicate = match kind.as_str() {
        "in" => Predicate::In { field: entry.text("field")?, values: entry.list("values")? },
        "range" => Predicate::Range {
            field: entry.text("field")?,
            lower: read_bound(entry.take("lower")?)?,
            upper: read_bound(entry.take("upper")?)?,
        },
        "begins_with" => Predicate::BeginsWith { field: entry.text("field")?, start: entry.take("start")? },
        _ => {
            let fields = entry.list("fields")?.into_iter().map(|field| text("a predicate", field));
            let said = entry.text("comparison")?;
            let comparison = COMPARISONS.into_iter().find(|known| known.to_string() == said);
            Predicate::Row {
                fields: fields.collect::<Result<_, _>>()?,
                comparison: comparison.ok_or_else(|| damaged(format!("no comparison is `{said}`")))?,
                values: entry.list("values")?,
            }
        }
    };
    entry.end()?;
    Ok(predicate)
}

fn read_list(value: Value<'static>) -> Result<Vec<Predicate>, Error> {
    list("a predicate", value)?.into_iter().map(read).collect()
}

fn read_bound(value: Value<'static>) -> Result<Bound<Value<'static>>, Error> {
    if value == Value::Null {
        return Ok(Bound::Unbounded);
    }
    match Entry::read("a bound", value)?.only()? {
        (kind, value) if kind == "included" => Ok(Bound::Included(value)),
        (kind, value) if kind == "excluded" => Ok(Bound::Excluded(value)),
        (kind, _) => Err(unknown("a bound", &kind)),
    }
}
