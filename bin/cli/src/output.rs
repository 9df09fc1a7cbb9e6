//! Rows as a command prints them.

use std::borrow::Cow;
use std::io::{BufWriter, Stdout, Write, stdout};
use std::ops::ControlFlow;

use keyloom::key::{Value, json};
use keyloom::sql::Rows;
use serde_json::Value as Json;
use unicode_width::UnicodeWidthStr;

use crate::failure::Failure;
use crate::files::csv;

/// In which form rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Columns under their names, for people
    Table,
    /// Comma-separated values under a line of names
    Csv,
    /// One array of objects
    Json,
    /// One object a line
    Jsonl,
}

/// How many rows a table looks at to know how wide its columns are.
const MEASURED: usize = 1_000;

/// Prints rows, one after the other.
pub(crate) struct Output<W: Write + Send = BufWriter<Stdout>> {
    format: Format,
    out: W,
    columns: Vec<String>,
    /// How a table shows that there is no value.
    null: &'static str,
    /// Rows of a table that wait until the widths are known.
    waiting: Vec<Vec<Cell>>,
    widths: Vec<usize>,
    sides: Vec<Side>,
    rows: u64,
    failed: Option<std::io::Error>,
}

/// A value in a table.
struct Cell {
    text: String,
    side: Side,
}

/// Where a value stands in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    /// Where the others stand.
    Any,
}

impl Output {
    /// To the standard output.
    pub(crate) fn new(format: Format) -> Self {
        Self::to(BufWriter::new(stdout()), format)
    }
}

impl<W: Write + Send> Output<W> {
    /// To somewhere else.
    pub(crate) fn to(out: W, format: Format) -> Self {
        Self {
            format,
            out,
            columns: Vec::new(),
            null: "",
            waiting: Vec::new(),
            widths: Vec::new(),
            sides: Vec::new(),
            rows: 0,
            failed: None,
        }
    }

    /// The same, in whose table this stands where there is no value.
    pub(crate) fn with_null(self, null: &'static str) -> Self {
        Self { null, ..self }
    }

