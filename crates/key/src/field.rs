//! What a key is made of: the type of each field, its direction, where its nulls go.
//!
//! A field has a text, so that a schema, a command line and an error all speak the same way:
//!
//! ```
//! use keyloom_key::{Field, Fields};
//! let fields: Fields = "str:nocase, timestamp(9):desc, decimal(10,2):nulls-last".parse()?;
//! assert_eq!(fields.to_string(), "str:nocase,timestamp(9):desc,decimal(10,2):nulls-last");
//! assert_eq!(fields.len(), 3);
//! # Ok::<(), keyloom_key::Error>(())
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use crate::casefold;
use crate::decimal::{Decimal, MAX_DIGITS};
use crate::error::{Error, Refusal};
use crate::native::MAX_DEPTH;
use crate::time::Precision;
use crate::value::Value;

/// The type of a field.
///
/// A format writes a type its own way and says by [`KeyFormat::promises`](crate::KeyFormat::promises) which
/// types it cannot hold. The native format writes every integer with eight bytes, whatever its declared
/// width: the width is then only a limit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Type {
    /// Only null.
    Null,
    /// True or false.
    Bool,
    /// A signed integer of this width.
    Int(Width),
    /// An unsigned integer of this width.
    Uint(Width),
    /// An unsigned integer in as few bytes as it needs (RowKey).
    Varint,
    /// A floating-point number that a 32-bit float holds exactly.
    F32,
    /// A floating-point number.
    F64,
    /// A decimal number, of any scale or of one that the text comes back with.
    Decimal(Option<Scale>),
    /// Text.
    Str(Collation),
    /// Bytes.
    Bytes,
    /// A UUID.
    Uuid,
    /// An instant.
    Timestamp(Precision),
    /// A day.
    Date,
    /// A length of time.
    Duration,
    /// A tuple of up to these fields.
    Tuple(Fields),
    /// The sentinel above every value (LexKey): a type with one value, [`Value::Null`].
    End,
}

/// How many bits an integer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// 8 bits.
    W8,
    /// 16 bits.
    W16,
    /// 24 bits (RowKey).
    W24,
    /// 32 bits.
    W32,
    /// 40 bits (RowKey).
    W40,
    /// 48 bits (RowKey).
    W48,
    /// 56 bits (RowKey).
    W56,
    /// 64 bits.
    W64,
}

impl Width {
    /// Every width, narrowest first.
    pub const ALL: [Self; 8] =
        [Self::W8, Self::W16, Self::W24, Self::W32, Self::W40, Self::W48, Self::W56, Self::W64];

    /// The number of bits.
    pub fn bits(self) -> u32 {
        match self {
            Self::W8 => 8,
            Self::W16 => 16,
            Self::W24 => 24,
            Self::W32 => 32,
            Self::W40 => 40,
            Self::W48 => 48,
            Self::W56 => 56,
            Self::W64 => 64,
        }
    }

    /// The number of bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::W8 => 1,
            Self::W16 => 2,
            Self::W24 => 3,
            Self::W32 => 4,
            Self::W40 => 5,
            Self::W48 => 6,
            Self::W56 => 7,
            Self::W64 => 8,
        }
    }

    /// Whether a signed integer of this width can be `value`.
    pub fn holds_int(self, value: i64) -> bool {
        let shift = 64 - self.bits();
        (value << shift) >> shift == value
    }

    /// Whether an unsigned integer of this width can be `value`.
    pub fn holds_uint(self, value: u64) -> bool {
        value >> (self.bits() - 1) <= 1
    }
}

/// The declared size of a decimal: `decimal(p, s)` has at most `p` digits, `s` of them after the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scale {
    precision: u32,
    scale: u32,
}

impl Scale {
    /// `decimal(precision, scale)`, if 1 ≤ `precision` ≤ 38 and `scale` ≤ `precision`.
    pub fn new(precision: u32, scale: u32) -> Option<Self> {
        (1..=MAX_DIGITS).contains(&precision).then_some(())?;
        (scale <= precision).then_some(Self { precision, scale })
    }

    /// The most digits.
    pub fn precision(self) -> u32 {
        self.precision
    }

    /// The digits after the point.
    pub fn scale(self) -> u32 {
        self.scale
    }

    /// Refuses a number that has more digits than declared.
    pub fn check(self, value: Decimal) -> Result<(), Refusal> {
        let fits = value.scaled(self.scale).is_some_and(|v| v.unsigned_abs() < 10_u128.pow(self.precision));
        if fits {
            return Ok(());
        }
        Err(Refusal::new(format!("{value} does not fit decimal({},{})", self.precision, self.scale)))
    }
}

