//! Keys as JSON: how values are written on a command line and in the published vectors.
//!
//! A key is an array of parts. A part is a value with its field's type, or a plain JSON value where that says
//! the type:
//!
//! ```text
//! ["U1", 7, {"u64": 7, "desc": true}, {"timestamp": "2025-01-17T08:00:00Z"}, {"str": null, "nulls": "last"}]
//! ```
//!
//! | JSON | type | value |
//! |---|---|---|
//! | `null` `true` `7` `7.0` `"a"` | null, bool, i64, f64, str | itself |
//! | `[…]` | tuple | parts |
//! | `{"TYPE": …}` | TYPE, as a [`Field`] is written: `u8`, `decimal(10,2)`, `str:nocase`, … | as below |
//!
//! Integers are numbers; f32 and f64 are numbers or `"NaN"`, `"Infinity"`, `"-Infinity"`; decimals are numbers
//! or text; bytes are hex; uuid and date are text; a timestamp is RFC 3339 or nanoseconds since 1970; a duration
//! is nanoseconds, or text such as `1h30m`. `"desc"` and `"nulls"` may stand beside the type.
//! What [`to_json`] gives, [`from_json`] takes, and both mean the same key.
//!
//! Within documents JSON is plain: [`plain_from_json`] and [`plain_to_json`] know no types, an array is a list, an
//! object a map.

use serde_json::{Map, Number, Value as Json};

use crate::error::{Error, Refusal};
use crate::field::{Direction, Field, Fields, Nulls, Type};
use crate::time::{Date, Duration, Timestamp};
use crate::value::Value;

/// Reads a key's fields and values from a JSON array of parts.
pub fn from_json(parts: &Json) -> Result<(Fields, Vec<Value<'static>>), Error> {
    let Json::Array(parts) = parts else {
        return Err(Error::text("key", &parts.to_string(), "not a JSON array of parts"));
    };
    from_parts(parts, Refusal::at)
}

/// Reads the values of given fields from a JSON array of plain values, such as `["U1", 7]` for `str,u64`.
pub fn values_from_json(fields: &Fields, values: &Json) -> Result<Vec<Value<'static>>, Error> {
    let Json::Array(values) = values else {
        return Err(Error::text("key", &values.to_string(), "not a JSON array of values"));
    };
    if values.len() > fields.len() {
        let (count, most) = (values.len(), fields.len());
        return Err(Refusal::new(format!("{count} values for {most} fields ({fields})")).at(most + 1));
    }
    let values = fields.iter().zip(values).enumerate();
    values
        .map(|(index, (field, value))| value_from(&field.kind, value).map_err(|r| r.at(index + 1)))
        .collect()
}

