//! Parts that may be null.

use super::{DecodePart, EncodePart, no_value};
use crate::error::{Error, Refusal};
use crate::field::{Field, Nulls};
use crate::native::{NULL_FIRST, NULL_LAST, PRESENT, Reader, Writer};

/// A nullable part whose nulls come last; those of a plain `Option` come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NullsLast<T>(pub Option<T>);

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
