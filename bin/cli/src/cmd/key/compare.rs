//! `keyloom key compare`: how two keys compare.

use clap::Args;

use super::{format, lines, parts};
use crate::failure::Failure;

#[derive(Args)]
#[command(after_help = "It prints -1, 0 or 1: the first key is the smaller one, the same, the greater one.

Examples:
  keyloom key compare 610001 61620001
  keyloom key compare '[\"a\", 1]' '[\"ab\", 0]'")]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: format::Options,
    /// A key: hex, or a JSON array of parts in the given format
    first: String,
    /// The key to compare it with
    second: String,
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let format = arguments.options.format()?;
    let key = |text: &str| {
        if !text.trim_start().starts_with('[') {
            return parts::parse_hex(text);
        }
        let (fields, values) = parts::parse(text)?;
        let mut key = Vec::new();
        format.encode(&fields, &values, &mut key)?;
        Ok(key)
    };
    let order = key(&arguments.first)?.cmp(&key(&arguments.second)?);
    lines::answer(Some(""), |_| Ok((order as i8).to_string()), lines::one)
}
