//! Values of fields that no schema declares, as JSON that keeps their types.
//!
//! ```text
//! 7  1.5  "a"  true  null  […]  {…}         themselves
//! {"$u64": 7}  {"$decimal": "1.50"}         what JSON has no type for
//! {"$uuid": "…"}  {"$bytes": "00ff"}  …
//! {"$map": {"$uuid": "no uuid"}}            a map that would be taken for one of those
//! ```
//!
//! JSON from elsewhere is read as it is: an object is such a value only if it has one name, and that is one of these, and
//! what stands behind it says such a value.

use keyloom::key::{Type, Value, json};
use keyloom::schema::Kind;
use serde_json::{Map, Value as Json};

use super::values;

/// The value as JSON.
pub(crate) fn to_json(value: &Value<'_>) -> Json {
    let tagged = |kind: &str, json: Json| Json::Object(Map::from_iter([(format!("${kind}"), json)]));
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Str(_) => json::plain_to_json(value),
        // Larger ones are read as u64 already.
        Value::Uint(number) if i64::try_from(*number).is_err() => json::plain_to_json(value),
        Value::Float(number) if number.is_finite() => json::plain_to_json(value),
        Value::List(values) => Json::Array(values.iter().map(to_json).collect()),
        Value::Tuple(values) => tagged("tuple", Json::Array(values.iter().map(to_json).collect())),
        Value::Map(_) => match fields_to_json(value) {
            Json::Object(map) if tag(&map).is_some() => tagged("map", Json::Object(map)),
            json => json,
        },
        Value::Decimal(number) => tagged("decimal", number.to_string().into()),
        other => tagged(other.kind(), values::to_json(other)),
    }
}

/// A map of fields as one object, which is never taken for a value with a type, whatever the fields are named.
pub(crate) fn fields_to_json(fields: &Value<'_>) -> Json {
    let Value::Map(fields) = fields else { return to_json(fields) };
    Json::Object(fields.iter().map(|(name, value)| (name.to_string(), to_json(value))).collect())
}

/// The only name of an object, if it begins with `$`, and what stands behind it.
fn tag(map: &Map<String, Json>) -> Option<(&str, &Json)> {
    let mut entries = map.iter();
    let (name, json) = entries.next()?;
    entries.next().is_none().then_some(())?;
    Some((name.strip_prefix('$')?, json))
}

/// The value that JSON says.
pub(crate) fn from_json(json: &Json) -> Result<Value<'static>, String> {
    match json {
        Json::Array(values) => Ok(Value::List(values.iter().map(from_json).collect::<Result<_, _>>()?)),
        Json::Object(map) => match tag(map).and_then(|(name, json)| typed(name, json)) {
            Some(value) => Ok(value),
            None => entries(map),
        },
        plain => json::plain_from_json(plain).map_err(|refusal| refusal.to_string()),
    }
}

fn entries(map: &Map<String, Json>) -> Result<Value<'static>, String> {
    let entries = map.iter().map(|(name, json)| Ok((name.clone(), from_json(json)?)));
    Ok(Value::map(entries.collect::<Result<Vec<_>, String>>()?))
}

fn typed(name: &str, json: &Json) -> Option<Value<'static>> {
    let value = match (name, json) {
        ("map", Json::Object(map)) => return entries(map).ok(),
        ("tuple", Json::Array(values)) => {
            return Some(Value::Tuple(values.iter().map(from_json).collect::<Result<_, _>>().ok()?));
        }
        ("u64" | "f64" | "decimal" | "bytes" | "uuid" | "timestamp" | "date" | "duration", json) => {
            // Nanoseconds, so that every instant fits.
            let kind: Type = if name == "timestamp" { "timestamp(9)" } else { name }.parse().ok()?;
            values::from_json(&Kind::One(kind), json).ok()?
        }
        _ => return None,
    };
    Some(match value {
        Value::Int(number) if name == "u64" => Value::Uint(number.try_into().ok()?),
        Value::Int(number) if name == "duration" => {
            Value::Duration(keyloom::key::Duration::from_nanos(number))
        }
        // A null behind a type is not one of its values.
        Value::Null => return None,
        value => value,
    })
}
