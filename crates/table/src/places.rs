//! Records by the values of some columns, which need no names.

use std::borrow::Cow;

use keyloom_key::{Type, Value};
use keyloom_schema::{Source, Table};
use smallvec::{SmallVec, smallvec};

use crate::entries::{self, Columns};
use crate::error::Error;

/// The columns that the values of a row are for, in the order of the values.
#[derive(Debug)]
pub(crate) struct Places {
    /// Where each value goes: the first column is 0.
    columns: Vec<usize>,
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
        Ok(Self { columns: places })
    }

    /// A record of these values, each as its column keeps it.
    pub(crate) fn record<'t, 'v>(
        &self,
        table: &'t Table,
        row: impl IntoIterator<Item = Value<'v>>,
    ) -> Result<Placed<'t, 'v>, Error> {
        let mut values: SmallVec<[Option<Value<'v>>; 8]> = smallvec![None; table.columns().len()];
        let mut row = row.into_iter();
        for at in &self.columns {
            let (Some(column), Some(place)) = (table.columns().get(*at), values.get_mut(*at)) else {
                continue;
            };
            let value =
                row.next().ok_or_else(|| wrong(&column.name, "a record has no value for it".into()))?;
            *place = Some(if column.holds(&value) { value } else { column.coerce(value)? });
        }
        if row.next().is_some() {
            let reason = format!("a record has more values than the {} columns", self.columns.len());
            return Err(wrong(table.name(), reason.into()));
        }
        Ok(Placed { table, values })
    }
}

fn wrong(field: &str, reason: Cow<'static, str>) -> Error {
    keyloom_schema::Error::Value { field: field.to_owned(), reason }.into()
}

/// Values of the table's columns by their numbers, and of nothing else.
#[derive(Debug)]
pub(crate) struct Placed<'t, 'v> {
    table: &'t Table,
    /// The value of the first column, and so on.
    values: SmallVec<[Option<Value<'v>>; 8]>,
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
        self.values.get(usize::from(number).checked_sub(1)?)?.as_ref()
    }
}
