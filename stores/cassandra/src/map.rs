//! Where the rows of a key lie, by copies of the map that are trusted for a while.
//!
//! A copy is trusted for a lease, counted from before it was read: so whoever changed the map and waited that long knows
//! that nobody relies on what was before. One client reads a range once for all its tasks.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Mutex as Turn;

use crate::cache::{Cache, Copied, Place};
use crate::cluster::{Applied, Cluster, Consistency, Fault, Range, Space, State};
use crate::id::Id;
use crate::settings::Settings;

/// How many ranges can be read at once without one waiting for another by chance.
const TURNS: usize = 64;

/// How often something is tried that fails only if the cluster is slower than the lease.
pub(crate) const ATTEMPTS: usize = 32;

pub(crate) struct Map<C> {
    cluster: Arc<C>,
    settings: Settings,
    cache: Mutex<Cache>,
    turns: Vec<Turn<()>>,
}

impl<C: Cluster> Map<C> {
    pub(crate) fn new(cluster: Arc<C>, settings: Settings) -> Self {
        let cache = Mutex::new(Cache::new(settings.cache));
        Self { cluster, settings, cache, turns: (0..TURNS).map(|_| Turn::new(())).collect() }
    }

    /// A fresh id.
    pub(crate) fn id(&self) -> Id {
        Id::new(self.cluster.wall(), self.cluster.random())
    }

    /// Whether what was done by a copy counts: it is still trusted.
    pub(crate) fn trusted(&self, copy: &Copied) -> bool {
        self.cluster.monotonic().saturating_sub(copy.read) < self.settings.lease
    }

    /// The range of a place, by a copy that has half its time left at least, unless reading it took long; `None` if the
    /// space has no map.
    pub(crate) async fn find(&self, space: Space, place: Place<'_>) -> Result<Option<Copied>, Fault> {
        if let Some(copy) = self.recent(space, place) {
            return Ok(Some(copy));
        }
        let Some(turn) = self.turns.get(self.turn(space, place)) else {
            return self.fetch(space, place).await;
        };
        // Whoever waited for another's read and still lacks his range was behind someone else's: he does not wait again.
        let _turn = match turn.try_lock() {
            Ok(held) => Some(held),
            Err(_) => {
                drop(turn.lock().await);
                if let Some(copy) = self.recent(space, place) {
                    return Ok(Some(copy));
                }
                turn.try_lock().ok()
            }
        };
        self.fetch(space, place).await
    }

    /// The same; a space without a map gets one.
    pub(crate) async fn find_or_create(&self, space: Space, place: Place<'_>) -> Result<Copied, Fault> {
        for _ in 0..ATTEMPTS {
            if let Some(copy) = self.find(space, place).await? {
                return Ok(copy);
            }
            self.create(space, &[]).await?;
        }
        Err(Fault::Unknown(format!("the map of space {:02x?} could not be made: try again", space.0)))
    }

    /// Makes the map of a space, cut at `boundaries`, if it has none.
    pub(crate) async fn create(&self, space: Space, boundaries: &[Vec<u8>]) -> Result<(), Fault> {
        // Known first: a scan across spaces must not overlook one.
        self.cluster.add_space(space).await?;
        let starts = iter::once(Vec::new()).chain(boundaries.iter().cloned());
        let ends = boundaries.iter().cloned().map(Some).chain([None]);
        let ranges: Vec<Range> = starts
            .zip(ends)
            .map(|(start, end)| Range { start, end, shard: self.id(), epoch: 1, state: State::Active })
            .collect();
        self.swap(space, &[], &ranges).await
    }

    /// Swaps ranges if they are as expected. How it went is not told: whoever wants to know reads the map.
    pub(crate) async fn swap(&self, space: Space, old: &[Range], new: &[Range]) -> Result<(), Fault> {
        match self.cluster.swap(space, old, new).await {
            Ok(Applied::Yes | Applied::No) | Err(Fault::Unknown(_)) => Ok(()),
            Err(refused) => Err(refused),
        }
    }

    /// The range of a place as it is now, to be changed.
    pub(crate) async fn settled(&self, space: Space, place: Place<'_>) -> Result<Option<Range>, Fault> {
        self.read(space, place, Consistency::Serial).await
    }

    fn recent(&self, space: Space, place: Place<'_>) -> Option<Copied> {
        let copy = self.cache().get(space, place)?;
        let age = self.cluster.monotonic().saturating_sub(copy.read);
        (age < self.settings.lease / 2).then_some(copy)
    }

    /// Which turn it takes to read the range of a place: by the old copy if there is one.
    fn turn(&self, space: Space, place: Place<'_>) -> usize {
        let mut hasher = DefaultHasher::new();
        space.hash(&mut hasher);
        self.cache().get(space, place).map(|copy| copy.range.start.clone()).hash(&mut hasher);
        usize::try_from(hasher.finish() >> 32).unwrap_or(0) % TURNS
    }

    async fn fetch(&self, space: Space, place: Place<'_>) -> Result<Option<Copied>, Fault> {
        let read = self.cluster.monotonic();
        let range = self.read(space, place, Consistency::Quorum).await?;
        let copy = range.map(|range| Copied { range: Arc::new(range), read, seen: read });
        Ok(copy.map(|copy| self.cache().put(space, copy)))
    }

    /// The range of a place, past all copies.
    pub(crate) async fn read(
        &self,
        space: Space,
        place: Place<'_>,
        consistency: Consistency,
    ) -> Result<Option<Range>, Fault> {
        let range = match place {
            Place::At(key) => self.cluster.range_at(space, key, consistency).await?,
            Place::Before(key) => self.cluster.range_before(space, key, consistency).await?,
        };
        match range {
            Some(range) if !place.is_in(&range) => Err(Fault::Refused(format!(
                "the map of space {:02x?} has a hole behind the range from {}: restore it",
                space.0,
                range.start.escape_ascii()
            ))),
            range => Ok(range),
        }
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many ranges are remembered.
    pub(crate) fn remembered(&self) -> usize {
        self.cache().len()
    }
}
