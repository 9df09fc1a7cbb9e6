//! Keys of Rust's own types: the fields are known when the code is compiled, so nothing is looked up.
//!
//! ```
//! use keyloom_key::{DecodeKey, Desc, EncodeKey, KeyStr};
//! let mut key = Vec::new();
//! ("U1", Desc(7_u64)).encode_key(&mut key)?;
//! let (user, Desc(number)) = <(KeyStr, Desc<u64>)>::decode_key(&key)?;
//! assert_eq!((user.as_str()?, number), ("U1", 7));
//! # Ok::<(), keyloom_key::Error>(())
//! ```

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use uuid::Uuid;

use crate::casefold;
use crate::decimal::Decimal;
use crate::error::{Error, Refusal};
use crate::field::{Collation, Field, Fields, Nulls, Type, Width};
use crate::native::{NULL_FIRST, NULL_LAST, PRESENT, Reader, TUPLE_END, TUPLE_MORE, Writer, decimal, text};
use crate::numbers;
use crate::time::{Date, Duration, Precision, Timestamp};

/// A type whose values can be a field of a key.
pub trait EncodePart {
    /// How many bytes a value takes, if all take the same.
    const WIDTH: Option<usize>;

    /// The field as a value, for those who do not know the type.
    fn field() -> Field;

    /// About how many bytes this value takes.
    fn size(&self) -> usize;

    /// Writes the value; `desc`: with every byte complemented.
    fn write(&self, out: &mut Writer<'_>, desc: bool) -> Result<(), Refusal>;
}

/// A type that can be read from a field of a key.
pub trait DecodePart<'a>: Sized {
    /// How many bytes a value takes, if all take the same.
    const WIDTH: Option<usize>;

    /// Reads a value; `desc`: every byte is complemented; `rest`: how many bytes follow it, where that is known.
    fn read(reader: &mut Reader<'a>, desc: bool, rest: Option<usize>) -> Result<Self, Error>;
}

/// A type whose values are whole keys: a tuple of one to eight [parts](EncodePart).
pub trait EncodeKey {
    /// The fields as values, for those who do not know the type.
    fn fields() -> Fields;

    /// About how many bytes the key takes.
    fn key_size(&self) -> usize;

    /// Appends the key to `out`, which stays as it was if a part is refused.
    fn encode_key(&self, out: &mut Vec<u8>) -> Result<(), Error>;

    /// The key in a buffer of its own.
    #[inline]
    fn to_key(&self) -> Result<Vec<u8>, Error> {
        let mut key = Vec::with_capacity(self.key_size());
        self.encode_key(&mut key)?;
        Ok(key)
    }
}

/// A type that can be read from a whole key: a tuple of one to eight [parts](DecodePart).
pub trait DecodeKey<'a>: Sized {
    /// Reads the key.
    fn decode_key(key: &'a [u8]) -> Result<Self, Error>;
}

/// Text borrowed from a key, known to be UTF-8 when it is asked for as `&str`.
///
/// Reading a key to look at its numbers, or to compare its text, does not pay for checking the text.
#[derive(Clone)]
pub struct KeyStr<'a> {
    bytes: Cow<'a, [u8]>,
    ascii: bool,
}

impl<'a> KeyStr<'a> {
    /// The text.
    ///
    /// Fails if the key was not written from text.
    pub fn as_str(&self) -> Result<&str, Error> {
        std::str::from_utf8(&self.bytes).map_err(not_utf8)
    }

    /// The text, borrowed from the key where it stands there as it is.
    pub fn into_cow(self) -> Result<Cow<'a, str>, Error> {
        match self.bytes {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(not_utf8),
            Cow::Owned(bytes) => {
                String::from_utf8(bytes).map(Cow::Owned).map_err(|e| not_utf8(e.utf8_error()))
            }
        }
    }

    /// The text's bytes, whether or not they are UTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether every character is ASCII, which reading the key found out in passing.
    pub fn is_ascii(&self) -> bool {
        self.ascii
    }
}

