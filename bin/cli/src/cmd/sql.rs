//! `keyloom sql`.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use keyloom::sql::parse;

use crate::failure::Failure;
use crate::output::Format;
use crate::statements::{Runner, Script, Stop, parameters};

/// What `keyloom sql` is asked.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  keyloom sql shop.klm \"SELECT * FROM orders WHERE user_id = 'U1'\"
  keyloom sql shop.klm -f schema.sql
  keyloom sql shop.klm --param U1 --param 'since=\"2025-01-01\"' \\
      \"SELECT * FROM orders WHERE user_id = ? AND day >= :since\"
  keyloom sql shop.klm --format jsonl \"SELECT * FROM orders LIMIT 10\" | jq .amount

A file that is not there is made by the first statement that writes.")]
pub(crate) struct Sql {
    /// The database: a file, or `memory:`
    url: String,
    /// Statements, with `;` between them; without, those on standard input
    #[arg(value_name = "SQL", conflicts_with = "file")]
    statements: Option<String>,
    /// Reads the statements from a file, or from standard input if it is `-`
    #[arg(short, long)]
    file: Option<PathBuf>,
    /// In which form rows are printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// A value for a placeholder: for the next `?`, or as NAME=VALUE for `:NAME`. It is JSON (20, null, "20", [1, 2]),
    /// or else text as it stands. A text that begins like NAME= is written as JSON: '"a=b"'
    #[arg(long = "param", value_name = "VALUE", allow_hyphen_values = true)]
    parameters: Vec<String>,
    /// Lets statements read every key where no index helps
    #[arg(long)]
    allow_scan: bool,
}

impl Sql {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let parameters = parameters(&self.parameters)?;
        let mut runner = Runner::open(&self.url, Stop::command()?)?;
        runner.parameters = parameters;
        runner.format = self.format;
        runner.session.set_allow_scan(self.allow_scan);
        match (&self.statements, &self.file) {
            (Some(text), _) => {
                let statements = parse(text)?;
                let several = statements.len() > 1;
                for statement in &statements {
                    let ended = runner.run(statement);
                    ended.map_err(|ended| if several { ended.on_line(statement.line()) } else { ended })?;
                }
                runner.leave()
            }
            (None, Some(file)) if file != Path::new("-") => {
                let failed = |error| Failure::Failed(format!("{}: {error}", file.display()));
                runner.script(Script::new(BufReader::new(File::open(file).map_err(failed)?)))
            }
            (None, _) => runner.script(Script::stdin()),
        }
    }
}
