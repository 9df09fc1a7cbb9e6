//! What is done for the whole order: boundaries that are known beforehand, and changes that were left.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use keyloom_key::Span;
use keyloom_store::Error;

use crate::cache::Place;
use crate::cluster::{Cluster, Consistency, Fault, Space, State};
use crate::order::Order;
use crate::page::shared;
use crate::store::{ClusterStore, failed};

/// How many ranges are worked on at once.
const AT_ONCE: usize = 32;

/// How many bytes of boundaries a map is made with in one write. Clusters refuse larger batches.
const FIRST: usize = 8 << 10;

impl<C: Cluster> ClusterStore<C> {
    /// Makes each of these keys the first of a shard, best before a table or an index is filled: what comes into shards
    /// that are there is not copied again, and all nodes work from the first row on.
    ///
    /// What has no rows yet is split at once, or nearly; else it takes several leases, while others go on. Shards that
    /// stay small are merged when something is deleted there.
    pub async fn presplit(&self, boundaries: &[Vec<u8>]) -> Result<(), Error> {
        self.order().presplit(boundaries).await.map_err(failed)
    }

    /// The shards that keys of a span lie in, in their order, each as the part of the span that it has.
    pub async fn shards(&self, span: &Span) -> Result<Vec<Span>, Error> {
        self.order().shards(span).await.map_err(failed)
    }
}

impl<C: Cluster> Order<C> {
    async fn shards(&self, span: &Span) -> Result<Vec<Span>, Fault> {
        let mut shards = Vec::new();
        for space in self.cluster().spaces().await? {
            let mut left = Some(shared(span, &space.span())).filter(|span| !span.is_empty());
            while let Some(local) = left {
                let found = self.shared.map.read(space, Place::At(&local.start), Consistency::Quorum).await?;
                let Some(range) = found else { break };
                let part = shared(&local, &Span { start: range.start, end: range.end });
                let rest = part.end.clone().map(|start| Span { start, end: local.end.clone() });
                left = rest.filter(|rest| !rest.is_empty());
                shards.push(part);
            }
        }
        Ok(shards)
    }

    /// Makes each of these keys the first of a range, before rows come.
    ///
    /// A space without a map gets one that has them, or the first few thousand bytes of them, at once. Others are split,
    /// many at a time, which takes several leases.
    pub async fn presplit(&self, boundaries: &[Vec<u8>]) -> Result<(), Fault> {
        let mut spaces: BTreeMap<Space, Vec<Vec<u8>>> = BTreeMap::new();
        for boundary in boundaries.iter().filter(|boundary| !boundary.is_empty()) {
            spaces.entry(Space::of(boundary)).or_default().push(boundary.clone());
        }
        for (space, mut boundaries) in spaces {
            boundaries.sort_unstable();
            boundaries.dedup();
            if self.shared.map.settled(space, Place::At(&[])).await?.is_none() {
                self.shared.map.create(space, &spread(&boundaries)).await?;
            }
            while let Some(middles) = self.missing(space, &boundaries).await? {
                for middles in middles.chunks(AT_ONCE) {
                    let splits = join_all(middles.iter().map(|middle| self.split(middle))).await;
                    splits.into_iter().collect::<Result<(), _>>()?;
                }
            }
        }
        Ok(())
    }

    /// Finishes what was begun and left, by whomever.
    pub async fn maintain(&self) -> Result<(), Fault> {
        for space in self.cluster().spaces().await? {
            let mut unfinished = Vec::new();
            let mut next = Some(Vec::new());
            while let Some(key) = next {
                let range = self.shared.map.read(space, Place::At(&key), Consistency::Quorum).await?;
                let Some(range) = range else { break };
                if range.state != State::Active {
                    unfinished.push(range.start);
                }
                next = range.end;
            }
            for keys in unfinished.chunks(AT_ONCE) {
                let ends = join_all(keys.iter().map(|key| self.finish(space, key))).await;
                ends.into_iter().collect::<Result<(), _>>()?;
            }
        }
        Ok(())
    }

    /// Of the boundaries that are missing in each range, the one in the middle; `None` if none is missing.
    async fn missing(&self, space: Space, boundaries: &[Vec<u8>]) -> Result<Option<Vec<Vec<u8>>>, Fault> {
        let mut missing: BTreeMap<Vec<u8>, Vec<&Vec<u8>>> = BTreeMap::new();
        for boundary in boundaries {
            let range = self.shared.map.settled(space, Place::At(boundary)).await?;
            let start = range.map(|range| range.start).unwrap_or_default();
            if start != *boundary {
                missing.entry(start).or_default().push(boundary);
            }
        }
        let middles = missing.values().filter_map(|keys| keys.get(keys.len() / 2).copied().cloned());
        Ok(Some(middles.collect::<Vec<_>>()).filter(|middles| !middles.is_empty()))
    }
}

/// As many of the boundaries as one write takes, evenly spread.
fn spread(boundaries: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let bytes: usize = boundaries.iter().map(|boundary| 2 * boundary.len() + 64).sum();
    let every = bytes.div_ceil(FIRST).max(1);
    boundaries.iter().skip(every / 2).step_by(every).cloned().collect()
}