#[cold]
fn not_utf8(error: std::str::Utf8Error) -> Error {
    Error::bytes(error.valid_up_to(), "text that is not UTF-8 (counted from its beginning)")
}

impl PartialEq for KeyStr<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for KeyStr<'_> {}

impl PartialEq<str> for KeyStr<'_> {
    fn eq(&self, other: &str) -> bool {
        *self.bytes == *other.as_bytes()
    }
}

impl PartialOrd for KeyStr<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyStr<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes.cmp(&other.bytes)
    }
}

impl fmt::Debug for KeyStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.bytes.escape_ascii())
    }
}

/// A part whose large values come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Desc<T>(pub T);

/// A nullable part whose nulls come last; those of a plain `Option` come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NullsLast<T>(pub Option<T>);

/// Text that is [case-folded](crate::casefold) in the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NoCase<T>(pub T);

macro_rules! fixed {
    ($($type:ty as $wide:ty, $bytes:literal, $kind:expr, |$v:ident| $encode:expr, |$b:ident| $decode:expr;)*) => {$(
        impl EncodePart for $type {
            const WIDTH: Option<usize> = Some($bytes);

            fn field() -> Field {
                $kind.into()
            }

            #[inline(always)]
            fn size(&self) -> usize {
                $bytes
            }

            #[inline(always)]
            fn write(&self, out: &mut Writer<'_>, desc: bool) -> Result<(), Refusal> {
                let $v: $wide = (*self).into();
                let bytes: [u8; $bytes] = $encode;
                out.array(bytes, desc);
                Ok(())
            }
        }

        impl<'a> DecodePart<'a> for $type {
            const WIDTH: Option<usize> = Some($bytes);

            #[inline(always)]
            fn read(reader: &mut Reader<'a>, desc: bool, _rest: Option<usize>) -> Result<Self, Error> {
                let at = reader.offset();
                let $b: [u8; $bytes] = reader.array(desc)?;
                let value: Option<$type> = $decode;
                value.ok_or_else(|| no_value(at, stringify!($type)))
            }
        }
    )*};
}

#[cold]
fn no_value(at: usize, kind: &str) -> Error {
    Error::bytes(at, format!("no {kind} has these bytes"))
}

fixed! {
    bool as bool, 1, Type::Bool, |v| [u8::from(v)], |b| match b { [0] => Some(false), [1] => Some(true), _ => None };
    i8 as i64, 8, Type::Int(Width::W8), |v| numbers::int(v).to_be_bytes(), |b| numbers::to_int(u64::from_be_bytes(b)).try_into().ok();
    i16 as i64, 8, Type::Int(Width::W16), |v| numbers::int(v).to_be_bytes(), |b| numbers::to_int(u64::from_be_bytes(b)).try_into().ok();
    i32 as i64, 8, Type::Int(Width::W32), |v| numbers::int(v).to_be_bytes(), |b| numbers::to_int(u64::from_be_bytes(b)).try_into().ok();
    i64 as i64, 8, Type::Int(Width::W64), |v| numbers::int(v).to_be_bytes(), |b| Some(numbers::to_int(u64::from_be_bytes(b)));
    u8 as u64, 8, Type::Uint(Width::W8), |v| v.to_be_bytes(), |b| u64::from_be_bytes(b).try_into().ok();
    u16 as u64, 8, Type::Uint(Width::W16), |v| v.to_be_bytes(), |b| u64::from_be_bytes(b).try_into().ok();
    u32 as u64, 8, Type::Uint(Width::W32), |v| v.to_be_bytes(), |b| u64::from_be_bytes(b).try_into().ok();
    u64 as u64, 8, Type::Uint(Width::W64), |v| v.to_be_bytes(), |b| Some(u64::from_be_bytes(b));
    f32 as f64, 8, Type::F32, |v| numbers::float(v)?.to_be_bytes(), |b| numbers::to_float(u64::from_be_bytes(b)).and_then(|v| numbers::narrow_float(v).ok());
    f64 as f64, 8, Type::F64, |v| numbers::float(v)?.to_be_bytes(), |b| numbers::to_float(u64::from_be_bytes(b));
    Uuid as Uuid, 16, Type::Uuid, |v| v.into_bytes(), |b| Some(Uuid::from_bytes(b));
    Timestamp as Timestamp, 8, Type::Timestamp(Precision::Micros), |v| numbers::int(v.count(Precision::Micros)?).to_be_bytes(), |b| Some(Timestamp::from_micros(numbers::to_int(u64::from_be_bytes(b))));
    Date as Date, 4, Type::Date, |v| (v.days().cast_unsigned() ^ 1 << 31).to_be_bytes(), |b| Some(Date::from_days((u32::from_be_bytes(b) ^ 1 << 31).cast_signed()));
    Duration as Duration, 8, Type::Duration, |v| numbers::int(v.nanos()).to_be_bytes(), |b| Some(Duration::from_nanos(numbers::to_int(u64::from_be_bytes(b))));
}