/// When two texts are the same, and which comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Collation {
    /// By code point, which is by byte of UTF-8.
    #[default]
    Binary,
    /// By code point after [full case folding](crate::casefold): `Straße` = `STRASSE`.
    NoCase,
}

/// Which way a field runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// Small values first.
    #[default]
    Ascending,
    /// Large values first.
    Descending,
}

/// Where a nullable field's nulls go, whichever way its values run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nulls {
    /// Before every value.
    First,
    /// After every value.
    Last,
}

/// One field of a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Field {
    /// What its values are.
    pub kind: Type,
    /// Which way they run.
    pub direction: Direction,
    /// Where nulls go; `None` if the field has none.
    pub nulls: Option<Nulls>,
}

impl From<Type> for Field {
    /// An ascending field without nulls.
    fn from(kind: Type) -> Self {
        Self { kind, direction: Direction::Ascending, nulls: None }
    }
}

impl Field {
    /// The same field, large values first.
    pub fn descending(self) -> Self {
        Self { direction: Direction::Descending, ..self }
    }

    /// The same field, with nulls.
    pub fn nullable(self, nulls: Nulls) -> Self {
        Self { nulls: Some(nulls), ..self }
    }

    /// Compares two values of this field in the order that its keys must have.
    ///
    /// Values of different types, which no field has, compare as equal.
    pub fn compare(&self, a: &Value<'_>, b: &Value<'_>) -> Ordering {
        match (a, b) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) if self.nulls == Some(Nulls::Last) => Ordering::Greater,
            (_, Value::Null) if self.nulls == Some(Nulls::Last) => Ordering::Less,
            (Value::Null, _) => Ordering::Less,
            (_, Value::Null) => Ordering::Greater,
            _ if self.direction == Direction::Descending => self.kind.compare(b, a),
            _ => self.kind.compare(a, b),
        }
    }
}

impl Type {
    fn compare(&self, a: &Value<'_>, b: &Value<'_>) -> Ordering {
        match (a, b) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Uint(a), Value::Uint(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
            (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
            (Value::Str(a), Value::Str(b)) => match self {
                Self::Str(Collation::NoCase) => casefold::fold(a).cmp(casefold::fold(b)),
                _ => a.cmp(b),
            },
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
            (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
            (Value::Date(a), Value::Date(b)) => a.cmp(b),
            (Value::Duration(a), Value::Duration(b)) => a.cmp(b),
            (Value::Tuple(a), Value::Tuple(b)) => match self {
                Self::Tuple(fields) => fields.compare(a, b),
                _ => Ordering::Equal,
            },
            _ => Ordering::Equal,
        }
    }
}

/// The fields of a key, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Fields(Vec<Field>);

impl Fields {
    /// Compares two rows of values field by field; a row sorts before what extends it.
    pub fn compare(&self, a: &[Value<'_>], b: &[Value<'_>]) -> Ordering {
        let pairs = self.iter().zip(a.iter().zip(b));
        pairs
            .map(|(field, (a, b))| field.compare(a, b))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| a.len().cmp(&b.len()))
    }
}

impl Deref for Fields {
    type Target = [Field];

    fn deref(&self) -> &[Field] {
        &self.0
    }
}

impl<F: Into<Field>> FromIterator<F> for Fields {
    fn from_iter<I: IntoIterator<Item = F>>(fields: I) -> Self {
        Self(fields.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int(width) => write!(f, "i{}", width.bits()),
            Self::Uint(width) => write!(f, "u{}", width.bits()),
            Self::Varint => f.write_str("varint"),
            Self::F32 => f.write_str("f32"),
            Self::F64 => f.write_str("f64"),
            Self::Decimal(None) => f.write_str("decimal"),
            Self::Decimal(Some(scale)) => write!(f, "decimal({},{})", scale.precision, scale.scale),
            Self::Str(_) => f.write_str("str"),
            Self::Bytes => f.write_str("bytes"),
            Self::Uuid => f.write_str("uuid"),
            Self::Timestamp(Precision::Micros) => f.write_str("timestamp"),
            Self::Timestamp(precision) => write!(f, "timestamp({})", precision.digits()),
            Self::Date => f.write_str("date"),
            Self::Duration => f.write_str("duration"),
            Self::Tuple(fields) => write!(f, "tuple({fields})"),
            Self::End => f.write_str("end"),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if self.kind == Type::Str(Collation::NoCase) {
            f.write_str(":nocase")?;
        }
        if self.direction == Direction::Descending {
            f.write_str(":desc")?;
        }
        match self.nulls {
            None => Ok(()),
            Some(Nulls::First) => f.write_str(":nulls-first"),
            Some(Nulls::Last) => f.write_str(":nulls-last"),
        }
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, field) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            field.fmt(f)?;
        }
        Ok(())
    }
}

