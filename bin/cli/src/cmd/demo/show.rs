//! What the demo prints: a heading, a statement, its plan, its rows, its time.

use std::fmt::Display;
use std::io::{Stdout, Write};
use std::time::Duration;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use keyloom::key::Value;
use keyloom::sql::Rows;

use crate::failure::Failure;
use crate::output::{Format, Output};

/// How many rows of an answer are shown.
const SHOWN: usize = 4;

/// The longest line of a plan, so that it fits a terminal of 80 columns.
const WIDTH: usize = 75;

const HEADING: Style = Style::new().bold();
const STATEMENT: Style = AnsiColor::Cyan.on_default();
const PLAN: Style = Style::new().dimmed();
const REFUSAL: Style = AnsiColor::Yellow.on_default();

/// Prints, in colour if a terminal shows it.
pub(crate) struct Show {
    out: AutoStream<Stdout>,
    headings: u32,
}

impl Show {
    pub(crate) fn new() -> Self {
        Self { out: AutoStream::auto(std::io::stdout()), headings: 0 }
    }

    pub(crate) fn line(&mut self, text: impl Display) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{text}")?)
    }

    /// A heading with a number.
    pub(crate) fn heading(&mut self, text: &str) -> Result<(), Failure> {
        self.headings += 1;
        let number = self.headings;
        self.end(&format!("{number}  {text}"))
    }

    /// A heading without one.
    pub(crate) fn end(&mut self, text: &str) -> Result<(), Failure> {
        Ok(writeln!(self.out, "\n{HEADING}{text}{HEADING:#}")?)
    }

    pub(crate) fn statement(&mut self, text: &str) -> Result<(), Failure> {
        self.indented(STATEMENT, text)
    }

    pub(crate) fn refusal(&mut self, text: &str) -> Result<(), Failure> {
        self.indented(REFUSAL, text)
    }

    /// Of a plan, what it reads: the tree, the spans as fields and as bytes, and what bounds them.
    pub(crate) fn plan(&mut self, plan: &str) -> Result<(), Failure> {
        let is_told =
            |line: &&str| ["read ", "spans ", " ", "class "].iter().any(|word| line.starts_with(word));
        for line in plan.lines().filter(is_told) {
            let (start, rest) = match line.split_once(" → ").filter(|_| line.chars().count() > WIDTH) {
                Some((from, to)) => (from, format!("→ {to}")),
                None => broken(line),
            };
            self.indented(PLAN, &format!("  {start}"))?;
            if !rest.is_empty() {
                self.indented(PLAN, &format!("            {rest}"))?;
            }
        }
        Ok(())
    }

    /// The first rows of an answer.
    pub(crate) fn rows(&mut self, columns: &[String], rows: &[Vec<Value<'static>>]) -> Result<(), Failure> {
        let mut text = Vec::new();
        let mut table = Output::to(&mut text, Format::Table);
        table.columns(columns);
        for row in rows.iter().take(SHOWN) {
            let _ = table.row(row);
        }
        table.finish()?;
        for line in String::from_utf8_lossy(&text).lines() {
            self.indented(Style::new(), &format!("  {line}"))?;
        }
        match rows.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => self.indented(Style::new(), &format!("  … and {more} more")),
        }
    }

    /// What it came to, and how long it took.
    pub(crate) fn took(&mut self, what: &str, time: Duration) -> Result<(), Failure> {
        self.indented(HEADING, &format!("{what} in {}", in_words(time)))
    }

    fn indented(&mut self, style: Style, text: &str) -> Result<(), Failure> {
        for line in text.lines() {
            writeln!(self.out, "{INDENT}{style}{line}{style:#}")?;
        }
        Ok(())
    }
}

const INDENT: &str = "   ";

/// A line in two where it is too long: behind a semicolon, or at a space.
fn broken(line: &str) -> (&str, String) {
    let end = line.char_indices().nth(WIDTH).map(|(at, _)| at);
    let start = end.and_then(|end| line.get(..end));
    let space = start.and_then(|start| start.find("; ").map(|at| at + 1).or_else(|| start.rfind(' ')));
    match space.and_then(|space| line.split_at_checked(space)) {
        Some((start, rest)) => (start, rest.trim_start().to_owned()),
        None => (line, String::new()),
    }
}

/// A time in the unit that suits it.
fn in_words(time: Duration) -> String {
    match time.as_micros() {
        0..1_000 => format!("{} µs", time.as_micros()),
        1_000..1_000_000 => format!("{:.1} ms", time.as_secs_f64() * 1e3),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}
