//! Reading Parquet, record by record.

use std::fs::File;
use std::panic;
use std::sync::Once;

use keyloom::key::{Date, Decimal, Duration, Timestamp, Uuid, Value};
use keyloom::schema::{Kind, Table};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::{Type as Node, TypePtr};

use super::{REST, TABLE};
use crate::failure::Failure;
use crate::files::values;

/// A column of a file.
pub(crate) struct Column {
    pub(crate) name: String,
    /// What its values are; `None` if no column of a table has such.
    pub(crate) kind: Option<Kind>,
    node: TypePtr,
}

/// A value of a file.
#[derive(Debug)]
pub(crate) enum Cell {
    Value(Value<'static>),
    /// The text of JSON.
    Json(String),
}

/// The rows of a file, one after the other.
pub(crate) struct Rows {
    rows: RowIter<'static>,
    pub(crate) columns: Vec<Column>,
    /// How many rows there are.
    pub(crate) count: u64,
    /// The table that the file was written from, if it says so.
    pub(crate) table: Option<Table>,
    /// The name of the column with the fields that the table does not declare.
    pub(crate) rest: Option<String>,
}

impl Rows {
    pub(crate) fn open(file: File) -> Result<Self, Failure> {
        let wrong =
            |error: parquet::errors::ParquetError| Failure::Failed(format!("no Parquet file: {error}"));
        let reader = SerializedFileReader::new(file).map_err(wrong)?;
        let facts = reader.metadata().file_metadata();
        let fact = |name: &str| {
            let found = facts.key_value_metadata()?.iter().find(|fact| fact.key == name)?;
            found.value.clone()
        };
        let nodes = facts.schema().get_fields();
        nodes.iter().try_for_each(|node| check(node)).map_err(Failure::Failed)?;
        let columns = nodes.iter().map(|node| Column {
            name: node.name().to_owned(),
            kind: kind(node),
            node: node.clone(),
        });
        let columns = columns.collect();
        let count = u64::try_from(facts.num_rows()).unwrap_or(0);
        let table = fact(TABLE).and_then(|text| Table::from_sql(&text).ok());
        let rest = fact(REST);
        Ok(Self { rows: RowIter::from_file_into(Box::new(reader)), columns, count, table, rest })
    }

    /// The next row; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Row>, Failure> {
        let next = guarded(|| self.rows.next())?;
        next.transpose().map_err(|error| Failure::Failed(format!("damaged: {error}")))
    }

    /// The values of a row, in the order of the columns.
    pub(crate) fn cells(&self, row: Row) -> Result<Vec<Cell>, String> {
        let fields = self.columns.iter().zip(row.into_columns());
        let cells = fields.map(|(column, (_, field))| {
            let named = |reason: String| format!("{}: {reason}", column.name);
            match field {
                Field::Str(text) if is_json(&column.node) => Ok(Cell::Json(text)),
                field => value(&field, &column.node).map(Cell::Value).map_err(named),
            }
        });
        cells.collect()
    }
}

/// Does what may panic, as the reader below does at some files that are damaged, and makes an error of that.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Failure> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let of_reader = info.location().is_some_and(|place| place.file().contains("parquet-"));
            if !of_reader {
                before(info);
            }
        }));
    });
    panic::catch_unwind(panic::AssertUnwindSafe(work))
        .map_err(|_| Failure::Failed("damaged: what it says of its columns cannot be".to_owned()))
}

fn is_json(node: &Node) -> bool {
    let info = node.get_basic_info();
    info.logical_type_ref() == Some(&LogicalType::Json) || info.converted_type() == ConvertedType::JSON
}

