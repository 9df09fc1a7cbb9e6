//! `keyloom key encode`: typed values to a key.

use clap::Args;

use super::{format, lines, parts};
use crate::failure::Failure;

#[derive(Args)]
#[command(after_help = "Examples:
  keyloom key encode '[\"U1\", {\"u64\": 7, \"desc\": true}]'
  keyloom key encode '[\"U1\", {\"timestamp\": \"2025-01-17T08:00:00Z\"}, {\"decimal\": \"19.99\"}]'
  keyloom key encode --format composite --shards 256 --pad 1=32 '[\"USR_12345\", 7]'
  keyloom key encode --format lexkey < parts.jsonl")]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: format::Options,
    #[arg(value_name = "PARTS", help = parts::PARTS_HELP)]
    parts: Option<String>,
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let format = arguments.options.format()?;
    let encode = |text: &str| {
        let (fields, values) = parts::parse(text)?;
        let mut key = Vec::new();
        format.promises(&fields)?;
        format.encode(&fields, &values, &mut key)?;
        Ok(hex::encode(key))
    };
    lines::answer(arguments.parts.as_deref(), encode, lines::one)
}
