//! Writing Parquet: rows wait until there are enough for a group, then go column by column.

use std::io::Write;
use std::sync::Arc;

use keyloom::key::{Precision, Type, Value, Width};
use keyloom::schema::Kind;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type as Node;

use super::{REST, TABLE};
use crate::failure::Failure;
use crate::files::{exact, values};

/// How many bytes of values wait at most, about.
const GROUP: usize = 32 << 20;

/// What a column's values are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// Values that a column of a table may have.
    Typed(Kind),
    /// Any values, as JSON that keeps their types.
    Any,
    /// Maps of fields, as JSON objects that keep their types.
    Fields,
}

/// Writes rows to a file.
pub(crate) struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<(String, Shape, bool)>,
    /// The values that wait, column by column.
    waiting: Vec<Vec<Value<'static>>>,
    bytes: usize,
}

impl<W: Write + Send> Writer<W> {
    /// A file of these columns, each with whether it may be null. `table` is the statement that makes the table, `rest`
    /// the name of the column with the fields that it does not declare.
    pub(crate) fn new(
        out: W,
        columns: Vec<(String, Shape, bool)>,
        table: Option<String>,
        rest: Option<String>,
    ) -> Result<Self, Failure> {
        let fields =
            columns.iter().map(|(name, shape, nullable)| Ok(Arc::new(node(name, shape, *nullable)?)));
        let fields = fields.collect::<Result<Vec<_>, ParquetError>>().map_err(failed)?;
        let schema = Node::group_type_builder("keyloom").with_fields(fields).build().map_err(failed)?;
        let facts = [(TABLE, table), (REST, rest)].into_iter();
        let facts = facts.filter_map(|(name, text)| Some(KeyValue::new(name.to_owned(), text?)));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(facts.collect()))
            .build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(failed)?;
        let waiting = columns.iter().map(|_| Vec::new()).collect();
        Ok(Self { file, columns, waiting, bytes: 0 })
    }

    /// Takes a row.
    pub(crate) fn write(&mut self, row: impl IntoIterator<Item = Value<'static>>) -> Result<(), Failure> {
        for (column, value) in self.waiting.iter_mut().zip(row) {
            self.bytes += size(&value);
            column.push(value);
        }
        if self.bytes >= GROUP { self.release() } else { Ok(()) }
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.bytes = 0;
        if self.waiting.first().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        let mut group = self.file.next_row_group().map_err(failed)?;
        for ((name, shape, nullable), values) in self.columns.iter().zip(&mut self.waiting) {
            let Some(mut column) = group.next_column().map_err(failed)? else { break };
            write_column(&mut column, shape, *nullable, values)
                .map_err(|reason| Failure::Failed(format!("column {name}: {reason}")))?;
            column.close().map_err(failed)?;
            values.clear();
        }
        group.close().map_err(failed)?;
        Ok(())
    }

    /// Writes what waits, and the end of the file.
    pub(crate) fn finish(mut self) -> Result<W, Failure> {
        self.release()?;
        self.file.into_inner().map_err(failed)
    }
}

fn failed(error: ParquetError) -> Failure {
    match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => (*error).into(),
            Err(error) => Failure::Failed(error.to_string()),
        },
        error => Failure::Failed(error.to_string()),
    }
}

/// About how many bytes a value takes.
fn size(value: &Value<'_>) -> usize {
    size_of::<Value<'_>>()
        + match value {
            Value::Str(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::List(values) | Value::Tuple(values) => values.iter().map(size).sum(),
            Value::Map(entries) => entries.iter().map(|(name, value)| name.len() + size(value)).sum(),
            _ => 0,
        }
}

/// A column of the file's schema.
fn node(name: &str, shape: &Shape, nullable: bool) -> Result<Node, ParquetError> {
    let text = (Physical::BYTE_ARRAY, Some(LogicalType::String));
    let (physical, logical) = match shape {
        Shape::Any | Shape::Fields | Shape::Typed(Kind::Many(_) | Kind::One(Type::Tuple(_))) => {
            (Physical::BYTE_ARRAY, Some(LogicalType::Json))
        }
        Shape::Typed(Kind::One(kind)) => match kind {
            Type::Bool => (Physical::BOOLEAN, None),
            Type::Int(width) => integer(*width, true),
            Type::Uint(width) => integer(*width, false),
            Type::Varint => integer(Width::W64, false),
            Type::F32 => (Physical::FLOAT, None),
            Type::F64 => (Physical::DOUBLE, None),
            Type::Decimal(Some(scale)) => {
                let (precision, scale) = (narrow(scale.precision()), narrow(scale.scale()));
                return Node::primitive_type_builder(name, Physical::FIXED_LEN_BYTE_ARRAY)
                    .with_length(16)
                    .with_precision(precision)
                    .with_scale(scale)
                    .with_logical_type(Some(LogicalType::decimal(scale, precision)))
                    .with_repetition(repetition(nullable))
                    .build();
            }
            Type::Bytes => (Physical::BYTE_ARRAY, None),
            Type::Uuid => (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid)),
            Type::Timestamp(precision) => {
                let unit = match precision {
                    Precision::Millis => TimeUnit::MILLIS,
                    Precision::Micros => TimeUnit::MICROS,
                    Precision::Nanos => TimeUnit::NANOS,
                };
                (Physical::INT64, Some(LogicalType::timestamp(true, unit)))
            }
            Type::Date => (Physical::INT32, Some(LogicalType::Date)),
            Type::Duration => (Physical::INT64, None),
            _ => text,
        },
    };
    Node::primitive_type_builder(name, physical)
        .with_length(if physical == Physical::FIXED_LEN_BYTE_ARRAY { 16 } else { -1 })
        .with_logical_type(logical)
        .with_repetition(repetition(nullable))
        .build()
}

