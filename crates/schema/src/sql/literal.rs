//! A value that is written down in SQL.

use keyloom_key::{Date, Decimal, Duration, Timestamp, Uuid, Value};
use sqlparser::ast::{DataType, Expr, Spanned, UnaryOperator, Value as Sql};

use super::reader::wrong;
use crate::error::Error;

/// The value of a literal.
///
/// Whole numbers are integers and others decimals, or floats where they are out of a decimal's range; `X'…'` is bytes;
/// `TIMESTAMP`, `DATE`, `UUID` and `INTERVAL` with a text behind are of that type; `[…]` is a list.
pub fn literal(expr: &Expr) -> Result<Value<'static>, Error> {
    let at = expr.span().start;
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
            _ => Err(wrong(at, format!("{expr} is not supported: write it like INTERVAL '1h30m'"))),
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
        expr.span().start,
        format!("{} is no value: a field can be compared only with what is written down", shown(expr)),
    )
}

/// The expression, cut short where it is long.
pub(super) fn shown(expr: &Expr) -> String {
    const LONGEST: usize = 60;
    let text = expr.to_string();
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
