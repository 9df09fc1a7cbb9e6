//! What a client has to ask of the map: it remembers some ranges, and trusts each for a lease.

use std::collections::BTreeMap;

use crate::keys::{Random, Zipf, mix};

/// How often of a thousand a range had to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Misses {
    /// It was not remembered.
    pub(crate) unknown: u64,
    /// It was, for longer than the lease.
    pub(crate) expired: u64,
}

/// A client that looks up `rate` ranges a second of `shards`, of which it remembers `size`.
pub(crate) fn misses(shards: u32, size: usize, lease: u64, rate: u64, zipf: bool, lookups: u64) -> Misses {
    let mut random = Random(3);
    let ranks = zipf.then(|| Zipf::new(shards));
    // By range: when it was read, and when last used. By use: the range.
    let mut known: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut used: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut unknown, mut expired, mut counted) = (0, 0, 0_u64);
    for number in 0..lookups {
        let range = match &ranks {
            Some(ranks) => mix(ranks.rank(&mut random)),
            None => random.next() % u64::from(shards),
        };
        // The first half only fills the memory.
        let counts = u64::from(number >= lookups / 2);
        counted += counts;
        let read = match known.get(&range) {
            Some((read, last)) => {
                used.remove(last);
                let old = number - read > lease * rate;
                expired += if old { counts } else { 0 };
                if old { number } else { *read }
            }
            None => {
                unknown += counts;
                number
            }
        };
        known.insert(range, (read, number));
        used.insert(number, range);
        if known.len() > size
            && let Some((_, oldest)) = used.pop_first()
        {
            known.remove(&oldest);
        }
    }
    let share = |misses: u64| misses * 1_000 / counted.max(1);
    Misses { unknown: share(unknown), expired: share(expired) }
}