fn narrow(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn repetition(nullable: bool) -> Repetition {
    if nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED }
}

fn integer(width: Width, signed: bool) -> (Physical, Option<LogicalType>) {
    let (physical, bits) = match width {
        Width::W8 => (Physical::INT32, 8),
        Width::W16 => (Physical::INT32, 16),
        Width::W24 | Width::W32 => (Physical::INT32, 32),
        _ => (Physical::INT64, 64),
    };
    (physical, Some(LogicalType::integer(bits, signed)))
}

fn write_column(
    column: &mut SerializedColumnWriter<'_>,
    shape: &Shape,
    nullable: bool,
    values: &[Value<'static>],
) -> Result<(), String> {
    let json = |value: serde_json::Value| Some(ByteArray::from(value.to_string().into_bytes()));
    let kind = match shape {
        Shape::Any => {
            return put::<ByteArrayType>(column, nullable, values, |value| json(exact::to_json(value)));
        }
        Shape::Fields => {
            return put::<ByteArrayType>(column, nullable, values, |value| {
                json(exact::fields_to_json(value))
            });
        }
        Shape::Typed(Kind::Many(_)) => return put::<ByteArrayType>(column, nullable, values, as_json),
        Shape::Typed(Kind::One(kind)) => kind,
    };
    match kind {
        Type::Tuple(_) => put::<ByteArrayType>(column, nullable, values, as_json),
        Type::Bool => put::<BoolType>(column, nullable, values, |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }),
        Type::Int(width) if width.bits() <= 32 => {
            put::<Int32Type>(column, nullable, values, |value| match value {
                Value::Int(value) => i32::try_from(*value).ok(),
                _ => None,
            })
        }
        Type::Uint(width) if width.bits() <= 32 => {
            put::<Int32Type>(column, nullable, values, |value| match value {
                // The bits of an unsigned number, as the format has it.
                Value::Uint(value) => u32::try_from(*value).ok().map(u32::cast_signed),
                _ => None,
            })
        }
        Type::Int(_) | Type::Uint(_) | Type::Varint | Type::Duration | Type::Timestamp(_) => {
            put::<Int64Type>(column, nullable, values, |value| match (value, kind) {
                (Value::Int(value), Type::Int(_)) => Some(*value),
                (Value::Uint(value), Type::Uint(_) | Type::Varint) => Some(value.cast_signed()),
                (Value::Duration(value), _) => Some(value.nanos()),
                (Value::Timestamp(value), Type::Timestamp(precision)) => value.count(*precision).ok(),
                _ => None,
            })
        }
        Type::F32 => put::<FloatType>(column, nullable, values, |value| match value {
            Value::Float(value) => Some(to_f32(*value)),
            _ => None,
        }),
        Type::F64 => put::<DoubleType>(column, nullable, values, |value| match value {
            Value::Float(value) => Some(*value),
            _ => None,
        }),
        Type::Date => put::<Int32Type>(column, nullable, values, |value| match value {
            Value::Date(value) => Some(value.days()),
            _ => None,
        }),
        Type::Decimal(Some(scale)) => {
            put::<FixedLenByteArrayType>(column, nullable, values, |value| match value {
                Value::Decimal(value) => Some(fixed(&value.scaled(scale.scale())?.to_be_bytes())),
                _ => None,
            })
        }
        Type::Uuid => put::<FixedLenByteArrayType>(column, nullable, values, |value| match value {
            Value::Uuid(value) => Some(fixed(value.as_bytes())),
            _ => None,
        }),
        Type::Bytes => put::<ByteArrayType>(column, nullable, values, |value| match value {
            Value::Bytes(value) => Some(ByteArray::from(value.to_vec())),
            _ => None,
        }),
        _ => put::<ByteArrayType>(column, nullable, values, |value| {
            Some(ByteArray::from(values::to_text(value).into_bytes()))
        }),
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a column of this type holds only such numbers")]
fn to_f32(number: f64) -> f32 {
    number as f32
}

fn fixed(bytes: &[u8]) -> FixedLenByteArray {
    FixedLenByteArray::from(bytes.to_vec())
}

fn as_json(value: &Value<'_>) -> Option<ByteArray> {
    Some(ByteArray::from(values::to_json(value).to_string().into_bytes()))
}

/// Writes the values of a column, each as the file has it.
fn put<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    nullable: bool,
    values: &[Value<'static>],
    convert: impl Fn(&Value<'static>) -> Option<T::T>,
) -> Result<(), String> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(*value != Value::Null)).collect();
    let there = values.iter().filter(|value| **value != Value::Null);
    let converted = there.map(|value| {
        convert(value).ok_or_else(|| {
            let (kind, text) = (value.kind(), values::shown(&values::to_text(value)));
            format!(
                "{text}, a {kind}, is not of the type of the first values: use CAST, or write CSV or JSONL"
            )
        })
    });
    let converted = converted.collect::<Result<Vec<_>, _>>()?;
    let levels = nullable.then_some(levels.as_slice());
    column.typed::<T>().write_batch(&converted, levels, None).map_err(|error| error.to_string())?;
    Ok(())
}
