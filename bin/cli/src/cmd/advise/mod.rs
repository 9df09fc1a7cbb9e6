//! `keyloom advise`: which indexes queries need, which they do not, and what each costs.

pub(crate) mod queries;
mod sample;
pub(crate) mod text;
mod value;

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use keyloom::advise::{Advice, advise};
use keyloom::{Database, UrlStore};

use crate::cmd::stats::{self, Counted};
use crate::failure::Failure;
use crate::files::format;
use crate::open;
use crate::output::{self, Format};
use queries::Asked;
use sample::Sample;

/// What `keyloom advise` is asked.
#[derive(clap::Args)]
#[command(after_help = "\
Columns that are compared with = or IN come first in a key, then the order that is asked for or one range; \
among the first, the one with most different values, unless another query has only some of them. \
A query that reads a thousand rows or fewer needs no index of its own. Every record is read once, and nothing is written.

Of a file of records the first 100,000 rows are measured, and the primary key is advised too, unless --key gives it.

Examples:
  keyloom advise shop.klm --queries queries.sql
  keyloom advise shop.klm --queries queries.sql --sql | keyloom sql shop.klm
  keyloom advise orders.csv --queries queries.sql --key user_id,order_id")]
pub(crate) struct Advise {
    /// The database, or a sample: a file that ends in .csv, .tsv, .jsonl or .parquet, also as .gz or .zst
    #[arg(value_name = "URL|FILE")]
    url: String,
    /// The queries, as SQL statements; `-` is standard input
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// In which form the advice is printed: csv and jsonl have a row for each index
    #[arg(long, value_enum, default_value_t = Format::Table, conflicts_with = "sql")]
    format: Format,
    /// Prints only the statements that create what is advised; what can be dropped is a remark
    #[arg(long)]
    sql: bool,
    /// The table's name in the queries, of a sample [default: the file's name]
    #[arg(long)]
    table: Option<String>,
    /// The primary key, of a sample: columns with commas between them
    #[arg(long, value_delimiter = ',')]
    key: Vec<String>,
}

/// What is advised for one table.
pub(crate) struct Advised {
    pub(crate) counted: Counted,
    /// The queries of it.
    pub(crate) asked: Vec<Asked>,
    pub(crate) advice: Advice,
    /// Why the table's key is what it is, where the table itself is part of the advice.
    pub(crate) new: Option<String>,
}

impl Advise {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let text = queries::read(&self.queries)?;
        let tables = match format::of_name(Path::new(&self.url)).0 {
            None if self.table.is_some() || !self.key.is_empty() => {
                return Err(Failure::Misuse(
                    "--table and --key are for a file of records, such as CSV".to_owned(),
                ));
            }
            None => of_database(&open::existing(&self.url)?, &text)?,
            Some(format) => {
                let sample = Sample::read(Path::new(&self.url), format, self.table.as_deref());
                let sample = sample.map_err(|failure| failure.about(&self.url))?;
                vec![sample.advise(&self.key, &text)?]
            }
        };
        match self.format {
            _ if self.sql => stdout().write_all(text::statements(&tables).as_bytes())?,
            Format::Table => stdout().write_all(text::of(&tables).as_bytes())?,
            Format::Json => output::print_json(&value::of(&tables))?,
            Format::Csv | Format::Jsonl => output::print(self.format, &value::COLUMNS, value::rows(&tables))?,
        }
        Ok(())
    }
}

/// The advice for every table of a database that a query is about.
pub(crate) fn of_database(database: &Database<UrlStore>, text: &str) -> Result<Vec<Advised>, Failure> {
    let mut asked = queries::parse(database, text)?;
    let mut tables = Vec::new();
    for name in database.tables() {
        let own: Vec<Asked> = asked.extract_if(.., |one| one.table == name).collect();
        if !own.is_empty() {
            tables.push(of_table(database, stats::count(database, &name)?, own)?);
        }
    }
    Ok(tables)
}

/// The advice for a table that was counted.
pub(crate) fn of_table(
    database: &Database<UrlStore>,
    counted: Counted,
    asked: Vec<Asked>,
) -> Result<Advised, Failure> {
    let queries: Vec<_> = asked.iter().map(|one| one.query.clone()).collect();
    let advice = advise(&counted.table, &counted.measured, &database.statistics(), &queries)?;
    Ok(Advised { counted, asked, advice, new: None })
}
