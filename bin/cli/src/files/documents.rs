//! Records of a file as documents of a table.

use std::collections::HashMap;

use keyloom::Document;
use keyloom::key::{Type, Value};
use keyloom::schema::Kind;
use serde_json::{Map, Value as Json};

use super::parquet::Cell;
use super::records::{Bad, Column, Raw, Records};
use super::{csv, exact, values};

/// Makes documents of records.
pub(crate) struct Documents {
    /// Where each column of the file goes.
    columns: Vec<Target>,
    /// The types of the columns that the table declares.
    kinds: HashMap<String, Kind>,
    null: String,
}

/// Where a column of a file goes.
enum Target {
    /// To a column of the table.
    Column(String, Kind),
    /// To a field that the table does not declare.
    Field(String),
    /// To all fields that its JSON names.
    Rest,
}

/// A wrong value: which column it is in, and what is wrong.
type Wrong = (String, String);

impl Documents {
    pub(crate) fn new(records: &Records, kinds: HashMap<String, Kind>, null: String) -> Self {
        let target = |name: &str| match kinds.get(name) {
            Some(kind) => Target::Column(name.to_owned(), kind.clone()),
            None => Target::Field(name.to_owned()),
        };
        let columns = if let Some(columns) = records.csv_columns() {
            let targets = columns.iter().map(|column| match column {
                Column::Named(name) => target(name),
                Column::Rest => Target::Rest,
            });
            targets.collect()
        } else if let Some(rows) = records.as_parquet() {
            let targets = rows.columns.iter().map(|column| match &rows.rest {
                Some(rest) if *rest == column.name => Target::Rest,
                _ => target(&column.name),
            });
            targets.collect()
        } else {
            Vec::new()
        };
        Self { columns, kinds, null }
    }

    /// The document of a record.
    pub(crate) fn document(&self, raw: Raw) -> Result<Document, Bad> {
        let line = raw.line();
        let read = match raw {
            Raw::Csv(record) => self.of_csv(&record),
            Raw::Json { fields, .. } => self.of_json(&fields),
            Raw::Parquet { cells, .. } => self.of_cells(cells),
        };
        read.map_err(|(column, reason)| Bad { line, column: Some(column), reason })
    }

    fn of_csv(&self, record: &csv::Record) -> Result<Document, Wrong> {
        let mut document = Document::new();
        for (target, (text, quoted)) in self.columns.iter().zip(record.iter()) {
            if !quoted && text == self.null {
                continue;
            }
            match target {
                // What is neither text nor bytes has no value that is empty.
                Target::Column(_, kind)
                    if text.is_empty() && !matches!(kind, Kind::One(Type::Str(_) | Type::Bytes)) => {}
                Target::Column(name, kind) => {
                    let value = values::from_text(kind, text).map_err(|reason| (name.clone(), reason))?;
                    document.set(name.clone(), value);
                }
                Target::Field(name) => {
                    document.set(name.clone(), text.to_owned());
                }
                Target::Rest => rest(&mut document, text)?,
            }
        }
        Ok(document)
    }

    fn of_json(&self, fields: &Map<String, Json>) -> Result<Document, Wrong> {
        let field = |(name, json): (&String, &Json)| {
            let value = match self.kinds.get(name) {
                Some(kind) => values::from_json(kind, json),
                None => exact::from_json(json),
            };
            value.map(|value| (name.clone(), value)).map_err(|reason| (name.clone(), reason))
        };
        fields.iter().map(field).collect()
    }

    fn of_cells(&self, cells: Vec<Cell>) -> Result<Document, Wrong> {
        let mut document = Document::new();
        for (target, cell) in self.columns.iter().zip(cells) {
            match (target, cell) {
                (_, Cell::Value(Value::Null)) => {}
                (Target::Rest, Cell::Json(text)) => rest(&mut document, &text)?,
                (Target::Rest, Cell::Value(_)) => return Err(no_rest("it is no JSON")),
                (Target::Column(name, _) | Target::Field(name), Cell::Value(value)) => {
                    document.set(name.clone(), value);
                }
                (Target::Column(name, Kind::One(Type::Str(_))), Cell::Json(text)) => {
                    document.set(name.clone(), text);
                }
                (Target::Column(name, kind), Cell::Json(text)) => {
                    let value = values::from_text(kind, &text).map_err(|reason| (name.clone(), reason))?;
                    document.set(name.clone(), value);
                }
                (Target::Field(name), Cell::Json(text)) => {
                    let value = serde_json::from_str(&text).map_err(|error| error.to_string());
                    let value = value.and_then(|json| exact::from_json(&json));
                    document.set(name.clone(), value.map_err(|reason| (name.clone(), reason))?);
                }
            }
        }
        Ok(document)
    }
}

/// Gives a document the fields of a JSON object.
fn rest(document: &mut Document, text: &str) -> Result<(), Wrong> {
    let Ok(Json::Object(fields)) = serde_json::from_str(text) else {
        return Err(no_rest(&format!("{} is no JSON object", values::shown(text))));
    };
    for (name, json) in &fields {
        let value = exact::from_json(json).map_err(|reason| (name.clone(), reason))?;
        document.set(name.clone(), value);
    }
    Ok(())
}

fn no_rest(reason: &str) -> Wrong {
    ("*".to_owned(), format!("{reason}, as the column * has for fields that are not declared"))
}
