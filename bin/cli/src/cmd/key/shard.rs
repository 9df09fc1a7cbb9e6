//! `keyloom key shard`: the shard that a value is in.

use clap::Args;
use keyloom::key::placement::{Hash, hashed_bytes};

use super::{format, lines, parts};
use crate::failure::Failure;

#[derive(Args)]
#[command(after_help = "Example:
  keyloom key shard --shards 256 --hash md5 USR_12345")]
pub(crate) struct Arguments {
    /// How many shards there are, up to 65536
    #[arg(long, value_name = "COUNT", default_value_t = 256)]
    shards: u32,
    /// What chooses the shard: md5, xxhash or murmur3
    #[arg(long, default_value = "md5")]
    hash: Hash,
    /// The value: text, a JSON part, or an array whose first part it is; without it, one a line on standard input
    value: Option<String>,
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let shards = format::shards(arguments.shards, Some(arguments.hash))?;
    let shard = |text: &str| {
        let (field, value) = parts::parse_value(text)?;
        let hashed = hashed_bytes(&field, &value).map_err(|refusal| refusal.at(1))?;
        Ok(shards.shard_of(&hashed).to_string())
    };
    lines::answer(arguments.value.as_deref(), shard, lines::one)
}
