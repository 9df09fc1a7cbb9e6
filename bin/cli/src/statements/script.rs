//! Statements of a file or a pipe, which run as they are read.

use std::io::{BufRead, StdinLock, stdin};

use keyloom::sql::{Before, Statement, parse_part};

use super::lexer::Lines;
use super::{Ended, Stop};
use crate::failure::Failure;

/// What a script says next.
pub(crate) enum Next {
    /// Statements that end on the same line.
    Statements(Vec<Statement>),
    /// A line that begins with a dot, where no statement has begun, and its number.
    Command(String, u64),
}

/// A text that is read line by line: never more of it is kept than the statement that is being read.
pub(crate) struct Script<R> {
    lines: R,
    before: Before,
    commands: bool,
    /// Whether lines may be long in coming.
    waits: bool,
}

impl<R: BufRead> Script<R> {
    /// The script of a file.
    pub(crate) fn new(lines: R) -> Self {
        Self { lines, before: Before::default(), commands: false, waits: false }
    }

    /// The same, which may have the shell's commands in it.
    pub(crate) fn with_commands(self) -> Self {
        Self { commands: true, ..self }
    }

    /// What it says next; nothing at its end.
    pub(crate) fn next(&mut self, stop: &Stop) -> Result<Option<Next>, Failure> {
        let (mut text, mut lines) = (String::new(), Lines::default());
        loop {
            let start = text.len();
            let waiting = self.waits.then(|| stop.wait());
            let read = self.lines.read_line(&mut text)?;
            drop(waiting);
            if read == 0 && start == 0 {
                return Ok(None);
            }
            let line = text.get(start..).unwrap_or_default();
            if self.commands && start == 0 && line.starts_with('.') {
                self.before.lines += 1;
                return Ok(Some(Next::Command(text, self.before.lines)));
            }
            if lines.are_whole_with(line) || line.is_empty() {
                break;
            }
        }
        let statements = parse_part(&text, &mut self.before).map_err(Ended::Statement)?;
        Ok(Some(Next::Statements(statements)))
    }
}

impl Script<StdinLock<'static>> {
    /// What comes on standard input.
    pub(crate) fn stdin() -> Self {
        Self { waits: true, ..Self::new(stdin().lock()) }
    }
}