macro_rules! texts {
    ($($type:ty, $kind:expr, |$v:ident| $bytes:expr;)*) => {$(
        impl EncodePart for $type {
            const WIDTH: Option<usize> = None;

            fn field() -> Field {
                $kind.into()
            }

            #[inline(always)]
            fn size(&self) -> usize {
                self.len() + text::END.len()
            }

            #[inline(always)]
            fn write(&self, out: &mut Writer<'_>, desc: bool) -> Result<(), Refusal> {
                let $v = self;
                out.text($bytes, desc);
                Ok(())
            }
        }
    )*};
}

texts! {
    str, Type::Str(Collation::Binary), |v| v.as_bytes();
    String, Type::Str(Collation::Binary), |v| v.as_bytes();
    Cow<'_, str>, Type::Str(Collation::Binary), |v| v.as_bytes();
    [u8], Type::Bytes, |v| v;
    Vec<u8>, Type::Bytes, |v| v;
    Cow<'_, [u8]>, Type::Bytes, |v| v;
}

impl<T: EncodePart + ?Sized> EncodePart for &T {
    const WIDTH: Option<usize> = T::WIDTH;

    fn field() -> Field {
        T::field()
    }

    #[inline(always)]
    fn size(&self) -> usize {
        (**self).size()
    }

    #[inline(always)]
    fn write(&self, out: &mut Writer<'_>, desc: bool) -> Result<(), Refusal> {
        (**self).write(out, desc)
    }
}

macro_rules! read_texts {
    ($($type:ty, |$bytes:ident, $ascii:ident| $read:expr;)*) => {$(
        impl<'a> DecodePart<'a> for $type {
            const WIDTH: Option<usize> = None;

            #[inline(always)]
            fn read(reader: &mut Reader<'a>, desc: bool, rest: Option<usize>) -> Result<Self, Error> {
                let ($bytes, $ascii) = reader.text(desc, rest)?;
                $read
            }
        }
    )*};
}

read_texts! {
    KeyStr<'a>, |bytes, ascii| Ok(KeyStr { bytes, ascii });
    Cow<'a, str>, |bytes, ascii| KeyStr { bytes, ascii }.into_cow();
    String, |bytes, ascii| KeyStr { bytes, ascii }.into_cow().map(Cow::into_owned);
    Cow<'a, [u8]>, |bytes, _ascii| Ok(bytes);
    Vec<u8>, |bytes, _ascii| Ok(bytes.into_owned());
}

impl EncodePart for Decimal {
    const WIDTH: Option<usize> = None;

    fn field() -> Field {
        Type::Decimal(None).into()
    }

    fn size(&self) -> usize {
        decimal::MAX_BYTES
    }

    fn write(&self, out: &mut Writer<'_>, desc: bool) -> Result<(), Refusal> {
        let (bytes, count) = decimal::encode(*self);
        bytes.into_iter().take(count).for_each(|byte| out.array([byte], desc));
        Ok(())
    }
}

impl<'a> DecodePart<'a> for Decimal {
    const WIDTH: Option<usize> = None;

    fn read(reader: &mut Reader<'a>, desc: bool, _rest: Option<usize>) -> Result<Self, Error> {
        reader.decimal(desc)
    }
}

