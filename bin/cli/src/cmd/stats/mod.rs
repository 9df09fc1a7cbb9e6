//! `keyloom stats`: how large tables are and how their keys spread.

pub(crate) mod figures;
mod opened;
mod text;
mod value;

use std::io::{Write, stdout};
use std::sync::Arc;

use keyloom::advise::{Measured, measure};
use keyloom::schema::Table;
use keyloom::{Database, UrlStore, Wait};

pub(crate) use opened::opened;
pub(crate) use text::{grouped, spread};

use crate::failure::Failure;
use crate::open;
use crate::output::{self, Format};
use crate::progress::{Progress, Unit};

/// What `keyloom stats` is asked.
#[derive(clap::Args)]
#[command(after_help = "\
Every key is read once, and nothing is written. A partition is what shares the first field of the primary key. \
How often something is asked for is not kept anywhere: the hottest partitions are those that have most of the newest \
tenth of the records, 1,000 at most, by the first time in the key, or else in the record.

Examples:
  keyloom stats shop.klm
  keyloom stats shop.klm orders --format json")]
pub(crate) struct Stats {
    /// The database: a file, or `memory:`
    url: String,
    /// The table; all of them if none is named
    table: Option<String>,
    /// In which form they are printed: csv and jsonl have a row for each tree of keys
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// A table and what was found of it.
pub(crate) struct Counted {
    pub(crate) table: Arc<Table>,
    pub(crate) measured: Measured,
}

impl Stats {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let database = open::existing(&self.url)?;
        let names = self.table.map_or_else(|| database.tables(), |name| vec![name]);
        let tables = names.iter().map(|name| count(&database, name)).collect::<Result<Vec<_>, _>>()?;
        match self.format {
            Format::Table => {
                let opened = opened(open::locate(&self.url)?.settings, database.store());
                let between = if opened.is_empty() { "" } else { "\n" };
                stdout().write_all((text::of(&tables) + between + &opened).as_bytes())?;
            }
            Format::Json => output::print_json(&value::of(&tables))?,
            Format::Csv | Format::Jsonl => output::print(self.format, &value::COLUMNS, value::rows(&tables))?,
        }
        Ok(())
    }
}

/// Goes through the table of this name and its indexes.
pub(crate) fn count(database: &Database<UrlStore>, name: &str) -> Result<Counted, Failure> {
    let table = database.table(name).wait()?;
    let definition = table.definition()?;
    // What ANALYZE has counted tells how far there is to go.
    let statistics = database.statistics();
    let trees = definition.indexes().iter().map(|index| index.tree().id()).chain([definition.primary().id()]);
    let known: Option<Vec<u64>> = trees.map(|tree| Some(statistics.0.get(&tree)?.rows)).collect();
    let progress = Progress::new("counting", Unit::Rows, known.map(|rows| rows.iter().sum()));
    let measured = measure(&table, |keys| progress.set(keys)).wait()?;
    Ok(Counted { table: definition, measured })
}