/// Writes values as a JSON array of plain values, which [`values_from_json`] reads with the same fields.
pub fn values_to_json(fields: &Fields, values: &[Value<'_>]) -> Json {
    Json::Array(fields.iter().zip(values).map(|(field, value)| value_to(&field.kind, value)).collect())
}

/// Reads a field and its value from one part.
pub fn from_part(part: &Json) -> Result<(Field, Value<'static>), Refusal> {
    match part {
        Json::Null => Ok((Field::from(Type::Null).nullable(Nulls::First), Value::Null)),
        Json::Bool(value) => Ok((Type::Bool.into(), (*value).into())),
        Json::Number(number) => {
            let kind = if number.as_str().contains(['.', 'e', 'E']) { "f64" } else { "i64" };
            let field: Field = parse(kind)?;
            let value = value_from(&field.kind, part)?;
            Ok((field, value))
        }
        Json::String(text) => Ok((parse("str")?, text.clone().into())),
        Json::Array(parts) => {
            let (fields, values) = from_parts(parts, Refusal::in_element)?;
            Ok((Type::Tuple(fields).into(), Value::Tuple(values)))
        }
        Json::Object(object) => from_object(object),
    }
}

fn from_object(object: &Map<String, Json>) -> Result<(Field, Value<'static>), Refusal> {
    let mut typed = None;
    let mut direction = None;
    let mut nulls = None;
    for (name, json) in object {
        match (name.as_str(), json) {
            ("desc", Json::Bool(true)) => direction = Some(Direction::Descending),
            ("desc", Json::Bool(false)) => direction = Some(Direction::Ascending),
            ("desc", _) => return Err(Refusal::new("\"desc\" is true or false")),
            ("nulls", Json::String(text)) if text == "first" => nulls = Some(Nulls::First),
            ("nulls", Json::String(text)) if text == "last" => nulls = Some(Nulls::Last),
            ("nulls", _) => return Err(Refusal::new("\"nulls\" is \"first\" or \"last\"")),
            _ if typed.is_some() => {
                return Err(Refusal::new(format!(
                    "`{name}` beside the type: a part is {{\"TYPE\": value}}, with \"desc\" and \"nulls\" at most"
                )));
            }
            _ => typed = Some((parse(name)?, json)),
        }
    }
    let (mut field, json) =
        typed.ok_or_else(|| Refusal::new("a part without a type: write {\"TYPE\": value}"))?;
    field.direction = direction.unwrap_or(field.direction);
    field.nulls = nulls.or(field.nulls);
    if field.kind == Type::End {
        return Ok((field, Value::Null));
    }
    if json.is_null() {
        field.nulls = field.nulls.or(Some(Nulls::First));
        return Ok((field, Value::Null));
    }
    if let (Type::Tuple(_), Json::Array(_)) = (&field.kind, json) {
        // Its parts say their types themselves.
        let (tuple, value) = from_part(json)?;
        field.kind = tuple.kind;
        return Ok((field, value));
    }
    let value = value_from(&field.kind, json)?;
    Ok((field, value))
}

fn parse(text: &str) -> Result<Field, Refusal> {
    text.parse().map_err(|error: Error| Refusal::new(error.to_string()))
}

fn value_from(kind: &Type, json: &Json) -> Result<Value<'static>, Refusal> {
    let wrong = || Refusal::new(format!("{json} is no {kind}"));
    let said = |error: Error| Refusal::new(error.to_string());
    Ok(match (kind, json) {
        (_, Json::Null) => Value::Null,
        (Type::Bool, Json::Bool(value)) => (*value).into(),
        (Type::Int(_), Json::Number(number)) => integer::<i64>(number, kind)?.into(),
        (Type::Uint(_) | Type::Varint, Json::Number(number)) => integer::<u64>(number, kind)?.into(),
        (Type::F32, Json::Number(number)) => number.as_str().parse::<f32>().map_err(|_| wrong())?.into(),
        (Type::F64, Json::Number(number)) => number.as_str().parse::<f64>().map_err(|_| wrong())?.into(),
        (Type::F32 | Type::F64, Json::String(text)) => match text.as_str() {
            "NaN" => f64::NAN.into(),
            "Infinity" => f64::INFINITY.into(),
            "-Infinity" => f64::NEG_INFINITY.into(),
            _ => return Err(wrong()),
        },
        (Type::Decimal(_), Json::Number(number)) => Value::Decimal(number.as_str().parse().map_err(said)?),
        (Type::Decimal(_), Json::String(text)) => Value::Decimal(text.parse().map_err(said)?),
        (Type::Str(_), Json::String(text)) => text.clone().into(),
        (Type::Bytes, Json::String(text)) => hex::decode(text)
            .map_err(|error| Refusal::new(format!("bytes {json} are not hex: {error}")))?
            .into(),
        (Type::Uuid, Json::String(text)) => text
            .parse::<uuid::Uuid>()
            .map_err(|error| Refusal::new(format!("{json} is no uuid: {error}")))?
            .into(),
        (Type::Timestamp(_), Json::Number(number)) => {
            Timestamp::from_total_nanos(integer(number, kind)?)?.into()
        }
        (Type::Timestamp(_), Json::String(text)) => text.parse::<Timestamp>().map_err(said)?.into(),
        (Type::Date, Json::Number(number)) => Date::from_days(integer(number, kind)?).into(),
        (Type::Date, Json::String(text)) => text.parse::<Date>().map_err(said)?.into(),
        (Type::Duration, Json::Number(number)) => Duration::from_nanos(integer(number, kind)?).into(),
        (Type::Duration, Json::String(text)) => text.parse::<Duration>().map_err(said)?.into(),
        (Type::Tuple(fields), Json::Array(_)) => Value::Tuple(values_from_json(fields, json).map_err(said)?),
        _ => return Err(wrong()),
    })
}

