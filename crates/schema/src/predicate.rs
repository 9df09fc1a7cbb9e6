//! What a record must be like: the words that filters, partial indexes and queries share.
//!
//! Three-valued, as SQL is: what is compared with null is neither true nor false, and only what is true is kept. Of a
//! list it is asked whether some element is like that.
//!
//! ```
//! use keyloom_schema::{field, row};
//! let open = field("status").eq("open").and(field("amount").between(10_i64, 20_i64));
//! assert_eq!(open.to_string(), "status = 'open' AND amount BETWEEN 10 AND 20");
//! let later = row(["date", "id"]).gt([7_i64, 1_i64]);
//! assert_eq!(later.to_string(), "(date, id) > (7, 1)");
//! ```

mod evaluate;
mod text;

use std::ops::Bound;

use keyloom_key::Value;

use crate::error::Error;
use crate::table::Table;

pub use evaluate::Source;
#[cfg(feature = "sql")]
pub use text::quoted;
pub(crate) use text::{Literal, Name};

/// What a record must be like.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Predicate {
    /// The field has one of these values. With none, nothing does.
    In {
        /// The field.
        field: String,
        /// The values; one is equality.
        values: Vec<Value<'static>>,
    },
    /// The field lies within these bounds.
    Range {
        /// The field.
        field: String,
        /// The smaller bound.
        lower: Bound<Value<'static>>,
        /// The greater bound.
        upper: Bound<Value<'static>>,
    },
    /// The field is text or bytes that start so.
    BeginsWith {
        /// The field.
        field: String,
        /// The start.
        start: Value<'static>,
    },
    /// The field is null or not there.
    IsNull {
        /// The field.
        field: String,
    },
    /// The fields, compared one after the other as a row, stand in this relation to the values.
    Row {
        /// The fields.
        fields: Vec<String>,
        /// How they compare.
        comparison: Comparison,
        /// The values, one for each field.
        values: Vec<Value<'static>>,
    },
    /// All of these hold. None: everything does.
    And(Vec<Predicate>),
    /// One of these holds at least.
    Or(Vec<Predicate>),
    /// This does not hold.
    Not(Box<Predicate>),
}

/// How two rows compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The first is smaller.
    Less,
    /// The first is smaller or equal.
    LessOrEqual,
    /// The first is greater.
    Greater,
    /// The first is greater or equal.
    GreaterOrEqual,
}

/// A field, to be compared. See [`field`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Operand(String);

/// The field of this name, to be compared with something.
pub fn field(name: impl Into<String>) -> Operand {
    Operand(name.into())
}

/// Several fields, to be compared as a row. See [`row`].
#[derive(Debug, Clone)]
#[must_use]
pub struct RowOperand(Vec<String>);

/// The fields of these names as a row, to be compared with a row of values.
pub fn row<N: Into<String>>(names: impl IntoIterator<Item = N>) -> RowOperand {
    RowOperand(names.into_iter().map(Into::into).collect())
}

impl Operand {
    /// It equals the value.
    pub fn eq(self, value: impl Into<Value<'static>>) -> Predicate {
        Predicate::In { field: self.0, values: vec![value.into()] }
    }

    /// It has a value, and not this one.
    pub fn ne(self, value: impl Into<Value<'static>>) -> Predicate {
        self.eq(value).negate()
    }

