//! `keyloom key decode`: a key to typed values.

use clap::Args;
use keyloom::key::Fields;
use keyloom::key::json::to_json;

use super::{format, lines, parts};
use crate::failure::Failure;

#[derive(Args)]
#[command(after_help = "The answer is a JSON array of parts, as `key encode` takes it.

Example:
  keyloom key decode --types str,u64:desc 55310001fffffffffffffff8")]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: format::Options,
    /// The key's fields, such as str,timestamp:desc,uuid
    #[arg(long, value_name = "TYPES")]
    types: Fields,
    /// The key in hex; without it, one a line on standard input
    hex: Option<String>,
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let format = arguments.options.format()?;
    let fields = &arguments.types;
    format.promises(fields).map_err(|error| Failure::Misuse(error.to_string()))?;
    let decode = |text: &str| {
        let key = parts::parse_hex(text)?;
        let values = format.decode(fields, &key)?;
        Ok(to_json(fields, &values).to_string())
    };
    lines::answer(arguments.hex.as_deref(), decode, lines::one)
}
