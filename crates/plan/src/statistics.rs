//! What is known of how many keys there are. Advice, never a promise: a plan is right whatever it says.

use std::collections::BTreeMap;

use keyloom_key::Span;

/// What is known of the trees, by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics(pub BTreeMap<u32, TreeStatistics>);

/// What is known of one tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeStatistics {
    /// How many keys it has.
    pub rows: u64,
    /// How many different values its first part has, its first two, and so on.
    pub distinct: Vec<u64>,
    /// Keys of it, evenly apart, in their order.
    pub samples: Vec<Vec<u8>>,
}

impl TreeStatistics {
    /// About how many keys a span has.
    pub fn rows_in(&self, span: &Span) -> u64 {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let before = |key: &[u8]| self.samples.partition_point(|sample| sample.as_slice() < key);
        let end = span.end.as_deref().map_or(self.samples.len(), before);
        let inside = count(end.saturating_sub(before(&span.start)));
        // Between two samples lies about one share; a span that meets none may still have half of one.
        let share = self.rows / count(self.samples.len()).max(1);
        if inside == 0 { share.div_ceil(2) } else { inside.saturating_mul(share) }
    }
}
