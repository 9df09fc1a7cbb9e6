//! Statements one after the other, as `keyloom sql` and the shell run them.

mod interrupt;
pub(crate) mod lexer;
mod parameter;
mod script;
mod store;

use std::io::{BufRead, IsTerminal, Write, stderr};
use std::ops::ControlFlow;
use std::time::Instant;

use keyloom::key::Value;
use keyloom::plan::Plan;
use keyloom::sql::{Answer, Error, Parameters, Rows, Session, Statement};
use keyloom::store::Error as StoreError;
use keyloom::{Database, Error as TableError, Wait};

pub(crate) use interrupt::Stop;
pub(crate) use parameter::parameters;
use script::Next;
pub(crate) use script::Script;
pub(crate) use store::SessionStore;

use crate::failure::Failure;
use crate::output::{Format, Output};
use crate::progress::{Progress, Unit};
use crate::{open, shell};

/// How many scripts may be within each other.
const DEEPEST: u32 = 16;

/// Runs statements and prints their answers.
pub(crate) struct Runner {
    url: String,
    pub(crate) session: Session<SessionStore>,
    pub(crate) parameters: Parameters,
    pub(crate) format: Format,
    /// Whether the plan of a statement is shown before its answer.
    pub(crate) explain: bool,
    /// Whether it is shown what a statement cost.
    pub(crate) timer: bool,
    /// Whether answers other than rows are shown.
    pub(crate) talkative: bool,
    pub(crate) stop: Stop,
    /// How many scripts it is in.
    depth: u32,
}

impl Runner {
    /// Opens a database, and finishes what was interrupted there; a file that is not there is made by the first
    /// statement that writes.
    pub(crate) fn open(url: &str, stop: Stop) -> Result<Self, Failure> {
        let place = open::locate(url)?;
        let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("{}: {error}", place.location));
        let store = SessionStore::new(place.clone(), stop.clone()).map_err(|error| failed(&error))?;
        let database = Database::open(store).wait().map_err(|error| failed(&error))?;
        finish(&database);
        Ok(Self {
            url: url.to_owned(),
            session: Session::new(database),
            parameters: Parameters::new(),
            format: Format::Table,
            explain: false,
            timer: false,
            talkative: stderr().is_terminal(),
            stop,
            depth: 0,
        })
    }

    /// The database.
    pub(crate) fn database(&self) -> &Database<SessionStore> {
        self.session.database()
    }

    /// Runs one statement and prints what it answers.
    pub(crate) fn run(&mut self, statement: &Statement) -> Result<(), Ended> {
        // What other programs had committed before is part of the answer.
        open::catch_up(self.database().store());
        if self.explain {
            let plans = self.session.explain(statement, &self.parameters).wait();
            let plans = plans.map_err(|error| self.explained(error))?;
            print(&plans).map_err(Ended::Output)?;
        }
        let started = Instant::now();
        let mut rows = Stopping { output: Output::new(self.format).with_null("NULL"), stop: &self.stop };
        let answer = self.session.stream(statement, &self.parameters, &mut rows).wait();
        let Stopping { output, .. } = rows;
        if output.has_failed() {
            return output.finish().map_err(Ended::Output);
        }
        let answer = answer.map_err(|error| self.explained(error))?;
        if self.stop.is_asked() && matches!(answer, Answer::Rows { .. }) {
            return Err(Ended::Statement(stopped()));
        }
        self.print(&answer, output).map_err(Ended::Output)?;
        if self.timer {
            let examined = match &answer {
                Answer::Rows { examined, .. } => {
                    format!(", {} examined", counted(examined.rows, "row", "rows"))
                }
                _ => String::new(),
            };
            say(&format!("{:.3} ms{examined}", started.elapsed().as_secs_f64() * 1e3));
        }
        Ok(())
    }

    /// Runs a script to its end, or to the first statement that fails.
    pub(crate) fn script(&mut self, script: Script<impl BufRead>) -> Result<(), Failure> {
        self.nested(script)?;
        self.leave()
    }

    /// The same of a script within another.
    pub(crate) fn nested(&mut self, mut script: Script<impl BufRead>) -> Result<(), Failure> {
        if self.depth == DEEPEST {
            return Err(Failure::Failed(format!(
                "more than {DEEPEST} scripts within each other: does one read itself?"
            )));
        }
        self.depth += 1;
        let done = self.read(&mut script);
        self.depth -= 1;
        done
    }

    fn read(&mut self, script: &mut Script<impl BufRead>) -> Result<(), Failure> {
        while let Some(next) = script.next(&self.stop)? {
            match next {
                Next::Statements(statements) => {
                    for statement in &statements {
                        self.run(statement).map_err(|ended| ended.on_line(statement.line()))?;
                    }
                }
                Next::Command(line, number) => match self.command(&line) {
                    Ok(shell::Next::Line) => {}
                    Ok(shell::Next::Leave) => break,
                    Err(Failure::Failed(reason)) => {
                        return Err(Failure::Failed(format!("line {number}: {reason}")));
                    }
                    Err(failure) => return Err(failure),
                },
            }
        }
        Ok(())
    }

    /// After the last statement: a transaction that is still open is lost, and that is said.
    pub(crate) fn leave(&self) -> Result<(), Failure> {
        if !self.session.is_in_transaction() {
            return Ok(());
        }
        let reason = "BEGIN without COMMIT at the end: nothing of the transaction was written";
        Err(Failure::Failed(reason.to_owned()))
    }

    fn print(&self, answer: &Answer, mut output: Output) -> Result<(), Failure> {
        match answer {
            Answer::Rows { .. } => {
                let rows = output.rows();
                output.finish()?;
                if self.talkative && self.format == Format::Table {
                    say(&counted(rows, "row", "rows"));
                }
            }
            Answer::Explained(plans) if self.format == Format::Table => print(plans)?,
            Answer::Explained(plans) => {
                output.columns(&["plan".to_owned()]);
                for plan in plans {
                    let _ = output.row(&[plan.to_string().into()]);
                }
                output.finish()?;
            }
            Answer::Changed { records } if self.talkative => {
                say(&format!("{} changed", counted(*records, "record", "records")));
            }
            Answer::Done(what) if self.talkative => say(what),
            _ => {}
        }
        Ok(())
    }

    /// A table that is not there, because there is no file yet, is said to be so.
    fn explained(&self, error: Error) -> Error {
        match error {
            Error::Table(TableError::Missing(what)) if self.database().store().is_missing() => {
                let name = what.split(';').next().unwrap_or_default();
                let reason = format!("{name}: there is no file {} yet, and CREATE TABLE makes it", self.url);
                Error::Table(TableError::Missing(reason.into()))
            }
            error => error,
        }
    }
}

