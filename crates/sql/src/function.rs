//! Functions of values, those that SQLite has too.

use keyloom_key::{Decimal, Value};

use crate::arithmetic::{self, Number};
use crate::error::Error;
use crate::expression::Target;

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Abs,
    Instr,
    Length,
    Lower,
    Replace,
    Round,
    Substr,
    Trim,
    TrimStart,
    TrimEnd,
    Upper,
}

/// Every function: its name, and how many arguments it takes at least and at most.
const FUNCTIONS: [(&str, Function, usize, usize); 13] = [
    ("abs", Function::Abs, 1, 1),
    ("instr", Function::Instr, 2, 2),
    ("length", Function::Length, 1, 1),
    ("lower", Function::Lower, 1, 1),
    ("ltrim", Function::TrimStart, 1, 1),
    ("replace", Function::Replace, 3, 3),
    ("round", Function::Round, 1, 2),
    ("rtrim", Function::TrimEnd, 1, 1),
    ("substr", Function::Substr, 2, 3),
    ("substring", Function::Substr, 2, 3),
    ("trim", Function::Trim, 1, 1),
    ("upper", Function::Upper, 1, 1),
    ("char_length", Function::Length, 1, 1),
];

/// What can be called, for those who called something else.
pub(crate) const KNOWN: &str = "the functions are abs, coalesce, ifnull, instr, length, lower, ltrim, nullif, replace, \
    round, rtrim, substr, trim and upper, and COUNT, MIN and MAX of all rows";

impl Function {
    /// The function of this name, if it takes this many arguments.
    pub(crate) fn named(name: &str, arguments: usize) -> Option<Self> {
        let named = FUNCTIONS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
        let (_, function, least, most) = named?;
        (*least..=*most).contains(&arguments).then_some(*function)
    }

