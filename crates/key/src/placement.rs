//! Which shard or stripe a key goes to: a hash of its first field, modulo a count.
//!
//! ```text
//! shard    "USR_12345"  MD5, 256 shards    16   two bytes before the key   │00│10│
//! stripe   "user#1"     CRC-32, 256       154   a number beside the key
//! ```
//!
//! One rule says which bytes of a value are hashed, whatever the format of its key:
//!
//! | value | hashed |
//! |---|---|
//! | null | no bytes |
//! | str | its UTF-8, [case-folded](crate::casefold) under `nocase`; neither escaped, padded nor ended |
//! | bytes | themselves |
//! | varint | as a u64 |
//! | any other | what the [native format](crate::native) writes in an ascending field without nulls |
//!
//! So a value keeps its place when the field turns round, becomes nullable or is declared wider.
//!
//! ```
//! use keyloom_key::placement::{Hash, Shards, Stripes};
//! let shards = Shards::new(256, Hash::Md5).unwrap();
//! assert_eq!(shards.shard_of(b"USR_12345"), 16);
//! assert_eq!(shards.prefix(b"USR_12345"), [0x00, 0x10]);
//! assert_eq!(Stripes::default().stripe_of(b"user#1"), 154);
//! ```

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use md5::{Digest, Md5};
use twox_hash::XxHash64;

use crate::casefold;
use crate::error::{Error, Refusal};
use crate::field::{Collation, Field, Fields, Type};
use crate::format::KeyFormat;
use crate::native::{self, Native};
use crate::numbers;
use crate::value::Value;

/// A hash that spreads keys. It is part of the key format: another one sends keys elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Hash {
    /// The first eight bytes of MD5, big-endian. For spreading only: it protects nothing.
    #[default]
    Md5,
    /// XXH64 with seed 0.
    XxHash,
    /// The first half of `MurmurHash3_x64_128` with seed 0.
    Murmur3,
}

impl Hash {
    /// Every hash.
    pub const ALL: [Self; 3] = [Self::Md5, Self::XxHash, Self::Murmur3];

    /// The hash of these bytes.
    pub fn of(self, bytes: &[u8]) -> u64 {
        match self {
            Self::Md5 => {
                let digest: [u8; 16] = Md5::digest(bytes).into();
                let [first @ .., _, _, _, _, _, _, _, _] = digest;
                u64::from_be_bytes(first)
            }
            Self::XxHash => XxHash64::oneshot(0, bytes),
            Self::Murmur3 => {
                // Reading from memory cannot fail.
                let both = murmur3::murmur3_x64_128(&mut &*bytes, 0).unwrap_or_default();
                let [_, _, _, _, _, _, _, _, first @ ..] = both.to_be_bytes();
                u64::from_be_bytes(first)
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::XxHash => "xxhash",
            Self::Murmur3 => "murmur3",
        }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Hash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|hash| hash.name() == text.trim());
        known.ok_or_else(|| Error::text("hash", text, "the hashes are md5, xxhash and murmur3"))
    }
}

/// How many shards there are and which hash chooses one.
///
/// A shard is the two bytes that a key starts with, so that keys which follow one another in time do not all
/// go to the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shards {
    count: u32,
    hash: Hash,
}

impl Shards {
    /// The most shards that two bytes can number.
    pub const MAX: u32 = 65_536;

    /// `count` shards, if that is 1 to 65,536.
    pub fn new(count: u32, hash: Hash) -> Option<Self> {
        (1..=Self::MAX).contains(&count).then_some(Self { count, hash })
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The hash that chooses.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// The shard of these bytes, from 0.
    ///
    /// [`hashed_bytes`] says which bytes a value has.
    pub fn shard_of(&self, bytes: &[u8]) -> u16 {
        u16::from_be_bytes(self.prefix(bytes))
    }

    /// The shard of these bytes as the two bytes that its keys start with.
    pub fn prefix(&self, bytes: &[u8]) -> [u8; 2] {
        // Below 65,536, so the last two bytes are all of it.
        let [_, _, _, _, _, _, prefix @ ..] = (self.hash.of(bytes) % u64::from(self.count)).to_be_bytes();
        prefix
    }
}

/// How many stripes a KeystoneDB table has: 256, or fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stripes {
    count: u32,
}

impl Stripes {
    /// The most stripes that one byte can number.
    pub const MAX: u32 = 256;

    /// `count` stripes, if that is 1 to 256.
    pub fn new(count: u32) -> Option<Self> {
        (1..=Self::MAX).contains(&count).then_some(Self { count })
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The stripe of a partition key, from 0: its CRC-32 modulo the count.
    pub fn stripe_of(&self, partition_key: &[u8]) -> u8 {
        // Below 256, so the last byte is all of it.
        let [_, _, _, stripe] = (crc32fast::hash(partition_key) % self.count).to_be_bytes();
        stripe
    }
}

impl Default for Stripes {
    fn default() -> Self {
        Self { count: Self::MAX }
    }
}

/// The bytes of a value that are hashed. See [`hashed_bytes`].
#[derive(Debug, Clone)]
pub struct HashedBytes<'a>(Bytes<'a>);

