//! `keyloom restore`.

use std::io::{Write, stdout};
use std::path::PathBuf;

use keyloom::layers::{Layered, Layers};
use keyloom::lmdb::LmdbStore;
use keyloom::{AnyStore, Database, Wait};

use crate::cmd::verify::compare;
use crate::failure::Failure;
use crate::open;

/// What `keyloom restore` is asked.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  keyloom restore backups/monday.klm shop.klm\n\n\
    The backup is copied beside the database and verified there: every checksum, and every index against its table. \
    Then it takes the database's place, as one; until then nothing changes. Nobody may have the database open.")]
pub(crate) struct Restore {
    /// The backup
    file: PathBuf,
    /// The database that it becomes: a file
    url: String,
    /// Replaces a database that is there
    #[arg(long)]
    force: bool,
}

impl Restore {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let path = open::file(&self.url)?;
        let file = self.file.display();
        if !self.file.is_file() {
            return Err(Failure::Failed(format!("{file}: there is no such file")));
        }
        open::refuse_existing(&path, self.force)?;
        let mut records = 0;
        let check = |store: &LmdbStore| {
            let database =
                Database::open(Layered::open(AnyStore::Lmdb(store.clone()), Layers::default()).wait()?)
                    .wait()?;
            for (_, verified) in compare(&database, None)? {
                records += verified.records;
                if let Some(first) = verified.differences.first() {
                    let many = verified.differences.len();
                    return Err(Failure::Failed(format!(
                        "{many} differences, nothing is restored: {first}\n\
                         a backup is a database: `keyloom repair {file}` shows what mends it"
                    )));
                }
            }
            Ok(())
        };
        let bytes = LmdbStore::restore(&self.file, &path, self.force, check);
        let bytes = bytes.map_err(|failure: Failure| failure.about(file))?;
        Ok(writeln!(stdout(), "{}: {records} records, {bytes} bytes", self.url)?)
    }
}
