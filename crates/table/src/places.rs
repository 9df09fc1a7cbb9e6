//! Records by the values of some columns, which need no names.

use std::borrow::Cow;

use keyloom_key::{Type, Value};
use keyloom_schema::{Source, Table};

use crate::entries::{self, Columns};
use crate::error::Error;

/// The columns that the values of a row are for.
#[derive(Debug)]
pub(crate) struct Places {
    /// The column of each value: the first is 0.
    columns: Vec<usize>,
    /// The value of each column, if it has one.
    values: Vec<Option<usize>>,
}

impl Places {
    /// Refuses columns that the table does not have, one that is there twice, and a record that would lack one.
    pub(crate) fn of<N: AsRef<str>>(table: &Table, columns: &[N]) -> Result<Self, Error> {
        let mut places: Vec<usize> = Vec::with_capacity(columns.len());
        for name in columns {
            let wrong = |reason: &'static str| wrong(name.as_ref(), reason.into());
            let place = table.columns().iter().position(|column| column.name == name.as_ref());
            let place = place.ok_or_else(|| wrong("no column of the table"))?;
            if places.contains(&place) {
                return Err(wrong("given twice: give it once"));
            }
            places.push(place);
        }
        let mut all = table.columns().iter().enumerate();
        if let Some((_, lacking)) = all.find(|(place, column)| !column.nullable && !places.contains(place)) {
            return Err(lacking.missing().into());
        }
        let values =
            (0..table.columns().len()).map(|column| places.iter().position(|place| *place == column));
        Ok(Self { values: values.collect(), columns: places })
    }

    /// A record of these values, each as its column keeps it. They are [as many](check_count) as the columns.
    pub(crate) fn record<'a, 'v>(
        &'a self,
        table: &'a Table,
        row: &'a [Value<'v>],
    ) -> Result<Placed<'a, 'v>, Error> {
        let columns = || self.columns.iter().filter_map(|at| table.columns().get(*at));
        // Mostly values are of the right types, and nothing has to be made of them.
        let values = if columns().zip(row).all(|(column, value)| column.holds(value)) {
            Cow::Borrowed(row)
        } else {
            let kept = columns().zip(row).map(|(column, value)| column.coerce(value.clone()));
            Cow::Owned(kept.collect::<Result<_, _>>()?)
        };
        Ok(Placed { table, places: self, values })
    }
}

/// Refuses more or fewer values than there are columns.
pub(crate) fn check_count<N: AsRef<str>>(table: &str, columns: &[N], values: usize) -> Result<(), Error> {
    if values > columns.len() {
        let reason = format!("a record has more values than the {} columns", columns.len());
        return Err(wrong(table, reason.into()));
    }
    match columns.get(values) {
        None => Ok(()),
        Some(lacking) => Err(wrong(lacking.as_ref(), "a record has no value for it".into())),
    }
}

fn wrong(field: &str, reason: Cow<'static, str>) -> Error {
    keyloom_schema::Error::Value { field: field.to_owned(), reason }.into()
}

/// Values of the table's columns by their numbers, and of nothing else.
#[derive(Debug)]
pub(crate) struct Placed<'a, 'v> {
    table: &'a Table,
    places: &'a Places,
    values: Cow<'a, [Value<'v>]>,
}

impl Placed<'_, '_> {
    /// Appends the record's payload.
    pub(crate) fn payload(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        entries::write_payload(self.table, self, std::iter::empty(), out)
    }
}

impl Source for Placed<'_, '_> {
    fn value(&self, name: &str) -> Result<Value<'_>, keyloom_schema::Error> {
        let value = self.table.column(name).and_then(|column| self.column(column.id));
        Ok(value.map_or(Value::Null, Value::borrowed))
    }

    fn kind(&self, name: &str) -> Option<&Type> {
        self.table.column(name).map(|column| column.kind.element())
    }
}

impl Columns for Placed<'_, '_> {
    fn column(&self, number: u16) -> Option<&Value<'_>> {
        let value = self.places.values.get(usize::from(number).checked_sub(1)?)?;
        self.values.get((*value)?)
    }
}
