//! The native format: what tables use unless told otherwise.
//!
//! Every field is prefix-free, so a key is its fields one after the other, with nothing in between:
//!
//! ```text
//! ("U1", 7)    str, u64           │55│31│00│01│ │00│00│00│00│00│00│00│07│
//! ("U1", 7)    str, u64:desc      │55│31│00│01│ │FF│FF│FF│FF│FF│FF│FF│F8│
//! (null, true) nullable str, bool │00│ │01│
//! ```
//!
//! | field | bytes |
//! |---|---|
//! | bool | `00` or `01` |
//! | integer | 8, big-endian, the sign bit flipped if signed |
//! | f64 | 8, big-endian, sign bit flipped, or all bits if negative |
//! | decimal | an exponent and two digits a byte, 2 to 21 |
//! | str, bytes | themselves with `00` as `00 FF`, then `00 01` |
//! | uuid | 16 |
//! | timestamp, duration | 8, as a signed integer of the unit |
//! | date | 4, as a signed integer of days |
//! | tuple | `01` and the field for each element, then `00` |
//! | nullable | `00` (null first) or `02` (null last) for null, `01` before a value |
//! | descending | every byte of the value complemented, the byte for null not |
//!
//! `KEY_FORMAT.md` says it byte by byte, with a test vector for each line.

pub(crate) mod decimal;
mod reader;
pub(crate) mod text;
mod typed;
mod writer;

pub use reader::Reader;
pub use typed::{DecodeKey, DecodePart, Desc, EncodeKey, EncodePart, KeyStr, NoCase, NullsLast};
pub use writer::Writer;

use std::borrow::Cow;

use uuid::Uuid;

use crate::casefold;
use crate::decimal::Decimal;
use crate::error::{Error, Refusal};
use crate::field::{Collation, Direction, Field, Fields, Nulls, Type};
use crate::format::{KeyFormat, Promises};
use crate::numbers;
use crate::span::{Span, prefix_end};
use crate::time::{Date, Duration, Timestamp};
use crate::value::Value;

/// The native format. See the [module](self) for its bytes.
///
/// ```
/// use keyloom_key::{Fields, KeyFormat, Native, Value};
/// let fields: Fields = "str,u64".parse()?;
/// let mut key = Vec::new();
/// Native.encode(&fields, &["U1".into(), 7_u64.into()], &mut key)?;
/// assert_eq!(key, b"U1\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07");
/// assert_eq!(Native.decode(&fields, &key)?, [Value::from("U1"), Value::from(7_u64)]);
/// # Ok::<(), keyloom_key::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Native;

pub(crate) const NULL_FIRST: u8 = 0x00;
pub(crate) const PRESENT: u8 = 0x01;
pub(crate) const NULL_LAST: u8 = 0x02;
pub(crate) const TUPLE_END: u8 = 0x00;
pub(crate) const TUPLE_MORE: u8 = 0x01;

/// How deep tuples may nest, so that no bytes and no type exhaust the stack.
pub const MAX_DEPTH: usize = 16;

impl KeyFormat for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn promises(&self, fields: &Fields) -> Result<Promises, Error> {
        check_fields(fields, 0)?;
        Ok(Promises::ALL)
    }

    fn encode(&self, fields: &Fields, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Error> {
        self.encode_each(fields, values, out)
    }

    fn decode<'a>(&self, fields: &Fields, key: &'a [u8]) -> Result<Vec<Value<'a>>, Error> {
        check_fields(fields, 0)?;
        let mut reader = Reader::new(key);
        let mut values = Vec::with_capacity(fields.len());
        for field in fields.iter() {
            values.push(read_field(field, &mut reader)?);
        }
        reader.finish()?;
        Ok(values)
    }

    fn not_null(&self, fields: &Fields, equal: &[Value<'_>]) -> Result<Span, Error> {
        let mut span = self.prefix(fields, equal)?;
        if fields.get(equal.len()).is_some_and(|field| field.nulls.is_some()) {
            // Values stand behind the byte 01: a null, whose byte is another, is cut off.
            span.start.push(PRESENT);
            span.end = prefix_end(span.start.as_slice());
        }
        Ok(span)
    }
}

