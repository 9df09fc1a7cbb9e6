//! Parts of fixed width: numbers, identifiers, times. And decimals, whose width is almost so.

use uuid::Uuid;

use super::{DecodePart, EncodePart, no_value};
use crate::decimal::Decimal;
use crate::error::{Error, Refusal};
use crate::field::{Field, Type, Width};
use crate::native::{Reader, Writer, decimal};
use crate::numbers::{float, int, narrow_float, narrow_int, to_float, to_int, to_narrow_int};
use crate::time::{Date, Duration, Precision, Timestamp};

macro_rules! fixed {
    ($($type:ty, $bytes:literal, $kind:expr, |$v:ident| $encode:expr, |$b:ident| $decode:expr;)*) => {$(
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
                let $v = *self;
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

const MICROS: Precision = Precision::Micros;

// The type, its bytes, its field, how a value is written and how it is read.
fixed! {
    bool, 1, Type::Bool, |v| [u8::from(v)], |b| to_bool(b);
    i8, 8, Type::Int(Width::W8), |v| int(v.into()), |b| to_int(b).try_into().ok();
    i16, 8, Type::Int(Width::W16), |v| int(v.into()), |b| to_int(b).try_into().ok();
    i32, 8, Type::Int(Width::W32), |v| int(v.into()), |b| to_int(b).try_into().ok();
    i64, 8, Type::Int(Width::W64), |v| int(v), |b| Some(to_int(b));
    u8, 8, Type::Uint(Width::W8), |v| u64::from(v).to_be_bytes(), |b| u64::from_be_bytes(b).try_into().ok();
    u16, 8, Type::Uint(Width::W16), |v| u64::from(v).to_be_bytes(), |b| u64::from_be_bytes(b).try_into().ok();
    u32, 8, Type::Uint(Width::W32), |v| u64::from(v).to_be_bytes(), |b| u64::from_be_bytes(b).try_into().ok();
    u64, 8, Type::Uint(Width::W64), |v| v.to_be_bytes(), |b| Some(u64::from_be_bytes(b));
    f32, 8, Type::F32, |v| float(v.into())?, |b| to_float(b).and_then(|v| narrow_float(v).ok());
    f64, 8, Type::F64, |v| float(v)?, |b| to_float(b);
    Uuid, 16, Type::Uuid, |v| v.into_bytes(), |b| Some(Uuid::from_bytes(b));
    Timestamp, 8, Type::Timestamp(MICROS), |v| int(v.count(MICROS)?), |b| Some(Timestamp::new(to_int(b), MICROS));
    Date, 4, Type::Date, |v| narrow_int(v.days()), |b| Some(Date::from_days(to_narrow_int(b)));
    Duration, 8, Type::Duration, |v| int(v.nanos()), |b| Some(Duration::from_nanos(to_int(b)));
}

fn to_bool([byte]: [u8; 1]) -> Option<bool> {
    match byte {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
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
