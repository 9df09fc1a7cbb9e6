//! `keyloom compact`.

use std::io::{Write, stdout};

use keyloom::lmdb::{Compacted, LmdbStore};

use crate::failure::Failure;
use crate::open;
use crate::progress::Progress;

/// What `keyloom compact` is asked.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  keyloom compact shop.klm\n\n\
    The database is copied beside itself without the room that deleted records have left, and the copy takes its \
    place, as one. Nobody else may have it open; who opens it meanwhile waits.")]
pub(crate) struct Compact {
    /// The database: a file
    url: String,
}

impl Compact {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let path = open::existing_file(&self.url)?;
        let progress = Progress::of_file("copying", path.with_added_extension("part"));
        let compacted = LmdbStore::compact(path);
        drop(progress);
        let Compacted { before, after } = compacted.map_err(|error| Failure::from(error).about(&self.url))?;
        Ok(writeln!(stdout(), "{}: {before} bytes before, {after} after", self.url)?)
    }
}
