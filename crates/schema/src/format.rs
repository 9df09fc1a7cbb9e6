//! How a tree's keys are written and where they go.

use std::fmt;
use std::str::FromStr;

use keyloom_key::composite::{Composite, Delimiter, Text};
use keyloom_key::keystone::Keystone;
use keyloom_key::lexkey::LexKey;
use keyloom_key::placement::{Hash, Shards, Stripes};
use keyloom_key::rowkey::RowKey;
use keyloom_key::{Error, Fields, KeyFormat, Native, Promises, Span, Value};

/// The format of a tree's keys.
///
/// ```
/// use keyloom_schema::Format;
/// let format: Format = "composite escape delimiter=0001 pad=1:32".parse()?;
/// assert_eq!(format.to_string(), "composite escape delimiter=0001 pad=1:32");
/// # Ok::<(), keyloom_key::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Format {
    /// Keyloom's own: every type, every direction, all promises.
    #[default]
    Native,
    /// LexKey, canonical widths, strict.
    LexKey,
    /// LexKey, native widths, strict.
    LexKeyLegacy,
    /// RowKey, strict: negative integers are refused.
    RowKey,
    /// Composite keys.
    Composite(CompositeRules),
    /// KeystoneDB's partition and sort keys.
    Keystone,
}

/// How composite keys are written, as a schema says it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CompositeRules {
    delimiter: Delimiter,
    escape: bool,
    pads: Vec<(usize, u16)>,
    composite: Composite,
}

impl CompositeRules {
    fn new(delimiter: Delimiter, escape: bool, pads: Vec<(usize, u16)>) -> Self {
        let mut composite = Composite::new().delimiter(delimiter);
        if escape {
            composite = composite.escape();
        }
        for (field, width) in &pads {
            composite = composite.text(*field, Text::Pad(*width));
        }
        Self { delimiter, escape, pads, composite }
    }
}

impl Format {
    /// The bytes between a shard and the key behind it.
    pub(crate) fn after_shard(&self) -> &[u8] {
        match self {
            Self::Composite(rules) => rules.delimiter.bytes(),
            _ => &[],
        }
    }
}

macro_rules! delegate {
    ($self:ident, $format:ident => $call:expr) => {
        match $self {
            Format::Native => {
                let $format = &Native;
                $call
            }
            Format::LexKey => {
                let $format = &LexKey::canonical();
                $call
            }
            Format::LexKeyLegacy => {
                let $format = &LexKey::legacy();
                $call
            }
            Format::RowKey => {
                let $format = &RowKey::strict();
                $call
            }
            Format::Composite(rules) => {
                let $format = &rules.composite;
                $call
            }
            Format::Keystone => {
                let $format = &Keystone;
                $call
            }
        }
    };
}

