//! Commands that begin with a dot.

use std::fs::File;
use std::io::{BufReader, Write, stdout};

use clap::ValueEnum;
use keyloom::Wait;
use keyloom::schema::{State, Table};

use super::Next;
use crate::failure::Failure;
use crate::output::Format;
use crate::statements::{Runner, Script};

/// Every command with what stands behind it, and what it does.
pub(super) const COMMANDS: [(&str, &str, &str); 11] = [
    (".tables", "", "the names of the tables"),
    (".schema", "[TABLE]", "the statements that make the tables and their indexes"),
    (".indexes", "[TABLE]", "the statements that make the indexes"),
    (".explain", "on|off", "whether the plan of a statement is shown before its answer"),
    (".timer", "on|off", "whether it is shown what a statement cost"),
    (".format", "table|csv|json|jsonl", "how rows are printed"),
    (".stats", "", "how the database is opened, and what its cache and filter have done since"),
    (".read", "FILE", "runs the statements and commands of a file"),
    (".help", "", "this list"),
    (".quit", "", "leaves the shell, as ctrl-d does"),
    (".exit", "", "the same"),
];

impl Runner {
    /// Does what a command says.
    pub(crate) fn command(&mut self, line: &str) -> Result<Next, Failure> {
        let line = line.trim().trim_end_matches(';').trim_end();
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (argument, known) = (rest.trim(), COMMANDS.iter().find(|(known, ..)| *known == name));
        let misused = match known {
            None => {
                let reason = format!("there is no command {name}: .help tells which there are");
                return Err(Failure::Failed(reason));
            }
            Some((_, "", _)) => !argument.is_empty(),
            Some((_, wanted, _)) => argument.is_empty() && *wanted == "FILE",
        };
        let (name, wanted) = known.map_or((name, ""), |(name, wanted, _)| (*name, *wanted));
        let usage = || Failure::Failed(format!("write {name} {wanted}").trim_end().to_owned());
        if misused {
            return Err(usage());
        }
        match name {
            ".tables" => {
                for table in self.definitions("")? {
                    print(&format!("{}\n", table.name()))?;
                }
            }
            ".schema" => {
                for table in self.definitions(argument)? {
                    print(&table.to_sql())?;
                }
            }
            ".indexes" => {
                for table in self.definitions(argument)? {
                    for index in table.indexes() {
                        let filling =
                            if index.state() == State::Building { " -- not filled yet" } else { "" };
                        print(&format!("{};{filling}\n", table.index_to_sql(index)))?;
                    }
                }
            }
            ".explain" => switch(".explain", &mut self.explain, argument).ok_or_else(usage)??,
            ".timer" => switch(".timer", &mut self.timer, argument).ok_or_else(usage)??,
            ".format" if argument.is_empty() => {
                let format = self.format.to_possible_value();
                print(&format!("{}\n", format.as_ref().map_or("", |format| format.get_name())))?;
            }
            ".format" => self.format = Format::from_str(argument, true).map_err(|_| usage())?,
            ".stats" => print(&self.database().store().opened())?,
            ".read" => {
                let failed = |error| Failure::Failed(format!("{argument}: {error}"));
                let file = File::open(argument).map_err(failed)?;
                let script = Script::new(BufReader::new(file)).with_commands();
                self.nested(script).map_err(|failure| failure.about(argument))?;
            }
            ".help" => {
                for (name, rest, what) in COMMANDS {
                    print(&format!("{:30}{what}\n", format!("{name} {rest}")))?;
                }
                print("Other lines are SQL: statements end with `;`. Ctrl-c stops one that runs.\n")?;
            }
            _ => return Ok(Next::Leave),
        }
        Ok(Next::Line)
    }

    /// The table of this name, or all without one, as others may have changed them meanwhile.
    fn definitions(&self, name: &str) -> Result<Vec<std::sync::Arc<Table>>, Failure> {
        let database = self.database();
        database.refresh().wait()?;
        let names = if name.is_empty() { database.tables() } else { vec![name.to_owned()] };
        names.iter().map(|name| Ok(database.table(name).wait()?.definition()?)).collect()
    }
}

/// Turns something on or off, or says which it is; nothing if neither is meant.
fn switch(name: &str, which: &mut bool, argument: &str) -> Option<Result<(), Failure>> {
    match argument {
        "" => return Some(print(&format!("{name} {}\n", if *which { "on" } else { "off" }))),
        "on" => *which = true,
        "off" => *which = false,
        _ => return None,
    }
    Some(Ok(()))
}

fn print(text: &str) -> Result<(), Failure> {
    Ok(stdout().write_all(text.as_bytes())?)
}