fn integer<T: std::str::FromStr>(number: &Number, kind: &Type) -> Result<T, Refusal> {
    let text = number.as_str();
    text.parse().map_err(|_| match (kind, text.contains(['.', 'e', 'E'])) {
        (_, true) => Refusal::new(format!("{text} is no integer, which {kind} takes")),
        (Type::Int(_), false) => {
            Refusal::new(format!("{text} does not fit {kind}: there are u64 and decimal"))
        }
        _ => Refusal::new(format!("{text} does not fit {kind}")),
    })
}

/// Writes a key's values as a JSON array of parts.
pub fn to_json(fields: &Fields, values: &[Value<'_>]) -> Json {
    Json::Array(fields.iter().zip(values).map(|(field, value)| to_part(field, value)).collect())
}

/// Writes one value as a part.
pub fn to_part(field: &Field, value: &Value<'_>) -> Json {
    let json = match (&field.kind, value) {
        (Type::Tuple(fields), Value::Tuple(values)) => to_json(fields, values),
        (kind, value) => value_to(kind, value),
    };
    let plain = field.direction == Direction::Ascending
        && match value {
            Value::Null => field.nulls == Some(Nulls::First) && field.kind == Type::Null,
            Value::Int(_) => field.nulls.is_none() && field.kind.to_string() == "i64",
            Value::Float(value) => field.nulls.is_none() && field.kind == Type::F64 && value.is_finite(),
            Value::Bool(_) | Value::Tuple(_) => field.nulls.is_none(),
            Value::Str(_) => field.nulls.is_none() && field.to_string() == "str",
            _ => false,
        };
    if plain {
        return json;
    }
    let mut kind = Field { direction: Direction::Ascending, nulls: None, ..field.clone() }.to_string();
    if let (Type::Tuple(_), Value::Tuple(_)) = (&field.kind, value) {
        kind = "tuple()".to_owned();
    }
    let mut object = Map::new();
    object.insert(kind, json);
    if field.direction == Direction::Descending {
        object.insert("desc".to_owned(), Json::Bool(true));
    }
    match field.nulls {
        None => {}
        Some(Nulls::First) => drop(object.insert("nulls".to_owned(), "first".into())),
        Some(Nulls::Last) => drop(object.insert("nulls".to_owned(), "last".into())),
    }
    Json::Object(object)
}

fn value_to(kind: &Type, value: &Value<'_>) -> Json {
    let number = |text: String| serde_json::from_str(&text).unwrap_or(Json::String(text));
    match (value, kind) {
        (Value::Null, _) => Json::Null,
        (Value::Bool(value), _) => (*value).into(),
        (Value::Int(value), _) => (*value).into(),
        (Value::Uint(value), _) => (*value).into(),
        (Value::Float(value), _) if value.is_nan() => "NaN".into(),
        (Value::Float(value), _) if value.is_infinite() => {
            if *value > 0.0 { "Infinity" } else { "-Infinity" }.into()
        }
        (Value::Float(value), _) => (*value).into(),
        (Value::Decimal(value), Type::Decimal(Some(scale))) => {
            value.with_scale(scale.scale()).unwrap_or_else(|| value.to_string()).into()
        }
        (Value::Decimal(value), _) => value.to_string().into(),
        (Value::Str(value), _) => value.as_ref().into(),
        (Value::Bytes(value), _) => hex::encode(value).into(),
        (Value::Uuid(value), _) => value.to_string().into(),
        (Value::Timestamp(value), _) => match value.to_rfc3339() {
            Some(text) => text.into(),
            None => number(value.total_nanos().to_string()),
        },
        (Value::Date(value), _) => {
            let text = value.to_string();
            if text.parse::<Date>().is_ok() { text.into() } else { value.days().into() }
        }
        (Value::Duration(value), _) => value.nanos().into(),
        (Value::Tuple(values), Type::Tuple(fields)) => values_to_json(fields, values),
        (Value::Tuple(_), _) => Json::Array(Vec::new()),
        (Value::List(_) | Value::Map(_), _) => plain_to_json(value),
    }
}

/// Reads a value of a document from plain JSON.
///
/// An array is a list, an object a map. A number is i64, else u64, if it has neither point nor exponent; f64 if an f64
/// has all its digits; else decimal. A number with more digits than a decimal keeps is refused.
pub fn plain_from_json(json: &Json) -> Result<Value<'static>, Refusal> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => plain_number(number.as_str())?,
        Json::String(text) => text.clone().into(),
        Json::Array(values) => Value::List(values.iter().map(plain_from_json).collect::<Result<_, _>>()?),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(name, json)| Ok((name.clone(), plain_from_json(json)?)));
            Value::map(entries.collect::<Result<Vec<_>, Refusal>>()?)
        }
    })
}

