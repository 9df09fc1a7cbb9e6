//! `keyloom key range`: the two bounds of the keys that begin with some values.

use clap::Args;
use keyloom::key::{Collation, Field, Fields, Type};

use super::{format, lines, parts};
use crate::failure::Failure;

#[derive(Args)]
#[command(
    after_help = "The first bound belongs to the range, the second does not; `unbounded` stands for no end.
On standard input, both bounds of a line are on one line.

Example:
  keyloom key range '[\"U1\"]'"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: format::Options,
    #[arg(value_name = "PARTS", help = parts::PARTS_HELP)]
    parts: Option<String>,
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let format = arguments.options.format()?;
    let range = |text: &str| {
        let (fields, values) = parts::parse(text)?;
        format.promises(&fields)?;
        // The values begin longer keys: one more field follows them, of whatever type, if the format has room.
        let next = Field::from(Type::Str(Collation::Binary));
        let longer: Fields = fields.iter().cloned().chain([next]).collect();
        let fields = if format.promises(&longer).is_ok() { longer } else { fields };
        Ok(parts::bounds(&format.prefix(&fields, &values)?))
    };
    lines::answer(arguments.parts.as_deref(), range, lines::two)
}
