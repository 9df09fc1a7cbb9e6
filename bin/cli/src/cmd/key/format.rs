//! `--format` and the options that belong to one format.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use keyloom::key::composite::{Composite, Delimiter};
use keyloom::key::keystone::Keystone;
use keyloom::key::lexkey::LexKey;
use keyloom::key::placement::{Hash, Shards};
use keyloom::key::rowkey::RowKey;
use keyloom::key::{KeyFormat, Native};

use crate::failure::Failure;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Keyloom's own
    Native,
    /// LexKey, numbers widened to eight bytes
    Lexkey,
    /// LexKey, numbers in their own width
    LexkeyLegacy,
    /// RowKey
    Rowkey,
    /// Composite keys with a delimiter
    Composite,
    /// KeystoneDB's partition and sort key
    Keystone,
}

#[derive(Clone, Copy, ValueEnum)]
enum DelimiterName {
    #[value(name = "00", aliases = ["0x00", "null", "null_byte", "NULL_BYTE"])]
    Null,
    #[value(name = "1f", aliases = ["1F", "0x1f", "0x1F", "unit", "unit_separator", "UNIT_SEPARATOR"])]
    Unit,
    #[value(name = "ff", aliases = ["FF", "0xff", "0xFF", "high", "high_byte", "HIGH_BYTE"])]
    High,
    #[value(name = "0001", aliases = ["0x0001", "0x00_01", "double", "double_byte", "DOUBLE_BYTE"])]
    Double,
}

#[derive(Args)]
pub(crate) struct Options {
    /// The key format [default: native]
    #[arg(long, value_enum)]
    format: Option<Name>,
    /// LexKey: write what would collide, too
    #[arg(long)]
    raw: bool,
    /// Composite: what stands between fields; also null, unit, high, double
    #[arg(long, value_enum)]
    delimiter: Option<DelimiterName>,
    /// Composite: escape what would meet the delimiter
    #[arg(long)]
    escape: bool,
    /// Composite: pad text field N (counted from 1, or from 0 if a 0 is among them) to so many bytes
    #[arg(long, value_name = "N=BYTES")]
    pad: Vec<String>,
    /// Composite: the digits after the point of decimal field N
    #[arg(long, value_name = "N=DIGITS")]
    scale: Vec<String>,
    /// Composite: begin with the shard of the first field, out of this many
    #[arg(long, value_name = "COUNT")]
    shards: Option<u32>,
    /// Composite: what chooses the shard: md5, xxhash or murmur3
    #[arg(long, requires = "shards")]
    hash: Option<Hash>,
}

impl Options {
    /// Whether one was asked for.
    pub(crate) fn is_chosen(&self) -> bool {
        self.format.is_some()
    }

    /// The format with its options.
    pub(crate) fn format(&self) -> Result<Box<dyn KeyFormat>, Failure> {
        let name = self.format.unwrap_or(Name::Native);
        let lexkey = matches!(name, Name::Lexkey | Name::LexkeyLegacy);
        if self.raw && !lexkey {
            return Err(Failure::Misuse("--raw is for --format lexkey and lexkey-legacy".to_owned()));
        }
        let composite = [
            ("--delimiter", self.delimiter.is_some()),
            ("--escape", self.escape),
            ("--pad", !self.pad.is_empty()),
            ("--scale", !self.scale.is_empty()),
            ("--shards", self.shards.is_some()),
        ];
        if let (false, Some((option, _))) =
            (name == Name::Composite, composite.iter().find(|(_, given)| *given))
        {
            return Err(Failure::Misuse(format!("{option} is for --format composite")));
        }
        let raw = |format: LexKey| if self.raw { format.raw() } else { format };
        Ok(match name {
            Name::Native => Box::new(Native),
            Name::Lexkey => Box::new(raw(LexKey::canonical())),
            Name::LexkeyLegacy => Box::new(raw(LexKey::legacy())),
            Name::Rowkey => Box::new(RowKey::exact()),
            Name::Composite => Box::new(self.composite()?),
            Name::Keystone => Box::new(Keystone),
        })
    }

    fn composite(&self) -> Result<Composite, Failure> {
        let mut composite = Composite::default();
        if let Some(delimiter) = self.delimiter {
            composite = composite.delimiter(match delimiter {
                DelimiterName::Null => Delimiter::Null,
                DelimiterName::Unit => Delimiter::Unit,
                DelimiterName::High => Delimiter::High,
                DelimiterName::Double => Delimiter::Double,
            });
        }
        if self.escape {
            composite = composite.escape();
        }
        let pads = numbered::<u16>("--pad", &self.pad)?;
        let scales = numbered::<u32>("--scale", &self.scale)?;
        let mut numbers = pads.iter().map(|(field, _)| field).chain(scales.iter().map(|(field, _)| field));
        let first = usize::from(!numbers.any(|field| *field == 0));
        for (field, bytes) in pads {
            composite = composite.pad(field + 1 - first, bytes);
        }
        for (field, digits) in scales {
            composite = composite.scale(field + 1 - first, digits);
        }
        if let Some(count) = self.shards {
            composite = composite.shards(shards(count, self.hash)?);
        }
        Ok(composite)
    }
}

/// So many shards, chosen by this hash or MD5.
pub(crate) fn shards(count: u32, hash: Option<Hash>) -> Result<Shards, Failure> {
    Shards::new(count, hash.unwrap_or(Hash::Md5))
        .ok_or_else(|| Failure::Misuse(format!("--shards {count}: there are 1 to 65536")))
}

/// Options of the form N=M.
fn numbered<T: FromStr>(option: &str, texts: &[String]) -> Result<Vec<(usize, T)>, Failure> {
    let parse = |text: &String| {
        let (field, number) = text.split_once('=')?;
        Some((field.parse().ok()?, number.parse().ok()?))
    };
    texts
        .iter()
        .map(|text| {
            parse(text)
                .ok_or_else(|| Failure::Misuse(format!("{option} {text}: write it like {option} 1=32")))
        })
        .collect()
}
