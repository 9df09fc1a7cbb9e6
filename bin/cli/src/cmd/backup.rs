//! `keyloom backup`.

use std::io::{Write, stdout};
use std::path::PathBuf;

use keyloom::Wait;
use keyloom::lmdb::LmdbStore;

use crate::failure::Failure;
use crate::open;
use crate::progress::Progress;

/// What `keyloom backup` is asked.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  keyloom backup shop.klm backups/monday.klm\n\n\
    Others may read and write meanwhile: the backup is the state at one moment. It is a database by itself, without \
    the room that deleted records have left. The file is there whole or not at all.\n\n\
    The backup of a folder, rocksdb:PATH, is a folder, which shares its files with the database as long as it can.")]
pub(crate) struct Backup {
    /// The database: a file
    url: String,
    /// Where the backup goes
    file: PathBuf,
    /// Replaces a file that is there
    #[arg(long)]
    force: bool,
}

impl Backup {
    pub(crate) fn run(self) -> Result<(), Failure> {
        #[cfg(feature = "rocksdb")]
        if let keyloom::Location::Rocks(path) = open::locate(&self.url)?.location {
            return self.checkpoint(&path);
        }
        let path = open::existing_file(&self.url)?;
        open::refuse_existing(&self.file, self.force)?;
        let progress = Progress::of_file("copying", self.file.with_added_extension("part"));
        let store = LmdbStore::open(path).map_err(|error| Failure::from(error).about(&self.url))?;
        let copied = store.copy_to(&self.file, self.force).wait();
        drop(progress);
        let file = self.file.display();
        let bytes = copied.map_err(|error| Failure::from(error).about(&file))?;
        Ok(writeln!(stdout(), "{file}: {bytes} bytes")?)
    }

    /// A folder beside a folder.
    #[cfg(feature = "rocksdb")]
    fn checkpoint(self, path: &std::path::Path) -> Result<(), Failure> {
        if !path.exists() {
            return Err(Failure::Failed(format!("{}: there is no such folder", self.url)));
        }
        let file = self.file.display();
        if self.force && self.file.exists() {
            return Err(Failure::Misuse(format!("{file}: --force replaces no folder: remove it first")));
        }
        let store = keyloom::rocksdb::RocksStore::open(path);
        let store = store.map_err(|error| Failure::from(error).about(&self.url))?;
        let made = store.checkpoint_to(&self.file).wait();
        made.map_err(|error| Failure::from(error).about(&self.url))?;
        Ok(writeln!(stdout(), "{file}: a folder, rocksdb:{file} as a database")?)
    }
}