    /// It equals one of the values.
    pub fn is_in<V: Into<Value<'static>>>(self, values: impl IntoIterator<Item = V>) -> Predicate {
        Predicate::In { field: self.0, values: values.into_iter().map(Into::into).collect() }
    }

    /// It is smaller.
    pub fn lt(self, value: impl Into<Value<'static>>) -> Predicate {
        self.range(Bound::Unbounded, Bound::Excluded(value.into()))
    }

    /// It is smaller or equal.
    pub fn le(self, value: impl Into<Value<'static>>) -> Predicate {
        self.range(Bound::Unbounded, Bound::Included(value.into()))
    }

    /// It is greater.
    pub fn gt(self, value: impl Into<Value<'static>>) -> Predicate {
        self.range(Bound::Excluded(value.into()), Bound::Unbounded)
    }

    /// It is greater or equal.
    pub fn ge(self, value: impl Into<Value<'static>>) -> Predicate {
        self.range(Bound::Included(value.into()), Bound::Unbounded)
    }

    /// It lies between the two, or is one of them.
    pub fn between(self, lower: impl Into<Value<'static>>, upper: impl Into<Value<'static>>) -> Predicate {
        self.range(Bound::Included(lower.into()), Bound::Included(upper.into()))
    }

    /// It lies within these bounds.
    #[inline]
    pub fn range(self, lower: Bound<Value<'static>>, upper: Bound<Value<'static>>) -> Predicate {
        Predicate::Range { field: self.0, lower, upper }
    }

    /// It is text or bytes that start so.
    pub fn begins_with(self, start: impl Into<Value<'static>>) -> Predicate {
        Predicate::BeginsWith { field: self.0, start: start.into() }
    }

    /// It is null or not there.
    pub fn is_null(self) -> Predicate {
        Predicate::IsNull { field: self.0 }
    }

    /// It has a value.
    pub fn is_not_null(self) -> Predicate {
        self.is_null().negate()
    }
}

impl RowOperand {
    /// The row is smaller.
    pub fn lt<V: Into<Value<'static>>>(self, values: impl IntoIterator<Item = V>) -> Predicate {
        self.compare(Comparison::Less, values)
    }

    /// The row is smaller or equal.
    pub fn le<V: Into<Value<'static>>>(self, values: impl IntoIterator<Item = V>) -> Predicate {
        self.compare(Comparison::LessOrEqual, values)
    }

    /// The row is greater.
    pub fn gt<V: Into<Value<'static>>>(self, values: impl IntoIterator<Item = V>) -> Predicate {
        self.compare(Comparison::Greater, values)
    }

    /// The row is greater or equal.
    pub fn ge<V: Into<Value<'static>>>(self, values: impl IntoIterator<Item = V>) -> Predicate {
        self.compare(Comparison::GreaterOrEqual, values)
    }

    /// The row compares like this.
    pub fn compare<V: Into<Value<'static>>>(
        self,
        comparison: Comparison,
        values: impl IntoIterator<Item = V>,
    ) -> Predicate {
        Predicate::Row { fields: self.0, comparison, values: values.into_iter().map(Into::into).collect() }
    }
}

impl Predicate {
    /// Everything is like this.
    pub fn all() -> Self {
        Self::And(Vec::new())
    }

    /// Nothing is like this.
    pub fn none() -> Self {
        Self::Or(Vec::new())
    }