/// Fills indexes that another process could not fill to the end.
fn finish(database: &Database<SessionStore>) {
    let mut progress = None;
    let filled = database.fill_indexes(|filled| {
        let shown = progress.get_or_insert_with(|| Progress::new("filling an index", Unit::Rows, None));
        shown.set(filled.records);
    });
    let filled = filled.wait();
    drop(progress);
    match filled {
        Ok(_) => {}
        // Another process does not let go: each statement tells what that means for it.
        Err(TableError::Store(StoreError::Busy(_))) => {}
        // A statement may do without it, and one that cannot will say so.
        Err(error) => say(&format!("warning: an index is not filled: {error}")),
    }
}

/// Why a statement did not end well.
#[derive(Debug)]
pub(crate) enum Ended {
    Statement(Error),
    /// Its answer could not be printed.
    Output(Failure),
}

impl Ended {
    /// The same of a statement that begins on this line.
    pub(crate) fn on_line(self, line: u64) -> Self {
        match self {
            Self::Statement(error) if !is_stopped(&error) => Self::Statement(error.on_line(line)),
            ended => ended,
        }
    }
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Statement(error)
    }
}

impl From<Ended> for Failure {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Output(failure) => failure,
            Ended::Statement(error) if is_stopped(&error) => Self::Stopped,
            Ended::Statement(error) => error.into(),
        }
    }
}

fn stopped() -> Error {
    Error::Table(TableError::Store(StoreError::Stopped))
}

/// Whether it is someone's wish that ended a statement, and nothing of it was done.
fn is_stopped(error: &Error) -> bool {
    matches!(error, Error::Table(TableError::Store(StoreError::Stopped)))
}

/// Tells something beside the answers.
fn say(text: &str) {
    // There is nobody to tell that there is nobody to tell.
    let _ = writeln!(anstream::stderr(), "{text}");
}

fn print(plans: &[Plan]) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    for plan in plans {
        write!(out, "{plan}")?;
    }
    Ok(out.flush()?)
}

fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// Prints rows until someone wants it to stop.
struct Stopping<'a> {
    output: Output,
    stop: &'a Stop,
}

impl Rows for Stopping<'_> {
    fn columns(&mut self, names: &[String]) {
        self.output.columns(names);
    }

    fn row(&mut self, values: &[Value<'_>]) -> ControlFlow<()> {
        if self.stop.is_asked() { ControlFlow::Break(()) } else { self.output.row(values) }
    }
}
