//! The records of a file, whatever its format, before they have types.

use std::collections::VecDeque;
use std::io::BufRead;
use std::path::Path;

use serde_json::{Map, Value as Json};

use super::format::FileFormat;
use super::input::Input;
use super::{csv, parquet};
use crate::failure::Failure;

/// The most bytes of a line of JSON.
const LONGEST: u64 = 64 << 20;

/// A record as it stands in the file.
#[derive(Debug)]
pub(crate) enum Raw {
    Csv(csv::Record),
    Json { line: u64, fields: Map<String, Json> },
    Parquet { row: u64, cells: Vec<parquet::Cell> },
}

impl Raw {
    /// The line that it begins on, or which row it is.
    pub(crate) fn line(&self) -> u64 {
        match self {
            Self::Csv(record) => record.line,
            Self::Json { line, .. } => *line,
            Self::Parquet { row, .. } => *row,
        }
    }
}

/// A record that cannot be loaded: where, and why.
#[derive(Debug)]
pub(crate) struct Bad {
    pub(crate) line: u64,
    /// The column, if it is the fault of one.
    pub(crate) column: Option<String>,
    pub(crate) reason: String,
}

impl Bad {
    /// The place and the reason, as an error says them; `what` is [`Records::counted_as`].
    pub(crate) fn text(&self, what: &str) -> String {
        let column = self.column.as_ref().map_or(String::new(), |column| format!("{column}: "));
        format!("{what} {}: {column}{}", self.line, self.reason)
    }
}

/// A record, or why it is none.
pub(crate) type Read = Result<Raw, Bad>;

/// The records of a file, one after the other.
pub(crate) struct Records {
    file: File,
    /// Records that were looked at before.
    sampled: VecDeque<Read>,
}

/// A file that is being read, by its format.
enum File {
    Csv { reader: csv::Reader<Box<dyn BufRead + Send>>, columns: Vec<Column> },
    Jsonl { text: Box<dyn BufRead + Send>, line: u64 },
    Parquet { rows: Box<parquet::Rows>, row: u64 },
}

/// A column of CSV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Column {
    Named(String),
    /// The fields that the table does not declare, as JSON.
    Rest,
}

impl Records {
    /// The records of a file of this format; `names` are those of the columns, if the file has none.
    pub(crate) fn of(
        input: Input,
        path: &Path,
        format: FileFormat,
        names: Option<Vec<String>>,
    ) -> Result<Self, Failure> {
        match format {
            FileFormat::Csv => Self::csv(input.text, input.delimiter, names),
            FileFormat::Jsonl => Ok(Self::jsonl(input.text)),
            FileFormat::Parquet => Ok(Self::parquet(parquet::Rows::open(input.into_file(path)?)?)),
        }
    }

    /// The records of CSV. The first line has the names unless they are given.
    pub(crate) fn csv(
        text: Box<dyn BufRead + Send>,
        delimiter: u8,
        names: Option<Vec<String>>,
    ) -> Result<Self, Failure> {
        let mut reader = csv::Reader::new(text, delimiter);
        let columns = match names {
            Some(names) => names.into_iter().map(Column::Named).collect(),
            None => header(&mut reader)?,
        };
        for (number, column) in columns.iter().enumerate() {
            let same = columns.iter().skip(number + 1).any(|other| other == column);
            match column {
                Column::Named(name) if same => {
                    let remedy =
                        "rename one, or `import` it with --no-header --columns if that line has values";
                    return Err(Failure::Failed(format!("two columns are named `{name}`: {remedy}")));
                }
                Column::Named(name) if name.trim().is_empty() => {
                    let remedy = "name it, or `import` it with --no-header --columns if that line has values";
                    return Err(Failure::Failed(format!("column {} has no name: {remedy}", number + 1)));
                }
                _ => {}
            }
        }
        Ok(Self { file: File::Csv { reader, columns }, sampled: VecDeque::new() })
    }

    /// The records of JSONL.
    pub(crate) fn jsonl(text: Box<dyn BufRead + Send>) -> Self {
        Self { file: File::Jsonl { text, line: 0 }, sampled: VecDeque::new() }
    }

    fn parquet(rows: parquet::Rows) -> Self {
        Self { file: File::Parquet { rows: Box::new(rows), row: 0 }, sampled: VecDeque::new() }
    }

    /// The columns, if it is CSV.
    pub(crate) fn csv_columns(&self) -> Option<&[Column]> {
        match &self.file {
            File::Csv { columns, .. } => Some(columns),
            _ => None,
        }
    }

    /// The file, if it is Parquet.
    pub(crate) fn as_parquet(&self) -> Option<&parquet::Rows> {
        match &self.file {
            File::Parquet { rows, .. } => Some(rows),
            _ => None,
        }
    }

