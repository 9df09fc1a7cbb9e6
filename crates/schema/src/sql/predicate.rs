//! Conditions: what stands behind WHERE.

use std::ops::Bound;

use keyloom_key::Value;
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator,
    Value as Sql,
};

use super::literal::{literal, place, shown};
use super::reader::wrong;
use crate::error::Error;
use crate::predicate::{Comparison, Operand, Predicate, field, row};

/// How a value is read: [`literal`], or what knows parameters too.
pub type Values<'a> = &'a dyn Fn(&Expr) -> Result<Value<'static>, Error>;

/// What a record must be like, from the expression behind WHERE.
///
/// Takes `=` `<>` `<` `<=` `>` `>=` of a field or a row of fields and values, `BETWEEN`, `IN`, `IS NULL`,
/// `LIKE 'start%'`, `begins_with(field, start)`, `within(field, '[)', lower, upper)`, `value = ANY(list)`, fields that
/// are true or false, `AND`, `OR` and `NOT`. What else there is, is refused by name.
pub fn predicate(expr: &Expr) -> Result<Predicate, Error> {
    predicate_with(expr, &literal)
}

/// The same; what fields are compared with is read by `value`.
pub fn predicate_with(expr: &Expr, value: Values<'_>) -> Result<Predicate, Error> {
    match expr {
        Expr::Nested(inner) => predicate_with(inner, value),
        Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => {
            let parts = chain(expr, op).into_iter().map(|part| predicate_with(part, value));
            let parts = parts.collect::<Result<Vec<_>, _>>()?;
            Ok(if *op == BinaryOperator::And { Predicate::And(parts) } else { Predicate::Or(parts) })
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => predicate_with(expr, value).map(Predicate::negate),
        Expr::BinaryOp { left, op, right } => comparison(expr, left, op, right, value),
        Expr::Identifier(_) => Ok(named(expr)?.eq(true)),
        Expr::Value(known) if known.value == Sql::Boolean(true) => Ok(Predicate::all()),
        Expr::Value(known) if known.value == Sql::Boolean(false) => Ok(Predicate::none()),
        Expr::IsNull(inner) => Ok(named(inner)?.is_null()),
        Expr::IsNotNull(inner) => Ok(named(inner)?.is_not_null()),
        Expr::Between { expr, negated, low, high } => {
            Ok(negate(*negated, named(expr)?.between(value(low)?, value(high)?)))
        }
        Expr::InList { expr, list, negated } => Ok(negate(*negated, one_of(expr, list, value)?)),
        Expr::Like { negated, any: false, expr: inner, pattern, escape_char } => {
            let like = like(expr, inner, pattern, escape_char.as_deref(), value)?;
            Ok(negate(*negated, like))
        }
        Expr::ILike { .. } => Err(refused(expr, "declare the column with COLLATE NOCASE and use LIKE")),
        Expr::AnyOp { left, compare_op, right, .. } => any_of(expr, left, compare_op, right, value),
        Expr::Function(function) => call(expr, function, value),
        Expr::IsTrue(_) | Expr::IsFalse(_) | Expr::IsNotTrue(_) | Expr::IsNotFalse(_) => {
            Err(refused(expr, "write = TRUE or = FALSE"))
        }
        Expr::InSubquery { .. } | Expr::Exists { .. } | Expr::Subquery(_) => {
            Err(refused(expr, "ask the inner query first and put its values into IN (…)"))
        }
        _ => Err(refused(
            expr,
            "a condition is =, <>, <, <=, >, >=, BETWEEN, IN, IS NULL, LIKE 'start%', begins_with, AND, OR or NOT",
        )),
    }
}

/// The error of something that is not supported, with what to do instead.
fn refused(expr: &Expr, remedy: &str) -> Error {
    wrong(place(expr), format!("{} is not supported: {remedy}", shown(expr)))
}

fn negate(negated: bool, predicate: Predicate) -> Predicate {
    if negated { predicate.negate() } else { predicate }
}

/// What the operator joins, as often as it stands there without brackets.
pub fn chain<'e>(expr: &'e Expr, operator: &BinaryOperator) -> Vec<&'e Expr> {
    let mut parts = Vec::new();
    let mut rest = expr;
    while let Expr::BinaryOp { left, op, right } = rest
        && op == operator
    {
        parts.push(&**right);
        rest = left;
    }
    parts.push(rest);
    parts.reverse();
    parts
}

