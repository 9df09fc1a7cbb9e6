//! KeystoneDB's keys: a partition key and perhaps a sort key, each behind its length.
//!
//! ```text
//! ("user#123")               │00│00│00│08│ user#123 │00│00│00│00│
//! ("user#123", "post#001")   │00│00│00│08│ user#123 │00│00│00│08│ post#001
//! ("user#123", …)            │00│00│00│08│ user#123                            what all its keys start with
//! ```
//!
//! A length is four bytes, big-endian. No sort key is the length 0, so an empty one is refused: it would be
//! the same key.
//!
//! **Keys do not sort as their values do**: a shorter value sorts first, whatever its letters (a, b, c, aa, ab,
//! bbb), in the partition key and in the sort key. The keys of one partition stand together, but a range of
//! sort keys is no range of keys. Where order matters, use the [native format](crate::native) or sort keys of
//! one length.
//!
//! As a [`KeyFormat`] the fields are `str` or `bytes`:
//!
//! | fields | keys |
//! |---|---|
//! | `str` | only partition keys |
//! | `str,str` | every key has a sort key |
//! | `str,str:nulls-first` | a null sort key is none |
//!
//! ```
//! use keyloom_key::keystone::Keystone;
//! use keyloom_key::{Fields, KeyFormat, Value};
//! let fields: Fields = "str,str:nulls-first".parse()?;
//! let mut key = Vec::new();
//! Keystone.encode(&fields, &["u1".into(), Value::Null], &mut key)?;
//! assert_eq!(key, *b"\x00\x00\x00\x02u1\x00\x00\x00\x00");
//! assert_eq!(Keystone.decode(&fields, &key)?, [Value::from("u1"), Value::Null]);
//! # Ok::<(), keyloom_key::Error>(())
//! ```

use std::borrow::Cow;

use crate::error::{Error, Refusal};
use crate::field::{Collation, Direction, Field, Fields, Nulls, Type};
use crate::format::{KeyFormat, Promises};
use crate::native::mismatch;
use crate::placement::Stripes;
use crate::span::Span;
use crate::value::Value;

const NAME: &str = "keystone";

/// The length that stands for no sort key.
const NONE: [u8; 4] = [0; 4];

/// A key of raw bytes, as KeystoneDB's own interface has it.
///
/// ```
/// use keyloom_key::keystone::Key;
/// let key = Key::with_sk(b"user#123", b"post#001");
/// let mut bytes = Vec::new();
/// key.encode(&mut bytes)?;
/// assert_eq!(bytes, *b"\x00\x00\x00\x08user#123\x00\x00\x00\x08post#001");
/// assert_eq!(Key::decode(&bytes)?, key);
/// assert_eq!(key.stripe(), Key::new(b"user#123").stripe());
/// # Ok::<(), keyloom_key::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key<'a> {
    /// The partition key.
    pub pk: Cow<'a, [u8]>,
    /// The sort key, if there is one. An empty one is refused by [`encode`](Self::encode).
    pub sk: Option<Cow<'a, [u8]>>,
}

impl<'a> Key<'a> {
    /// A key without a sort key.
    pub fn new(pk: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { pk: pk.into(), sk: None }
    }

    /// A key with a sort key.
    pub fn with_sk(pk: impl Into<Cow<'a, [u8]>>, sk: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { pk: pk.into(), sk: Some(sk.into()) }
    }

