//! Orders as a Parquet file, in no order of their keys.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use keyloom_workload::{Error, Order};
use parquet::basic::Compression;
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

const SCHEMA: &str = "
message orders {
  required binary user_id (STRING);
  required int64 order_date (TIMESTAMP(MICROS, true));
  required fixed_len_byte_array(16) order_id (UUID);
  required int64 amount;
  required binary status (STRING);
  required binary note (STRING);
}";

/// How many orders a group of rows has: no more are in memory.
const GROUP: usize = 100_000;

/// Writes orders to a file, as they come. When it returns, the disk has them: whoever reads the file waits for no write.
pub(super) fn write(path: &Path, orders: impl Iterator<Item = Order>) -> Result<(), Error> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(File::create(path)?, schema, Arc::new(properties))?;
    let mut orders = orders.peekable();
    while orders.peek().is_some() {
        let group: Vec<Order> = orders.by_ref().take(GROUP).collect();
        let mut rows = file.next_row_group()?;
        column::<ByteArrayType>(&mut rows, &group, |order| order.user.as_ref().into())?;
        column::<Int64Type>(&mut rows, &group, |order| order.date)?;
        let bytes = |order: &Order| FixedLenByteArray::from(order.id.as_bytes().to_vec());
        column::<FixedLenByteArrayType>(&mut rows, &group, bytes)?;
        column::<Int64Type>(&mut rows, &group, |order| order.amount)?;
        column::<ByteArrayType>(&mut rows, &group, |order| ByteArray::from(order.status))?;
        column::<ByteArrayType>(&mut rows, &group, |order| ByteArray::from(order.note))?;
        rows.close()?;
    }
    Ok(file.into_inner()?.sync_all()?)
}

/// Writes the next column of a group.
fn column<T: DataType>(
    rows: &mut SerializedRowGroupWriter<'_, File>,
    orders: &[Order],
    value: impl Fn(&Order) -> T::T,
) -> Result<(), Error> {
    let mut column = rows.next_column()?.ok_or("the schema has fewer columns")?;
    let values: Vec<T::T> = orders.iter().map(value).collect();
    column.typed::<T>().write_batch(&values, None, None)?;
    Ok(column.close()?)
}
