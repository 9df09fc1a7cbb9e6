//! What is left of a plan behind the last row of a page.

use keyloom_key::Span;

use crate::cursor::Position;
use crate::plan::{Access, Plan, Stretch};

impl Plan {
    /// The same plan for the rows behind `position`.
    ///
    /// Stretches keep their numbers: what was read is left as an empty span. Where rows are sorted nothing is cut, and
    /// the rows up to the position are left out by whoever sorts them.
    #[must_use]
    pub fn resume(&self, position: &Position) -> Self {
        let mut plan = self.clone();
        let Position::Key { stretch, key } = position else { return plan };
        let current = usize::try_from(*stretch).unwrap_or(usize::MAX);
        match &mut plan.access {
            Access::InTurn(stretches) => {
                let spans = stretches.iter_mut().map(|stretch| &mut stretch.span);
                in_turn(spans, current, key, self.backward);
            }
            Access::Skip { places, .. } => in_turn(places.iter_mut(), current, key, self.backward),
            Access::Merged(stretches) => merged(stretches, current, key, self.backward),
        }
        plan
    }
}

/// Empties the spans that come before the current one, and cuts that one behind the key.
fn in_turn<'a>(spans: impl Iterator<Item = &'a mut Span>, current: usize, key: &[u8], backward: bool) {
    for (number, span) in spans.enumerate() {
        if number == current {
            cut(span, key, backward, true);
        } else if (number < current) != backward {
            span.end = Some(span.start.clone());
        }
    }
}

/// Cuts every span where the merge has come to: behind what is equal, where that came earlier by its number.
fn merged(stretches: &mut [Stretch], current: usize, key: &[u8], backward: bool) {
    let shared = stretches.get(current).map_or(0, |stretch| stretch.shared);
    let suffix = key.get(shared..).unwrap_or_default();
    for (number, stretch) in stretches.iter_mut().enumerate() {
        let own = stretch.span.start.get(..stretch.shared).unwrap_or_default();
        let reached = [own, suffix].concat();
        cut(&mut stretch.span, &reached, backward, number <= current);
    }
}

/// Leaves what lies behind the key, and the key itself unless it was `read`.
fn cut(span: &mut Span, key: &[u8], backward: bool, read: bool) {
    let next = || [key, &[0]].concat();
    if backward {
        let end = if read { key.to_vec() } else { next() };
        if span.end.as_ref().is_none_or(|old| end < *old) {
            span.end = Some(end);
        }
    } else {
        let start = if read { next() } else { key.to_vec() };
        if start > span.start {
            span.start = start;
        }
    }
    if span.is_empty() {
        span.end = Some(span.start.clone());
    }
}
