//! COUNT, MIN and MAX: one row of all records.

use std::cmp::Ordering;

use keyloom_key::Value;
use keyloom_plan::Query;
use keyloom_schema::field;
use keyloom_schema::sql::sqlparser;
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments};

use crate::context::{Context, plain_call};
use crate::error::Error;
use crate::evaluate::{Scope, compare};
use crate::expression::Expression;

/// What is found out of all records.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Aggregate {
    /// How many there are.
    Count,
    /// For how many this is not null.
    CountOf(Expression),
    /// The smallest value, or the greatest.
    Extreme { of: Expression, greatest: bool, nocase: bool },
}

/// What is known of the records so far.
#[derive(Debug)]
pub(crate) enum Tally {
    Count(i64),
    Extreme(Value<'static>),
}

impl Tally {
    pub(crate) fn into_value(self) -> Value<'static> {
        match self {
            Self::Count(count) => Value::Int(count),
            Self::Extreme(value) => value,
        }
    }
}

impl Aggregate {
    /// The aggregate, if the expression is one.
    pub(crate) fn read(context: Context<'_>, expr: &Expr) -> Result<Option<Self>, Error> {
        if is_count_all(expr) {
            return Ok(Some(Self::Count));
        }
        let Some((name, arguments)) = plain_call(expr) else { return Ok(None) };
        let ([argument], "count" | "min" | "max") = (arguments.as_slice(), name.as_str()) else {
            return Ok(None);
        };
        let of = context.expression(argument)?;
        if name == "count" {
            return Ok(Some(Self::CountOf(of)));
        }
        let nocase = context.is_nocase(&of);
        Ok(Some(Self::Extreme { of, greatest: name == "max", nocase }))
    }

    /// Appends the names of the columns that it asks for.
    pub(crate) fn fields<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Count => {}
            Self::CountOf(of) | Self::Extreme { of, .. } => of.fields(names),
        }
    }

    pub(crate) fn start(&self) -> Tally {
        match self {
            Self::Count | Self::CountOf(_) => Tally::Count(0),
            Self::Extreme { .. } => Tally::Extreme(Value::Null),
        }
    }

    /// Takes in a record.
    pub(crate) fn add<S: Scope>(&self, scope: &S, tally: &mut Tally) -> Result<(), Error> {
        match (self, tally) {
            (Self::Count, Tally::Count(count)) => *count += 1,
            (Self::CountOf(of), Tally::Count(count)) => {
                *count += i64::from(of.evaluate(scope)? != Value::Null)
            }
            (Self::Extreme { of, greatest, nocase }, Tally::Extreme(best)) => {
                let value = of.evaluate(scope)?;
                let wanted = if *greatest { Ordering::Greater } else { Ordering::Less };
                let better = match &*best {
                    Value::Null => value != Value::Null,
                    best => compare(&value, best, *nocase)? == Some(wanted),
                };
                if better {
                    *best = value.into_owned();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The query whose first record has the answer, if the aggregate is the end of a column's order.
    pub(crate) fn end_of_order(&self, query: &Query) -> Option<Query> {
        let Self::Extreme { of: Expression::Field(name), greatest, .. } = self else { return None };
        let query = query.clone().filter(field(name).is_not_null()).limit(1).select([name.as_str()]);
        Some(if *greatest { query.order_by_desc(name) } else { query.order_by(name) })
    }
}

/// Whether it is `COUNT(*)`.
fn is_count_all(expr: &Expr) -> bool {
    let Expr::Function(function) = expr else { return false };
    let FunctionArguments::List(list) = &function.args else { return false };
    function.name.to_string().eq_ignore_ascii_case("count")
        && function.over.is_none()
        && function.filter.is_none()
        && list.duplicate_treatment.is_none()
        && list.clauses.is_empty()
        && matches!(list.args.as_slice(), [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)])
}