fn bare(expr: &Expr) -> &Expr {
    let mut expr = expr;
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

fn name(expr: &Expr) -> Result<String, Error> {
    match bare(expr) {
        Expr::Identifier(name) => Ok(name.value.clone()),
        Expr::CompoundIdentifier(names) => {
            let last = names.last().map_or("", |name| name.value.as_str());
            Err(refused(expr, &format!("there is one table, so write {last}")))
        }
        _ => Err(refused(expr, "only fields can be compared with values, no expressions")),
    }
}

fn named(expr: &Expr) -> Result<Operand, Error> {
    name(expr).map(field)
}

fn comparison(
    whole: &Expr,
    left: &Expr,
    op: &BinaryOperator,
    right: &Expr,
    value: Values<'_>,
) -> Result<Predicate, Error> {
    let flipped = match op {
        BinaryOperator::Eq => BinaryOperator::Eq,
        BinaryOperator::NotEq => BinaryOperator::NotEq,
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        _ => return Err(refused(whole, "a field is compared by =, <>, <, <=, > or >=")),
    };
    let (left, right) = (bare(left), bare(right));
    match (left, right) {
        (Expr::Tuple(fields), Expr::Tuple(values)) if names_fields(fields) => {
            rows(whole, fields, op, values, value)
        }
        (Expr::Tuple(values), Expr::Tuple(fields)) => rows(whole, fields, &flipped, values, value),
        (Expr::Identifier(_) | Expr::CompoundIdentifier(_), _) => compare(named(left)?, op, value(right)?),
        (_, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) => {
            compare(named(right)?, &flipped, value(left)?)
        }
        _ => Err(refused(whole, "only fields can be compared with values, no expressions")),
    }
}

fn compare(field: Operand, op: &BinaryOperator, value: Value<'static>) -> Result<Predicate, Error> {
    Ok(match op {
        BinaryOperator::NotEq => field.ne(value),
        BinaryOperator::Lt => field.lt(value),
        BinaryOperator::LtEq => field.le(value),
        BinaryOperator::Gt => field.gt(value),
        BinaryOperator::GtEq => field.ge(value),
        _ => field.eq(value),
    })
}

fn names_fields(row: &[Expr]) -> bool {
    row.iter().all(|expr| matches!(bare(expr), Expr::Identifier(_) | Expr::CompoundIdentifier(_)))
}

fn rows(
    whole: &Expr,
    fields: &[Expr],
    op: &BinaryOperator,
    values: &[Expr],
    value: Values<'_>,
) -> Result<Predicate, Error> {
    if fields.len() != values.len() {
        let reason = format!("{} fields are compared with {} values", fields.len(), values.len());
        return Err(wrong(place(whole), reason));
    }
    let comparison = match op {
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessOrEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterOrEqual,
        _ => {
            let equal = fields.iter().zip(values).map(|(field, one)| Ok(named(field)?.eq(value(one)?)));
            let equal = Predicate::And(equal.collect::<Result<_, Error>>()?);
            return Ok(negate(*op == BinaryOperator::NotEq, equal));
        }
    };
    let fields = fields.iter().map(name).collect::<Result<Vec<_>, _>>()?;
    let values = values.iter().map(value).collect::<Result<Vec<_>, _>>()?;
    Ok(row(fields).compare(comparison, values))
}

fn one_of(field: &Expr, list: &[Expr], value: Values<'_>) -> Result<Predicate, Error> {
    let Expr::Tuple(fields) = bare(field) else {
        let values = list.iter().map(value).collect::<Result<Vec<_>, _>>()?;
        return Ok(named(field)?.is_in(values));
    };
    let either = list.iter().map(|values| match bare(values) {
        Expr::Tuple(values) => rows(field, fields, &BinaryOperator::Eq, values, value),
        other => Err(refused(other, "a row is compared with rows of values")),
    });
    either.collect::<Result<_, _>>().map(Predicate::Or)
}

fn like(
    whole: &Expr,
    inner: &Expr,
    pattern: &Expr,
    escape: Option<&Expr>,
    value: Values<'_>,
) -> Result<Predicate, Error> {
    let Value::Str(pattern) = value(pattern)? else {
        return Err(refused(whole, "behind LIKE stands a text"));
    };
    let escape = match escape.map(value).transpose()? {
        None => None,
        Some(Value::Str(text)) if text.chars().count() == 1 => text.chars().next(),
        Some(_) => return Err(refused(whole, "behind ESCAPE stands one character")),
    };
    let mut start = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            letter if Some(letter) == escape => match letters.next() {
                Some(next) if next == '%' || next == '_' || Some(next) == escape => start.push(next),
                _ => return Err(refused(whole, "the character of ESCAPE stands before %, _ or itself")),
            },
            '%' if letters.as_str().is_empty() => return Ok(named(inner)?.begins_with(start)),
            '%' | '_' => return Err(refused(whole, "only LIKE 'start%' is bounded by a key")),
            other => start.push(other),
        }
    }
    Ok(named(inner)?.eq(start))
}