impl Native {
    /// Does what [`encode`](KeyFormat::encode) does with values that need not lie side by side.
    ///
    /// ```
    /// use keyloom_key::{Fields, KeyFormat, Native, Value};
    /// let fields: Fields = "str,i64:desc".parse()?;
    /// let (number, user): (Value<'_>, Value<'_>) = (7_i64.into(), "U1".into());
    /// let (mut key, mut the_same) = (Vec::new(), Vec::new());
    /// Native.encode_each(&fields, [&user, &number], &mut key)?;
    /// Native.encode(&fields, &[user, number], &mut the_same)?;
    /// assert_eq!(key, the_same);
    /// # Ok::<(), keyloom_key::Error>(())
    /// ```
    pub fn encode_each<'v, I>(&self, fields: &Fields, values: I, out: &mut Vec<u8>) -> Result<(), Error>
    where
        I: IntoIterator<Item = &'v Value<'v>, IntoIter: ExactSizeIterator>,
    {
        let length = out.len();
        let mut writer = Writer::new(out);
        match write_row(fields, values.into_iter(), &mut writer) {
            Ok(()) => {
                writer.finish();
                Ok(())
            }
            Err(error) => {
                out.truncate(length);
                Err(error)
            }
        }
    }

    /// How many bytes the first `count` fields of a key take.
    pub fn length(&self, fields: &Fields, count: usize, key: &[u8]) -> Result<usize, Error> {
        let mut reader = Reader::new(key);
        for field in fields.iter().take(count) {
            read_field(field, &mut reader)?;
        }
        Ok(reader.offset())
    }

    /// Appends the bytes that a field has for a value to those of the fields before it.
    ///
    /// They are what [`encode`](KeyFormat::encode) writes there, whatever stands before them.
    ///
    /// ```
    /// use keyloom_key::{Fields, KeyFormat, Native};
    /// let fields: Fields = "str,i64:desc".parse()?;
    /// let (mut whole, mut parts) = (Vec::new(), Vec::new());
    /// Native.encode(&fields, &["U1".into(), 7_i64.into()], &mut whole)?;
    /// Native.append(&fields[0], &"U1".into(), &mut parts)?;
    /// Native.append(&fields[1], &7_i64.into(), &mut parts)?;
    /// assert_eq!(parts, whole);
    /// # Ok::<(), keyloom_key::Error>(())
    /// ```
    pub fn append(&self, field: &Field, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
        let length = out.len();
        let mut writer = Writer::new(out);
        match write_field(field, value, 0, &mut writer) {
            Ok(()) => {
                writer.finish();
                Ok(())
            }
            Err(refusal) => {
                out.truncate(length);
                Err(refusal.at(1))
            }
        }
    }

    /// The span of the keys whose first fields are `equal` and whose next field, text or bytes, starts with
    /// `start`.
    ///
    /// Under a case-insensitive collation the start is folded as the field is.
    pub fn begins_with(
        &self,
        fields: &Fields,
        equal: &[Value<'_>],
        start: &Value<'_>,
    ) -> Result<Span, Error> {
        let number = equal.len() + 1;
        let Some(field) = fields.get(equal.len()) else {
            return Err(Error::layout(self.name(), format!("({fields}) has no field {number}")));
        };
        if !matches!(field.kind, Type::Str(_) | Type::Bytes) {
            return Err(
                Refusal::new(format!("only text and bytes have a beginning, not {}", field.kind)).at(number)
            );
        }
        let mut prefix = self.not_null(fields, equal)?.start;
        let mut writer = Writer::new(&mut prefix);
        write_value(field, start, 0, &mut writer).map_err(|refusal| refusal.at(number))?;
        writer.finish();
        prefix.truncate(prefix.len() - text::END.len());
        Ok(Span::prefix(prefix))
    }
}

fn check_fields(fields: &Fields, depth: usize) -> Result<(), Error> {
    let refuse = |reason: String| Err(Error::layout(Native.name(), reason));
    for field in fields.iter() {
        match &field.kind {
            Type::Varint => return refuse("varint is RowKey's: use u64".to_owned()),
            Type::End => return refuse("end is LexKey's: bounds are made by `range`".to_owned()),
            Type::Null if field.nulls.is_none() => {
                return refuse("a null field is nullable: say nulls-first or nulls-last".to_owned());
            }
            Type::Tuple(_) if depth >= MAX_DEPTH => {
                return refuse(format!("tuples nest at most {MAX_DEPTH} deep"));
            }
            Type::Tuple(fields) => check_fields(fields, depth + 1)?,
            _ => {}
        }
    }
    Ok(())
}

fn write_row<'v>(
    fields: &Fields,
    values: impl ExactSizeIterator<Item = &'v Value<'v>>,
    out: &mut Writer<'_>,
) -> Result<(), Error> {
    if values.len() > fields.len() {
        let reason = format!("{} values for {} fields ({fields})", values.len(), fields.len());
        return Err(Error::layout(Native.name(), reason));
    }
    for (index, (field, value)) in fields.iter().zip(values).enumerate() {
        write_field(field, value, 0, out).map_err(|refusal| refusal.at(index + 1))?;
    }
    Ok(())
}

