//! A field's value, as it is before it becomes bytes and after it was read from them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use uuid::Uuid;

use crate::decimal::Decimal;
use crate::time::{Date, Duration, Timestamp};

/// One value of a key or a document. Text and bytes are borrowed from what was read where its bytes allow it.
///
/// Narrower numbers convert: `Value::from(7_i16)` is `Value::Int(7)`.
// The kind has a word of its own: a value is moved by words, and one whose first word was written in parts is waited for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[repr(u64)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating-point number. NaN has no place in an order and is refused by every key format.
    Float(f64),
    /// A decimal number.
    Decimal(Decimal),
    /// Text.
    Str(Cow<'a, str>),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
    /// A UUID.
    Uuid(Uuid),
    /// An instant.
    Timestamp(Timestamp),
    /// A day.
    Date(Date),
    /// A length of time.
    Duration(Duration),
    /// Values in a row, compared one after the other; a shorter tuple sorts before what extends it.
    Tuple(Vec<Value<'a>>),
    /// Any number of values in a row. Only documents have lists: no key format takes one.
    List(Vec<Value<'a>>),
    /// Names with their values, sorted by name, each name once: [`Value::map`] brings them there. Only documents have
    /// maps: no key format takes one.
    Map(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// A map of these names and values. Of values with the same name, the last one stays.
    pub fn map<K: Into<Cow<'a, str>>, V: Into<Value<'a>>>(entries: impl IntoIterator<Item = (K, V)>) -> Self {
        let entries = entries.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self::Map(entries.collect::<BTreeMap<_, _>>().into_iter().collect())
    }

    /// A list of these values.
    pub fn list<V: Into<Value<'a>>>(values: impl IntoIterator<Item = V>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }

    /// What kind of value this is, in the words that types use.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) => "i64",
            Self::Uint(_) => "u64",
            Self::Float(_) => "f64",
            Self::Decimal(_) => "decimal",
            Self::Str(_) => "str",
            Self::Bytes(_) => "bytes",
            Self::Uuid(_) => "uuid",
            Self::Timestamp(_) => "timestamp",
            Self::Date(_) => "date",
            Self::Duration(_) => "duration",
            Self::Tuple(_) => "tuple",
            Self::List(_) => "list",
            Self::Map(_) => "map",
        }
    }

    /// The same value, its text and bytes borrowed from it.
    pub fn borrowed(&self) -> Value<'_> {
        match self {
            Self::Str(text) => Value::Str(Cow::Borrowed(text)),
            Self::Bytes(bytes) => Value::Bytes(Cow::Borrowed(bytes)),
            Self::Tuple(values) => Value::Tuple(values.iter().map(Value::borrowed).collect()),
            Self::List(values) => Value::List(values.iter().map(Value::borrowed).collect()),
            other => other.clone(),
        }
    }

    /// The same value, borrowing nothing.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(v) => Value::Bool(v),
            Self::Int(v) => Value::Int(v),
            Self::Uint(v) => Value::Uint(v),
            Self::Float(v) => Value::Float(v),
            Self::Decimal(v) => Value::Decimal(v),
            Self::Str(v) => Value::Str(Cow::Owned(v.into_owned())),
            Self::Bytes(v) => Value::Bytes(Cow::Owned(v.into_owned())),
            Self::Uuid(v) => Value::Uuid(v),
            Self::Timestamp(v) => Value::Timestamp(v),
            Self::Date(v) => Value::Date(v),
            Self::Duration(v) => Value::Duration(v),
            Self::Tuple(v) => Value::Tuple(v.into_iter().map(Value::into_owned).collect()),
            Self::List(v) => Value::List(v.into_iter().map(Value::into_owned).collect()),
            Self::Map(v) => {
                let owned = |(name, value): (Cow<'_, str>, Value<'_>)| {
                    (Cow::Owned(name.into_owned()), value.into_owned())
                };
                Value::Map(v.into_iter().map(owned).collect())
            }
        }
    }
}

macro_rules! from {
    ($($from:ty => $variant:ident),* $(,)?) => {$(
        impl<'a> From<$from> for Value<'a> {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

from! {
    bool => Bool,
    i8 => Int, i16 => Int, i32 => Int, i64 => Int,
    u8 => Uint, u16 => Uint, u32 => Uint, u64 => Uint,
    f32 => Float, f64 => Float,
    Decimal => Decimal,
    &'a str => Str, String => Str, Cow<'a, str> => Str,
    &'a [u8] => Bytes, Vec<u8> => Bytes, Cow<'a, [u8]> => Bytes,
    Uuid => Uuid,
    Timestamp => Timestamp,
    Date => Date,
    Duration => Duration,
    Vec<Value<'a>> => Tuple,
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
