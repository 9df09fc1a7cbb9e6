//! `keyloom repair`.

use std::io::{Write, stdout};

use keyloom::{Difference, Wait, Wrong};

use crate::cmd::verify::{self, compare};
use crate::failure::Failure;
use crate::open;
use crate::output::{Format, print};

/// What `keyloom repair` is asked.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  keyloom repair shop.klm            shows what it would do\n  \
    keyloom repair shop.klm --apply    does it\n\n\
    The record wins: index entries are written, replaced or deleted until they say what the records say. \
    A record that is damaged cannot be mended from elsewhere: restore a backup.")]
pub(crate) struct Repair {
    /// The database: a file
    url: String,
    /// Only this table
    table: Option<String>,
    /// Mends what differs; else it is only shown
    #[arg(long)]
    apply: bool,
    /// How the differences are printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl Repair {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let database = open::existing(&self.url)?;
        let compared = compare(&database, self.table)?;
        let mut rows = Vec::new();
        let mut left = 0;
        for difference in compared.iter().flat_map(|(_, verified)| &verified.differences) {
            let what = match (difference.can_be_mended(), self.apply) {
                (false, _) => {
                    left += 1;
                    remedy(difference)
                }
                (true, false) => remedy(difference),
                (true, true) if database.mend(difference).wait()? => "done",
                (true, true) => "it has changed since, and is left as it is",
            };
            let mut row = verify::row(difference);
            row.push(what.into());
            rows.push(row);
        }
        let found = rows.len();
        if self.format != Format::Table || found > 0 {
            let last = if self.apply { "repair" } else { "would" };
            print(self.format, &[verify::COLUMNS.as_slice(), &[last]].concat(), rows)?;
        }
        if self.format == Format::Table {
            match found {
                0 => writeln!(stdout(), "nothing differs")?,
                _ if self.apply => {}
                _ => writeln!(stdout(), "nothing is changed: --apply does it")?,
            }
        }
        match left {
            0 => Ok(()),
            left => Err(Failure::Failed(format!("{left} of {found} cannot be mended from what is there"))),
        }
    }
}

/// What mends a difference.
fn remedy(difference: &Difference) -> &'static str {
    match (&difference.index, &difference.wrong) {
        (None, _) => "restore a backup",
        (_, Wrong::Missing) => "write the entry",
        (_, Wrong::Stale | Wrong::Damaged(_)) => "delete the entry",
        _ if difference.can_be_mended() => "replace the entry",
        _ => "drop the index and create it anew",
    }
}