    /// What they are counted as: lines, or the rows of Parquet.
    pub(crate) fn counted_as(&self) -> &'static str {
        if self.as_parquet().is_some() { "row" } else { "line" }
    }

    /// Looks at the first records, up to so many of them and about so many bytes, before [`next`](Self::next) gives them.
    pub(crate) fn sample(&mut self, most: usize, most_bytes: usize) -> Result<(), Failure> {
        let mut bytes = 0;
        while self.sampled.len() < most && bytes < most_bytes {
            let Some(read) = self.read()? else { break };
            bytes += match &read {
                Ok(Raw::Csv(record)) => record.size(),
                Ok(Raw::Json { fields, .. }) => fields.len() * 64,
                Ok(Raw::Parquet { cells, .. }) => cells.len() * 64,
                Err(_) => 64,
            };
            self.sampled.push_back(read);
        }
        Ok(())
    }

    /// The records that were looked at.
    pub(crate) fn sampled(&self) -> impl Iterator<Item = &Raw> {
        self.sampled.iter().flatten()
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Read>, Failure> {
        match self.sampled.pop_front() {
            Some(read) => Ok(Some(read)),
            None => self.read(),
        }
    }

    fn read(&mut self) -> Result<Option<Read>, Failure> {
        match &mut self.file {
            File::Csv { reader, columns } => loop {
                let record = match reader.next() {
                    Ok(None) => return Ok(None),
                    Ok(Some(record)) => record,
                    Err(csv::Wrong::Record(line, reason)) => {
                        return Ok(Some(Err(Bad { line, column: None, reason })));
                    }
                    Err(csv::Wrong::Io(error)) => return Err(error.into()),
                };
                // Of one column, nothing is a null.
                if record.is_blank() && columns.len() > 1 {
                    continue;
                }
                if record.len() != columns.len() {
                    let reason = format!("{} values for {} columns", record.len(), columns.len());
                    return Ok(Some(Err(Bad { line: record.line, column: None, reason })));
                }
                return Ok(Some(Ok(Raw::Csv(record))));
            },
            File::Jsonl { text, line } => loop {
                let mut bytes = Vec::new();
                if std::io::Read::take(&mut *text, LONGEST).read_until(b'\n', &mut bytes)? == 0 {
                    return Ok(None);
                }
                *line += 1;
                let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
                let bytes = bytes.trim_ascii_end();
                if bytes.is_empty() {
                    continue;
                }
                return Ok(Some(object(bytes, *line)));
            },
            File::Parquet { rows, row } => {
                let Some(read) = rows.next()? else { return Ok(None) };
                *row += 1;
                let row = *row;
                let bad = |reason| Bad { line: row, column: None, reason };
                Ok(Some(rows.cells(read).map(|cells| Raw::Parquet { row, cells }).map_err(bad)))
            }
        }
    }
}

fn header(reader: &mut csv::Reader<Box<dyn BufRead + Send>>) -> Result<Vec<Column>, Failure> {
    let record = match reader.next() {
        Ok(Some(record)) => record,
        Ok(None) => {
            return Err(Failure::Failed("there is nothing in it, not even a line of names".to_owned()));
        }
        Err(csv::Wrong::Record(line, reason)) => {
            return Err(Failure::Failed(format!("line {line}, which has the names: {reason}")));
        }
        Err(csv::Wrong::Io(error)) => return Err(error.into()),
    };
    let column = |(text, quoted): (&str, bool)| match (text, quoted) {
        ("*", false) => Column::Rest,
        (text, true) => Column::Named(text.to_owned()),
        (text, false) => Column::Named(text.trim().to_owned()),
    };
    Ok(record.iter().map(column).collect())
}

fn object(text: &[u8], line: u64) -> Read {
    let bad = |reason: String| Bad { line, column: None, reason };
    const ARRAY: &str = "an array, where one object a line is read: `jq -c '.[]'` makes that of it";
    match serde_json::from_slice(text) {
        Ok(Json::Object(fields)) => Ok(Raw::Json { line, fields }),
        Ok(Json::Array(_)) => Err(bad(ARRAY.to_owned())),
        Ok(_) => Err(bad("no JSON object: write {\"name\": value, …}".to_owned())),
        // The beginning of an array that goes on on other lines.
        Err(_) if line == 1 && text.starts_with(b"[") => Err(bad(ARRAY.to_owned())),
        Err(error) => {
            // It counts lines too, and knows only this one.
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default();
            Err(bad(format!("no JSON at column {}: {reason}", error.column())))
        }
    }
}