fn write_field(field: &Field, value: &Value<'_>, depth: usize, out: &mut Writer<'_>) -> Result<(), Refusal> {
    match (field.nulls, value) {
        (None, Value::Null) => return Err(Refusal::new("null, but the field is not nullable")),
        (None, _) => {}
        (Some(nulls), Value::Null) => {
            out.array([if nulls == Nulls::First { NULL_FIRST } else { NULL_LAST }], false);
            return Ok(());
        }
        (Some(_), _) => out.array([PRESENT], false),
    }
    write_value(field, value, depth, out)
}

fn write_value(field: &Field, value: &Value<'_>, depth: usize, out: &mut Writer<'_>) -> Result<(), Refusal> {
    let desc = field.direction == Direction::Descending;
    match (&field.kind, value) {
        (Type::Bool, Value::Bool(value)) => value.write(out, desc),
        (Type::Int(width), Value::Int(value)) => {
            if !width.holds_int(*value) {
                return Err(Refusal::new(format!("{value} does not fit {}", field.kind)));
            }
            value.write(out, desc)
        }
        (Type::Uint(width), Value::Uint(value)) => {
            if !width.holds_uint(*value) {
                return Err(Refusal::new(format!("{value} does not fit {}", field.kind)));
            }
            value.write(out, desc)
        }
        (Type::F64, Value::Float(value)) => value.write(out, desc),
        (Type::F32, Value::Float(value)) => numbers::narrow_float(*value)?.write(out, desc),
        (Type::Decimal(scale), Value::Decimal(value)) => {
            scale.map_or(Ok(()), |scale| scale.check(*value))?;
            value.write(out, desc)
        }
        (Type::Str(Collation::Binary), Value::Str(value)) => value.as_ref().write(out, desc),
        (Type::Str(Collation::NoCase), Value::Str(value)) => NoCase(value.as_ref()).write(out, desc),
        (Type::Bytes, Value::Bytes(value)) => value.as_ref().write(out, desc),
        (Type::Uuid, Value::Uuid(value)) => value.write(out, desc),
        (Type::Timestamp(precision), Value::Timestamp(value)) => value.count(*precision)?.write(out, desc),
        (Type::Date, Value::Date(value)) => value.write(out, desc),
        (Type::Duration, Value::Duration(value)) => value.write(out, desc),
        (Type::Tuple(fields), Value::Tuple(values)) => {
            if depth >= MAX_DEPTH {
                return Err(Refusal::new(format!("tuples nest at most {MAX_DEPTH} deep")));
            }
            if values.len() > fields.len() {
                return Err(Refusal::new(format!("{} elements for {}", values.len(), field.kind)));
            }
            out.within(desc, |out| {
                for (index, (field, value)) in fields.iter().zip(values).enumerate() {
                    out.array([TUPLE_MORE], false);
                    write_field(field, value, depth + 1, out)
                        .map_err(|refusal| refusal.in_element(index + 1))?;
                }
                out.array([TUPLE_END], false);
                Ok(())
            })
        }
        (kind, value) => Err(mismatch(kind, value)),
    }
}

