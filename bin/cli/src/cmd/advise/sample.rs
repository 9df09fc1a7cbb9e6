//! A sample: the first records of a file, as a table in memory.

use std::collections::HashSet;
use std::path::Path;

use keyloom::key::Value;
use keyloom::schema::{Kind, Table, TableBuilder};
use keyloom::{Database, Document, Location, Url, UrlStore, Wait};

use super::{Advised, of_table, queries, text};
use crate::cmd::stats;
use crate::failure::Failure;
use crate::files::documents::Documents;
use crate::files::format::{self, FileFormat};
use crate::files::records::Records;
use crate::files::{infer, input};

/// The most rows that are measured.
const MOST: usize = 100_000;

/// Records of one table.
pub(super) struct Sample {
    name: String,
    columns: Vec<Column>,
    documents: Vec<Document>,
}

struct Column {
    name: String,
    kind: Kind,
    nullable: bool,
    unique: bool,
}

impl Sample {
    /// Reads the first rows of a file, whose name says this format.
    pub(super) fn read(path: &Path, format: FileFormat, name: Option<&str>) -> Result<Self, Failure> {
        let input = input::open(path)?;
        let format = input.format.unwrap_or(format);
        let mut records = Records::of(input, path, format, None)?;
        records.sample(MOST, usize::MAX)?;
        // A column without a type is a field that the table does not declare.
        let columns = infer::columns(&records, "").into_iter();
        let kinds: Vec<(String, Kind)> = columns.filter_map(|(name, kind)| Some((name, kind?))).collect();
        let reader = Documents::new(&records, kinds.iter().cloned().collect(), String::new());
        let what = records.counted_as();
        let mut documents = Vec::new();
        while documents.len() < MOST
            && let Some(read) = records.next()?
        {
            let document = read.and_then(|raw| reader.document(raw));
            documents.push(document.map_err(|bad| Failure::Failed(bad.text(what)))?);
        }
        let columns = kinds.into_iter().map(|(name, kind)| Column::of(name, kind, &documents));
        let name = name.or(format::stem(path)).unwrap_or("sample").to_owned();
        Ok(Self { name, columns: columns.collect(), documents })
    }

    /// What the queries of a text need: a primary key, unless it is given, and indexes.
    pub(super) fn advise(&self, key: &[String], sql: &str) -> Result<Advised, Failure> {
        if !key.is_empty() {
            return self.advise_with(key, sql, "its key was given".to_owned());
        }
        let unique = self.columns.iter().find(|column| column.unique).ok_or_else(|| {
            let reason =
                "no column has another value in every row, so none can be the primary key: give --key a,b,c";
            Failure::Failed(format!("{}: {reason}", self.name))
        })?;
        let id = &unique.name;
        let why = format!("{id} has another value in every row");
        let by_id = self.advise_with(std::slice::from_ref(id), sql, why)?;
        // The records themselves stand in the order that serves the most queries, and need no index for them.
        let mut best: Option<(Vec<usize>, Vec<String>)> = None;
        for proposal in by_id.advice.create.iter().filter(|proposal| !proposal.index.is_multi_valued()) {
            if best.as_ref().is_none_or(|(serves, _)| proposal.serves.len() > serves.len()) {
                let columns = proposal.index.tree().text();
                let columns = columns.trim_matches(['(', ')']).split(", ").map(str::to_owned);
                best = Some((proposal.serves.clone(), columns.collect()));
            }
        }
        let Some((serves, mut columns)) = best else { return Ok(by_id) };
        let mut why = format!("its columns serve {}", text::queries(&serves));
        let is_unique = |part: &String| {
            let name = part.split(' ').next();
            self.columns.iter().any(|column| column.unique && name == Some(column.name.as_str()))
        };
        if !columns.iter().any(is_unique) {
            columns.push(id.clone());
            why.push_str(&format!(", and {id} tells records apart"));
        }
        let composite = self.advise_with(&columns, sql, why)?;
        let trees = |advised: &Advised| advised.advice.create.len();
        Ok(if trees(&composite) < trees(&by_id) { composite } else { by_id })
    }

    fn advise_with(&self, key: &[String], sql: &str, why: String) -> Result<Advised, Failure> {
        let database = self.database(key)?;
        let asked = queries::parse(&database, sql)?;
        let counted = stats::count(&database, &self.name)?;
        Ok(Advised { new: Some(why), ..of_table(&database, counted, asked)? })
    }

    /// The records as a table with this primary key.
    fn database(&self, key: &[String]) -> Result<Database<UrlStore>, Failure> {
        let mut table: TableBuilder = Table::named(self.name.as_str());
        for Column { name, kind, nullable, .. } in &self.columns {
            table = match nullable {
                true => table.nullable(name, kind.to_string()),
                false => table.column(name, kind.to_string()),
            };
        }
        let database = Url::from(Location::Memory).open().wait()?;
        let table = database.create_table(table.key(key.iter().map(String::as_str))).wait()?;
        table.load(self.documents.iter().cloned(), |_| ()).wait().map_err(|error| {
            let key = key.join(", ");
            Failure::Failed(format!(
                "{} by the key ({key}): {error}; a key tells records apart: give --key",
                self.name
            ))
        })?;
        Ok(database)
    }
}

impl Column {
    /// The column of this name, measured in these records.
    fn of(name: String, kind: Kind, documents: &[Document]) -> Self {
        let values = || documents.iter().map(|document| document.get(&name).unwrap_or(&Value::Null));
        let nullable = values().any(|value| *value == Value::Null);
        let mut seen = HashSet::new();
        let unique = !nullable
            && matches!(kind, Kind::One(_))
            && values().all(|value| seen.insert(format!("{value:?}")));
        Self { name, kind, nullable, unique }
    }
}
