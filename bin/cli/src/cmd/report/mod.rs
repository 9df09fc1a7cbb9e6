//! `keyloom report`: a database as one page, to be looked at.

mod advice;
mod page;
mod table;

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use keyloom::Wait;

use crate::cmd::advise::queries::{self, Asked};
use crate::cmd::advise::{Advised, of_table};
use crate::cmd::stats::{self, Counted};
use crate::failure::Failure;
use crate::open;

/// What `keyloom report` is asked.
#[derive(clap::Args)]
#[command(
    after_help = "The page needs nothing but itself: no network, no script. It can be sent, kept and printed.

Examples:
  keyloom report shop.klm -o report.html
  keyloom report shop.klm -o report.html --queries queries.sql"
)]
pub(crate) struct Report {
    /// The database: a file, or `memory:`
    url: String,
    /// The page that is written; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Queries, as SQL statements, to say which indexes they need; `-` is standard input
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
}

/// What the page shows of a table.
struct Shown {
    counted: Counted,
    /// What its queries need, if there are queries to it.
    advised: Option<(Vec<Asked>, keyloom::advise::Advice)>,
    /// A key of each tree, with what its bytes are.
    keys: Vec<Option<(Vec<u8>, keyloom::KeyMeaning)>>,
}

impl Report {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let database = open::existing(&self.url)?;
        let mut asked = match &self.queries {
            None => Vec::new(),
            Some(path) => queries::parse(&database, &queries::read(path)?)?,
        };
        let mut tables = Vec::new();
        for name in database.tables() {
            let counted = stats::count(&database, &name)?;
            let mut keys = Vec::new();
            for tree in &counted.measured.trees {
                let samples = &tree.statistics.samples;
                keys.push(match samples.get(samples.len() / 2) {
                    None => None,
                    Some(key) => Some((key.clone(), database.inspect_key(key).wait()?)),
                });
            }
            let own: Vec<Asked> = asked.extract_if(.., |one| one.table == name).collect();
            let (counted, advised) = if own.is_empty() {
                (counted, None)
            } else {
                let Advised { counted, asked, advice, .. } = of_table(&database, counted, own)?;
                (counted, Some((asked, advice)))
            };
            tables.push(Shown { counted, advised, keys });
        }
        let title =
            Path::new(&self.url).file_name().map_or(self.url.as_str().into(), |name| name.to_string_lossy());
        let page = page::of(&title, &tables, self.queries.is_some());
        if self.output == Path::new("-") {
            return Ok(stdout().write_all(page.as_bytes())?);
        }
        std::fs::write(&self.output, page)
            .map_err(|error| Failure::Failed(format!("{}: {error}", self.output.display())))
    }
}
