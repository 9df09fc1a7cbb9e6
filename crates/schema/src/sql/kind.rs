//! The type of a column.

use keyloom_key::{Collation, Direction, Field, Fields, Nulls, Type};
use sqlparser::tokenizer::Token;

use super::reader::{Reader, wrong};
use crate::column::Kind;
use crate::error::Error;

/// How deep types may nest: more than tuples do.
const MAX_DEPTH: usize = 20;

const TYPES: &str = "the types are TEXT, BIGINT, SMALLINT, TINYINT (each perhaps UNSIGNED), i8 to i64, u8 to u64, \
                     DOUBLE, f32, DECIMAL(p,s), BOOLEAN, BYTES, UUID, TIMESTAMP(3|6|9), DATE, INTERVAL, type[] and \
                     TUPLE(…)";

pub(super) fn read(reader: &mut Reader) -> Result<Kind, Error> {
    kind(reader, 0)
}

/// The same type with the collation that is named here.
pub(super) fn collate(reader: &mut Reader, kind: Kind) -> Result<Kind, Error> {
    let collation = if reader.word("NOCASE") {
        Collation::NoCase
    } else if reader.word("BINARY") {
        Collation::Binary
    } else {
        return Err(reader.expected("a collation: NOCASE or BINARY"));
    };
    match kind {
        Kind::One(Type::Str(_)) => Ok(Kind::One(Type::Str(collation))),
        Kind::Many(Type::Str(_)) => Ok(Kind::Many(Type::Str(collation))),
        _ => Err(reader.wrong(format!("only text has a collation, and this is {kind}"))),
    }
}

fn kind(reader: &mut Reader, depth: usize) -> Result<Kind, Error> {
    if depth > MAX_DEPTH {
        return Err(reader.wrong("the type nests too deep"));
    }
    let mut kind = if reader.word("ARRAY") {
        reader.take(&Token::Lt)?;
        let element = self::kind(reader, depth + 1)?;
        reader.take(&Token::Gt)?;
        list_of(reader, element)?
    } else if reader.word("LIST") {
        reader.take(&Token::LParen)?;
        let element = self::kind(reader, depth + 1)?;
        reader.take(&Token::RParen)?;
        list_of(reader, element)?
    } else {
        Kind::One(one(reader, depth)?)
    };
    loop {
        if reader.word("COLLATE") {
            kind = collate(reader, kind)?;
        } else if reader.token(&Token::LBracket) {
            reader.take(&Token::RBracket)?;
            kind = list_of(reader, kind)?;
        } else {
            return Ok(kind);
        }
    }
}

fn list_of(reader: &Reader, element: Kind) -> Result<Kind, Error> {
    match element {
        Kind::One(element) => Ok(Kind::Many(element)),
        Kind::Many(_) => Err(reader.wrong("a list of lists cannot be declared: leave the column undeclared")),
    }
}

fn one(reader: &mut Reader, depth: usize) -> Result<Type, Error> {
    let unknown = reader.expected(&format!("a type; {TYPES}"));
    let name = reader.name("a type")?.to_ascii_lowercase();
    let native = match name.as_str() {
        "tuple" => return tuple(reader, depth),
        "text" | "varchar" | "string" | "char" => {
            if reader.token(&Token::LParen) {
                return Err(reader.wrong("a length of text is not kept: write TEXT"));
            }
            "str"
        }
        "bigint" | "integer" | "int" => {
            if reader.word("UNSIGNED") {
                "u64"
            } else {
                "i64"
            }
        }
        "smallint" => {
            if reader.word("UNSIGNED") {
                "u16"
            } else {
                "i16"
            }
        }
        "tinyint" => {
            if reader.word("UNSIGNED") {
                "u8"
            } else {
                "i8"
            }
        }
        "double" => {
            reader.word("PRECISION");
            "f64"
        }
        "float" | "real" => "f64",
        "boolean" => "bool",
        "bytea" | "blob" => "bytes",
        "interval" => "duration",
        "decimal" | "numeric" | "timestamp" | "timestamptz" => return sized(reader, &name),
        "null" | "end" => return Err(unknown),
        other => other,
    };
    native.parse().map_err(|_| unknown)
}

/// A type with a size behind it, perhaps.
fn sized(reader: &mut Reader, name: &str) -> Result<Type, Error> {
    let mut text = if name.starts_with("timestamp") { "timestamp" } else { "decimal" }.to_owned();
    let place = reader.place();
    if reader.token(&Token::LParen) {
        let size: u32 = reader.number("a number of digits")?;
        text.push_str(&format!("({size}"));
        if reader.token(&Token::Comma) {
            let scale: u32 = reader.number("a number of digits after the point")?;
            text.push_str(&format!(",{scale}"));
        }
        reader.take(&Token::RParen)?;
        text.push(')');
    }
    // A timestamp is an instant, as one with a time zone is.
    if name == "timestamp" {
        reader.words(&["WITH", "TIME", "ZONE"]);
    }
    text.parse().map_err(|error: keyloom_key::Error| wrong(place, error.to_string()))
}

fn tuple(reader: &mut Reader, depth: usize) -> Result<Type, Error> {
    if reader.empty_list() {
        return Ok(Type::Tuple(Fields::default()));
    }
    let fields = reader.list(|reader| {
        let Kind::One(kind) = kind(reader, depth + 1)? else {
            return Err(reader.wrong("a tuple has no lists"));
        };
        let mut field = Field::from(kind);
        if reader.word("DESC") {
            field.direction = Direction::Descending;
        } else {
            reader.word("ASC");
        }
        if reader.words(&["NULLS", "FIRST"]) {
            field.nulls = Some(Nulls::First);
        } else if reader.words(&["NULLS", "LAST"]) {
            field.nulls = Some(Nulls::Last);
        }
        Ok(field)
    })?;
    Ok(Type::Tuple(fields.into_iter().collect()))
}
