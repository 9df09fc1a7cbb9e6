//! Values as the text of a cell and as JSON, where the schema says the type.
//!
//! What [`to_text`] and [`to_json`] write, [`from_text`] and [`from_json`] read back with the same type, exactly.

use keyloom::key::{Date, Decimal, Duration, Timestamp, Type, Uuid, Value, json};
use keyloom::schema::Kind;
use serde_json::Value as Json;

/// The value that a text says.
pub(crate) fn from_text(kind: &Kind, text: &str) -> Result<Value<'static>, String> {
    match kind {
        Kind::One(Type::Tuple(_)) | Kind::Many(_) => {
            let json = serde_json::from_str(text).map_err(|_| format!("{} is no JSON array", shown(text)))?;
            from_json(kind, &json)
        }
        Kind::One(kind) => one_from_text(kind, text),
    }
}

fn one_from_text(kind: &Type, text: &str) -> Result<Value<'static>, String> {
    let read: Option<Value<'static>> = match kind {
        Type::Bool if text.eq_ignore_ascii_case("true") => Some(true.into()),
        Type::Bool if text.eq_ignore_ascii_case("false") => Some(false.into()),
        Type::Int(_) => text.parse::<i64>().ok().map(Value::from),
        Type::Uint(_) | Type::Varint => text.parse::<u64>().ok().map(Value::from),
        Type::F32 => text.parse::<f32>().ok().map(Value::from),
        Type::F64 => text.parse::<f64>().ok().map(Value::from),
        Type::Decimal(_) => text.parse::<Decimal>().ok().map(Value::from),
        Type::Str(_) => Some(text.to_owned().into()),
        Type::Bytes => hex::decode(text).ok().map(Value::from),
        Type::Uuid => text.parse::<Uuid>().ok().map(Value::from),
        Type::Timestamp(_) => return timestamp(text).map(Value::from),
        Type::Date => date(text).map(Value::from),
        Type::Duration => duration(text).map(Value::from),
        _ => None,
    };
    read.ok_or_else(|| match kind {
        Type::Bytes => format!("{} is not hex, as bytes are written", shown(text)),
        Type::Date => format!("{} is no day: write it like 2025-01-17", shown(text)),
        _ => format!("{} is no {kind}", shown(text)),
    })
}

/// RFC 3339, in UTC where no zone is given, or a count since 1970 with its unit.
fn timestamp(text: &str) -> Result<Timestamp, String> {
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant);
    }
    if let Some(instant) = format!("{text}Z").parse::<Timestamp>().ok().filter(|_| is_without_zone(text)) {
        return Ok(instant);
    }
    let units = [("ns", 1_i128), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let counted = units.iter().find_map(|(unit, nanos)| {
        let count: i128 = text.strip_suffix(unit)?.parse().ok()?;
        Timestamp::from_total_nanos(count.checked_mul(*nanos)?).ok()
    });
    counted.ok_or_else(|| {
        format!(
            "{} is no timestamp: write it like 2025-01-17T08:00:00Z, or 1737100800s since 1970",
            shown(text)
        )
    })
}

/// Whether a text that is an instant with `Z` behind it was a local time, and not a zone cut short.
pub(crate) fn is_without_zone(text: &str) -> bool {
    text.as_bytes().last().is_some_and(u8::is_ascii_digit)
        && !text.get(10..).unwrap_or("-").contains(['+', '-'])
}

/// A day of the calendar, or days since 1970, as `12345678d`.
fn date(text: &str) -> Option<Date> {
    let counted = || text.strip_suffix('d')?.parse().ok().map(Date::from_days);
    text.parse().ok().or_else(counted)
}

/// `1h30m`, ISO 8601, or nanoseconds.
fn duration(text: &str) -> Option<Duration> {
    text.parse().ok().or_else(|| text.parse().ok().map(Duration::from_nanos))
}

/// The value as a text; null has none of its own.
pub(crate) fn to_text(value: &Value<'_>) -> String {
    match value {
        Value::Null => String::new(),
        Value::Str(text) => text.to_string(),
        other => match to_json(other) {
            Json::String(text) => text,
            json => json.to_string(),
        },
    }
}

/// The value that JSON says.
pub(crate) fn from_json(kind: &Kind, json: &Json) -> Result<Value<'static>, String> {
    match (kind, json) {
        (_, Json::Null) => Ok(Value::Null),
        (Kind::One(kind), json) => one_from_json(kind, json),
        (Kind::Many(kind), Json::Array(values)) => {
            let values = values.iter().map(|value| one_from_json(kind, value));
            Ok(Value::List(values.collect::<Result<_, _>>()?))
        }
        (Kind::Many(_), other) => Err(format!("{} is no JSON array", shown(&other.to_string()))),
    }
}

fn one_from_json(kind: &Type, json: &Json) -> Result<Value<'static>, String> {
    match (kind, json) {
        (_, Json::Null) => Ok(Value::Null),
        (Type::Bool, Json::Bool(value)) => Ok((*value).into()),
        (Type::Tuple(fields), Json::Array(values)) if values.len() <= fields.len() => {
            let values = fields.iter().zip(values).map(|(field, value)| one_from_json(&field.kind, value));
            Ok(Value::Tuple(values.collect::<Result<_, _>>()?))
        }
        (Type::F32 | Type::F64 | Type::Decimal(_), Json::Number(number)) => {
            one_from_text(kind, number.as_str())
        }
        // Other numbers become what the column is, if they are such a number.
        (Type::Int(_) | Type::Uint(_) | Type::Varint | Type::Duration, Json::Number(_)) => {
            json::plain_from_json(json).map_err(|refusal| refusal.to_string())
        }
        (Type::Bool, Json::String(_)) => Err(format!("{} is no {kind}", shown(&json.to_string()))),
        (kind, Json::String(text)) => one_from_text(kind, text),
        (kind, other) => Err(format!("{} is no {kind}", shown(&other.to_string()))),
    }
}

/// The value as JSON.
pub(crate) fn to_json(value: &Value<'_>) -> Json {
    match value {
        Value::Timestamp(instant) => match instant.to_rfc3339() {
            Some(text) => text.into(),
            None => format!("{}ns", instant.total_nanos()).into(),
        },
        Value::Date(day) => {
            let text = day.to_string();
            if text.parse::<Date>().is_ok() { text.into() } else { format!("{}d", day.days()).into() }
        }
        Value::Duration(duration) => {
            let text = duration.to_string();
            if text.parse() == Ok::<_, keyloom::key::Error>(*duration) {
                text.into()
            } else {
                duration.nanos().into()
            }
        }
        Value::Tuple(values) | Value::List(values) => Json::Array(values.iter().map(to_json).collect()),
        other => json::plain_to_json(other),
    }
}

/// A text in quotes, cut short where it is long.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or_default().escape_debug()),
        None => format!("`{}`", text.escape_debug()),
    }
}