const TYPES: &str = "the types are null bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 decimal decimal(p,s) str \
                     bytes uuid timestamp timestamp(3|6|9) date duration tuple(…) varint end, and i24 i40 i48 i56";

impl FromStr for Type {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let unknown = || Error::text("type", text, TYPES);
        let (name, arguments) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => (name, Some(rest.strip_suffix(')').ok_or_else(unknown)?)),
        };
        let width = |bits: &str| Width::ALL.into_iter().find(|width| width.bits().to_string() == bits);
        Ok(match (name, arguments) {
            ("null", None) => Self::Null,
            ("bool", None) => Self::Bool,
            ("varint", None) => Self::Varint,
            ("f32", None) => Self::F32,
            ("f64", None) => Self::F64,
            ("decimal", None) => Self::Decimal(None),
            ("str", None) => Self::Str(Collation::Binary),
            ("bytes", None) => Self::Bytes,
            ("uuid", None) => Self::Uuid,
            ("timestamp", None) => Self::Timestamp(Precision::default()),
            ("date", None) => Self::Date,
            ("duration", None) => Self::Duration,
            ("end", None) => Self::End,
            ("tuple", Some(fields)) => Self::Tuple(fields.parse()?),
            ("timestamp", Some(digits)) => {
                let precision = digits.trim().parse().ok().and_then(Precision::from_digits);
                Self::Timestamp(
                    precision.ok_or_else(|| Error::text("type", text, "the precision is 3, 6 or 9"))?,
                )
            }
            ("decimal", Some(size)) => {
                let number = |text: &str| text.trim().parse().ok();
                let (precision, scale) = size.split_once(',').unwrap_or((size, "0"));
                let size = number(precision).zip(number(scale)).and_then(|(p, s)| Scale::new(p, s));
                let limits = "decimal(p,s) has 1 to 38 digits, and no more after the point than in all";
                Self::Decimal(Some(size.ok_or_else(|| Error::text("type", text, limits))?))
            }
            _ => match (text.get(..1), text.get(1..).and_then(width)) {
                (Some("i"), Some(width)) => Self::Int(width),
                (Some("u"), Some(width)) => Self::Uint(width),
                _ => return Err(unknown()),
            },
        })
    }
}

impl FromStr for Field {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // Modifiers follow the type's closing bracket, so that a tuple's own are left to it.
        let end = text.rfind(')').map_or(0, |at| at + 1);
        let colon = text.get(end..).and_then(|rest| rest.find(':')).map_or(text.len(), |at| end + at);
        let (kind, modifiers) = text.split_at(colon);
        let mut field = Self::from(kind.parse::<Type>()?);
        for modifier in modifiers.split(':').skip(1) {
            match (modifier.trim(), &field.kind) {
                ("asc", _) => field.direction = Direction::Ascending,
                ("desc", _) => field.direction = Direction::Descending,
                ("nulls-first", _) => field.nulls = Some(Nulls::First),
                ("nulls-last", _) => field.nulls = Some(Nulls::Last),
                ("nocase", Type::Str(_)) => field.kind = Type::Str(Collation::NoCase),
                ("nocase", _) => return Err(Error::text("field", text, "only str has a collation")),
                _ => {
                    let known =
                        "behind a type may stand :desc, :nulls-first, :nulls-last and, for str, :nocase";
                    return Err(Error::text("field", text, known));
                }
            }
        }
        Ok(field)
    }
}

impl FromStr for Fields {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // Split at the commas that stand in no bracket.
        let mut depth = 0_usize;
        let mut deepest = 0;
        let parts: Vec<&str> = text
            .split(|c| {
                match c {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                deepest = deepest.max(depth);
                c == ',' && depth == 0
            })
            .collect();
        // One more than tuples nest: within the innermost may stand a decimal(p,s).
        if deepest > MAX_DEPTH + 1 {
            return Err(Error::text("fields", text, format!("tuples nest at most {MAX_DEPTH} deep")));
        }
        parts.into_iter().map(str::parse::<Field>).collect()
    }
}
