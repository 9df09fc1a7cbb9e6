//! The shell: statements typed one after the other.

mod command;
mod helper;
mod history;

use std::io::{IsTerminal, Write, stdin, stdout};

use keyloom::sql::parse;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};

use crate::failure::Failure;
use crate::open;
use crate::statements::{Runner, Script, Stop};
use helper::Helper;
use history::History;

/// Whether the shell goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Line,
    Leave,
}

/// Opens the shell on a database. What is not typed runs as a script.
pub(crate) fn run(url: &str) -> Result<(), Failure> {
    let location = open::locate(url)?.location;
    if !location.exists() && !url.contains(['.', '/', '\\', ':']) {
        return Err(Failure::Misuse(format!(
            "{url} is neither a command nor a file: see keyloom --help, or write ./{url} for a new file"
        )));
    }
    if !stdin().is_terminal() {
        return Runner::open(url, Stop::command()?)?.script(Script::stdin().with_commands());
    }
    let mut runner = Runner::open(url, Stop::shell()?)?;
    runner.talkative = true;
    let mut out = stdout().lock();
    writeln!(out, "keyloom {}: statements end with `;`, `.help` tells more", env!("CARGO_PKG_VERSION"))?;
    if runner.database().store().is_missing() {
        writeln!(out, "{location} is not there yet: CREATE TABLE makes it")?;
    }
    drop(out);
    Shell::new(runner, name(&location.to_string()))?.run()
}

/// What the prompt calls a database.
fn name(url: &str) -> String {
    let name = url.rsplit(['/', '\\']).next().unwrap_or(url);
    let stem = name.strip_suffix(".klm").unwrap_or(name);
    stem.trim_end_matches(':').to_owned()
}

struct Shell {
    runner: Runner,
    editor: Editor<Helper, FileHistory>,
    history: History,
    name: String,
}

impl Shell {
    fn new(runner: Runner, name: String) -> Result<Self, Failure> {
        let config = Config::builder().completion_type(CompletionType::List).auto_add_history(false).build();
        let mut editor = Editor::with_config(config).map_err(terminal)?;
        editor.set_helper(Some(Helper::new(runner.database().clone())));
        let history = History::load(&mut editor);
        Ok(Self { runner, editor, history, name })
    }

    fn run(mut self) -> Result<(), Failure> {
        loop {
            self.runner.stop.forget();
            let open = if self.runner.session.is_in_transaction() { "*" } else { "" };
            match self.editor.readline(&format!("{}{open}> ", self.name)) {
                Ok(line) => {
                    self.history.add(&mut self.editor, &line);
                    if self.line(&line) == Next::Leave {
                        return Ok(());
                    }
                }
                // What was typed is given up.
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(()),
                Err(error) => return Err(terminal(error)),
            }
        }
    }

    /// Does what a line says; what goes wrong is told, and the shell stays.
    fn line(&mut self, line: &str) -> Next {
        let done = match line.trim() {
            command if command.starts_with('.') => self.runner.command(command),
            _ => self.statements(line).map(|()| Next::Line),
        };
        done.unwrap_or_else(|failure| {
            failure.tell();
            Next::Line
        })
    }

    fn statements(&mut self, text: &str) -> Result<(), Failure> {
        for statement in &parse(text)? {
            self.runner.run(statement)?;
        }
        Ok(())
    }
}

fn terminal(error: ReadlineError) -> Failure {
    Failure::Failed(format!("the terminal: {error}"))
}
