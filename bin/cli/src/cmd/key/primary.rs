//! `keyloom key primary`: LexKey's primary key of a partition and a row.

use clap::Args;
use keyloom::key::KeyFormat;
use keyloom::key::lexkey::{self, LexKey};
use serde_json::{Value as Json, json};

use super::{lines, parts};
use crate::failure::Failure;

#[derive(Args)]
#[command(after_help = "Examples:
  keyloom key primary '[\"partition\", \"row\"]'
  keyloom key primary --decode 706172746974696f6e00726f77")]
pub(crate) struct Arguments {
    /// Read a primary key: what stands before its first 00, and what behind it
    #[arg(long)]
    decode: bool,
    /// A JSON array of partition and row, or with --decode a key in hex; without it, one a line on standard input
    #[arg(value_name = "PARTS|HEX")]
    input: Option<String>,
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let answer = if arguments.decode { decode } else { encode };
    lines::answer(arguments.input.as_deref(), answer, lines::one)
}

fn encode(text: &str) -> Result<String, Failure> {
    let (fields, values) = parts::parse(text)?;
    if fields.len() != 2 {
        return Err(Failure::Misuse(format!("`{text}`: a primary key has two parts, a partition and a row")));
    }
    let mut key = Vec::new();
    LexKey::canonical().encode(&fields, &values, &mut key)?;
    Ok(hex::encode(key))
}

fn decode(text: &str) -> Result<String, Failure> {
    let key = parts::parse_hex(text)?;
    let (partition, row) = lexkey::decode_primary_key(&key)?;
    Ok(Json::Array(vec![part(partition), part(row)]).to_string())
}

/// Text where it is text, hex where it is not.
fn part(bytes: &[u8]) -> Json {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({"bytes": hex::encode(bytes)}),
    }
}
