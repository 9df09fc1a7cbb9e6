//! A value that is written down in SQL.

use keyloom_key::{Date, Decimal, Duration, Timestamp, Uuid, Value};
use sqlparser::ast::{
    DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value as Sql,
};
use sqlparser::tokenizer::Location;

use super::reader::wrong;
use crate::error::Error;

/// The value of a literal.
///
/// Whole numbers are integers and others decimals, or floats where they are out of a decimal's range; `X'…'` is bytes;
/// `TIMESTAMP`, `DATE`, `UUID` and `INTERVAL` with a text behind are of that type; `[…]` is a list.
pub fn literal(expr: &Expr) -> Result<Value<'static>, Error> {
    let at = place(expr);
    let said = |error: keyloom_key::Error| wrong(at, error.to_string());
    match expr {
        Expr::Nested(inner) => literal(inner),
        Expr::Value(value) => match &value.value {
            Sql::Number(digits, _) => {
                number(digits).ok_or_else(|| wrong(at, format!("{digits} is no number")))
            }
            Sql::SingleQuotedString(text) => Ok(text.clone().into()),
            Sql::Boolean(value) => Ok((*value).into()),
            Sql::Null => Ok(Value::Null),
            Sql::HexStringLiteral(digits) => match hex::decode(digits) {
                Ok(bytes) => Ok(bytes.into()),
                Err(error) => Err(wrong(at, format!("X'{digits}' is no bytes: {error}"))),
            },
            Sql::Placeholder(name) => {
                Err(wrong(at, format!("{name} stands for a value, and none was given: write the value")))
            }
            other => Err(wrong(at, format!("{other} is not supported: write text in single quotes"))),
        },
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => literal(expr),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => match &**inner {
            Expr::Value(value) => match &value.value {
                Sql::Number(digits, _) => {
                    number(&format!("-{digits}")).ok_or_else(|| wrong(at, format!("-{digits} is no number")))
                }
                _ => Err(wrong(at, format!("{expr} is no number"))),
            },
            _ => Err(not_a_value(expr)),
        },
        Expr::TypedString(typed) => {
            let Some(text) = text(&typed.value.value) else { return Err(not_a_value(expr)) };
            match &typed.data_type {
                DataType::Timestamp(None, _) => text.parse::<Timestamp>().map(Value::from).map_err(said),
                DataType::Date => text.parse::<Date>().map(Value::from).map_err(said),
                DataType::Uuid => {
                    let uuid = text.parse::<Uuid>();
                    uuid.map(Value::from).map_err(|error| wrong(at, format!("`{text}` is no uuid: {error}")))
                }
                other => {
                    let known = "TIMESTAMP, DATE, UUID and INTERVAL may stand before a text";
                    Err(wrong(at, format!("{other} '{text}' is not supported: {known}")))
                }
            }
        }
        Expr::Interval(interval) => match &*interval.value {
            Expr::Value(value) if interval.leading_field.is_none() => match text(&value.value) {
                Some(text) => text.parse::<Duration>().map(Value::from).map_err(said),
                None => Err(not_a_value(expr)),
            },
            _ => Err(wrong(at, format!("{} is not supported: write it like INTERVAL '1h30m'", shown(expr)))),
        },
        Expr::Array(array) => {
            let values = array.elem.iter().map(literal).collect::<Result<_, _>>()?;
            Ok(Value::List(values))
        }
        other => Err(not_a_value(other)),
    }
}

fn not_a_value(expr: &Expr) -> Error {
    wrong(
        place(expr),
        format!("{} is no value: a field can be compared only with what is written down", shown(expr)),
    )
}

