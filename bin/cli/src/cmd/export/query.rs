//! What a query finds to a file.

use std::io::Write;
use std::ops::ControlFlow;

use keyloom::key::{Precision, Value};
use keyloom::schema::Kind;
use keyloom::sql::{self, Answer, Parameters, Rows, Session};
use keyloom::{Database, UrlStore, Wait};
use serde_json::{Map, Value as Json};

use super::To;
use crate::failure::Failure;
use crate::files::format::FileFormat;
use crate::files::output::Output;
use crate::files::parquet::{Shape, Writer};
use crate::files::{csv, exact, values};
use crate::progress::{Progress, Unit};

/// Writes the rows of a SELECT, before which there may be SET; how many there were.
pub(super) fn export(database: Database<UrlStore>, text: &str, to: &To) -> Result<u64, Failure> {
    let statements = sql::parse(text)?;
    let Some((select, before)) = statements.split_last() else {
        return Err(Failure::Misuse("there is no query: write SELECT …".to_owned()));
    };
    let is = |statement: &sql::Statement, word: &str| {
        statement.words().split_whitespace().next().is_some_and(|first| first.eq_ignore_ascii_case(word))
    };
    if !is(select, "SELECT") || before.iter().any(|statement| !is(statement, "SET")) {
        let remedy = "only SET may stand before it; `keyloom sql` runs other statements";
        return Err(Failure::Misuse(format!("a query to export is one SELECT: {remedy}")));
    }
    let mut session = Session::new(database);
    for statement in before {
        session.execute(statement, &Parameters::new()).wait()?;
    }
    let progress = Progress::new("writing", Unit::Rows, None);
    let mut rows = Selected { to, columns: Vec::new(), sink: None, written: 0, failed: None, progress };
    let answer = session.stream(select, &Parameters::new(), &mut rows).wait();
    let answer = answer.map_err(|error| match error {
        refused @ sql::Error::Refused(_) => {
            Failure::Failed(format!("{refused}\nor export all of it:  --table TABLE"))
        }
        error => error.into(),
    })?;
    let Answer::Rows { .. } = answer else { return Ok(0) };
    rows.finish()
}

/// Takes the rows of a query.
struct Selected<'a> {
    to: &'a To,
    columns: Vec<String>,
    sink: Option<Sink>,
    written: u64,
    failed: Option<Failure>,
    progress: Progress,
}

/// Where rows go.
enum Sink {
    Csv(Output),
    Jsonl(Output),
    /// The first rows wait until the types of the columns can be seen.
    Waiting(Output, Vec<Vec<Value<'static>>>),
    Parquet(Box<Writer<Output>>),
}

/// How many rows are looked at to see of which types columns are.
const SAMPLE: usize = 10_000;

impl Selected<'_> {
    fn begin(&mut self) -> Result<(), Failure> {
        let mut out = self.to.create()?;
        self.sink = Some(match self.to.format {
            FileFormat::Csv => {
                let names = self.columns.iter().map(|name| Some(name.as_str()));
                csv::write_record(&mut out, names, self.to.delimiter)?;
                Sink::Csv(out)
            }
            FileFormat::Jsonl => Sink::Jsonl(out),
            FileFormat::Parquet => Sink::Waiting(out, Vec::new()),
        });
        Ok(())
    }

    fn write(&mut self, row: &[Value<'_>]) -> Result<(), Failure> {
        // Not before, so that a query that is refused has written nothing.
        if self.sink.is_none() {
            self.begin()?;
        }
        self.written += 1;
        if self.written.is_multiple_of(1_024) {
            self.progress.set(self.written);
        }
        let owned = || row.iter().map(|value| value.clone().into_owned());
        match &mut self.sink {
            None => {}
            Some(Sink::Csv(out)) => {
                let cells: Vec<Option<String>> = row.iter().map(cell).collect();
                csv::write_record(out, cells.iter().map(Option::as_deref), self.to.delimiter)?;
            }
            Some(Sink::Jsonl(out)) => {
                let fields: Map<String, Json> =
                    self.columns.iter().cloned().zip(row.iter().map(values::to_json)).collect();
                serde_json::to_writer(&mut *out, &fields).map_err(std::io::Error::from)?;
                out.write_all(b"\n")?;
            }
            Some(Sink::Parquet(file)) => file.write(owned())?,
            Some(Sink::Waiting(_, rows)) => {
                rows.push(owned().collect());
                if rows.len() == SAMPLE {
                    self.see()?;
                }
            }
        }
        Ok(())
    }

    /// Sees of which types the columns are, and writes the rows that waited for it.
    fn see(&mut self) -> Result<(), Failure> {
        let Some(Sink::Waiting(out, rows)) = self.sink.take() else { return Ok(()) };
        let columns = self.columns.iter().enumerate().map(|(number, name)| {
            let values = rows.iter().filter_map(|row| row.get(number));
            (name.clone(), shape(values), true)
        });
        let mut file = Writer::new(out, columns.collect(), None, None)?;
        for row in rows {
            file.write(row)?;
        }
        self.sink = Some(Sink::Parquet(Box::new(file)));
        Ok(())
    }

    fn finish(mut self) -> Result<u64, Failure> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        if self.sink.is_none() {
            self.begin()?;
        }
        if matches!(self.sink, Some(Sink::Waiting(..))) {
            self.see()?;
        }
        match self.sink {
            Some(Sink::Csv(out) | Sink::Jsonl(out)) => out.finish()?,
            Some(Sink::Parquet(file)) => file.finish()?.finish()?,
            Some(Sink::Waiting(..)) | None => {}
        }
        Ok(self.written)
    }
}

fn cell(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Map(_) => Some(exact::to_json(value).to_string()),
        value => Some(values::to_text(value)),
    }
}

/// What holds these values.
fn shape<'v>(values: impl Iterator<Item = &'v Value<'static>>) -> Shape {
    let mut kinds: Vec<&str> = Vec::new();
    let mut far = false;
    for value in values.filter(|value| **value != Value::Null) {
        far |= matches!(value, Value::Timestamp(instant) if instant.count(Precision::Nanos).is_err());
        if !kinds.contains(&value.kind()) {
            kinds.push(value.kind());
        }
    }
    let one = |kind: &str| kind.parse::<Kind>().map_or(Shape::Any, Shape::Typed);
    match kinds.as_slice() {
        [] => one("str"),
        // As finely as it can be kept.
        ["timestamp"] => one(if far { "timestamp(6)" } else { "timestamp(9)" }),
        [
            kind @ ("bool" | "i64" | "u64" | "f64" | "decimal" | "str" | "bytes" | "uuid" | "date"
            | "duration"),
        ] => one(kind),
        kinds if kinds.iter().all(|kind| matches!(*kind, "i64" | "u64" | "decimal")) => one("decimal"),
        _ => Shape::Any,
    }
}

impl Rows for Selected<'_> {
    fn columns(&mut self, names: &[String]) {
        self.columns = names.to_vec();
    }

    fn row(&mut self, values: &[Value<'_>]) -> ControlFlow<()> {
        if self.failed.is_none() {
            self.failed = self.write(values).err();
        }
        if self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
