//! A declared field of a table, and how a value becomes one of its type.

use std::fmt;
use std::str::FromStr;

use keyloom_key::{Date, Decimal, Duration, Field, Timestamp, Type, Uuid, Value};

use crate::error::Error;

/// A declared field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its number, which its bytes carry: never given to another column of the table.
    pub id: u16,
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
    /// Whether it may be null or left out.
    pub nullable: bool,
}

/// What the values of a column are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// One value of this type.
    One(Type),
    /// A list of values of this type. An index on it has an entry for each element.
    Many(Type),
}

impl Kind {
    /// The type of the value, or of each element.
    pub fn element(&self) -> &Type {
        match self {
            Self::One(kind) | Self::Many(kind) => kind,
        }
    }

    /// Whether it is a list.
    pub fn is_many(&self) -> bool {
        matches!(self, Self::Many(_))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = Field::from(self.element().clone());
        match self {
            Self::One(_) => field.fmt(f),
            Self::Many(_) => write!(f, "list({field})"),
        }
    }
}

impl FromStr for Kind {
    type Err = keyloom_key::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let list = text.strip_prefix("list(").and_then(|rest| rest.strip_suffix(')'));
        let field: Field = list.unwrap_or(text).parse()?;
        Ok(if list.is_some() { Self::Many(field.kind) } else { Self::One(field.kind) })
    }
}

impl Column {
    /// Whether a value is as the column keeps it already; `false` may also mean that only [`coerce`](Self::coerce) knows.
    pub fn holds(&self, value: &Value<'_>) -> bool {
        let Kind::One(kind) = &self.kind else { return false };
        match (kind, value) {
            (Type::Bool, Value::Bool(_))
            | (Type::Bytes, Value::Bytes(_))
            | (Type::Str(_), Value::Str(_))
            | (Type::Uuid, Value::Uuid(_))
            | (Type::Date, Value::Date(_))
            | (Type::Duration, Value::Duration(_))
            | (Type::Varint, Value::Uint(_)) => true,
            (Type::Int(width), Value::Int(number)) => width.holds_int(*number),
            (Type::Uint(width), Value::Uint(number)) => width.holds_uint(*number),
            (Type::F64, Value::Float(number)) => !number.is_nan(),
            (Type::Timestamp(precision), Value::Timestamp(instant)) => instant.count(*precision).is_ok(),
            (_, Value::Null) => self.nullable,
            _ => false,
        }
    }

    /// The value as the column keeps it, if it can be one of its type without losing anything.
    ///
    /// Numbers go from one kind to another where they stay the same number, and text becomes a decimal, a UUID, a
    /// timestamp, a date or a duration if it says one.
    pub fn coerce<'v>(&self, value: Value<'v>) -> Result<Value<'v>, Error> {
        match (&self.kind, value) {
            (_, Value::Null) if self.nullable => Ok(Value::Null),
            (_, Value::Null) => Err(Error::value(&self.name, "null, but the field is not nullable")),
            (Kind::One(kind), value) => kept(kind, value).map_err(|reason| Error::value(&self.name, reason)),
            (Kind::Many(kind), Value::List(values)) => {
                let elements = values.into_iter().enumerate().map(|(index, value)| {
                    kept(kind, value).map_err(|reason| {
                        Error::value(&self.name, format!("element {}: {reason}", index + 1))
                    })
                });
                elements.collect::<Result<_, _>>().map(Value::List)
            }
            (Kind::Many(_), other) => {
                let reason = format!("a value of type {} in a field of type {}", other.kind(), self.kind);
                Err(Error::value(&self.name, reason))
            }
        }
    }

    /// What is wrong with a record that has no value for this column, which is not nullable.
    pub fn missing(&self) -> Error {
        Error::value(&self.name, "missing, and the field is not nullable")
    }

    /// The value of one element, as a query asks for it.
    pub fn coerce_element<'v>(&self, value: Value<'v>) -> Result<Value<'v>, Error> {
        coerce(self.kind.element(), value).map_err(|reason| Error::value(&self.name, reason))
    }
}

/// A value that a record keeps. NaN has no place in an order, so no index and no sort could keep it; a query may ask for it.
fn kept<'v>(kind: &Type, value: Value<'v>) -> Result<Value<'v>, String> {
    match coerce(kind, value)? {
        Value::Float(number) if number.is_nan() => {
            Err("NaN has no place in an order: leave it out".to_owned())
        }
        value => Ok(value),
    }
}