impl<T: EncodePart> EncodePart for Desc<T> {
    const WIDTH: Option<usize> = T::WIDTH;

    fn field() -> Field {
        T::field().descending()
    }

    #[inline(always)]
    fn size(&self) -> usize {
        self.0.size()
    }

    #[inline(always)]
    fn write(&self, out: &mut Writer<'_>, desc: bool) -> Result<(), Refusal> {
        self.0.write(out, !desc)
    }
}

impl<'a, T: DecodePart<'a>> DecodePart<'a> for Desc<T> {
    const WIDTH: Option<usize> = T::WIDTH;

    #[inline(always)]
    fn read(reader: &mut Reader<'a>, desc: bool, rest: Option<usize>) -> Result<Self, Error> {
        T::read(reader, !desc, rest).map(Desc)
    }
}

impl<T: AsRef<str>> EncodePart for NoCase<T> {
    const WIDTH: Option<usize> = None;

    fn field() -> Field {
        Type::Str(Collation::NoCase).into()
    }

    fn size(&self) -> usize {
        self.0.as_ref().len() + text::END.len()
    }

    fn write(&self, out: &mut Writer<'_>, desc: bool) -> Result<(), Refusal> {
        out.characters(casefold::fold(self.0.as_ref()), desc);
        Ok(())
    }
}

impl<'a, T: DecodePart<'a>> DecodePart<'a> for NoCase<T> {
    const WIDTH: Option<usize> = None;

    fn read(reader: &mut Reader<'a>, desc: bool, rest: Option<usize>) -> Result<Self, Error> {
        T::read(reader, desc, rest).map(NoCase)
    }
}

#[inline(always)]
fn write_option<T: EncodePart>(
    value: Option<&T>,
    null: u8,
    out: &mut Writer<'_>,
    desc: bool,
) -> Result<(), Refusal> {
    // The byte that tells null is never complemented: nulls stay where they are when the values turn round.
    match value {
        None => {
            out.array([null], false);
            Ok(())
        }
        Some(value) => {
            out.array([PRESENT], false);
            value.write(out, desc)
        }
    }
}

#[inline(always)]
fn read_option<'a, T: DecodePart<'a>>(
    reader: &mut Reader<'a>,
    null: u8,
    desc: bool,
    rest: Option<usize>,
) -> Result<Option<T>, Error> {
    let at = reader.offset();
    match reader.array(false)? {
        [PRESENT] => T::read(reader, desc, rest).map(Some),
        [byte] if byte == null => Ok(None),
        _ => Err(no_value(at, "nullable field")),
    }
}

macro_rules! options {
    ($($type:ty, |$v:ident| $option:expr, $wrap:expr, $nulls:expr, $null:expr;)*) => {$(
        impl<T: EncodePart> EncodePart for $type {
            const WIDTH: Option<usize> = None;

            fn field() -> Field {
                T::field().nullable($nulls)
            }

            #[inline(always)]
            fn size(&self) -> usize {
                let $v = self;
                $option.as_ref().map_or(1, |value| 1 + value.size())
            }

            #[inline(always)]
            fn write(&self, out: &mut Writer<'_>, desc: bool) -> Result<(), Refusal> {
                let $v = self;
                write_option($option.as_ref(), $null, out, desc)
            }
        }

        impl<'a, T: DecodePart<'a>> DecodePart<'a> for $type {
            const WIDTH: Option<usize> = None;

            #[inline(always)]
            fn read(reader: &mut Reader<'a>, desc: bool, rest: Option<usize>) -> Result<Self, Error> {
                read_option(reader, $null, desc, rest).map($wrap)
            }
        }
    )*};
}

options! {
    Option<T>, |v| v, std::convert::identity, Nulls::First, NULL_FIRST;
    NullsLast<T>, |v| v.0, NullsLast, Nulls::Last, NULL_LAST;
}

/// The sum of the widths, if all are known.
const fn sum(widths: &[Option<usize>]) -> Option<usize> {
    match widths {
        [] => Some(0),
        [None, ..] => None,
        [Some(width), rest @ ..] => match sum(rest) {
            Some(sum) => Some(*width + sum),
            None => None,
        },
    }
}

