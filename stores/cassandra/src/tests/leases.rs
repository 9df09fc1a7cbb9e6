//! A key that batches only require: nobody writes by what it was once a lease has passed since it changed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom_store::{About, Batch, Error, Read, Store as _};

use super::{LEASE, Store, open, seeds};
use crate::cluster::Cluster as _;
use crate::id::Id;
use crate::mistake::Mistake;
use crate::simulation::{Client, Faults, Random, Simulation};

fn number(bytes: &[u8]) -> u64 {
    String::from_utf8(bytes.to_vec()).unwrap().parse().unwrap()
}

/// Changes the schema again and again, each time with an entry, and lets all know when everybody must go by it.
async fn change(store: Store, client: Client, oldest: Arc<AtomicU64>) {
    for next in 1..5_u64 {
        let batch = || {
            let batch = Batch::new().about(About::Record(b"schema".to_vec()));
            batch.put("schema", next.to_string()).put("schema/table", next.to_string())
        };
        while store.commit(batch()).await.is_err() {}
        client.sleep(store.capability().lease.unwrap()).await;
        oldest.store(next, Ordering::Relaxed);
    }
}

/// Writes records by the schema that it knows, until it is told to stop or that the schema is another.
async fn write(store: Store, mut random: Random, stop: Arc<AtomicBool>) {
    let mut schema = 0;
    while !stop.load(Ordering::Relaxed) {
        let key = format!("record/{}", random.below(3));
        let entry = format!("entry/{key}");
        let batch = Batch::new().about(About::Record(key.clone().into()));
        let batch = batch.put(&key, schema.to_string()).put(entry, schema.to_string());
        let outcome = store.commit(batch.require_value("schema", schema.to_string())).await;
        if let Err(Error::Conflict(_)) = outcome
            && let Ok(Some(now)) = store.get(b"schema", number).await
        {
            schema = now;
        }
    }
}

/// Looks at the cells again and again: none is written by a schema that nobody may go by any more.
async fn watch(
    simulation: Arc<Simulation>,
    client: Client,
    stop: Arc<AtomicBool>,
    oldest: Arc<AtomicU64>,
    wrong: Arc<Mutex<Option<String>>>,
) {
    let mut versions: BTreeMap<Vec<u8>, Id> = BTreeMap::new();
    let mut allowed = 0;
    while !stop.load(Ordering::Relaxed) {
        for (key, cell) in simulation.look(|stored| stored.cells()) {
            let changed = versions.insert(key.clone(), cell.version) != Some(cell.version);
            let schema = cell.value.as_deref().map(number);
            // It was written since the last look, so what was allowed then may still have been.
            if changed && key.starts_with(b"record/") && schema < Some(allowed) {
                *wrong.lock().unwrap() =
                    Some(format!("{} by {schema:?} after {allowed}", key.escape_ascii()));
            }
        }
        allowed = oldest.load(Ordering::Relaxed);
        client.sleep(Duration::from_micros(500)).await;
    }
}

fn run(seed: u64, mistake: Option<Mistake>) -> Result<(), String> {
    let faults = Faults {
        unknown: 100,
        slow: 2_500,
        freeze: 1_500,
        pause: LEASE * 3,
        skew: Duration::from_secs(30),
        drift: 500,
        ..Faults::none()
    };
    let simulation = Arc::new(Simulation::new(seed, faults));
    let (stop, oldest, wrong) = (Arc::default(), Arc::new(AtomicU64::new(0)), Arc::default());
    let (client, store) = open(&simulation, mistake);
    let first = store.clone();
    simulation
        .block_on(
            &client,
            async move { while first.commit(Batch::new().put("schema", "0")).await.is_err() {} },
        )
        .ok_or("stuck")?;
    for number in 0..3 {
        let (client, store) = open(&simulation, mistake);
        client.spawn(write(store, Random::new(seed * 10 + number), Arc::clone(&stop)));
    }
    let watcher = simulation.client();
    watcher.spawn(watch(
        simulation.clone(),
        watcher.clone(),
        Arc::clone(&stop),
        Arc::clone(&oldest),
        Arc::clone(&wrong),
    ));
    simulation.spawn(&client, change(store, client.clone(), oldest));
    simulation.run()?;
    stop.store(true, Ordering::Relaxed);
    simulation.settle()?;
    wrong.lock().unwrap().take().map_or(Ok(()), Err)
}

#[test]
fn nobody_writes_by_an_old_schema_after_the_lease() {
    for seed in seeds(60) {
        run(seed, None).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
}

#[test]
fn a_condition_that_is_not_judged_again_is_found() {
    let found =
        (0..500).find_map(|seed| run(seed, Some(Mistake::LongLease)).err().map(|wrong| (seed, wrong)));
    let (seed, wrong) = found.expect("a lease that never ends is found");
    println!("with seed {seed}: {wrong}");
}
