//! How a command ends: 0 for done, 1 for failed, 2 for misuse; quietly when nobody reads on.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// The exit code of a command that was stopped by ctrl-c, as shells have it.
pub(crate) const STOPPED: u8 = 130;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was asked in the wrong way.
    Misuse(String),
    /// It was asked in the right way and could not.
    Failed(String),
    /// It would have to read every key. The reason says what helps.
    Refused(String),
    /// Someone wanted it to stop.
    Stopped,
    /// It could not, and has said so already.
    Reported,
    /// Whoever read its output has left.
    Unread,
}

impl Failure {
    /// The same, with the file that it is about.
    pub(crate) fn about(self, file: impl Display) -> Self {
        match self {
            Self::Failed(reason) => Self::Failed(format!("{file}: {reason}")),
            other => other,
        }
    }
}

impl From<keyloom::key::Error> for Failure {
    fn from(error: keyloom::key::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<keyloom::Error> for Failure {
    fn from(error: keyloom::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<keyloom::sql::Error> for Failure {
    fn from(error: keyloom::sql::Error) -> Self {
        use keyloom::sql::Error;
        let cause = match &error {
            Error::Statement { source, .. } => source,
            error => error,
        };
        match cause {
            Error::Refused(_) => Self::Refused(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<keyloom::store::Error> for Failure {
    fn from(error: keyloom::store::Error) -> Self {
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

impl Failure {
    /// Says what there is to say.
    pub(crate) fn tell(&self) {
        let mut err = anstream::stderr();
        // Where it cannot be said, the exit code says it.
        let _ = match self {
            Self::Failed(reason) | Self::Misuse(reason) => writeln!(err, "error: {reason}"),
            Self::Refused(reason) => writeln!(err, "{reason}"),
            Self::Stopped => writeln!(err, "stopped"),
            Self::Reported | Self::Unread => Ok(()),
        };
    }
}

/// The exit code, after what there is to say was said.
pub(crate) fn exit(result: Result<(), Failure>) -> ExitCode {
    let Err(failure) = result else { return ExitCode::SUCCESS };
    failure.tell();
    match failure {
        Failure::Unread => ExitCode::SUCCESS,
        Failure::Failed(_) | Failure::Refused(_) | Failure::Reported => ExitCode::FAILURE,
        Failure::Misuse(_) => ExitCode::from(2),
        Failure::Stopped => ExitCode::from(STOPPED),
    }
}
