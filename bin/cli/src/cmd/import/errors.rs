//! Lines that cannot be loaded: the end of the import, or a list.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::{Import, OnError};
use crate::failure::Failure;
use crate::files::csv;
use crate::files::records::Bad;

/// How many lines are shown where there is no file to list them.
const SHOWN: u64 = 10;

/// What becomes of lines that cannot be loaded.
pub(super) struct Errors<'a> {
    import: &'a Import,
    /// The columns whose types were found by looking at the first records.
    guessed: Vec<String>,
    /// What a record is counted as.
    what: &'static str,
    file: Option<BufWriter<File>>,
    pub(super) count: u64,
}

impl<'a> Errors<'a> {
    pub(super) fn new(import: &'a Import, guessed: Vec<String>, what: &'static str) -> Result<Self, Failure> {
        let file = match &import.errors {
            None => None,
            Some(path) => {
                let file = File::create(path).map_err(|error| failed(path, &error))?;
                let mut file = BufWriter::new(file);
                csv::write_record(&mut file, [Some(what), Some("column"), Some("reason")], b',')?;
                Some(file)
            }
        };
        Ok(Self { import, guessed, what, file, count: 0 })
    }

    /// Takes a record that cannot be loaded: an error, unless such are skipped.
    pub(super) fn take(&mut self, bad: &Bad) -> Result<(), Failure> {
        self.count += 1;
        let Bad { line, column, reason } = bad;
        if self.import.on_error == OnError::Stop {
            return Err(Failure::Failed(self.explain(bad)));
        }
        match &mut self.file {
            Some(file) => {
                let line = line.to_string();
                csv::write_record(file, [Some(line.as_str()), column.as_deref(), Some(reason)], b',')?;
            }
            None if self.count <= SHOWN => anstream::eprintln!("skipped {}", bad.text(self.what)),
            None => {}
        }
        Ok(())
    }

    fn explain(&self, bad: &Bad) -> String {
        let mut text = format!("{}; nothing was written", bad.text(self.what));
        if let Some(column) = bad.column.as_ref().filter(|column| self.guessed.contains(column)) {
            text.push_str("\n  if the column is of another type than its first values:  ");
            text.push_str(&format!("--types \"{column} text\""));
        }
        text.push_str("\n  to load the others:  --on-error skip --errors FILE");
        text
    }

    /// Ends the list, and says how many there were.
    pub(super) fn finish(self) -> Result<(), Failure> {
        if let Some(mut file) = self.file {
            file.flush()?;
        }
        if self.count > 0 {
            let s = if self.count == 1 { "" } else { "s" };
            let place = match &self.import.errors {
                Some(path) => format!(": {} says why", path.display()),
                None => ": --errors FILE lists them all".to_owned(),
            };
            anstream::eprintln!("{} {}{s} skipped{place}", self.count, self.what);
        }
        Ok(())
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}