/// Where an expression begins, if that is known.
///
/// Found without going down the tree, which may be deeper than a stack.
pub fn place(expr: &Expr) -> Location {
    let mut expr = expr;
    loop {
        expr = match expr {
            Expr::Identifier(name) => return name.span.start,
            Expr::Value(value) => return value.span.start,
            Expr::TypedString(typed) => return typed.value.span.start,
            Expr::Case { case_token, .. } => return case_token.0.span.start,
            Expr::CompoundIdentifier(names) => {
                return names.first().map_or(Location::empty(), |name| name.span.start);
            }
            Expr::Function(function) => {
                let name = function.name.0.first().and_then(|part| part.as_ident());
                return name.map_or(Location::empty(), |name| name.span.start);
            }
            Expr::BinaryOp { left: inner, .. }
            | Expr::AnyOp { left: inner, .. }
            | Expr::AllOp { left: inner, .. }
            | Expr::UnaryOp { expr: inner, .. }
            | Expr::Nested(inner)
            | Expr::IsNull(inner)
            | Expr::IsNotNull(inner)
            | Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner)
            | Expr::Between { expr: inner, .. }
            | Expr::InList { expr: inner, .. }
            | Expr::InSubquery { expr: inner, .. }
            | Expr::Like { expr: inner, .. }
            | Expr::ILike { expr: inner, .. }
            | Expr::Cast { expr: inner, .. }
            | Expr::Collate { expr: inner, .. }
            | Expr::Substring { expr: inner, .. }
            | Expr::Trim { expr: inner, .. } => inner,
            Expr::Tuple(list) | Expr::Array(sqlparser::ast::Array { elem: list, .. }) => match list.first() {
                Some(first) => first,
                None => return Location::empty(),
            },
            Expr::Interval(interval) => &interval.value,
            _ => return Location::empty(),
        };
    }
}

/// The expression as SQL says it; `None` if it is of a kind that is not supported anywhere, or so deep that writing it
/// down could be too much for the stack.
pub fn expression_text(expr: &Expr) -> Option<String> {
    const DEEPEST: usize = 50;
    let mut left = vec![(expr, 0)];
    while let Some((expr, depth)) = left.pop() {
        let inner: Vec<&Expr> = match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) | Expr::TypedString(_) => {
                vec![]
            }
            Expr::BinaryOp { left, right, .. } | Expr::AnyOp { left, right, .. } => vec![left, right],
            Expr::Like { expr, pattern, .. } | Expr::ILike { expr, pattern, .. } => vec![expr, pattern],
            Expr::UnaryOp { expr, .. } | Expr::Cast { expr, .. } => vec![expr],
            Expr::Nested(inner) | Expr::IsNull(inner) | Expr::IsNotNull(inner) => vec![inner],
            Expr::IsTrue(inner) | Expr::IsFalse(inner) | Expr::IsNotTrue(inner) | Expr::IsNotFalse(inner) => {
                vec![inner]
            }
            Expr::Interval(interval) => vec![&interval.value],
            Expr::Between { expr, low, high, .. } => vec![expr, low, high],
            Expr::InList { expr, list, .. } => list.iter().chain([&**expr]).collect(),
            Expr::Tuple(list) => list.iter().collect(),
            Expr::Array(array) => array.elem.iter().collect(),
            Expr::Trim { expr, trim_what: None, trim_characters: None, .. } => vec![expr],
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let rest = substring_from.iter().chain(substring_for).map(|inner| &**inner);
                rest.chain([&**expr]).collect()
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                let ends = operand.iter().chain(else_result).map(|inner| &**inner);
                ends.chain(conditions.iter().flat_map(|branch| [&branch.condition, &branch.result])).collect()
            }
            Expr::Function(function) if function.over.is_none() && function.filter.is_none() => {
                let FunctionArguments::List(list) = &function.args else { return None };
                let arguments = list.args.iter().map(|argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(Some(expr)),
                    FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => Some(None),
                    _ => None,
                });
                arguments.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect()
            }
            _ => return None,
        };
        if depth == DEEPEST && !inner.is_empty() {
            return None;
        }
        left.extend(inner.into_iter().map(|inner| (inner, depth + 1)));
    }
    Some(expr.to_string())
}

/// The expression in quotes, cut short where it is long.
pub fn shown(expr: &Expr) -> String {
    const LONGEST: usize = 60;
    let text = match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
            return "a query in a query".to_owned();
        }
        Expr::Function(function) => expression_text(expr).unwrap_or_else(|| format!("{}(…)", function.name)),
        expr => expression_text(expr).unwrap_or_else(|| "…".to_owned()),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or_default()),
        None => format!("`{text}`"),
    }
}

fn text(value: &Sql) -> Option<&str> {
    match value {
        Sql::SingleQuotedString(text) => Some(text),
        _ => None,
    }
}

fn number(digits: &str) -> Option<Value<'static>> {
    if let Ok(number) = digits.parse::<i64>() {
        return Some(number.into());
    }
    if let Ok(number) = digits.parse::<u64>() {
        return Some(number.into());
    }
    if let Ok(number) = digits.parse::<Decimal>() {
        return Some(number.into());
    }
    digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from)
}