// A tuple is a key of its parts one after the other. As a part of another key it is framed by marks, so that
// it sorts among tuples that the dynamic format allows to be shorter.
macro_rules! tuples {
    ($($name:ident $index:tt $number:literal [$($after:ident)*]),+) => {
        impl<$($name: EncodePart),+> EncodeKey for ($($name,)+) {
            fn fields() -> Fields {
                [$($name::field()),+].into_iter().collect()
            }

            #[inline(always)]
            fn key_size(&self) -> usize {
                0 $(+ self.$index.size())+
            }

            #[inline(always)]
            fn encode_key(&self, out: &mut Vec<u8>) -> Result<(), Error> {
                let length = out.len();
                let mut writer = Writer::new(out);
                $(if let Err(refusal) = self.$index.write(&mut writer, false) {
                    out.truncate(length);
                    return Err(refusal.at($number));
                })+
                writer.finish();
                Ok(())
            }
        }

        impl<'a, $($name: DecodePart<'a>),+> DecodeKey<'a> for ($($name,)+) {
            #[inline(always)]
            fn decode_key(key: &'a [u8]) -> Result<Self, Error> {
                let mut reader = Reader::new(key);
                // What follows a part has a known length if every later part has.
                let value = ($($name::read(&mut reader, false, const { sum(&[$($after::WIDTH),*]) })?,)+);
                reader.finish()?;
                Ok(value)
            }
        }

        impl<$($name: EncodePart),+> EncodePart for ($($name,)+) {
            const WIDTH: Option<usize> = None;

            fn field() -> Field {
                Type::Tuple(Self::fields()).into()
            }

            fn size(&self) -> usize {
                1 $(+ 1 + self.$index.size())+
            }

            fn write(&self, out: &mut Writer<'_>, desc: bool) -> Result<(), Refusal> {
                out.within(desc, |out| {
                    $(
                        out.array([TUPLE_MORE], false);
                        self.$index.write(out, false).map_err(|refusal| refusal.in_element($number))?;
                    )+
                    out.array([TUPLE_END], false);
                    Ok(())
                })
            }
        }

        impl<'a, $($name: DecodePart<'a>),+> DecodePart<'a> for ($($name,)+) {
            const WIDTH: Option<usize> = None;

            fn read(reader: &mut Reader<'a>, desc: bool, _rest: Option<usize>) -> Result<Self, Error> {
                reader.within(desc, |reader| {
                    let value = ($({
                        read_mark(reader, TUPLE_MORE)?;
                        $name::read(reader, false, None)?
                    },)+);
                    read_mark(reader, TUPLE_END)?;
                    Ok(value)
                })
            }
        }
    };
}

fn read_mark(reader: &mut Reader<'_>, mark: u8) -> Result<(), Error> {
    let at = reader.offset();
    let [byte] = reader.array(false)?;
    if byte == mark { Ok(()) } else { Err(no_value(at, "tuple of this length")) }
}

tuples!(A 0 1 []);
tuples!(A 0 1 [B], B 1 2 []);
tuples!(A 0 1 [B C], B 1 2 [C], C 2 3 []);
tuples!(A 0 1 [B C D], B 1 2 [C D], C 2 3 [D], D 3 4 []);
tuples!(A 0 1 [B C D E], B 1 2 [C D E], C 2 3 [D E], D 3 4 [E], E 4 5 []);
tuples!(A 0 1 [B C D E F], B 1 2 [C D E F], C 2 3 [D E F], D 3 4 [E F], E 4 5 [F], F 5 6 []);
tuples!(A 0 1 [B C D E F G], B 1 2 [C D E F G], C 2 3 [D E F G], D 3 4 [E F G], E 4 5 [F G], F 5 6 [G], G 6 7 []);
tuples!(
    A 0 1 [B C D E F G H], B 1 2 [C D E F G H], C 2 3 [D E F G H], D 3 4 [E F G H], E 4 5 [F G H], F 5 6 [G H],
    G 6 7 [H], H 7 8 []
);
