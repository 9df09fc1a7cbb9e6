//! Rows that several insert into one partition at the same time go together: a node takes many for little more than one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::cluster::{Fault, Row, Space};
use crate::id::Id;

use super::ask::{Asker, Values};
use super::statements::stored_kind;
use super::{BATCH_ROWS, pieces};

/// How many insertions into a partition are under way before others wait and go together.
const UNDER_WAY: usize = 2;

/// A partition of rows.
pub(super) type Partition = (Space, Id);

/// Who inserts into which partition.
#[derive(Debug, Default)]
pub(super) struct Gather(Mutex<HashMap<Partition, Queue>>);

#[derive(Debug, Default)]
struct Queue {
    under_way: usize,
    waiting: Vec<Waiting>,
}

/// Rows that someone waits for.
#[derive(Debug)]
struct Waiting {
    rows: Vec<Row>,
    done: oneshot::Sender<Result<(), Fault>>,
}

impl Gather {
    /// Puts rows behind those that wait already. Says where the answer comes, and whether the caller has to let
    /// [`send`] run.
    pub(super) fn add(
        &self,
        partition: Partition,
        rows: Vec<Row>,
    ) -> (oneshot::Receiver<Result<(), Fault>>, bool) {
        let (done, answer) = oneshot::channel();
        let mut queues = self.queues();
        let queue = queues.entry(partition).or_default();
        queue.waiting.push(Waiting { rows, done });
        let sends = queue.under_way < UNDER_WAY;
        queue.under_way += usize::from(sends);
        (answer, sends)
    }

    /// As many as make a batch; none if nobody waits, and then whoever asked is done.
    fn take(&self, partition: Partition) -> Vec<Waiting> {
        let mut queues = self.queues();
        let Some(queue) = queues.get_mut(&partition) else { return Vec::new() };
        let mut rows = 0;
        let fits = |waiting: &&Waiting| {
            rows += waiting.rows.len();
            rows <= BATCH_ROWS
        };
        let count = queue.waiting.iter().take_while(fits).count().max(1).min(queue.waiting.len());
        let taken: Vec<Waiting> = queue.waiting.drain(..count).collect();
        if taken.is_empty() {
            queue.under_way -= 1;
            if queue.under_way == 0 {
                queues.remove(&partition);
            }
        }
        taken
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<Partition, Queue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Inserts what waits for a partition until nothing does.
pub(super) async fn send(asker: Arc<Asker>, gather: Arc<Gather>, partition: Partition) {
    loop {
        let taken = gather.take(partition);
        if taken.is_empty() {
            return;
        }
        let together = insert(&asker, partition, taken.iter().flat_map(|waiting| &waiting.rows)).await;
        let alone = matches!(together, Err(Fault::Refused(_))) && taken.len() > 1;
        for Waiting { rows, done } in taken {
            // What is refused because of one must not be refused to the others.
            let ended = if alone { insert(&asker, partition, rows.iter()).await } else { together.clone() };
            // Whoever no longer waits does not want to know.
            let _ = done.send(ended);
        }
    }
}

async fn insert(
    asker: &Asker,
    (space, shard): Partition,
    rows: impl Iterator<Item = &Row>,
) -> Result<(), Fault> {
    let rows: Vec<&Row> = rows.collect();
    let values = |row: &&Row| {
        let (kind, owner, base) = stored_kind(&row.kind);
        let (key, value) = (row.key.clone(), row.value.clone());
        Box::new((space.0, *shard.bytes(), key, *row.id.bytes(), kind, owner, base, value, row.id.time()))
            as Values
    };
    let size = |row: &&Row| row.key.len() + row.value.len();
    let batches: Vec<Vec<Values>> =
        pieces(&rows, size).map(|rows| rows.iter().map(values).collect()).collect();
    asker.batches("insert rows", &asker.all.insert, batches).await
}

#[cfg(test)]
mod tests;
