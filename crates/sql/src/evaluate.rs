//! The value of an expression for a record. Three-valued, as SQL is: what is compared with null is unknown, which is null.

use std::cmp::Ordering;

use keyloom_key::{Value, casefold};
use keyloom_schema::Document;
use keyloom_table::Row;

use crate::arithmetic::{Number, Operator, calculate};
use crate::error::Error;
use crate::expression::{Comparison, Expression, Sides};
use crate::function;

/// Where an expression finds the fields that it asks for.
pub(crate) trait Scope {
    /// A field of the record; null if it has none of that name.
    fn field(&self, name: &str) -> Result<Value<'_>, Error>;

    /// A field of the record that an INSERT would have written.
    fn excluded(&self, _name: &str) -> Value<'_> {
        Value::Null
    }
}

impl Scope for Row<'_> {
    fn field(&self, name: &str) -> Result<Value<'_>, Error> {
        Ok(self.get(name)?)
    }
}

impl Scope for Document {
    fn field(&self, name: &str) -> Result<Value<'_>, Error> {
        Ok(self.get(name).map_or(Value::Null, Value::borrowed))
    }
}

/// The record that is there, and the one that an INSERT would have written.
pub(crate) struct Conflict<'a> {
    pub(crate) there: &'a Document,
    pub(crate) excluded: &'a Document,
}

impl Scope for Conflict<'_> {
    fn field(&self, name: &str) -> Result<Value<'_>, Error> {
        self.there.field(name)
    }

    fn excluded(&self, name: &str) -> Value<'_> {
        self.excluded.get(name).map_or(Value::Null, Value::borrowed)
    }
}

/// Nothing to be found: for expressions without fields.
pub(crate) struct Nothing;

impl Scope for Nothing {
    fn field(&self, _: &str) -> Result<Value<'_>, Error> {
        Ok(Value::Null)
    }
}

impl Expression {
    /// Its value.
    // What takes room on the stack is in functions of its own: this one calls itself.
    pub(crate) fn evaluate<'a, S: Scope>(&'a self, scope: &'a S) -> Result<Value<'a>, Error> {
        match self {
            Self::Constant(value) => Ok(value.borrowed()),
            Self::Field(name) => scope.field(name),
            Self::Excluded(name) => Ok(scope.excluded(name)),
            Self::Negate(inner) => calculate(Operator::Subtract, &Value::Int(0), &inner.evaluate(scope)?),
            Self::Calculate(first, rest) => calculated(first, rest, scope),
            Self::Join(list) => joined(list, scope),
            Self::Compare(comparison, sides) => compared(*comparison, sides, scope),
            Self::Between { value, ends, nocase } => between(value, ends, *nocase, scope),
            Self::In { value, list, nocase } => one_of(value, list, *nocase, scope),
            Self::IsNull(inner) => Ok(Value::Bool(inner.evaluate(scope)? == Value::Null)),
            Self::Not(inner) => Ok(known(inner.truth(scope)?.map(|truth| !truth))),
            Self::And(all) => chain(all, scope, false),
            Self::Or(any) => chain(any, scope, true),
            Self::Case { operand, branches, otherwise, nocase } => {
                case(operand.as_deref(), branches, otherwise, *nocase, scope)
            }
            Self::Coalesce(list) => first(list, scope),
            Self::NullIf(sides) => null_if(sides, scope),
            Self::Cast(inner, target) => function::cast(&inner.evaluate(scope)?, *target),
            Self::Call(function, arguments) => {
                let arguments = arguments.iter().map(|argument| argument.evaluate(scope));
                function.call(&arguments.collect::<Result<Vec<_>, _>>()?)
            }
        }
    }

    /// Whether it is true or false, or unknown.
    pub(crate) fn truth<S: Scope>(&self, scope: &S) -> Result<Option<bool>, Error> {
        match self.evaluate(scope)? {
            Value::Null => Ok(None),
            Value::Bool(truth) => Ok(Some(truth)),
            other => {
                let reason = format!("{} is neither true nor false: compare it with something", other.kind());
                Err(Error::value(reason))
            }
        }
    }
}

fn known(truth: Option<bool>) -> Value<'static> {
    truth.map_or(Value::Null, Value::Bool)
}

fn calculated<'a, S: Scope>(
    first: &'a Expression,
    rest: &'a [(Operator, Expression)],
    scope: &'a S,
) -> Result<Value<'a>, Error> {
    let mut result = first.evaluate(scope)?;
    for (operator, next) in rest {
        result = calculate(*operator, &result, &next.evaluate(scope)?)?;
    }
    Ok(result)
}