fn coerce<'v>(kind: &Type, value: Value<'v>) -> Result<Value<'v>, String> {
    let coerced = match (kind, value) {
        (Type::Bool, value @ Value::Bool(_))
        | (Type::Bytes, value @ Value::Bytes(_))
        | (Type::Str(_), value @ Value::Str(_))
        | (Type::Uuid, value @ Value::Uuid(_))
        | (Type::Date, value @ Value::Date(_))
        | (Type::Duration, value @ Value::Duration(_)) => Ok(value),
        (Type::Int(width), value) => match int(&value) {
            Some(number) if width.holds_int(number) => Ok(Value::Int(number)),
            _ => Err(value),
        },
        (Type::Uint(width), value) => match uint(&value) {
            Some(number) if width.holds_uint(number) => Ok(Value::Uint(number)),
            _ => Err(value),
        },
        (Type::Varint, value) => uint(&value).map(Value::Uint).ok_or(value),
        (Type::F64, value) => float(&value).map(Value::Float).ok_or(value),
        (Type::F32, value) => {
            let narrow = float(&value).filter(|number| is_f32(*number));
            narrow.map(Value::Float).ok_or(value)
        }
        (Type::Decimal(scale), value) => match decimal(&value) {
            Some(number) if scale.is_none_or(|scale| scale.check(number).is_ok()) => {
                Ok(Value::Decimal(number))
            }
            _ => Err(value),
        },
        (Type::Timestamp(precision), Value::Timestamp(instant)) if instant.count(*precision).is_ok() => {
            Ok(Value::Timestamp(instant))
        }
        (Type::Timestamp(precision), Value::Str(text)) => match text.parse::<Timestamp>() {
            Ok(instant) if instant.count(*precision).is_ok() => Ok(Value::Timestamp(instant)),
            _ => Err(Value::Str(text)),
        },
        (Type::Uuid, Value::Str(text)) => parsed::<Uuid>(text, Value::Uuid),
        (Type::Date, Value::Str(text)) => parsed::<Date>(text, Value::Date),
        (Type::Duration, Value::Int(nanos)) => Ok(Value::Duration(Duration::from_nanos(nanos))),
        (Type::Tuple(fields), Value::Tuple(values) | Value::List(values)) if values.len() <= fields.len() => {
            let values = fields.iter().zip(values).map(|(field, value)| match value {
                Value::Null if field.nulls.is_some() => Ok(Value::Null),
                value => coerce(&field.kind, value),
            });
            return values.collect::<Result<_, _>>().map(Value::Tuple);
        }
        (_, value) => Err(value),
    };
    coerced.map_err(|value| match value {
        Value::Str(text) => format!("`{text}` is no {kind}"),
        Value::Int(number) => format!("{number} does not fit {kind}"),
        Value::Uint(number) => format!("{number} does not fit {kind}"),
        Value::Float(number) => format!("{number} does not fit {kind}"),
        Value::Decimal(number) => format!("{number} does not fit {kind}"),
        other => format!("a value of type {} in a field of type {kind}", other.kind()),
    })
}

fn parsed<'v, T: FromStr>(
    text: std::borrow::Cow<'v, str>,
    make: fn(T) -> Value<'v>,
) -> Result<Value<'v>, Value<'v>> {
    text.parse().map(make).map_err(|_| Value::Str(text))
}

fn decimal(value: &Value<'_>) -> Option<Decimal> {
    match value {
        Value::Decimal(number) => Some(*number),
        Value::Int(number) => Decimal::new((*number).into(), 0),
        Value::Uint(number) => Decimal::new((*number).into(), 0),
        // The shortest text that reads back as this float: what its writer saw.
        Value::Float(number) => number.to_string().parse().ok(),
        Value::Str(text) => text.parse().ok(),
        _ => None,
    }
}

fn int(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Uint(number) => (*number).try_into().ok(),
        Value::Float(_) | Value::Decimal(_) => decimal(value)?.scaled(0)?.try_into().ok(),
        _ => None,
    }
}

fn uint(value: &Value<'_>) -> Option<u64> {
    match value {
        Value::Uint(number) => Some(*number),
        Value::Int(number) => (*number).try_into().ok(),
        Value::Float(_) | Value::Decimal(_) => decimal(value)?.scaled(0)?.try_into().ok(),
        _ => None,
    }
}

fn float(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Int(_) | Value::Uint(_) | Value::Decimal(_) => {
            let exact = decimal(value)?;
            let near: f64 = exact.to_string().parse().ok()?;
            // A decimal is its float if the float's own text says the same number.
            let same = near.to_string().parse::<Decimal>().ok()? == exact;
            same.then_some(near)
        }
        _ => None,
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the loss is what is looked for")]
fn is_f32(number: f64) -> bool {
    f64::from(number as f32) == number
}
