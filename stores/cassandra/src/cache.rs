//! Copies of ranges, as many as are allowed: the one that was used longest ago goes first.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use crate::cluster::{Range, Space};

/// A range as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Copied {
    pub(crate) range: Arc<Range>,
    /// The time before it was read: what was changed later may not be in it.
    pub(crate) read: Duration,
    /// When its state was first seen.
    pub(crate) seen: Duration,
}

/// Which range is looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    /// The one with this key.
    At(&'a [u8]),
    /// The one with the keys right below this, or the last one.
    Before(Option<&'a [u8]>),
}

impl Place<'_> {
    /// Whether it is this range.
    pub(crate) fn is_in(self, range: &Range) -> bool {
        match self {
            Self::At(key) => *range.start <= *key && range.end.as_deref().is_none_or(|end| key < end),
            Self::Before(None) => range.end.is_none(),
            Self::Before(Some(key)) => {
                *range.start < *key && range.end.as_deref().is_none_or(|end| key <= end)
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Cache {
    spaces: BTreeMap<Space, BTreeMap<Vec<u8>, (Copied, u64)>>,
    /// By the moment of the last use.
    uses: BTreeMap<u64, (Space, Vec<u8>)>,
    moment: u64,
    limit: usize,
}

impl Cache {
    pub(crate) fn new(limit: usize) -> Self {
        Self { spaces: BTreeMap::new(), uses: BTreeMap::new(), moment: 0, limit: limit.max(1) }
    }

    /// The copy of a range, however old.
    pub(crate) fn get(&mut self, space: Space, place: Place<'_>) -> Option<Copied> {
        self.moment += 1;
        let ranges = self.spaces.get_mut(&space)?;
        let below = match place {
            Place::At(key) => Bound::Included(key),
            Place::Before(Some(key)) => Bound::Excluded(key),
            Place::Before(None) => Bound::Unbounded,
        };
        let (_, (copy, used)) = ranges.range_mut::<[u8], _>((Bound::Unbounded, below)).next_back()?;
        if !place.is_in(&copy.range) {
            return None;
        }
        if let Some(name) = self.uses.remove(used) {
            self.uses.insert(self.moment, name);
        }
        *used = self.moment;
        Some(copy.clone())
    }

    /// Remembers a copy instead of those that it replaces.
    pub(crate) fn put(&mut self, space: Space, mut copy: Copied) -> Copied {
        let start = copy.range.start.clone();
        let ranges = self.spaces.entry(space).or_default();
        let inside = (
            Bound::Included(start.as_slice()),
            copy.range.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
        );
        let replaced: Vec<Vec<u8>> =
            ranges.range::<[u8], _>(inside).map(|(start, _)| start.clone()).collect();
        for start in replaced {
            if let Some((old, used)) = ranges.remove(&start) {
                self.uses.remove(&used);
                if old.range == copy.range {
                    copy.seen = old.seen;
                }
            }
        }
        self.moment += 1;
        ranges.insert(start.clone(), (copy.clone(), self.moment));
        self.uses.insert(self.moment, (space, start));
        while self.uses.len() > self.limit {
            let Some((_, (space, start))) = self.uses.pop_first() else { break };
            if let Some(ranges) = self.spaces.get_mut(&space) {
                ranges.remove(&start);
                if ranges.is_empty() {
                    self.spaces.remove(&space);
                }
            }
        }
        copy
    }

    /// How many ranges are remembered.
    pub(crate) fn len(&self) -> usize {
        self.spaces.values().map(BTreeMap::len).sum::<usize>().max(self.uses.len())
    }
}
