//! Whether conditions hold.

use std::ops::ControlFlow;
use std::time::Duration;

use keyloom_key::Span;

use crate::batch::Condition;
use crate::error::Error;
use crate::fingerprint::Fingerprinter;
use crate::scan::{Limits, Page};

/// What looks at the rows of a scan.
pub type Look<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// A state that conditions are checked against.
pub trait Now {
    /// Lends the value of `key` to `look`.
    fn get<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error>;

    /// Scans a page of `span`, forward.
    fn page(&self, span: &Span, limits: Limits, look: &mut Look<'_>) -> Result<Page, Error>;
}

/// Checks conditions: the first that does not hold is [`Error::Conflict`].
pub fn check(now: &impl Now, conditions: &[Condition]) -> Result<(), Error> {
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
            // One row more than there were is as good as all of them.
            let rows = usize::try_from(fingerprint.rows()).unwrap_or(usize::MAX).saturating_add(1);
            let limits = Limits { rows, bytes: usize::MAX, time: Duration::MAX };
            now.page(span, limits, &mut |key, value| {
                held.add(key, value);
                ControlFlow::Continue(())
            })?;
            held.finish() == *fingerprint
        }
    })
}