/// Refuses what the reader below would not read, or not exactly.
fn check(node: &Node) -> Result<(), String> {
    if node.is_group() {
        return node.get_fields().iter().try_for_each(|node| check(node));
    }
    use ConvertedType as C;
    let converted = node.get_basic_info().converted_type();
    let known = match node.get_physical_type() {
        Physical::INT32 => {
            !matches!(converted, C::INT_64 | C::UINT_64 | C::TIME_MICROS | C::INTERVAL | C::UTF8)
        }
        Physical::INT64 => matches!(
            converted,
            C::NONE
                | C::INT_64
                | C::UINT_64
                | C::TIME_MICROS
                | C::TIMESTAMP_MILLIS
                | C::TIMESTAMP_MICROS
                | C::DECIMAL
        ),
        Physical::INT96 => {
            let remedy = "write it as a TIMESTAMP of micro- or nanoseconds";
            return Err(format!("column {}: INT96 is an old way to write an instant: {remedy}", node.name()));
        }
        Physical::BYTE_ARRAY => {
            matches!(converted, C::NONE | C::UTF8 | C::ENUM | C::JSON | C::BSON | C::DECIMAL)
        }
        Physical::FIXED_LEN_BYTE_ARRAY => matches!(converted, C::NONE | C::DECIMAL),
        _ => true,
    };
    if known {
        Ok(())
    } else {
        Err(format!("column {}: {converted} cannot be imported: cast it first", node.name()))
    }
}

/// The type of a column of a table that has such values.
fn kind(node: &Node) -> Option<Kind> {
    let info = node.get_basic_info();
    if node.is_group() {
        if info.converted_type() != ConvertedType::LIST {
            return None;
        }
        return match kind(element(node)?)? {
            Kind::One(kind) => Some(Kind::Many(kind)),
            Kind::Many(_) => None,
        };
    }
    if is_json(node) {
        return None;
    }
    use ConvertedType as C;
    let time = |unit: &TimeUnit, name: &str| match unit {
        TimeUnit::MILLIS => format!("{name}(3)"),
        TimeUnit::MICROS => format!("{name}(6)"),
        TimeUnit::NANOS => format!("{name}(9)"),
    };
    let text = match (info.logical_type_ref(), info.converted_type(), node.get_physical_type()) {
        (Some(LogicalType::Uuid), ..) => "uuid".to_owned(),
        (Some(LogicalType::Timestamp(kind)), ..) => time(&kind.unit, "timestamp"),
        (Some(LogicalType::Time(_)), ..) | (_, C::TIME_MILLIS | C::TIME_MICROS, _) => "duration".to_owned(),
        (Some(LogicalType::Float16), ..) => "f32".to_owned(),
        (_, C::TIMESTAMP_MILLIS, _) => "timestamp(3)".to_owned(),
        (_, C::TIMESTAMP_MICROS, _) => "timestamp(6)".to_owned(),
        (_, C::DECIMAL, _) if node.get_precision() <= 38 => {
            format!("decimal({},{})", node.get_precision(), node.get_scale())
        }
        (_, C::DECIMAL, _) => "decimal".to_owned(),
        (_, C::DATE, _) => "date".to_owned(),
        (_, C::UTF8 | C::ENUM, _) => "str".to_owned(),
        (_, C::INT_8, _) => "i8".to_owned(),
        (_, C::INT_16, _) => "i16".to_owned(),
        (_, C::UINT_8, _) => "u8".to_owned(),
        (_, C::UINT_16, _) => "u16".to_owned(),
        (_, C::UINT_32, _) => "u32".to_owned(),
        (_, C::UINT_64, _) => "u64".to_owned(),
        (_, _, Physical::BOOLEAN) => "bool".to_owned(),
        (_, _, Physical::INT32) => "i32".to_owned(),
        (_, _, Physical::INT64) => "i64".to_owned(),
        (_, _, Physical::FLOAT) => "f32".to_owned(),
        (_, _, Physical::DOUBLE) => "f64".to_owned(),
        _ => "bytes".to_owned(),
    };
    text.parse().ok()
}

