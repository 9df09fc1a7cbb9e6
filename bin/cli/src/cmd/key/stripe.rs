//! `keyloom key stripe`: the stripe that a partition key is in.

use clap::Args;
use keyloom::key::placement::{Stripes, hashed_bytes};

use super::{lines, parts};
use crate::failure::Failure;

#[derive(Args)]
#[command(after_help = "Example:
  keyloom key stripe 'user#1'")]
pub(crate) struct Arguments {
    /// How many stripes there are
    #[arg(long, value_name = "COUNT", default_value_t = 256)]
    stripes: u32,
    /// The partition key: text, a JSON part, or an array whose first part it is; without it, one a line on
    /// standard input
    key: Option<String>,
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let count = arguments.stripes;
    let stripes = Stripes::new(count)
        .ok_or_else(|| Failure::Misuse(format!("--stripes {count}: there are 1 to 256")))?;
    let stripe = |text: &str| {
        let (field, value) = parts::parse_value(text)?;
        let hashed = hashed_bytes(&field, &value).map_err(|refusal| refusal.at(1))?;
        Ok(stripes.stripe_of(&hashed).to_string())
    };
    lines::answer(arguments.key.as_deref(), stripe, lines::one)
}
