//! How much a run may examine.

use std::time::{Duration, Instant};

use keyloom_plan::{Access, Budget, Class};

use super::{Examined, PageLimits, Run};

/// The limits of a page, or the budget as far as the plan's class is held to it.
#[derive(Debug)]
pub(super) struct Most {
    rows: u64,
    bytes: u64,
    time: Duration,
    /// When it started, if it may come to where that is looked at.
    started: Option<Instant>,
}

/// The clock is dear beside a row; a look with every so many is often enough.
const LOOKS: u64 = 64;

impl Most {
    /// Of a run that starts now.
    pub(super) fn of<R>(run: &Run<'_, R>) -> Self {
        let Budget { rows, bytes, time, .. } = run.budget;
        let (rows, bytes, time) = match (run.page, run.plan.class) {
            (Some(PageLimits { rows, bytes, time, .. }), _) => (rows, bytes, time),
            (None, Class::Scan) => (u64::MAX, u64::MAX, Duration::MAX),
            // How many values there are to skip to, statistics may be wrong about.
            (None, _) if matches!(run.access, Access::Skip { .. }) => (rows, bytes, time),
            (None, Class::Partition) => (rows, bytes, time),
            (None, Class::Constant | Class::Output) => (u64::MAX, bytes, time),
        };
        let few = run.plan.bound.is_some_and(|bound| bound < LOOKS);
        Self { rows, bytes, time, started: (!few).then(Instant::now) }
    }

    /// Whether that was more.
    pub(super) fn is_passed(&self, examined: &Examined) -> bool {
        let Examined { rows, bytes, .. } = *examined;
        let late = || self.started.is_some_and(|started| started.elapsed() > self.time);
        rows > self.rows || bytes > self.bytes || (rows.is_multiple_of(LOOKS) && late())
    }
}
