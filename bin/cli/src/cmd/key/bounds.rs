//! `keyloom key bounds`: LexKey's bounds of the rows of a partition.

use clap::Args;
use keyloom::key::lexkey::{self, LexKey};
use keyloom::key::{Field, Fields, KeyFormat, Value};

use super::{lines, parts};
use crate::failure::Failure;

#[derive(Args)]
#[command(after_help = "Without an upper bound it also encloses partition U10 for U1, as LexKey has it;
`key range --format lexkey '[\"U1\"]'` does not. On standard input, both bounds of a line are on one line.

Example:
  keyloom key bounds '[\"part\", \"start\", \"end\"]'")]
pub(crate) struct Arguments {
    /// A JSON array of partition, lower and upper bound, null where there is none; without it, one a line on
    /// standard input
    parts: Option<String>,
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let bounds = |text: &str| {
        let (fields, values) = parts::parse(text)?;
        if fields.len() > 3 {
            return Err(Failure::Misuse(format!(
                "`{text}`: there are a partition, a lower and an upper bound"
            )));
        }
        let mut pieces = fields.iter().zip(&values).map(|(field, value)| piece(field, value));
        let mut next = || pieces.next().transpose().map(Option::unwrap_or_default);
        let (partition, lower, upper) = (next()?, next()?, next()?);
        let partition = (!partition.is_empty()).then_some(partition.as_slice());
        Ok(parts::bounds(&lexkey::range_bounds(partition, &lower, &upper)))
    };
    lines::answer(arguments.parts.as_deref(), bounds, lines::two)
}

/// A part alone as LexKey writes it; null is nothing.
fn piece(field: &Field, value: &Value<'_>) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    if *value != Value::Null {
        let fields: Fields = [field.clone()].into_iter().collect();
        LexKey::canonical().encode(&fields, std::slice::from_ref(value), &mut bytes)?;
    }
    Ok(bytes)
}