/// A value in a field of another type.
#[cold]
pub(crate) fn mismatch(kind: &Type, value: &Value<'_>) -> Refusal {
    if let Value::List(_) | Value::Map(_) = value {
        return Refusal::new(format!(
            "a {} in a field of type {kind}: keys hold no lists or maps, give each part a field of its own",
            value.kind()
        ));
    }
    Refusal::new(format!("a value of type {} in a field of type {kind}", value.kind()))
}

fn read_field<'a>(field: &Field, reader: &mut Reader<'a>) -> Result<Value<'a>, Error> {
    if let Some(nulls) = field.nulls {
        let at = reader.offset();
        match (reader.array(false)?, nulls) {
            ([PRESENT], _) => {}
            ([NULL_FIRST], Nulls::First) | ([NULL_LAST], Nulls::Last) => return Ok(Value::Null),
            ([byte], _) => {
                let reason =
                    format!("{byte:02x} where {field} has 01 before a value or its own byte for null");
                return Err(Error::bytes(at, reason));
            }
        }
    }
    read_value(field, reader)
}

fn read_value<'a>(field: &Field, reader: &mut Reader<'a>) -> Result<Value<'a>, Error> {
    let at = reader.offset();
    let desc = field.direction == Direction::Descending;
    let wrong = |what: String| Err(Error::bytes(at, what));
    Ok(match &field.kind {
        Type::Bool => bool::read(reader, desc, None)?.into(),
        Type::Int(width) => match i64::read(reader, desc, None)? {
            value if !width.holds_int(value) => return wrong(format!("{value} does not fit {}", field.kind)),
            value => value.into(),
        },
        Type::Uint(width) => match u64::read(reader, desc, None)? {
            value if !width.holds_uint(value) => {
                return wrong(format!("{value} does not fit {}", field.kind));
            }
            value => value.into(),
        },
        Type::F64 => f64::read(reader, desc, None)?.into(),
        Type::F32 => f32::read(reader, desc, None)?.into(),
        Type::Decimal(scale) => {
            let value = Decimal::read(reader, desc, None)?;
            if let Some(Err(refusal)) = scale.map(|scale| scale.check(value)) {
                return wrong(refusal.0.into_owned());
            }
            value.into()
        }
        Type::Str(Collation::Binary) => Cow::<str>::read(reader, desc, None)?.into(),
        Type::Str(Collation::NoCase) => match Cow::<str>::read(reader, desc, None)? {
            text if !casefold::is_folded(&text) => return wrong("text that is not case-folded".to_owned()),
            text => text.into(),
        },
        Type::Bytes => Cow::<[u8]>::read(reader, desc, None)?.into(),
        Type::Uuid => Uuid::read(reader, desc, None)?.into(),
        Type::Timestamp(precision) => Timestamp::new(i64::read(reader, desc, None)?, *precision).into(),
        Type::Date => Date::read(reader, desc, None)?.into(),
        Type::Duration => Duration::read(reader, desc, None)?.into(),
        Type::Tuple(fields) => Value::Tuple(reader.within(desc, |reader| read_elements(fields, reader))?),
        Type::Null => return wrong("a value where there can only be null".to_owned()),
        Type::Varint | Type::End => return wrong(format!("{} is not in the native format", field.kind)),
    })
}

fn read_elements<'a>(fields: &Fields, reader: &mut Reader<'a>) -> Result<Vec<Value<'a>>, Error> {
    let mut values = Vec::new();
    for field in fields.iter().map(Some).chain([None]) {
        let at = reader.offset();
        match (reader.array(false)?, field) {
            ([TUPLE_END], _) => break,
            ([TUPLE_MORE], Some(field)) => values.push(read_field(field, reader)?),
            ([byte], _) => {
                return Err(Error::bytes(at, format!("{byte:02x} where a tuple goes on (01) or ends (00)")));
            }
        }
    }
    Ok(values)
}