#[derive(Debug, Clone)]
enum Bytes<'a> {
    Borrowed(&'a [u8]),
    Inline([u8; INLINE], usize),
    Owned(Vec<u8>),
}

/// The longest of the types that are kept without an allocation is the decimal.
const INLINE: usize = native::decimal::MAX_BYTES;

impl Deref for HashedBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Inline(bytes, count) => bytes.get(..*count).unwrap_or_default(),
            Bytes::Owned(bytes) => bytes,
        }
    }
}

impl<'a> HashedBytes<'a> {
    fn borrowed(bytes: &'a [u8]) -> Self {
        Self(Bytes::Borrowed(bytes))
    }

    fn inline<const N: usize>(bytes: [u8; N]) -> Self {
        const { assert!(N <= INLINE) };
        let mut inline = [0; INLINE];
        inline.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        Self(Bytes::Inline(inline, N))
    }

    fn int(value: i64) -> Self {
        Self::inline(numbers::int(value))
    }
}

/// The bytes that are hashed to place a value of this field. The [module](self) has the table.
///
/// A value that the field cannot hold is refused. Only case-folded text and tuples allocate.
///
/// ```
/// use keyloom_key::placement::hashed_bytes;
/// use keyloom_key::{Field, Refusal};
/// let number: Field = "i16:desc".parse().unwrap();
/// assert_eq!(*hashed_bytes(&number, &1_i16.into())?, [0x80, 0, 0, 0, 0, 0, 0, 1]);
/// let name: Field = "str:nocase".parse().unwrap();
/// assert_eq!(*hashed_bytes(&name, &"Straße".into())?, *b"strasse");
/// # Ok::<(), Refusal>(())
/// ```
pub fn hashed_bytes<'a>(field: &Field, value: &'a Value<'_>) -> Result<HashedBytes<'a>, Refusal> {
    let kind = &field.kind;
    Ok(match (kind, value) {
        (Type::End, Value::Null) => HashedBytes::borrowed(&[]),
        (_, Value::Null) if field.nulls.is_some() => HashedBytes::borrowed(&[]),
        (_, Value::Null) => return Err(Refusal::new("null, but the field is not nullable")),
        (Type::Str(Collation::Binary), Value::Str(text)) => HashedBytes::borrowed(text.as_bytes()),
        (Type::Str(Collation::NoCase), Value::Str(text)) => {
            HashedBytes(Bytes::Owned(casefold::fold(text).collect::<String>().into_bytes()))
        }
        (Type::Bytes, Value::Bytes(bytes)) => HashedBytes::borrowed(bytes),
        (Type::Bool, Value::Bool(value)) => HashedBytes::inline([u8::from(*value)]),
        (Type::Int(width), Value::Int(value)) if width.holds_int(*value) => HashedBytes::int(*value),
        (Type::Int(_), Value::Int(value)) => return Err(does_not_fit(value, kind)),
        (Type::Uint(width), Value::Uint(value)) if !width.holds_uint(*value) => {
            return Err(does_not_fit(value, kind));
        }
        (Type::Uint(_) | Type::Varint, Value::Uint(value)) => HashedBytes::inline(value.to_be_bytes()),
        (Type::F64, Value::Float(value)) => HashedBytes::inline(numbers::float(*value)?),
        (Type::F32, Value::Float(value)) => {
            let value = f64::from(numbers::narrow_float(*value)?);
            HashedBytes::inline(numbers::float(value)?)
        }
        (Type::Decimal(scale), Value::Decimal(value)) => {
            scale.map_or(Ok(()), |scale| scale.check(*value))?;
            let (bytes, count) = native::decimal::encode(*value);
            HashedBytes(Bytes::Inline(bytes, count))
        }
        (Type::Uuid, Value::Uuid(value)) => HashedBytes::inline(value.into_bytes()),
        (Type::Timestamp(precision), Value::Timestamp(value)) => HashedBytes::int(value.count(*precision)?),
        (Type::Duration, Value::Duration(value)) => HashedBytes::int(value.nanos()),
        (Type::Date, Value::Date(value)) => HashedBytes::inline(numbers::narrow_int(value.days())),
        (Type::Tuple(_), Value::Tuple(_)) => {
            let fields: Fields = [kind.clone()].into_iter().collect();
            let mut bytes = Vec::new();
            match Native.encode(&fields, std::slice::from_ref(value), &mut bytes) {
                Ok(()) => HashedBytes(Bytes::Owned(bytes)),
                Err(Error::Value { reason, .. }) => return Err(Refusal::new(reason)),
                Err(error) => return Err(Refusal::new(error.to_string())),
            }
        }
        (kind, value) => return Err(native::mismatch(kind, value)),
    })
}

#[cold]
fn does_not_fit(value: impl fmt::Display, kind: &Type) -> Refusal {
    Refusal::new(format!("{value} does not fit {kind}"))
}
