//! Whether conditions hold, in the file and in what is buffered in front of it.

use std::ops::ControlFlow;
use std::time::Duration;

use heed::RoTxn;
use keyloom_key::Span;
use keyloom_store::{Condition, Direction, Error, Fingerprinter, Limits, Look, Page};

use crate::engine::Engine;

/// A state that conditions are checked against.
pub(crate) trait Now {
    fn get<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error>;

    fn page(&self, span: &Span, limits: Limits, look: &mut Look<'_>) -> Result<Page, Error>;
}

/// What a transaction sees.
pub(crate) struct Seen<'a>(pub(crate) &'a Engine, pub(crate) &'a RoTxn<'a>);

impl Now for Seen<'_> {
    fn get<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error> {
        self.0.get(self.1, key, look)
    }

    fn page(&self, span: &Span, limits: Limits, look: &mut Look<'_>) -> Result<Page, Error> {
        self.0.page(self.1, span, Direction::Forward, limits, look)
    }
}

/// Checks conditions: the first that does not hold is a conflict.
pub(crate) fn check(now: &impl Now, conditions: &[Condition]) -> Result<(), Error> {
    for condition in conditions {
        if !holds(now, condition)? {
            return Err(Error::Conflict(Box::new(condition.clone())));
        }
    }
    Ok(())
}

fn holds(now: &impl Now, condition: &Condition) -> Result<bool, Error> {
    Ok(match condition {
        Condition::Absent(key) => now.get(key, |_| ())?.is_none(),
        Condition::Is { key, value } => now.get(key, |found| found == value)? == Some(true),
        Condition::Unchanged { span, fingerprint } => {
            let mut held = Fingerprinter::default();
            let all = Limits { rows: usize::MAX, bytes: usize::MAX, time: Duration::MAX };
            now.page(span, all, &mut |key, value| {
                held.add(key, value);
                ControlFlow::Continue(())
            })?;
            held.finish() == *fingerprint
        }
        other => {
            return Err(Error::Unsupported { store: "lmdb", what: format!("check {other:?}").into() });
        }
    })
}
