//! How a command ends: 0 for done, 1 for failed, 2 for misuse; quietly when nobody reads on.

use std::io;
use std::process::ExitCode;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was asked in the wrong way.
    Misuse(String),
    /// It was asked in the right way and could not.
    Failed(String),
    /// It could not, and has said so already.
    Reported,
    /// Whoever read its output has left.
    Unread,
}

impl From<keyloom::key::Error> for Failure {
    fn from(error: keyloom::key::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// The exit code, after what there is to say was said.
pub(crate) fn exit(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) | Err(Failure::Unread) => ExitCode::SUCCESS,
        Err(Failure::Reported) => ExitCode::FAILURE,
        Err(Failure::Failed(reason)) => {
            anstream::eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
        Err(Failure::Misuse(reason)) => {
            anstream::eprintln!("error: {reason}");
            ExitCode::from(2)
        }
    }
}
