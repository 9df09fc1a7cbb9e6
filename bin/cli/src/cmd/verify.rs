//! `keyloom verify`.

use std::io::{Write, stdout};

use keyloom::key::Value;
use keyloom::{Database, Difference, UrlStore, Verified, Wait};

use crate::failure::Failure;
use crate::open;
use crate::output::{Format, print};
use crate::progress::{Progress, Unit};

/// What `keyloom verify` is asked.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  keyloom verify shop.klm orders\n\n\
    Every record is looked for in every index, and every entry in its table; every checksum is looked at. \
    Exit code 1 says that something differs: `keyloom repair` shows what mends it.")]
pub(crate) struct Verify {
    /// The database: a file
    url: String,
    /// Only this table
    table: Option<String>,
    /// How the differences are printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl Verify {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let database = open::existing(&self.url)?;
        let compared = compare(&database, self.table)?;
        if self.format == Format::Table {
            print(
                self.format,
                &["table", "records", "entries", "differences"],
                compared.iter().map(summary),
            )?;
        }
        let differences: Vec<_> =
            compared.into_iter().flat_map(|(_, verified)| verified.differences).collect();
        if self.format != Format::Table {
            print(self.format, &COLUMNS, differences.iter().map(row))?;
        } else if !differences.is_empty() {
            writeln!(stdout())?;
            print(self.format, &COLUMNS, differences.iter().map(row))?;
        }
        let url = &self.url;
        match differences.len() {
            0 => Ok(()),
            1 => Err(Failure::Failed(format!("1 difference: `keyloom repair {url}` shows what mends it"))),
            many => Err(Failure::Failed(format!(
                "{many} differences: `keyloom repair {url}` shows what mends them"
            ))),
        }
    }
}

fn summary((table, verified): &(String, Verified)) -> Vec<Value<'static>> {
    let differences = u64::try_from(verified.differences.len()).unwrap_or(u64::MAX);
    vec![table.clone().into(), verified.records.into(), verified.entries.into(), differences.into()]
}

/// What is printed of a difference.
pub(crate) const COLUMNS: [&str; 5] = ["table", "index", "wrong", "fields", "key"];

/// A difference as a row of [`COLUMNS`].
pub(crate) fn row(difference: &Difference) -> Vec<Value<'static>> {
    let Difference { table, index, wrong, fields, key, .. } = difference;
    let index = index.as_deref().unwrap_or("primary");
    let texts = [table.clone(), index.to_owned(), wrong.to_string(), fields.clone(), hex::encode(key)];
    texts.map(Value::from).into()
}

/// Compares the indexes of one table, or of all, with their records.
pub(crate) fn compare(
    database: &Database<UrlStore>,
    table: Option<String>,
) -> Result<Vec<(String, Verified)>, Failure> {
    let tables = table.map_or_else(|| database.tables(), |table| vec![table]);
    let progress = Progress::new("comparing", Unit::Rows, None);
    let mut before = 0;
    let mut compared = Vec::new();
    for table in tables {
        let tell = |verified: &Verified| progress.set(before + verified.records + verified.entries);
        let verified = database.verify_with(&table, tell).wait()?;
        before += verified.records + verified.entries;
        compared.push((table, verified));
    }
    Ok(compared)
}
