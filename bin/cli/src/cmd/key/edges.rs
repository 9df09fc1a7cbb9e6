//! `keyloom key first` and `keyloom key last`: LexKey's EncodeFirst and EncodeLast.

use clap::Args;
use keyloom::key::lexkey::LexKey;

use super::{lines, parts};
use crate::failure::Failure;

#[derive(Args)]
#[command(
    after_help = "They enclose every key that begins with these bytes, \"foobar\" for \"foo\" too, and not the key
itself; `key range --format lexkey` gives the bounds of exactly these values.

Example:
  keyloom key first '[\"foo\", 42]'"
)]
pub(crate) struct Arguments {
    /// Write what would collide, too
    #[arg(long)]
    raw: bool,
    #[arg(value_name = "PARTS", help = parts::PARTS_HELP)]
    parts: Option<String>,
}

#[derive(Clone, Copy)]
pub(crate) enum Edge {
    First,
    Last,
}

pub(crate) fn run(arguments: Arguments, edge: Edge) -> Result<(), Failure> {
    let format = if arguments.raw { LexKey::canonical().raw() } else { LexKey::canonical() };
    let encode = |text: &str| {
        let (fields, values) = parts::parse(text)?;
        let mut key = Vec::new();
        match edge {
            Edge::First => format.encode_first(&fields, &values, &mut key)?,
            Edge::Last => format.encode_last(&fields, &values, &mut key)?,
        }
        Ok(hex::encode(key))
    };
    lines::answer(arguments.parts.as_deref(), encode, lines::one)
}
