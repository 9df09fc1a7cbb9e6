//! `keyloom man`.

use std::path::PathBuf;

use clap::CommandFactory;

use crate::failure::Failure;

/// What `keyloom man` is asked.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  keyloom man ~/.local/share/man/man1 && man keyloom-sql")]
pub(crate) struct Man {
    /// The folder that the pages go to, one for each verb; it is made if it is not there
    folder: PathBuf,
}

impl Man {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let failed = |error| Failure::Failed(format!("{}: {error}", self.folder.display()));
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        clap_mangen::generate_to(crate::Arguments::command(), &self.folder).map_err(failed)?;
        Ok(())
    }
}