    fn name(self) -> &'static str {
        FUNCTIONS.iter().find(|(_, function, ..)| *function == self).map_or("", |(name, ..)| name)
    }

    /// Its value; null if an argument is.
    pub(crate) fn call(self, arguments: &[Value<'_>]) -> Result<Value<'static>, Error> {
        if arguments.contains(&Value::Null) {
            return Ok(Value::Null);
        }
        match (self, arguments) {
            (Self::Lower, [Value::Str(text)]) => Ok(text.to_lowercase().into()),
            (Self::Upper, [Value::Str(text)]) => Ok(text.to_uppercase().into()),
            (Self::Trim, [Value::Str(text)]) => Ok(text.trim_matches(' ').to_owned().into()),
            (Self::TrimStart, [Value::Str(text)]) => Ok(text.trim_start_matches(' ').to_owned().into()),
            (Self::TrimEnd, [Value::Str(text)]) => Ok(text.trim_end_matches(' ').to_owned().into()),
            (Self::Length, [Value::Str(text)]) => Ok(count(text.chars().count())),
            (Self::Length, [Value::Bytes(bytes)]) => Ok(count(bytes.len())),
            (Self::Replace, [Value::Str(text), Value::Str(what), Value::Str(with)]) => {
                Ok(replace(text, what, with))
            }
            (Self::Instr, [Value::Str(text), Value::Str(what)]) => {
                let before = text.find(what.as_ref()).and_then(|at| text.get(..at));
                Ok(count(before.map_or(0, |before| before.chars().count() + 1)))
            }
            (Self::Abs, [number]) => match Number::of(number) {
                Some(number) => abs(number),
                None => Err(self.wrong(arguments)),
            },
            (Self::Round, [number]) => round(number, 0).ok_or_else(|| self.wrong(arguments)),
            (Self::Round, [number, Value::Int(places)]) => {
                round(number, (*places).max(0).into()).ok_or_else(|| self.wrong(arguments))
            }
            (Self::Substr, [Value::Str(text), Value::Int(from)]) => Ok(substr(text, *from, None)),
            (Self::Substr, [Value::Str(text), Value::Int(from), Value::Int(length)]) => {
                Ok(substr(text, *from, Some(*length)))
            }
            _ => Err(self.wrong(arguments)),
        }
    }

    fn wrong(self, arguments: &[Value<'_>]) -> Error {
        let takes = match self {
            Self::Abs => "takes a number",
            Self::Round => "takes a whole number or a decimal, and how many digits: CAST a float AS DECIMAL",
            Self::Length => "takes a text or bytes",
            Self::Substr => "takes a text, where it starts and how long it is",
            _ => "takes texts",
        };
        let kinds: Vec<&str> = arguments.iter().map(Value::kind).collect();
        Error::value(format!("{}({}) {takes}", self.name(), kinds.join(", ")))
    }
}

fn count(number: usize) -> Value<'static> {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn replace(text: &str, what: &str, with: &str) -> Value<'static> {
    if what.is_empty() { text.to_owned().into() } else { text.replace(what, with).into() }
}

fn abs(number: Number) -> Result<Value<'static>, Error> {
    let absolute = match number {
        Number::Float(number) => Some(Value::Float(number.abs())),
        Number::Whole(number) => number.checked_abs().and_then(arithmetic::whole),
        Number::Decimal(number) if number < Decimal::ZERO => arithmetic::negated(number).map(Value::Decimal),
        Number::Decimal(number) => Some(Value::Decimal(number)),
    };
    absolute.ok_or_else(|| Error::value("abs: the number has more than 38 digits"))
}

fn round(number: &Value<'_>, places: i128) -> Option<Value<'static>> {
    match number {
        Value::Int(_) | Value::Uint(_) => Some(number.clone().into_owned()),
        Value::Decimal(number) => arithmetic::rounded(*number, places).map(Value::Decimal),
        _ => None,
    }
}

/// A part of a text, as SQLite counts: from 1, from the end if negative, and backward if the length is negative.
fn substr(text: &str, from: i64, length: Option<i64>) -> Value<'static> {
    let (mut from, all) = (i128::from(from), text.chars().count());
    let backward = length.is_some_and(|length| length < 0);
    let mut length = length.map_or(i128::from(i64::MAX), |length| i128::from(length).abs());
    if from < 0 {
        from += i128::try_from(all).unwrap_or(i128::MAX);
        if from < 0 {
            length = (length + from).max(0);
            from = 0;
        }
    } else if from > 0 {
        from -= 1;
    } else if length > 0 {
        length -= 1;
    }
    if backward {
        from -= length;
        if from < 0 {
            length += from;
            from = 0;
        }
    }
    let most = |number: i128| usize::try_from(number.max(0)).unwrap_or(usize::MAX);
    text.chars().skip(most(from)).take(most(length)).collect::<String>().into()
}

/// The value as another kind; null stays null.
pub(crate) fn cast(value: &Value<'_>, target: Target) -> Result<Value<'static>, Error> {
    if *value == Value::Null {
        return Ok(Value::Null);
    }
    let made = match target {
        Target::Text => text(value).map(Value::from),
        Target::Integer => match value {
            Value::Bool(value) => Some(Value::Int((*value).into())),
            Value::Str(text) => text.trim().parse::<i64>().ok().map(Value::Int),
            number => Number::of(number).and_then(integer),
        },
        Target::Double => match value {
            Value::Str(text) => {
                text.trim().parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::Float)
            }
            number => Number::of(number).map(|number| Value::Float(number.to_float())),
        },
        Target::Decimal => match value {
            Value::Str(text) => text.trim().parse::<Decimal>().ok().map(Value::Decimal),
            Value::Float(number) => number.to_string().parse().ok().map(Value::Decimal),
            Value::Decimal(_) => Some(value.clone().into_owned()),
            number => Number::of(number).and_then(|number| match number {
                Number::Whole(number) => Decimal::new(number, 0).map(Value::Decimal),
                _ => None,
            }),
        },
    };
    made.ok_or_else(|| {
        let what = text(value).map_or_else(|| value.kind().to_owned(), |text| format!("`{text}`"));
        let target = match target {
            Target::Text => "TEXT",
            Target::Integer => "INTEGER",
            Target::Double => "DOUBLE",
            Target::Decimal => "DECIMAL",
        };
        Error::value(format!("{what} cannot be CAST AS {target}"))
    })
}

fn integer(number: Number) -> Option<Value<'static>> {
    match number {
        Number::Whole(number) => arithmetic::whole(number),
        Number::Decimal(number) => arithmetic::truncated(number).and_then(arithmetic::whole),
        Number::Float(number) => {
            // The text of a whole float has no point and no exponent.
            let whole: i128 = number.trunc().to_string().parse().ok()?;
            arithmetic::whole(whole)
        }
    }
}

/// The value as text, where it has one that is read back as the same.
pub(crate) fn text(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Str(text) => Some(text.clone().into_owned()),
        Value::Int(number) => Some(number.to_string()),
        Value::Uint(number) => Some(number.to_string()),
        Value::Decimal(number) => Some(number.to_string()),
        Value::Float(number) => Some(format!("{number:?}")),
        Value::Uuid(value) => Some(value.to_string()),
        Value::Timestamp(value) => Some(value.to_string()),
        Value::Date(value) => Some(value.to_string()),
        _ => None,
    }
}