/// What the elements of a list are: within a group of their own, or without, as older files have it.
fn element(list: &Node) -> Option<&Node> {
    let repeated = list.get_fields().first()?;
    match repeated.is_group().then(|| repeated.get_fields()) {
        Some([element]) => Some(element),
        _ => Some(repeated),
    }
}

fn value(field: &Field, node: &Node) -> Result<Value<'static>, String> {
    let logical = node.get_basic_info().logical_type_ref();
    Ok(match field {
        Field::Null => Value::Null,
        Field::Bool(value) => (*value).into(),
        Field::Byte(value) => (*value).into(),
        Field::Short(value) => (*value).into(),
        Field::Int(value) => (*value).into(),
        Field::Long(value) => match logical {
            Some(LogicalType::Timestamp(_)) => Timestamp::from_nanos(*value).into(),
            Some(LogicalType::Time(_)) => Duration::from_nanos(*value).into(),
            _ => (*value).into(),
        },
        Field::UByte(value) => (*value).into(),
        Field::UShort(value) => (*value).into(),
        Field::UInt(value) => (*value).into(),
        Field::ULong(value) => (*value).into(),
        Field::Float16(value) => value.to_f32().into(),
        Field::Float(value) => (*value).into(),
        Field::Double(value) => (*value).into(),
        Field::Decimal(value) => decimal(value.data(), value.scale())
            .ok_or_else(|| "a decimal with more than 38 digits".to_owned())?
            .into(),
        Field::Str(text) => text.clone().into(),
        Field::Bytes(bytes) if logical == Some(&LogicalType::Uuid) => {
            Uuid::from_slice(bytes.data()).map_err(|error| error.to_string())?.into()
        }
        Field::Bytes(bytes) => bytes.data().to_vec().into(),
        Field::Date(days) => Date::from_days(*days).into(),
        Field::TimeMillis(millis) => Duration::from_nanos(i64::from(*millis) * 1_000_000).into(),
        Field::TimeMicros(micros) => {
            Duration::from_nanos(micros.checked_mul(1_000).ok_or("a time that no day has")?).into()
        }
        Field::TimestampMillis(millis) => Timestamp::from_millis(*millis).into(),
        Field::TimestampMicros(micros) => Timestamp::from_micros(*micros).into(),
        Field::ListInternal(list) => {
            let element = element(node).unwrap_or(node);
            Value::List(list.elements().iter().map(|field| value(field, element)).collect::<Result<_, _>>()?)
        }
        Field::MapInternal(map) => {
            let pair = node.get_fields().first().map_or(&[][..], |entry| entry.get_fields());
            let (of_keys, of_values) = match pair {
                [keys, values] => (&**keys, &**values),
                _ => (node, node),
            };
            let entries = map
                .entries()
                .iter()
                .map(|(name, field)| Ok((values::to_text(&value(name, of_keys)?), value(field, of_values)?)));
            Value::map(entries.collect::<Result<Vec<_>, String>>()?)
        }
        Field::Group(row) => {
            let fields = row.get_column_iter().zip(node.get_fields());
            let fields = fields.map(|((name, field), node)| Ok((name.clone(), value(field, node)?)));
            Value::map(fields.collect::<Result<Vec<_>, String>>()?)
        }
    })
}

/// A decimal from the bytes of its digits as one number, and how many stand behind the point.
fn decimal(bytes: &[u8], scale: i32) -> Option<Decimal> {
    let negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
    let fill = if negative { 0xFF } else { 0 };
    let spare = bytes.len().saturating_sub(16);
    let (high, low) = bytes.split_at_checked(spare)?;
    high.iter().all(|byte| *byte == fill).then_some(())?;
    let mut all = [fill; 16];
    all.iter_mut().rev().zip(low.iter().rev()).for_each(|(place, byte)| *place = *byte);
    let number = i128::from_be_bytes(all);
    // What was cut off must not have carried the sign.
    ((number < 0) == negative).then_some(())?;
    Decimal::new(number, -scale)
}
