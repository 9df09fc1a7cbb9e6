//! What an error of the driver means for the statement.

use scylla::errors::{DbError, ExecutionError, RequestAttemptError};

use crate::cluster::Fault;

/// What is known of a statement that was not answered well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It was not done, and may be tried again.
    NotDone,
    /// It may have been done, or may still be.
    Unknown,
    /// It was not done, and never will be.
    Refused,
}

/// What is known after an error.
pub(super) fn verdict(error: &ExecutionError) -> Verdict {
    match error {
        ExecutionError::BadQuery(_) | ExecutionError::UseKeyspaceError(_) => Verdict::Refused,
        ExecutionError::EmptyPlan
        | ExecutionError::PrepareError(_)
        | ExecutionError::ConnectionPoolError(_)
        | ExecutionError::LastAttemptError(RequestAttemptError::UnableToAllocStreamId) => Verdict::NotDone,
        ExecutionError::LastAttemptError(
            RequestAttemptError::SerializationError(_) | RequestAttemptError::CqlRequestSerialization(_),
        ) => Verdict::Refused,
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _)) => answered(error),
        _ => Verdict::Unknown,
    }
}

fn answered(error: &DbError) -> Verdict {
    match error {
        DbError::SyntaxError
        | DbError::Invalid
        | DbError::AlreadyExists { .. }
        | DbError::FunctionFailure { .. }
        | DbError::AuthenticationError
        | DbError::Unauthorized
        | DbError::ConfigError
        | DbError::ProtocolError => Verdict::Refused,
        DbError::IsBootstrapping => Verdict::NotDone,
        // A node counts the replicas before it begins. At a serial level that is before it proposes anything; a
        // conditional write that lacks replicas at another level has been decided already, and was not told to enough.
        DbError::Unavailable { consistency, .. } if consistency.is_serial() => Verdict::NotDone,
        _ => Verdict::Unknown,
    }
}

/// An error as the layers above take it.
pub(super) fn fault(what: &str, error: &ExecutionError) -> Fault {
    let advice = match error {
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(DbError::Unavailable { .. }, _)) => {
            ": start the nodes that are down, or make a keyspace with fewer replicas"
        }
        _ => "",
    };
    let text = format!("cannot {what}: {error}{advice}");
    match verdict(error) {
        Verdict::Refused => Fault::Refused(text),
        Verdict::NotDone | Verdict::Unknown => Fault::Unknown(text),
    }
}

/// Something stored that is not as it was written.
pub(super) fn damaged(what: &str, bytes: &[u8]) -> Fault {
    let some = bytes.get(..32).unwrap_or(bytes);
    Fault::Refused(format!("a stored {what} is damaged: {}", some.escape_ascii()))
}
