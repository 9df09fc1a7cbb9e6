//! Structs as records.
//!
//! `#[derive(Record)]` of `keyloom-derive` writes the implementation. A field may be of any type that is a
//! [`FieldValue`]:
//!
//! | Rust | column |
//! |---|---|
//! | `bool`, `i8` … `i64`, `u8` … `u64`, `f32`, `f64` | bool, i8 …, u8 …, f32, f64 |
//! | `String`, `Vec<u8>` | str, bytes |
//! | [`Decimal`], [`Uuid`], [`Timestamp`], [`Date`], [`Duration`] | decimal, uuid, timestamp, date, duration |
//! | `Vec` of any of these but `u8` | list |
//! | `Option` of any of these | nullable |

use keyloom_key::{Date, Decimal, Duration, Refusal, Timestamp, Uuid, Value};

use crate::builder::TableBuilder;
use crate::document::Document;
use crate::error::Error;

/// A struct whose values are the records of a table.
#[diagnostic::on_unimplemented(message = "`{Self}` is no record", note = "derive it: #[derive(Record)]")]
pub trait Record: Sized {
    /// The table of such records, to be changed or built.
    fn table() -> TableBuilder;

    /// The record as a document. What is `None` is left out.
    fn to_document(&self) -> Document;

    /// The record of a document. What the struct has no field for is dropped.
    fn from_document(document: Document) -> Result<Self, Error>;
}

/// A type that a field of a record can have.
#[diagnostic::on_unimplemented(
    message = "a field of a record cannot be `{Self}`",
    note = "it can be bool, an integer up to 64 bits, f32, f64, String, Vec<u8>, Decimal, Uuid, Timestamp, Date, \
            Duration, a Vec of these, an Option of these, or a type of your own that implements FieldValue"
)]
pub trait FieldValue: Sized {
    /// Whether null is a value of it.
    const NULLABLE: bool = false;

    /// The text of the column's type, as [`Kind`](crate::Kind) reads it.
    fn kind() -> String;

    /// The value of the column.
    fn to_value(&self) -> Value<'static>;

    /// The field of a value of the column, or what is wrong with it. A field that is not there is null.
    fn from_value(value: Value<'static>) -> Result<Self, Refusal>;
}

/// A type of which a field of a record can be a list.
///
/// `u8` is none, because `Vec<u8>` is bytes.
#[diagnostic::on_unimplemented(
    message = "a field of a record cannot be a list of `{Self}`",
    note = "lists hold what is neither a list nor null"
)]
pub trait Element: FieldValue {}

#[cold]
fn mismatch<T: FieldValue>(value: &Value<'_>) -> Refusal {
    match value {
        Value::Null => Refusal::new("missing or null, and the field is no Option"),
        other => Refusal::new(format!("a value of type {} in a field of type {}", other.kind(), T::kind())),
    }
}

macro_rules! field_values {
    ($($rust:ty = $kind:literal, $value:ident => $read:expr;)*) => {$(
        impl FieldValue for $rust {
            fn kind() -> String {
                $kind.to_owned()
            }

            fn to_value(&self) -> Value<'static> {
                self.clone().into()
            }

            fn from_value($value: Value<'static>) -> Result<Self, Refusal> {
                $read.ok_or_else(|| mismatch::<Self>(&$value))
            }
        }
    )*};
}

/// The field of a value, if it is of this kind and fits.
macro_rules! of {
    ($value:ident, $kind:ident) => {
        match &$value {
            Value::$kind(inner) => Some(inner.clone().into()),
            _ => None,
        }
    };
}

/// An integer from either kind, if it fits.
macro_rules! integer {
    ($value:ident) => {
        match &$value {
            Value::Int(number) => (*number).try_into().ok(),
            Value::Uint(number) => (*number).try_into().ok(),
            _ => None,
        }
    };
}

field_values! {
    bool = "bool", value => of!(value, Bool);
    i8 = "i8", value => integer!(value);
    i16 = "i16", value => integer!(value);
    i32 = "i32", value => integer!(value);
    i64 = "i64", value => integer!(value);
    u8 = "u8", value => integer!(value);
    u16 = "u16", value => integer!(value);
    u32 = "u32", value => integer!(value);
    u64 = "u64", value => integer!(value);
    f32 = "f32", value => narrow(&value);
    f64 = "f64", value => of!(value, Float);
    String = "str", value => of!(value, Str);
    Vec<u8> = "bytes", value => of!(value, Bytes);
    Decimal = "decimal", value => of!(value, Decimal);
    Uuid = "uuid", value => of!(value, Uuid);
    Timestamp = "timestamp", value => of!(value, Timestamp);
    Date = "date", value => of!(value, Date);
    Duration = "duration", value => of!(value, Duration);
}

#[allow(clippy::cast_possible_truncation, reason = "a loss is looked for")]
fn narrow(value: &Value<'_>) -> Option<f32> {
    let Value::Float(number) = value else { return None };
    let near = *number as f32;
    (f64::from(near).to_bits() == number.to_bits()).then_some(near)
}

macro_rules! elements {
    ($($rust:ty),*) => {$( impl Element for $rust {} )*};
}

elements!(
    bool,
    i8,
    i16,
    i32,
    i64,
    u16,
    u32,
    u64,
    f32,
    f64,
    String,
    Vec<u8>,
    Decimal,
    Uuid,
    Timestamp,
    Date,
    Duration
);

impl<T: Element> FieldValue for Vec<T> {
    fn kind() -> String {
        format!("list({})", T::kind())
    }

    fn to_value(&self) -> Value<'static> {
        Value::List(self.iter().map(T::to_value).collect())
    }

    fn from_value(value: Value<'static>) -> Result<Self, Refusal> {
        let Value::List(values) = value else { return Err(mismatch::<Self>(&value)) };
        let elements = values.into_iter().enumerate().map(|(index, value)| {
            T::from_value(value).map_err(|refusal| Refusal::new(format!("element {}: {refusal}", index + 1)))
        });
        elements.collect()
    }
}

impl<T: FieldValue> FieldValue for Option<T> {
    const NULLABLE: bool = true;

    fn kind() -> String {
        T::kind()
    }

    fn to_value(&self) -> Value<'static> {
        self.as_ref().map_or(Value::Null, T::to_value)
    }

    fn from_value(value: Value<'static>) -> Result<Self, Refusal> {
        if value == Value::Null { Ok(None) } else { T::from_value(value).map(Some) }
    }
}

/// The table with one more column, of the type of a field, or of `kind` if that is given. For the derive macro.
#[doc(hidden)]
pub fn column<T: FieldValue>(table: TableBuilder, name: &str, kind: Option<&str>) -> TableBuilder {
    let kind = kind.map_or_else(T::kind, str::to_owned);
    if T::NULLABLE { table.nullable(name, kind) } else { table.column(name, kind) }
}

/// Puts a field into a document, unless it is null. For the derive macro.
#[doc(hidden)]
pub fn put<T: FieldValue>(document: &mut Document, name: &'static str, field: &T) {
    let value = field.to_value();
    if value != Value::Null {
        document.set(name, value);
    }
}

/// Takes a field out of a document. For the derive macro.
#[doc(hidden)]
pub fn take<T: FieldValue>(document: &mut Document, name: &str) -> Result<T, Error> {
    let value = document.remove(name).unwrap_or(Value::Null);
    T::from_value(value).map_err(|refusal| Error::value(name, refusal.to_string()))
}