/// `5 = ANY(list)`: some element is 5. `field = ANY([1, 2])`: it is one of these.
fn any_of(
    whole: &Expr,
    left: &Expr,
    op: &BinaryOperator,
    right: &Expr,
    value: Values<'_>,
) -> Result<Predicate, Error> {
    let (left, right) = (bare(left), bare(right));
    if let (Expr::Array(array), BinaryOperator::Eq) = (right, op) {
        return one_of(left, &array.elem, value);
    }
    if !matches!(right, Expr::Identifier(_)) || *op == BinaryOperator::NotEq {
        return Err(refused(whole, "write value = ANY(list), or field = ANY([values])"));
    }
    comparison(whole, left, op, right, value)
}

fn call(whole: &Expr, function: &Function, value: Values<'_>) -> Result<Predicate, Error> {
    let known = "the functions are begins_with(field, start) and within(field, '[)', lower, upper)";
    let arguments = match &function.args {
        FunctionArguments::List(list) if list.duplicate_treatment.is_none() && list.clauses.is_empty() => {
            &list.args
        }
        _ => return Err(refused(whole, known)),
    };
    let plain = function.over.is_none()
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
        && function.parameters == FunctionArguments::None;
    let arguments: Option<Vec<&Expr>> = arguments
        .iter()
        .map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        })
        .collect();
    let name = function.name.to_string().to_ascii_lowercase();
    match (name.as_str(), arguments.as_deref()) {
        ("begins_with", Some([field, start])) if plain => Ok(named(field)?.begins_with(value(start)?)),
        ("within", Some([field, sides, lower, upper])) if plain => {
            let Value::Str(sides) = value(sides)? else { return Err(refused(whole, known)) };
            let bound = |end: &Expr, included: bool| -> Result<Bound<Value<'static>>, Error> {
                Ok(match value(end)? {
                    Value::Null => Bound::Unbounded,
                    value if included => Bound::Included(value),
                    value => Bound::Excluded(value),
                })
            };
            match sides.as_bytes() {
                [open @ (b'[' | b'('), close @ (b']' | b')')] => {
                    Ok(named(field)?.range(bound(lower, *open == b'[')?, bound(upper, *close == b']')?))
                }
                _ => Err(refused(whole, "the sides are '[]', '[)', '(]' or '()'")),
            }
        }
        _ => Err(refused(whole, known)),
    }
}