    /// Both hold.
    #[inline]
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        // Where nothing is asked yet, as when a query begins, there is nothing to add to.
        if matches!(&self, Self::And(all) if all.is_empty()) {
            return other;
        }
        let mut conjuncts = Vec::with_capacity(2);
        self.conjuncts_into(&mut conjuncts);
        other.conjuncts_into(&mut conjuncts);
        if conjuncts.len() == 1 { conjuncts.pop().unwrap_or_else(Self::all) } else { Self::And(conjuncts) }
    }

    /// One of the two holds at least.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let mut either = match self {
            Self::Or(either) => either,
            one => vec![one],
        };
        either.push(other);
        Self::Or(either)
    }

    /// This does not hold.
    #[must_use]
    pub fn negate(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// What must all hold, one by one.
    pub fn into_conjuncts(self) -> Vec<Self> {
        let mut conjuncts = Vec::with_capacity(1);
        self.conjuncts_into(&mut conjuncts);
        conjuncts
    }

    #[inline]
    fn conjuncts_into(self, conjuncts: &mut Vec<Self>) {
        match self {
            Self::And(all) => all.into_iter().for_each(|one| one.conjuncts_into(conjuncts)),
            one => conjuncts.push(one),
        }
    }

    /// The names of the fields that it asks for.
    pub fn fields(&self) -> Vec<&str> {
        match self {
            Self::In { field, .. }
            | Self::Range { field, .. }
            | Self::BeginsWith { field, .. }
            | Self::IsNull { field } => vec![field],
            Self::Row { fields, .. } => fields.iter().map(String::as_str).collect(),
            Self::And(all) | Self::Or(all) => all.iter().flat_map(Self::fields).collect(),
            Self::Not(inner) => inner.fields(),
        }
    }

    /// The same with its values of the types that the table declares, or what is wrong with one of them.
    ///
    /// A comparison with null, which is never true, becomes one with nothing.
    pub fn bind(self, table: &Table) -> Result<Self, Error> {
        let element = |name: &str, value: Value<'static>| match table.column(name) {
            Some(column) => column.coerce_element(value),
            None => Ok(value),
        };
        let bound = |name: &str, bound: Bound<Value<'static>>| match bound {
            Bound::Unbounded => Ok(Some(Bound::Unbounded)),
            Bound::Included(Value::Null) | Bound::Excluded(Value::Null) => Ok(None),
            Bound::Included(value) => element(name, value).map(|value| Some(Bound::Included(value))),
            Bound::Excluded(value) => element(name, value).map(|value| Some(Bound::Excluded(value))),
        };
        let list = |all: Vec<Self>| all.into_iter().map(|one| one.bind(table)).collect::<Result<Vec<_>, _>>();
        Ok(match self {
            Self::In { field, values } => {
                // Beside a null in the list, what is not found is unknown and not false: the null stays.
                let values = values.into_iter().map(|value| match value {
                    Value::Null => Ok(Value::Null),
                    value => element(&field, value),
                });
                let values = values.collect::<Result<_, _>>()?;
                Self::In { field, values }
            }
            Self::Range { field, lower, upper } => match (bound(&field, lower)?, bound(&field, upper)?) {
                (Some(lower), Some(upper)) => Self::Range { field, lower, upper },
                (None, None) => Self::In { field, values: vec![Value::Null] },
                // The other bound still decides: 7 is not between null and 5, and that is not unknown.
                (lower, upper) => {
                    let null = Self::In { field: field.clone(), values: vec![Value::Null] };
                    let (lower, upper) =
                        (lower.unwrap_or(Bound::Unbounded), upper.unwrap_or(Bound::Unbounded));
                    null.and(Self::Range { field, lower, upper })
                }
            },
            Self::BeginsWith { field, start } => {
                let textual = table.column(&field).is_none_or(|column| {
                    matches!(column.kind.element(), keyloom_key::Type::Str(_) | keyloom_key::Type::Bytes)
                });
                if !textual {
                    return Err(Error::value(&field, "only text and bytes have a beginning"));
                }
                match start {
                    Value::Null => Self::In { field, values: vec![Value::Null] },
                    start => Self::BeginsWith { start: element(&field, start)?, field },
                }
            }
            Self::IsNull { field } => Self::IsNull { field },
            Self::Row { fields, comparison, values } => {
                if fields.len() != values.len() || fields.is_empty() {
                    let reason = format!("{} fields are compared with {} values", fields.len(), values.len());
                    return Err(Error::value(fields.join(", "), reason));
                }
                if let Some(many) =
                    fields.iter().find(|name| table.column(name).is_some_and(|column| column.kind.is_many()))
                {
                    return Err(Error::value(many, "a list cannot stand in a row: compare it alone"));
                }
                let values = fields.iter().zip(values).map(|(name, value)| match value {
                    Value::Null => Ok(Value::Null),
                    value => element(name, value),
                });
                let values = values.collect::<Result<_, _>>()?;
                Self::Row { fields, comparison, values }
            }
            Self::And(all) => Self::And(list(all)?),
            Self::Or(any) => Self::Or(list(any)?),
            Self::Not(inner) => Self::Not(Box::new(inner.bind(table)?)),
        })
    }
}
