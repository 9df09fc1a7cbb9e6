//! Reading what keys are given as: JSON parts, plain text, hex.

use keyloom::key::json::{from_json, from_part};
use keyloom::key::{Field, Fields, Span, Value};
use serde_json::Value as Json;

use crate::failure::Failure;

/// Help for every PARTS argument.
pub(crate) const PARTS_HELP: &str = "\
A JSON array of parts; without it, one array a line on standard input.

A part is {\"TYPE\": value}, TYPE one of null bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 str bytes(hex) uuid \
timestamp(ns or RFC 3339) date duration(ns) decimal varint end, also decimal(p,s), timestamp(3|6|9), str:nocase. \
Beside it may stand \"desc\": true and \"nulls\": \"first\"|\"last\" (native). Plain JSON null, bool, integer, \
number, string and array stand for null, bool, i64, f64, str and tuple.";

/// A key's fields and values from a JSON array of parts.
pub(crate) fn parse(text: &str) -> Result<(Fields, Vec<Value<'static>>), Failure> {
    match serde_json::from_str(text) {
        Ok(parts @ Json::Array(_)) => Ok(from_json(&parts)?),
        Ok(_) => Err(Failure::Misuse(format!("`{text}` is not a JSON array of parts, such as [\"U1\", 7]"))),
        Err(error) => Err(Failure::Misuse(format!("`{text}` is not a JSON array of parts: {error}"))),
    }
}

/// One value: a JSON part, the first of an array of them, or else the text as it stands.
pub(crate) fn parse_value(text: &str) -> Result<(Field, Value<'static>), Failure> {
    if !text.starts_with(['[', '{', '"']) {
        return Ok((from_part(&Json::String(String::new())).map_err(|r| r.at(1))?.0, text.to_owned().into()));
    }
    let json: Json = serde_json::from_str(text)
        .map_err(|error| Failure::Misuse(format!("`{text}` is not JSON: {error}")))?;
    let part = match &json {
        Json::Array(parts) => {
            parts.first().ok_or_else(|| Failure::Misuse("an empty array has no first part".to_owned()))?
        }
        part => part,
    };
    Ok(from_part(part).map_err(|refusal| refusal.at(1))?)
}

/// Bytes from hex.
pub(crate) fn parse_hex(text: &str) -> Result<Vec<u8>, Failure> {
    hex::decode(text.trim()).map_err(|error| Failure::Misuse(format!("`{text}` is not hex: {error}")))
}

/// The two bounds of a span as hex; a span without an end says `unbounded`.
pub(crate) fn bounds(span: &Span) -> (String, String) {
    (hex::encode(&span.start), span.end.as_ref().map_or("unbounded".to_owned(), hex::encode))
}
