//! Skipping from value to value of a first part that nothing bounds, where statistics know few values of it.

use keyloom_key::Span;
use keyloom_schema::{Format, Index, Tree};

use crate::error::Error;
use crate::plan::{Access, Order, Stretch};
use crate::planner::Asked;
use crate::planner::candidate::{Candidate, Found};
use crate::spans::{Edge, Keys, Reach};
use crate::statistics::TreeStatistics;

/// The most values that are skipped over: each is a seek.
const MOST: u64 = 100;

impl Asked<'_> {
    /// The plan that skips over the first part of this tree, if it has few values.
    pub(super) fn skipping<'a>(
        &self,
        index: Option<&'a Index>,
        tree: &'a Tree,
        known: &TreeStatistics,
    ) -> Result<Option<Candidate<'a>>, Error> {
        match known.distinct.first() {
            Some(values) if *values <= MOST => self.skip(index, tree, *values, Some(known)),
            _ => Ok(None),
        }
    }

    /// The plan that skips over the first part, which has about so many values, if what follows is bounded.
    pub(super) fn skip<'a>(
        &self,
        index: Option<&'a Index>,
        tree: &'a Tree,
        values: u64,
        known: Option<&TreeStatistics>,
    ) -> Result<Option<Candidate<'a>>, Error> {
        let keys = Keys::of(tree, index.is_some_and(Index::is_unique));
        let free = |reach: &Reach<'_>| reach.points.is_empty() && reach.edge == Edge::Free;
        // Only native keys have the same bytes behind every first value.
        if *tree.format() != Format::Native
            || index.is_some_and(Index::is_multi_valued)
            || !free(&Reach::into(&keys, &self.conditions)?)
        {
            return Ok(None);
        }
        let behind = keys.behind(1);
        let reach = Reach::into(&behind, &self.conditions)?;
        if free(&reach) {
            return Ok(None);
        }
        let mut runs = reach.runs(&behind, self.words)?;
        runs.sort_by(|a, b| a.span.start.cmp(&b.span.start));
        let inner: Vec<Stretch> =
            runs.into_iter().map(|run| Stretch { span: run.span, shared: 0, text: run.text }).collect();
        let places: Vec<Span> = (0..tree.placement().count())
            .map(|place| tree.at(place, &Span { start: Vec::new(), end: None }))
            .collect();
        let in_order = self.order.is_empty()
            || places.len() == 1
                && self
                    .sequence(index, tree)
                    .matches(0, false, &|part| part.checked_sub(1).is_some_and(|part| reach.is_one(part)));
        let order = if in_order { Order::Free } else { Order::Sort(self.order.clone()) };
        let estimate = known.map(|known| expect(known, &reach, inner.len()).saturating_add(values));
        let access = Access::Skip { places, parts: 1, inner, values };
        let found = Found { reach, access, backward: false, order, is_row: false, estimate };
        self.finish(index, tree, found).map(Some)
    }
}

/// About how many rows lie behind all first values together.
fn expect(known: &TreeStatistics, reach: &Reach<'_>, spans: usize) -> u64 {
    let spans = u64::try_from(spans).unwrap_or(u64::MAX);
    let distinct = |parts: usize| parts.checked_sub(1).and_then(|last| known.distinct.get(last)).copied();
    let share = match (distinct(1), distinct(1 + reach.points.len())) {
        // Each first value has about so many rows of the points.
        (Some(first), Some(both)) if !reach.points.is_empty() => {
            known.rows.saturating_mul(first) / both.max(1)
        }
        _ => known.rows / 10,
    };
    share.saturating_mul(spans).clamp(1, known.rows.max(1))
}