    /// Appends the key's bytes to `out`, which stays as it was if the key is refused.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        // Both lengths before the first byte: an error then leaves nothing to take back.
        let pk = length(self.pk.len()).map_err(|refusal| refusal.at(1))?;
        let sk = self.sk.as_deref().map(sk_length).transpose().map_err(|refusal| refusal.at(2))?;
        out.extend_from_slice(&pk);
        out.extend_from_slice(&self.pk);
        out.extend_from_slice(&sk.unwrap_or(NONE));
        out.extend_from_slice(self.sk.as_deref().unwrap_or_default());
        Ok(())
    }

    /// Reads a key, borrowing from its bytes.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Error> {
        let (pk, at) = read(bytes, 0)?;
        let (sk, end) = read(bytes, at)?;
        if end < bytes.len() {
            return Err(Error::bytes(end, format!("{} bytes follow the sort key", bytes.len() - end)));
        }
        Ok(Self { pk: pk.into(), sk: (!sk.is_empty()).then_some(sk.into()) })
    }

    /// Which of the 256 stripes the key is in: that of its partition key, whatever its sort key.
    pub fn stripe(&self) -> u8 {
        Stripes::default().stripe_of(&self.pk)
    }
}

fn length(count: usize) -> Result<[u8; 4], Refusal> {
    match u32::try_from(count) {
        Ok(length) => Ok(length.to_be_bytes()),
        Err(_) => Err(Refusal::new(format!(
            "{count} bytes are more than a length of four bytes can say: shorten it"
        ))),
    }
}

fn sk_length(bytes: &[u8]) -> Result<[u8; 4], Refusal> {
    if bytes.is_empty() {
        return Err(Refusal::new(
            "an empty sort key is the same key as none: leave it out (null in a nullable field)",
        ));
    }
    length(bytes.len())
}

/// A length at `at`, the bytes behind it, and where they end.
fn read(key: &[u8], at: usize) -> Result<(&[u8], usize), Error> {
    let rest = key.get(at..).unwrap_or_default();
    let Some((length, rest)) = rest.split_first_chunk() else {
        return Err(Error::bytes(key.len(), "the key ends within a length of 4 bytes"));
    };
    let length = u32::from_be_bytes(*length);
    match usize::try_from(length).ok().and_then(|length| rest.get(..length)) {
        Some(bytes) => Ok((bytes, at + 4 + bytes.len())),
        None => {
            let reason = format!("a length of {length} where {} bytes follow", rest.len());
            Err(Error::bytes(at, reason))
        }
    }
}

/// KeystoneDB's keys as a format. See the [module](self) for its bytes and fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keystone;

impl KeyFormat for Keystone {
    fn name(&self) -> &'static str {
        NAME
    }

    fn promises(&self, fields: &Fields) -> Result<Promises, Error> {
        check(fields)?;
        Ok(Promises { order: false, ..Promises::ALL })
    }

    fn encode(&self, fields: &Fields, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Error> {
        let sk_field = check(fields)?;
        let (pk, sk) = match values {
            [] => return Ok(()),
            [pk] => (pk, None),
            [pk, sk] if sk_field.is_some() => (pk, Some(sk)),
            _ => {
                let reason = format!("{} values for {} fields ({fields})", values.len(), fields.len());
                return Err(Error::layout(NAME, reason));
            }
        };
        let pk = fields.first().map_or(Ok(&[][..]), |field| raw(field, pk)).map_err(|r| r.at(1))?;
        let pk_length = length(pk.len()).map_err(|refusal| refusal.at(1))?;
        let sk = match (sk_field, sk) {
            (Some(field), Some(Value::Null)) if field.nulls.is_some() => Some((NONE, &[][..])),
            (Some(field), Some(sk)) => {
                let sk = raw(field, sk).and_then(|sk| Ok((sk_length(sk)?, sk)));
                Some(sk.map_err(|refusal| refusal.at(2))?)
            }
            // The sort key is still open: the bytes that all keys of the partition start with.
            (Some(_), None) => None,
            (None, _) => Some((NONE, &[][..])),
        };
        out.extend_from_slice(&pk_length);
        out.extend_from_slice(pk);
        if let Some((sk_length, sk)) = sk {
            out.extend_from_slice(&sk_length);
            out.extend_from_slice(sk);
        }
        Ok(())
    }

    fn decode<'a>(&self, fields: &Fields, key: &'a [u8]) -> Result<Vec<Value<'a>>, Error> {
        let sk_field = check(fields)?;
        let (pk, at) = read(key, 0)?;
        let (sk, end) = read(key, at)?;
        if end < key.len() {
            return Err(Error::bytes(end, format!("{} bytes follow the sort key", key.len() - end)));
        }
        let mut values = Vec::with_capacity(fields.len());
        if let Some(field) = fields.first() {
            values.push(value(field, pk, 4)?);
        }
        match sk_field {
            None if sk.is_empty() => {}
            None => return Err(Error::bytes(at, format!("a sort key, which ({fields}) has not"))),
            Some(field) if !sk.is_empty() => values.push(value(field, sk, at + 4)?),
            Some(field) if field.nulls.is_some() => values.push(Value::Null),
            Some(_) => return Err(Error::bytes(at, "no sort key, and the field is not nullable")),
        }
        Ok(values)
    }

    fn not_null(&self, fields: &Fields, equal: &[Value<'_>]) -> Result<Span, Error> {
        let mut span = self.prefix(fields, equal)?;
        if fields.get(equal.len()).is_some_and(|field| field.nulls.is_some()) {
            // A null is the length 0; every sort key is longer.
            span.start.extend_from_slice(&1_u32.to_be_bytes());
        }
        Ok(span)
    }
}

