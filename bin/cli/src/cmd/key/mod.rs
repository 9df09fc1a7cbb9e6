//! `keyloom key`: typed values to sorted bytes and back.

mod bounds;
mod compare;
mod decode;
mod edges;
mod encode;
mod format;
mod inspect;
mod lines;
mod parts;
mod primary;
mod range;
mod readings;
mod shard;
mod stored;
mod stripe;

use clap::Subcommand;

use crate::failure::Failure;

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Typed values to a key
    Encode(encode::Arguments),
    /// A key to typed values
    Decode(decode::Arguments),
    /// The two bounds of the keys that begin with these values
    Range(range::Arguments),
    /// What a key's bytes mean, field by field
    Inspect(inspect::Arguments),
    /// LexKey's EncodeFirst: the key, then 00
    First(edges::Arguments),
    /// LexKey's EncodeLast: the key, then ff
    Last(edges::Arguments),
    /// LexKey's primary key: a partition and a row
    Primary(primary::Arguments),
    /// LexKey's bounds of the rows of a partition
    Bounds(bounds::Arguments),
    /// The stripe that a partition key is in (KeystoneDB)
    Stripe(stripe::Arguments),
    /// The shard that a value is in (composite keys)
    Shard(shard::Arguments),
    /// How two keys compare: -1, 0 or 1
    Compare(compare::Arguments),
}

pub(crate) fn run(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Encode(arguments) => encode::run(arguments),
        Verb::Decode(arguments) => decode::run(arguments),
        Verb::Range(arguments) => range::run(arguments),
        Verb::Inspect(arguments) => inspect::run(arguments),
        Verb::First(arguments) => edges::run(arguments, edges::Edge::First),
        Verb::Last(arguments) => edges::run(arguments, edges::Edge::Last),
        Verb::Primary(arguments) => primary::run(arguments),
        Verb::Bounds(arguments) => bounds::run(arguments),
        Verb::Stripe(arguments) => stripe::run(arguments),
        Verb::Shard(arguments) => shard::run(arguments),
        Verb::Compare(arguments) => compare::run(arguments),
    }
}
