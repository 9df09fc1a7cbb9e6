//! A whole table to a file.

use std::io::Write;
use std::ops::ControlFlow;

use keyloom::key::Value;
use keyloom::schema::Table as Definition;
use keyloom::{Database, Document, Row, Table, UrlStore, Wait};
use serde_json::{Map, Value as Json};

use super::To;
use crate::failure::Failure;
use crate::files::format::FileFormat;
use crate::files::output::Output;
use crate::files::parquet::{Shape, Writer};
use crate::files::{csv, exact, values};
use crate::progress::{Progress, Unit};

/// Writes every record of a table; how many there were.
pub(super) fn export(database: &Database<UrlStore>, name: &str, to: &To) -> Result<u64, Failure> {
    let table = database.table(name).wait()?;
    let definition = table.definition()?;
    let rest = to.format != FileFormat::Jsonl && has_undeclared(&table)?;
    let mut sink = Sink::new(to, &definition, rest)?;
    let progress = Progress::new("writing", Unit::Rows, None);
    let mut written = 0;
    each(&table, |row| {
        sink.write(&definition, &row.to_document()?)?;
        written += 1;
        if written % 1_024 == 0 {
            progress.set(written);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    sink.finish()?;
    Ok(written)
}

/// Why the work on a record failed.
enum Wrong {
    Table(keyloom::Error),
    Failure(Failure),
}

impl From<keyloom::Error> for Wrong {
    fn from(error: keyloom::Error) -> Self {
        Self::Table(error)
    }
}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// Shows every record to `visit`, until it breaks or fails.
fn each(
    table: &Table<UrlStore>,
    mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Wrong> + Send,
) -> Result<(), Failure> {
    for segment in table.segments(1)? {
        let mut failed = None;
        let look = |row: &Row<'_>| match visit(row) {
            Ok(flow) => Ok(flow),
            Err(Wrong::Table(error)) => Err(error),
            Err(Wrong::Failure(failure)) => {
                failed = Some(failure);
                Ok(ControlFlow::Break(()))
            }
        };
        table.scan(&segment, look).wait()?;
        if let Some(failure) = failed {
            return Err(failure);
        }
    }
    Ok(())
}

/// Whether a record has fields that no column is for.
fn has_undeclared(table: &Table<UrlStore>) -> Result<bool, Failure> {
    let mut found = false;
    each(table, |row| {
        found = row.has_undeclared();
        Ok(if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(found)
}

/// Where records go.
enum Sink {
    Csv { out: Output, delimiter: u8, rest: bool },
    Jsonl { out: Output },
    Parquet { file: Box<Writer<Output>>, rest: bool },
}

impl Sink {
    fn new(to: &To, table: &Definition, rest: bool) -> Result<Self, Failure> {
        let mut out = to.create()?;
        match to.format {
            FileFormat::Csv => {
                let delimiter = to.delimiter;
                for (number, column) in table.columns().iter().enumerate() {
                    out.write_all(if number > 0 { std::slice::from_ref(&delimiter) } else { &[] })?;
                    csv::write_value(&mut out, Some(&column.name), delimiter)?;
                }
                if rest {
                    // Without quotes, as no column's name is.
                    out.write_all(&[delimiter, b'*'])?;
                }
                out.write_all(b"\n")?;
                Ok(Self::Csv { out, delimiter, rest })
            }
            FileFormat::Jsonl => Ok(Self::Jsonl { out }),
            FileFormat::Parquet => {
                let declared = table.columns().iter();
                let declared = declared
                    .map(|column| (column.name.clone(), Shape::Typed(column.kind.clone()), column.nullable));
                let mut columns: Vec<_> = declared.collect();
                let mut name = "*".to_owned();
                while table.column(&name).is_some() {
                    name.push('*');
                }
                columns.extend(rest.then(|| (name.clone(), Shape::Fields, true)));
                let bare = table.indexes().iter();
                let bare = bare.fold(table.clone(), |table, index| table.without_index(index.name()));
                let file = Writer::new(out, columns, Some(bare.to_sql()), rest.then_some(name))?;
                Ok(Self::Parquet { file: Box::new(file), rest })
            }
        }
    }

    fn write(&mut self, table: &Definition, document: &Document) -> Result<(), Failure> {
        match self {
            Self::Jsonl { out } => {
                let declared = table.columns().iter();
                let declared = declared.filter_map(|column| {
                    Some((column.name.clone(), values::to_json(document.get(&column.name)?)))
                });
                let fields: Map<String, Json> = declared.chain(undeclared(table, document)).collect();
                serde_json::to_writer(&mut *out, &fields).map_err(std::io::Error::from)?;
                Ok(out.write_all(b"\n")?)
            }
            Self::Csv { out, delimiter, rest } => {
                let others = others(table, document, *rest)?.map(|json| json.to_string());
                let declared = table.columns().iter().map(|column| match document.get(&column.name) {
                    None | Some(Value::Null) => None,
                    Some(value) => Some(values::to_text(value)),
                });
                let cells: Vec<Option<String>> = declared.chain(rest.then_some(others)).collect();
                Ok(csv::write_record(out, cells.iter().map(Option::as_deref), *delimiter)?)
            }
            Self::Parquet { file, rest } => {
                let others = others(table, document, *rest)?;
                // The writer makes JSON of it with the types of the values.
                let others = others.map(|_| {
                    let fields = document.iter().filter(|(name, _)| table.column(name).is_none());
                    Value::map(fields.map(|(name, value)| (name.to_owned(), value.clone())))
                });
                let declared = table.columns().iter();
                let declared =
                    declared.map(|column| document.get(&column.name).cloned().unwrap_or(Value::Null));
                file.write(declared.chain(rest.then(|| others.unwrap_or(Value::Null))))
            }
        }
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Csv { out, .. } | Self::Jsonl { out } => out.finish(),
            Self::Parquet { file, .. } => file.finish()?.finish(),
        }
    }
}

/// The fields that the table does not declare, as JSON that keeps their types.
fn undeclared(table: &Definition, document: &Document) -> impl Iterator<Item = (String, Json)> {
    let fields = document.iter().filter(|(name, _)| table.column(name).is_none());
    fields.map(|(name, value)| (name.to_owned(), exact::to_json(value)))
}

/// The same as one object; `None` if there are none. `rest` says whether there is a column for it.
fn others(table: &Definition, document: &Document, rest: bool) -> Result<Option<Json>, Failure> {
    let fields: Map<String, Json> = undeclared(table, document).collect();
    match fields.keys().next() {
        None => Ok(None),
        Some(name) if !rest => Err(Failure::Failed(format!(
            "the field {name}, which {} does not declare, was written while the file was: export again",
            table.name()
        ))),
        Some(_) => Ok(Some(Json::Object(fields))),
    }
}
