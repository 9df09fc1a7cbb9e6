//! How evenly shards lie on nodes: the cluster hashes the id of a shard to a token, and a node has a run of tokens.

use crate::keys::Random;

/// The token of a shard: a hash of its partition key, each part with its length before it and a zero behind.
fn token(id: u128) -> u64 {
    let mut key = vec![0, 4, 0, 0, 0, 1, 0, 0, 16];
    key.extend(id.to_be_bytes());
    key.push(0);
    let hash = murmur3::murmur3_x64_128(&mut key.as_slice(), 0).unwrap_or(0);
    let [a, b, c, d, e, f, g, h, ..] = hash.to_be_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Of nodes with equal runs of tokens: how many times the mean the fullest has, in thousandths.
pub(crate) fn fullest(nodes: usize, shards: u64, replication: usize) -> u64 {
    let mut random = Random(7);
    let mut loads = vec![0_u64; nodes];
    for _ in 0..shards {
        let id = u128::from(random.next()) << 64 | u128::from(random.next());
        let first = usize::try_from((u128::from(token(id)) * nodes as u128) >> 64).unwrap_or(0);
        for copy in 0..replication {
            if let Some(load) = loads.get_mut((first + copy) % nodes) {
                *load += 1;
            }
        }
    }
    let most = loads.iter().copied().max().unwrap_or(0);
    most * 1_000 * nodes as u64 / (shards * replication as u64).max(1)
}
