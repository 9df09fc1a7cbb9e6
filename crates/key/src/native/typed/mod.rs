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

mod fixed;
mod nullable;
mod text;
mod tuple;

pub use nullable::NullsLast;
pub use text::{KeyStr, NoCase};

use crate::error::{Error, Refusal};
use crate::field::{Field, Fields};
use crate::native::{Reader, Writer};

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

/// A part whose large values come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Desc<T>(pub T);

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

/// Bytes that no value of this type has.
#[cold]
fn no_value(at: usize, kind: &str) -> Error {
    Error::bytes(at, format!("no {kind} has these bytes"))
}