/// Refuses fields that are no partition key with perhaps a sort key; gives the sort key's field.
fn check(fields: &Fields) -> Result<Option<&Field>, Error> {
    let refuse = |reason: String| Err(Error::layout(NAME, reason));
    let (pk, sk) = match &**fields {
        [pk] => (pk, None),
        [pk, sk] => (pk, Some(sk)),
        _ => {
            return refuse(format!(
                "a partition key and perhaps a sort key, not {} fields: join the others into the sort key",
                fields.len()
            ));
        }
    };
    for (number, field) in [(1, Some(pk)), (2, sk)] {
        let Some(field) = field else { continue };
        if !matches!(field.kind, Type::Str(Collation::Binary) | Type::Bytes) {
            return refuse(format!(
                "field {number} is {field}, and only str and bytes go in: write it as text"
            ));
        }
        if field.direction == Direction::Descending {
            return refuse(format!("field {number} is {field}, and nothing runs downwards: leave out desc"));
        }
    }
    match (pk.nulls, sk.and_then(|sk| sk.nulls)) {
        (Some(_), _) => refuse(format!("field 1 is {pk}, and every key has a partition key: drop the nulls")),
        (_, Some(Nulls::Last)) => refuse("no sort key sorts before every other: say nulls-first".to_owned()),
        _ => Ok(sk),
    }
}

fn raw<'a>(field: &Field, value: &'a Value<'_>) -> Result<&'a [u8], Refusal> {
    match (&field.kind, value) {
        (Type::Str(_), Value::Str(text)) => Ok(text.as_bytes()),
        (Type::Bytes, Value::Bytes(bytes)) => Ok(bytes),
        (_, Value::Null) => Err(Refusal::new("null, but the field is not nullable")),
        (kind, value) => Err(mismatch(kind, value)),
    }
}

fn value<'a>(field: &Field, bytes: &'a [u8], at: usize) -> Result<Value<'a>, Error> {
    if field.kind == Type::Bytes {
        return Ok(bytes.into());
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.into()),
        Err(error) => Err(Error::bytes(at + error.valid_up_to(), "text that is not UTF-8")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Here and not among the other tests, so that no test needs four gigabytes.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_length_that_four_bytes_cannot_say_is_refused() {
        assert_eq!(length((1 << 32) - 1), Ok([0xFF; 4]));
        let reason = "field 1: 4294967296 bytes are more than a length of four bytes can say: shorten it";
        assert_eq!(length(1 << 32).unwrap_err().at(1).to_string(), reason);
    }
}