fn joined<'a, S: Scope>(list: &'a [Expression], scope: &'a S) -> Result<Value<'a>, Error> {
    let mut result = Some(String::new());
    for one in list {
        match (one.evaluate(scope)?, &mut result) {
            (Value::Null, _) => result = None,
            (value, result) => {
                let Some(text) = function::text(&value) else {
                    let reason = format!("{} cannot be joined: || takes texts and numbers", value.kind());
                    return Err(Error::value(reason));
                };
                if let Some(result) = result {
                    result.push_str(&text);
                }
            }
        }
    }
    Ok(result.map_or(Value::Null, Value::from))
}

/// How two values compare; `None` if one is null.
pub(crate) fn compare(a: &Value<'_>, b: &Value<'_>, nocase: bool) -> Result<Option<Ordering>, Error> {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => Ok(None),
        (Value::Str(a), Value::Str(b)) if nocase => Ok(Some(casefold::fold(a).cmp(casefold::fold(b)))),
        // A float beside a decimal makes it a float, as in arithmetic: 0.1 is the float that is written so.
        (Value::Float(a), Value::Decimal(b)) => Ok(a.partial_cmp(&Number::Decimal(*b).to_float())),
        (Value::Decimal(a), Value::Float(b)) => Ok(Number::Decimal(*a).to_float().partial_cmp(b)),
        (a, b) => match a.compare(b) {
            Some(ordering) => Ok(Some(ordering)),
            None => Err(Error::value(format!(
                "{} and {} cannot be compared: CAST one of them",
                a.kind(),
                b.kind()
            ))),
        },
    }
}

fn compared<'a, S: Scope>(
    comparison: Comparison,
    sides: &'a Sides,
    scope: &'a S,
) -> Result<Value<'a>, Error> {
    let [a, b] = &*sides.both;
    let ordering = compare(&a.evaluate(scope)?, &b.evaluate(scope)?, sides.nocase)?;
    Ok(known(ordering.map(|ordering| match comparison {
        Comparison::Equal => ordering.is_eq(),
        Comparison::NotEqual => ordering.is_ne(),
        Comparison::Less => ordering.is_lt(),
        Comparison::LessOrEqual => ordering.is_le(),
        Comparison::Greater => ordering.is_gt(),
        Comparison::GreaterOrEqual => ordering.is_ge(),
    })))
}

fn between<'a, S: Scope>(
    value: &'a Expression,
    ends: &'a [Expression; 2],
    nocase: bool,
    scope: &'a S,
) -> Result<Value<'a>, Error> {
    let (value, [low, high]) = (value.evaluate(scope)?, ends);
    let low = compare(&value, &low.evaluate(scope)?, nocase)?.map(Ordering::is_ge);
    let high = compare(&value, &high.evaluate(scope)?, nocase)?.map(Ordering::is_le);
    Ok(known(match (low, high) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }))
}

fn one_of<'a, S: Scope>(
    value: &'a Expression,
    list: &'a [Expression],
    nocase: bool,
    scope: &'a S,
) -> Result<Value<'a>, Error> {
    let value = value.evaluate(scope)?;
    let mut found = Some(false);
    for one in list {
        match compare(&value, &one.evaluate(scope)?, nocase)? {
            Some(Ordering::Equal) => return Ok(Value::Bool(true)),
            Some(_) => {}
            None => found = None,
        }
    }
    Ok(known(found))
}

/// What AND and OR make of a list: the one truth that decides, unknown if a null may have been it, or the other.
fn chain<'a, S: Scope>(list: &'a [Expression], scope: &'a S, decides: bool) -> Result<Value<'a>, Error> {
    let mut result = Some(!decides);
    for one in list {
        match one.truth(scope)? {
            Some(truth) if truth == decides => return Ok(Value::Bool(decides)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(known(result))
}

fn case<'a, S: Scope>(
    operand: Option<&'a Expression>,
    branches: &'a [[Expression; 2]],
    otherwise: &'a Expression,
    nocase: bool,
    scope: &'a S,
) -> Result<Value<'a>, Error> {
    let operand = operand.map(|operand| operand.evaluate(scope)).transpose()?;
    for [when, then] in branches {
        let taken = match &operand {
            None => when.truth(scope)? == Some(true),
            Some(operand) => compare(operand, &when.evaluate(scope)?, nocase)? == Some(Ordering::Equal),
        };
        if taken {
            return then.evaluate(scope);
        }
    }
    otherwise.evaluate(scope)
}

fn first<'a, S: Scope>(list: &'a [Expression], scope: &'a S) -> Result<Value<'a>, Error> {
    for one in list {
        match one.evaluate(scope)? {
            Value::Null => {}
            value => return Ok(value),
        }
    }
    Ok(Value::Null)
}

fn null_if<'a, S: Scope>(sides: &'a Sides, scope: &'a S) -> Result<Value<'a>, Error> {
    let [a, b] = &*sides.both;
    let a = a.evaluate(scope)?;
    let equal = compare(&a, &b.evaluate(scope)?, sides.nocase)? == Some(Ordering::Equal);
    Ok(if equal { Value::Null } else { a })
}
