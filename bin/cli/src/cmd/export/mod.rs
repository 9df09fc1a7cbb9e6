//! `keyloom export`: what a query finds, or a whole table, to a file.

mod query;
mod table;

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::files::format::{Compression, FileFormat, of_name};
use crate::files::output::{self, Output};
use crate::open;

/// What `keyloom export` is asked.
#[derive(clap::Args)]
#[command(
    override_usage = "keyloom export [OPTIONS] <URL> <SELECT> <FILE>\n       keyloom export [OPTIONS] <URL> --table <TABLE> <FILE>",
    after_help = "\
Examples:
  keyloom export shop.klm \"SELECT * FROM orders WHERE user_id = 'U1'\" orders.csv
  keyloom export shop.klm --table orders orders.parquet
  keyloom export shop.klm --table orders - --format jsonl | wc -l

What is exported can be imported again and is the same. docs/import.md says how."
)]
pub(crate) struct Export {
    /// The database: a file
    url: String,
    /// The query; with --table there is none
    select: String,
    /// The file: .csv, .tsv, .jsonl or .parquet, also as .gz or .zst; `-` is the standard output
    file: Option<String>,
    /// Every record of this table, which is read from its beginning to its end
    #[arg(long)]
    table: Option<String>,
    /// What the file is to be, where its name does not say it
    #[arg(long)]
    format: Option<FileFormat>,
    /// Replaces a file that is there
    #[arg(long)]
    force: bool,
}

/// Where rows go.
struct To {
    path: PathBuf,
    format: FileFormat,
    compression: Compression,
    delimiter: u8,
    force: bool,
}

impl To {
    /// Refuses a file that is there already, before anything is done for it.
    fn check(&self) -> Result<(), Failure> {
        if self.force || self.path.as_os_str() == "-" || !self.path.exists() {
            return Ok(());
        }
        Err(output::taken(&self.path))
    }

    fn create(&self) -> Result<Output, Failure> {
        Output::create(&self.path, self.compression, self.force)
    }
}

impl Export {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (select, file) = match (&self.select, &self.file, &self.table) {
            (file, None, Some(_)) => (None, file),
            (select, Some(file), None) => (Some(select), file),
            (_, None, None) => {
                let reason = "name a query and a file, or a file and --table TABLE";
                return Err(Failure::Misuse(reason.to_owned()));
            }
            _ => {
                let reason = "name a query or --table TABLE, and not both";
                return Err(Failure::Misuse(reason.to_owned()));
            }
        };
        let path = Path::new(file);
        let (named, compression, delimiter) = of_name(path);
        let Some(format) = self.format.or(named) else {
            let remedy = "say --format csv, jsonl or parquet";
            return Err(Failure::Misuse(format!("{file} does not say what the file is to be: {remedy}")));
        };
        let to = To { path: path.to_owned(), format, compression, delimiter, force: self.force };
        to.check()?;
        let database = open::existing(&self.url)?;
        let rows = match (select, &self.table) {
            (None, Some(table)) => table::export(&database, table, &to)?,
            (select, _) => query::export(database, select.map_or("", String::as_str), &to)?,
        };
        if file != "-" {
            anstream::eprintln!("{file}: {rows} record{}", if rows == 1 { "" } else { "s" });
        }
        Ok(())
    }
}
