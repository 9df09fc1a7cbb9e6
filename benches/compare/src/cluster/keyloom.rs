//! Keyloom's store.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use keyloom_cassandra::CassandraStore;
use keyloom_store::{About, Batch, Direction, Limits, Read, Store};

use super::layout::{Keys, from, value};
use super::{Ask, Error, RANGE, System, UNDER_WAY};

pub(super) struct Keyloom {
    store: CassandraStore,
    keys: Keys,
}

impl Keyloom {
    pub(super) async fn open(url: &str, keys: Keys) -> Result<Self, Error> {
        Ok(Self { store: CassandraStore::open(&url.parse()?).await?, keys })
    }

    async fn load_one(&self, number: u64) -> Result<usize, Error> {
        self.store.commit(new_record(self.keys, number).put(self.keys.entry(number, 0), [])).await?;
        Ok(1)
    }

    async fn range(&self, start: Vec<u8>) -> Result<usize, Error> {
        let mut found = 0;
        let look = |_: &[u8], _: &[u8]| {
            found += 1;
            ControlFlow::Continue(())
        };
        self.store.scan(&from(start), Direction::Forward, Limits::rows(RANGE), look).await?;
        Ok(found)
    }
}

/// A record that is not there yet.
pub(super) fn new_record(keys: Keys, number: u64) -> Batch {
    let key = keys.record(number);
    Batch::new().put(&key, value(number)).require_absent(key.clone()).about(About::Record(key))
}

impl System for Keyloom {
    const NAME: &'static str = "keyloom";

    async fn ask(&self, ask: Ask, number: u64) -> Result<usize, Error> {
        let keys = self.keys;
        match ask {
            Ask::Write => self.store.commit(new_record(keys, number)).await.map(|_| 1).map_err(Into::into),
            Ask::Read => Ok(self.store.get(&keys.record(number), <[u8]>::len).await?.unwrap_or_default()),
            Ask::Range => self.range(keys.record(number)).await,
            Ask::Members => self.range(keys.member(number)).await,
            Ask::Move(moved) => {
                let key = keys.record(number);
                let batch = Batch::new()
                    .put(&key, value(number + moved + 1))
                    .delete(keys.entry(number, moved))
                    .put(keys.entry(number, moved + 1), [])
                    .about(About::Record(key));
                self.store.commit(batch).await?;
                Ok(1)
            }
        }
    }

    async fn load(self: &Arc<Self>, numbers: Range<u64>) -> Result<(), Error> {
        let numbers: Vec<u64> = numbers.collect();
        let share = numbers.len().div_ceil(UNDER_WAY).max(1);
        let tasks = numbers.chunks(share).map(|numbers| {
            let (system, numbers) = (Arc::clone(self), numbers.to_vec());
            tokio::spawn(async move {
                for number in numbers {
                    system.load_one(number).await?;
                }
                Ok::<_, Error>(())
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await??;
        }
        Ok(())
    }

    async fn add(self: &Arc<Self>, numbers: Range<u64>) -> Result<(), Error> {
        for number in numbers.clone().step_by(500) {
            let mut batch = Batch::new().about(About::Members);
            for number in number..numbers.end.min(number + 500) {
                batch.write(&self.keys.member(number), Some(&[]));
            }
            self.store.commit(batch).await?;
        }
        Ok(())
    }
}