    /// Whether something could not be printed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// How many rows there were.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Prints what is still waiting, and fails if something could not be printed.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        match self.format {
            Format::Table => self.release()?,
            Format::Json if self.rows == 0 => self.out.write_all(b"[]\n")?,
            Format::Json => self.out.write_all(b"\n]\n")?,
            Format::Csv | Format::Jsonl => {}
        }
        Ok(self.out.flush()?)
    }

    fn begin(&mut self, names: &[String]) -> std::io::Result<()> {
        match self.format {
            Format::Table => self.columns = names.iter().map(|name| printable(name)).collect(),
            Format::Csv => csv_line(&mut self.out, names.iter().map(|name| Some(name.into())))?,
            Format::Json | Format::Jsonl => self.columns = members(names),
        }
        Ok(())
    }

    fn write(&mut self, values: &[Value<'_>]) -> std::io::Result<()> {
        self.rows += 1;
        match self.format {
            Format::Table => {
                self.waiting.push(values.iter().map(|value| Cell::new(value, self.null)).collect());
                if self.widths.is_empty() && self.waiting.len() < MEASURED { Ok(()) } else { self.release() }
            }
            Format::Csv => {
                let texts = values.iter().map(|value| match value {
                    Value::Null => None,
                    Value::Str(text) => Some(Cow::Borrowed(text.as_ref())),
                    value => Some(Cow::Owned(text(value))),
                });
                csv_line(&mut self.out, texts)
            }
            Format::Json => {
                self.out.write_all(if self.rows == 1 { b"[\n" } else { b",\n" })?;
                self.object(values)
            }
            Format::Jsonl => {
                self.object(values)?;
                self.out.write_all(b"\n")
            }
        }
    }

    fn object(&mut self, values: &[Value<'_>]) -> std::io::Result<()> {
        self.out.write_all(b"{")?;
        for (at, (name, value)) in self.columns.iter().zip(values).enumerate() {
            self.out.write_all(if at == 0 { b"" } else { b"," })?;
            self.out.write_all(name.as_bytes())?;
            serde_json::to_writer(&mut self.out, &json::plain_to_json(value))?;
        }
        self.out.write_all(b"}")
    }

    /// Prints the rows of a table that wait, and before the first of them the names.
    fn release(&mut self) -> std::io::Result<()> {
        if self.widths.is_empty() {
            let cells = |at: usize| self.waiting.iter().filter_map(move |row| row.get(at));
            let columns = || self.columns.iter().enumerate();
            let width = |(at, name): (usize, &String)| {
                cells(at).map(|cell| cell.text.width()).chain([name.width()]).max().unwrap_or_default()
            };
            let side = |(at, _)| cells(at).map(|cell| cell.side).find(|side| *side != Side::Any);
            self.widths = columns().map(width).collect();
            self.sides = columns().map(side).map(|side| side.unwrap_or(Side::Left)).collect();
            let names = self.columns.iter().map(|name| Cell { text: name.clone(), side: Side::Left });
            let names: Vec<Cell> = names.collect();
            self.line(&names)?;
            let rule: Vec<String> = self.widths.iter().map(|width| "─".repeat(*width)).collect();
            writeln!(self.out, "{}", rule.join("──"))?;
        }
        for row in std::mem::take(&mut self.waiting) {
            self.line(&row)?;
        }
        Ok(())
    }

    fn line(&mut self, cells: &[Cell]) -> std::io::Result<()> {
        let mut line = String::new();
        for (at, ((cell, width), others)) in cells.iter().zip(&self.widths).zip(&self.sides).enumerate() {
            let pad = " ".repeat(width.saturating_sub(cell.text.width()));
            line.push_str(if at == 0 { "" } else { "  " });
            let side = if cell.side == Side::Any { *others } else { cell.side };
            let (before, behind) = if side == Side::Right { (pad.as_str(), "") } else { ("", pad.as_str()) };
            line.extend([before, &cell.text, behind]);
        }
        writeln!(self.out, "{}", line.trim_end())
    }
}

impl<W: Write + Send> Rows for Output<W> {
    fn columns(&mut self, names: &[String]) {
        self.failed = self.begin(names).err();
    }

    fn row(&mut self, values: &[Value<'_>]) -> ControlFlow<()> {
        if self.failed.is_none() {
            self.failed = self.write(values).err();
        }
        if self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Prints rows that are there already.
pub(crate) fn print(
    format: Format,
    columns: &[&str],
    rows: impl IntoIterator<Item = Vec<Value<'static>>>,
) -> Result<(), Failure> {
    let mut output = Output::new(format);
    output.columns(&columns.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
    for row in rows {
        if output.row(&row).is_break() {
            break;
        }
    }
    output.finish()
}

/// Prints what is more than rows.
pub(crate) fn print_json(json: &Json) -> Result<(), Failure> {
    let mut out = stdout();
    serde_json::to_writer_pretty(&mut out, json).map_err(std::io::Error::from)?;
    Ok(writeln!(out)?)
}

/// A value as text: the one that `keyloom import` and SQL read back.
pub(crate) fn text(value: &Value<'_>) -> String {
    match value {
        Value::Null => String::new(),
        Value::Str(text) => text.to_string(),
        other => match json::plain_to_json(other) {
            Json::String(text) => text,
            json => json.to_string(),
        },
    }
}

impl Cell {
    fn new(value: &Value<'_>, null: &str) -> Self {
        let (text, side) = match value {
            Value::Null => (null.to_owned(), Side::Any),
            Value::Duration(value) => (value.to_string(), Side::Right),
            Value::Int(_) | Value::Uint(_) | Value::Float(_) | Value::Decimal(_) => {
                (text(value), Side::Right)
            }
            value => (printable(&text(value)), Side::Left),
        };
        Self { text, side }
    }
}

/// A text on one line, without what a terminal would take for a command.
fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() { printable.extend(letter.escape_default()) } else { printable.push(letter) }
    }
    printable
}

/// The names of columns as the members of an object begin, each another: `"n":`.
fn members(names: &[String]) -> Vec<String> {
    let mut taken: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let mut numbered = (2..).map(|number| format!("{name}_{number}"));
        let is_free = |free: &String| !taken.contains(free) && !names.contains(free);
        let free = match taken.contains(name) {
            true => numbered.find(is_free).unwrap_or_default(),
            false => name.clone(),
        };
        taken.push(free);
    }
    taken.into_iter().map(|name| format!("{}:", Json::String(name))).collect()
}

/// Prints a line of comma-separated values. A null is empty; a text that is empty stands in quotes.
fn csv_line<'a>(
    out: &mut impl Write,
    fields: impl Iterator<Item = Option<Cow<'a, str>>>,
) -> std::io::Result<()> {
    match fields.collect::<Vec<_>>().as_slice() {
        // Many readers pass over a line with nothing on it.
        [None] => out.write_all(b"\"\"\n"),
        fields => csv::write_record(out, fields.iter().map(Option::as_deref), b','),
    }
}