fn plain_number(text: &str) -> Result<Value<'static>, Refusal> {
    if let Ok(value) = text.parse::<i64>() {
        return Ok(value.into());
    }
    if let Ok(value) = text.parse::<u64>() {
        return Ok(value.into());
    }
    if text.contains(['.', 'e', 'E'])
        && let Ok(value) = text.parse::<f64>()
        && digits(text) == digits(&format!("{value:e}"))
    {
        return Ok(value.into());
    }
    let refuse = |error: Error| Refusal::new(format!("{error}: write it as a string to keep all of it"));
    Ok(Value::Decimal(text.parse().map_err(refuse)?))
}

/// The digits of a number without zeros at either end, and the power of ten of the last: equal numbers have equal ones.
fn digits(number: &str) -> Option<(String, i64)> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let mantissa = mantissa.trim_start_matches('-');
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_end_matches('0');
    let behind = i64::try_from(all.len() - digits.len()).ok()? - i64::try_from(fraction.len()).ok()?;
    let exponent = exponent.parse::<i64>().ok()?.checked_add(behind)?;
    let digits = digits.trim_start_matches('0');
    // Zero has no digits, and any exponent.
    Some((digits.to_owned(), if digits.is_empty() { 0 } else { exponent }))
}

/// Writes a value of a document as plain JSON.
///
/// What JSON has no type for becomes text, or a number, as in keys; a decimal becomes a number with all its digits.
/// [`plain_from_json`] reads that text as text: the schema's type of a field brings the value back.
pub fn plain_to_json(value: &Value<'_>) -> Json {
    match value {
        Value::Decimal(value) => {
            let text = value.to_string();
            serde_json::from_str(&text).unwrap_or(Json::String(text))
        }
        Value::Tuple(values) | Value::List(values) => Json::Array(values.iter().map(plain_to_json).collect()),
        Value::Map(entries) => Json::Object(
            entries.iter().map(|(name, value)| (name.to_string(), plain_to_json(value))).collect(),
        ),
        value => value_to(&Type::Null, value),
    }
}

/// Reads parts one after the other; `wrong` says of which one a refusal is.
fn from_parts<E>(parts: &[Json], wrong: fn(Refusal, usize) -> E) -> Result<(Fields, Vec<Value<'static>>), E> {
    let mut fields = Vec::with_capacity(parts.len());
    let mut values = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let (field, value) = from_part(part).map_err(|refusal| wrong(refusal, index + 1))?;
        fields.push(field);
        values.push(value);
    }
    Ok((fields.into_iter().collect(), values))
}
