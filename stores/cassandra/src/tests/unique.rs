//! Several writes of the same two records want the same few names at once, two names a write.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom_store::{About, Batch, Read, Store as _};

use super::{Store, open, seeds, storm};
use crate::cluster::Cluster as _;
use crate::mistake::Mistake;
use crate::simulation::{Client, Faults, Random, Simulation};

fn names(value: &[u8]) -> Vec<String> {
    let text = String::from_utf8(value.to_vec()).unwrap();
    text.split('|').skip(1).map(str::to_owned).collect()
}

async fn work(store: Store, mut random: Random, worker: u64) {
    for round in 0..6 {
        let key = format!("record/{}", random.below(2));
        let Ok(before) = store.get(key.as_bytes(), <[u8]>::to_vec).await else { continue };
        let had = before.as_deref().map(names).unwrap_or_default();
        let mut has: Vec<String> = (0..2).map(|_| format!("name/{}", random.below(3))).collect();
        has.dedup();
        has.truncate(usize::try_from(random.below(3)).unwrap());
        let value =
            [format!("{worker}.{round}")].into_iter().chain(has.clone()).collect::<Vec<_>>().join("|");
        let mut batch = Batch::new().about(About::Record(key.clone().into())).put(&key, value);
        batch = match before {
            None => batch.require_absent(key),
            Some(before) => batch.require_value(key, before),
        };
        for name in had.iter().filter(|name| !has.contains(name)) {
            batch = batch.delete(name);
        }
        for name in has.iter().filter(|name| !had.contains(name)) {
            batch = batch.put(name, "").require_absent(name.as_str());
        }
        let _ = store.commit(batch).await;
    }
}

async fn watch(
    simulation: Arc<Simulation>,
    client: Client,
    stop: Arc<AtomicBool>,
    wrong: Arc<Mutex<Option<String>>>,
) {
    while !stop.load(Ordering::Relaxed) {
        let mut owners = BTreeMap::new();
        for (key, cell) in simulation.look(|stored| stored.cells()) {
            for name in cell.value.as_deref().map(names).unwrap_or_default() {
                if owners.insert(name.clone(), key.clone()).is_some() {
                    *wrong.lock().unwrap() = Some(format!("{name} has two owners"));
                }
            }
        }
        client.sleep(Duration::from_micros(500)).await;
    }
}

pub(super) fn run(seed: u64, mistake: Option<Mistake>) -> Result<(), String> {
    let faults = Faults { slow: 1_000, crash: 60, unknown: 600, ..storm() };
    let simulation = Arc::new(Simulation::new(seed, faults));
    let (stop, wrong): (Arc<AtomicBool>, Arc<Mutex<Option<String>>>) = Default::default();
    for worker in 0..6 {
        let (client, store) = open(&simulation, mistake);
        simulation.spawn(&client, work(store, Random::new(seed * 10 + worker), worker));
    }
    let watcher = simulation.client();
    watcher.spawn(watch(simulation.clone(), watcher.clone(), stop.clone(), wrong.clone()));
    simulation.run()?;
    stop.store(true, Ordering::Relaxed);
    wrong.lock().unwrap().take().map_or(Ok(()), Err)
}

#[test]
fn a_name_has_one_owner_at_any_moment() {
    for seed in seeds(400) {
        run(seed, None).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
}