impl KeyFormat for Format {
    fn name(&self) -> &'static str {
        delegate!(self, format => format.name())
    }

    fn promises(&self, fields: &Fields) -> Result<Promises, Error> {
        delegate!(self, format => format.promises(fields))
    }

    fn encode(&self, fields: &Fields, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Error> {
        delegate!(self, format => format.encode(fields, values, out))
    }

    fn decode<'a>(&self, fields: &Fields, key: &'a [u8]) -> Result<Vec<Value<'a>>, Error> {
        delegate!(self, format => format.decode(fields, key))
    }

    fn prefix(&self, fields: &Fields, values: &[Value<'_>]) -> Result<Span, Error> {
        delegate!(self, format => format.prefix(fields, values))
    }

    fn sorts_after(&self, fields: &Fields, equal: usize) -> Result<bool, Error> {
        delegate!(self, format => format.sorts_after(fields, equal))
    }

    fn not_null(&self, fields: &Fields, equal: &[Value<'_>]) -> Result<Span, Error> {
        delegate!(self, format => format.not_null(fields, equal))
    }
}

const FORMATS: &str = "the formats are native, lexkey, lexkey-legacy, rowkey, keystone and composite, the last with \
                       perhaps escape, delimiter=1f|00|ff|0001 and pad=FIELD:WIDTH";

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::LexKey => f.write_str("lexkey"),
            Self::LexKeyLegacy => f.write_str("lexkey-legacy"),
            Self::RowKey => f.write_str("rowkey"),
            Self::Keystone => f.write_str("keystone"),
            Self::Composite(rules) => {
                f.write_str("composite")?;
                if rules.escape {
                    f.write_str(" escape")?;
                }
                if rules.delimiter != Delimiter::default() {
                    f.write_str(" delimiter=")?;
                    rules.delimiter.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                }
                rules.pads.iter().try_for_each(|(field, width)| write!(f, " pad={field}:{width}"))
            }
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::Text { what: "format", text: text.to_owned(), reason: FORMATS.into() };
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        if name == "composite" {
            let (mut delimiter, mut escape, mut pads) = (Delimiter::default(), false, Vec::new());
            for word in words {
                match word.split_once('=') {
                    None if word == "escape" => escape = true,
                    Some(("delimiter", "1f")) => delimiter = Delimiter::Unit,
                    Some(("delimiter", "00")) => delimiter = Delimiter::Null,
                    Some(("delimiter", "ff")) => delimiter = Delimiter::High,
                    Some(("delimiter", "0001")) => delimiter = Delimiter::Double,
                    Some(("pad", pad)) => {
                        let (field, width) = pad.split_once(':').ok_or_else(unknown)?;
                        pads.push((
                            field.parse().map_err(|_| unknown())?,
                            width.parse().map_err(|_| unknown())?,
                        ));
                    }
                    _ => return Err(unknown()),
                }
            }
            return Ok(Self::Composite(CompositeRules::new(delimiter, escape, pads)));
        }
        let format = match name {
            "native" => Self::Native,
            "lexkey" => Self::LexKey,
            "lexkey-legacy" => Self::LexKeyLegacy,
            "rowkey" => Self::RowKey,
            "keystone" => Self::Keystone,
            _ => return Err(unknown()),
        };
        if words.next().is_some() { Err(unknown()) } else { Ok(format) }
    }
}

/// Where a tree's keys go: a hash of the first field's value, written before the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Nowhere in particular: keys lie in their own order.
    #[default]
    Ordered,
    /// In one of n shards, two bytes.
    Shards(Shards),
    /// In one of n stripes, one byte.
    Stripes(Stripes),
}

impl Placement {
    /// How many places there are.
    pub fn count(&self) -> u32 {
        match self {
            Self::Ordered => 1,
            Self::Shards(shards) => shards.count(),
            Self::Stripes(stripes) => stripes.count(),
        }
    }

    /// How many bytes a place takes.
    pub fn width(&self) -> usize {
        match self {
            Self::Ordered => 0,
            Self::Shards(_) => 2,
            Self::Stripes(_) => 1,
        }
    }

    /// The place of a value, by the bytes of it that are hashed.
    pub(crate) fn place_of(&self, hashed: &[u8]) -> u32 {
        match self {
            Self::Ordered => 0,
            Self::Shards(shards) => shards.shard_of(hashed).into(),
            Self::Stripes(stripes) => stripes.stripe_of(hashed).into(),
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ordered => f.write_str("ordered"),
            Self::Shards(shards) if shards.hash() == Hash::default() => {
                write!(f, "shards {}", shards.count())
            }
            Self::Shards(shards) => write!(f, "shards {} {}", shards.count(), shards.hash()),
            Self::Stripes(stripes) => write!(f, "stripes {}", stripes.count()),
        }
    }
}

impl FromStr for Placement {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let reason =
            "a placement is ordered, shards N (1 to 65536) and perhaps a hash, or stripes N (1 to 256)";
        let unknown = || Error::Text { what: "placement", text: text.to_owned(), reason: reason.into() };
        let words: Vec<&str> = text.split_whitespace().collect();
        let shards = |count: &str, hash| count.parse().ok().and_then(|count| Shards::new(count, hash));
        match words.as_slice() {
            ["ordered"] => Some(Self::Ordered),
            ["shards", count] => shards(count, Hash::default()).map(Self::Shards),
            ["shards", count, hash] => shards(count, hash.parse()?).map(Self::Shards),
            ["stripes", count] => count.parse().ok().and_then(Stripes::new).map(Self::Stripes),
            _ => None,
        }
        .ok_or_else(unknown)
    }
}
