//! `keyloom completions`.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::failure::Failure;

/// What `keyloom completions` is asked.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    keyloom completions bash > ~/.local/share/bash-completion/completions/keyloom\n  \
    keyloom completions zsh > ~/.zfunc/_keyloom     with ~/.zfunc in fpath\n  \
    keyloom completions fish > ~/.config/fish/completions/keyloom.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Arguments::command(), "keyloom", &mut script);
        Ok(std::io::stdout().write_all(&script)?)
    }
}
