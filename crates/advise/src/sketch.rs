//! How many different values there are, without keeping them all.
//!
//! The smallest hashes are kept. As long as there are few they are counted; beyond, hashes lie evenly, so how close
//! together the smallest ones lie says how many there are.

use std::collections::BTreeSet;

/// How many hashes are kept. The error of an estimate is about 1.6 in a hundred.
const KEPT: usize = 4_096;

/// Counts different values: exactly up to 4,096, beyond to within a few in a hundred.
///
/// ```
/// let mut distinct = keyloom_advise::Distinct::default();
/// ["a", "b", "a"].iter().for_each(|text| distinct.add(text.as_bytes()));
/// assert_eq!((distinct.count(), distinct.is_exact()), (2, true));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Distinct {
    smallest: BTreeSet<u64>,
    /// Whether hashes were left out.
    more: bool,
}

impl Distinct {
    /// Takes in a value by its bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        let hash = twox_hash::XxHash3_64::oneshot(bytes);
        if self.smallest.len() < KEPT {
            self.smallest.insert(hash);
            return;
        }
        let last = self.smallest.last().copied().unwrap_or_default();
        if hash > last {
            self.more = true;
        } else if self.smallest.insert(hash) {
            self.smallest.pop_last();
            self.more = true;
        }
    }

    /// How many different values there were.
    pub fn count(&self) -> u64 {
        let kept = u128::try_from(self.smallest.len()).unwrap_or(u128::MAX);
        let Some(last) = self.smallest.last().filter(|_| self.more) else {
            return u64::try_from(kept).unwrap_or(u64::MAX);
        };
        // The smallest hash of n lies at about 1/n of all, the one of number k at k/n.
        let all = (kept - 1) * (1_u128 << 64) / u128::from(*last).max(1);
        u64::try_from(all).unwrap_or(u64::MAX)
    }

    /// Whether the count is exact, and not an estimate.
    pub fn is_exact(&self) -> bool {
        !self.more
    }
}

#[cfg(test)]
mod tests {
    use super::Distinct;

    fn counted(values: u64, times: u64) -> Distinct {
        let mut distinct = Distinct::default();
        for _ in 0..times {
            (0..values).for_each(|value| distinct.add(&value.to_be_bytes()));
        }
        distinct
    }

    #[test]
    fn few_values_are_counted_exactly() {
        for values in [0, 1, 2, 100, 4_095, 4_096] {
            let distinct = counted(values, 3);
            assert_eq!((distinct.count(), distinct.is_exact()), (values, true));
        }
    }

    #[test]
    fn many_values_are_estimated_closely_in_bounded_memory() {
        for values in [4_097, 10_000, 100_000, 1_000_000] {
            let distinct = counted(values, 1);
            assert!(!distinct.is_exact());
            let off = distinct.count().abs_diff(values);
            assert!(off * 20 < values, "{} of {values}", distinct.count());
            assert_eq!(distinct.smallest.len(), super::KEPT);
        }
    }

    #[test]
    fn how_often_a_value_comes_does_not_matter() {
        assert_eq!(counted(50_000, 1).count(), counted(50_000, 3).count());
    }
}
