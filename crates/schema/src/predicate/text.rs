//! A predicate as SQL says it.
//!
//! `{}` is for people. `{:#}` is for machines: it reads back as the same predicate, so names are quoted where they
//! must be, values say their types, and a range is one condition.

use std::fmt::{self, Display as _};
use std::ops::Bound;

use keyloom_key::Value;

use crate::predicate::{Comparison, Predicate};

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        })
    }
}

/// A name as SQL writes it.
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters = self.0.chars();
        let plain = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
        let reserved = || RESERVED.split(' ').any(|word| word.eq_ignore_ascii_case(self.0));
        if f.alternate() && (!plain || reserved()) {
            return write!(f, "\"{}\"", self.0.replace('"', "\"\""));
        }
        f.write_str(self.0)
    }
}

/// A name as SQL takes it: in quotes where it must be.
///
/// ```
/// assert_eq!(keyloom_schema::quoted("orders"), "orders");
/// assert_eq!(keyloom_schema::quoted("order"), "\"order\"");
/// ```
pub fn quoted(name: &str) -> String {
    format!("{:#}", Name(name))
}

/// Words that a name must be quoted to be.
const RESERVED: &str = "ALL AND ANY AS ASC BETWEEN BY CASE CAST CHECK CONSTRAINT CREATE CURRENT_DATE CURRENT_TIME \
    CURRENT_TIMESTAMP DELETE DESC DISTINCT ELSE END EXCLUDE EXISTS FALSE FOREIGN FROM GROUP HAVING \
    IN INSERT INTERVAL INTO IS JOIN LIKE LIMIT LOCALTIME LOCALTIMESTAMP NOT NULL ON OR ORDER \
    PRIMARY RETURNING SELECT SET SOME TABLE THEN TRIM TRUE UNION UNIQUE UPDATE USING VALUES WHEN \
    WHERE WITH";

/// A value as SQL writes it.
pub(crate) struct Literal<'a>(pub(crate) &'a Value<'a>);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |f: &mut fmt::Formatter<'_>, text: &str| write!(f, "'{}'", text.replace('\'', "''"));
        let typed = |f: &mut fmt::Formatter<'_>, kind: &str, text: &str| {
            if f.alternate() {
                write!(f, "{kind} ")?;
            }
            quoted(f, text)
        };
        let list =
            |f: &mut fmt::Formatter<'_>, values: &[Value<'_>]| join(f, values.iter().map(Literal), ", ");
        match self.0 {
            Value::Null => f.write_str("NULL"),
            Value::Bool(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Value::Int(value) => value.fmt(f),
            Value::Uint(value) => value.fmt(f),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Decimal(value) => value.fmt(f),
            Value::Str(text) => quoted(f, text),
            Value::Bytes(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))?;
                f.write_str("'")
            }
            Value::Uuid(value) => typed(f, "UUID", &value.to_string()),
            Value::Timestamp(value) => typed(f, "TIMESTAMP", &value.to_string()),
            Value::Date(value) => typed(f, "DATE", &value.to_string()),
            Value::Duration(value) if f.alternate() => typed(f, "INTERVAL", &value.to_string()),
            Value::Duration(value) => value.nanos().fmt(f),
            Value::Tuple(values) | Value::List(values) => {
                f.write_str("[")?;
                list(f, values)?;
                f.write_str("]")
            }
            other => quoted(f, other.kind()),
        }
    }
}

fn join<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    items: impl Iterator<Item = T>,
    between: &str,
) -> fmt::Result {
    for (index, item) in items.enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        item.fmt(f)?;
    }
    Ok(())
}

/// A predicate within another: in brackets if it would otherwise run into its neighbours.
struct Inner<'a>(&'a Predicate);

impl fmt::Display for Inner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Predicate::And(_) | Predicate::Or(_) => {
                f.write_str("(")?;
                self.0.fmt(f)?;
                f.write_str(")")
            }
            other => other.fmt(f),
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::In { field, values } => one_of(f, field, values),
            Self::Range { field, lower, upper } => range(f, field, lower, upper),
            Self::BeginsWith { field, start } => {
                f.write_str("begins_with(")?;
                pair(f, field, ", ", start)?;
                f.write_str(")")
            }
            Self::IsNull { field } => {
                Name(field).fmt(f)?;
                f.write_str(" IS NULL")
            }
            Self::Row { fields, comparison, values } => {
                f.write_str("(")?;
                join(f, fields.iter().map(|field| Name(field)), ", ")?;
                write!(f, ") {comparison} (")?;
                join(f, values.iter().map(Literal), ", ")?;
                f.write_str(")")
            }
            Self::And(all) if all.is_empty() => f.write_str("TRUE"),
            Self::Or(any) if any.is_empty() => f.write_str("FALSE"),
            Self::And(all) => join(f, all.iter().map(Inner), " AND "),
            Self::Or(any) => join(f, any.iter().map(Inner), " OR "),
            Self::Not(inner) => match &**inner {
                Self::IsNull { field } => {
                    Name(field).fmt(f)?;
                    f.write_str(" IS NOT NULL")
                }
                Self::In { field, values } if values.len() == 1 => {
                    pair(f, field, " <> ", values.first().unwrap_or(&Value::Null))
                }
                inner => {
                    f.write_str("NOT (")?;
                    inner.fmt(f)?;
                    f.write_str(")")
                }
            },
        }
    }
}

fn pair(f: &mut fmt::Formatter<'_>, field: &str, between: &str, value: &Value<'_>) -> fmt::Result {
    Name(field).fmt(f)?;
    f.write_str(between)?;
    Literal(value).fmt(f)
}

fn one_of(f: &mut fmt::Formatter<'_>, field: &str, values: &[Value<'_>]) -> fmt::Result {
    if let [value] = values {
        return pair(f, field, " = ", value);
    }
    Name(field).fmt(f)?;
    f.write_str(" IN (")?;
    join(f, values.iter().map(Literal), ", ")?;
    f.write_str(")")
}

fn range(
    f: &mut fmt::Formatter<'_>,
    field: &str,
    lower: &Bound<Value<'static>>,
    upper: &Bound<Value<'static>>,
) -> fmt::Result {
    use Bound::{Excluded, Included, Unbounded};
    match (lower, upper) {
        (Included(lower), Included(upper)) => {
            pair(f, field, " BETWEEN ", lower)?;
            f.write_str(" AND ")?;
            Literal(upper).fmt(f)
        }
        (Included(lower), Unbounded) => pair(f, field, " >= ", lower),
        (Excluded(lower), Unbounded) => pair(f, field, " > ", lower),
        (Unbounded, Included(upper)) => pair(f, field, " <= ", upper),
        (Unbounded, Excluded(upper)) => pair(f, field, " < ", upper),
        // Of a list, two conditions may hold of two elements; of this one, the same element must lie within.
        (lower, upper) if f.alternate() => {
            let side = |bound: &Bound<Value<'static>>, strict, loose| match bound {
                Included(value) => (loose, value.clone()),
                Excluded(value) => (strict, value.clone()),
                Unbounded => (strict, Value::Null),
            };
            let ((open, lower), (close, upper)) = (side(lower, '(', '['), side(upper, ')', ']'));
            f.write_str("within(")?;
            Name(field).fmt(f)?;
            write!(f, ", '{open}{close}', {:#}, {:#})", Literal(&lower), Literal(&upper))
        }
        (Unbounded, Unbounded) => write!(f, "{field} IS NOT NULL"),
        (lower, upper) => {
            range(f, field, lower, &Unbounded)?;
            f.write_str(" AND ")?;
            range(f, field, &Unbounded, upper)
        }
    }
}
