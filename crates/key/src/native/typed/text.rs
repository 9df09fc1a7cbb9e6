//! Parts of text and bytes, and text as it is read: not checked before it is used.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use super::{DecodePart, EncodePart};
use crate::casefold;
use crate::error::{Error, Refusal};
use crate::field::{Collation, Field, Type};
use crate::native::{Reader, Writer, text};

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

/// Text that is [case-folded](crate::casefold) in the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NoCase<T>(pub T);

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
