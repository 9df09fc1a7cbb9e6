//! Writes the figures and plots of `docs/scale.md` into a folder and prints what the page shows.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use keyloom_scale::{Costs, Size, report};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [folder] = arguments.as_slice() else {
        eprintln!("usage: keyloom-scale FOLDER");
        return ExitCode::from(2);
    };
    let folder = PathBuf::from(folder);
    for (name, text) in report(&Costs::default(), Size::PAGE) {
        let path = folder.join(&name);
        if let Err(error) = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, &text)) {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
        if name == "figures.txt" {
            print!("{text}");
        }
    }
    ExitCode::SUCCESS
}
