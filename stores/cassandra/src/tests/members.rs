//! Members come and go while everything goes wrong: what one adds after another removed it is there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use keyloom_key::Span;
use keyloom_store::{About, Batch, Direction, Error, Read, Store as _};

use super::history::{Machine, Operation, is_linearizable};
use super::{Store, everything, open, scan, seeds, storm};
use crate::simulation::{Faults, Random, Simulation};

const MEMBERS: u64 = 2;

/// Whether a member is there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct There(bool);

#[derive(Debug)]
enum Action {
    Add,
    Remove,
    Saw(bool),
}

impl Machine for There {
    type Action = Action;

    fn apply(&self, action: &Action) -> Option<Self> {
        match action {
            Action::Add => Some(Self(true)),
            Action::Remove => Some(Self(false)),
            Action::Saw(there) => (self.0 == *there).then_some(self.clone()),
        }
    }
}

type Log = Arc<Mutex<BTreeMap<u64, Vec<Operation<Action>>>>>;

fn key(member: u64) -> String {
    format!("set/{member}")
}

async fn work(simulation: Arc<Simulation>, store: Store, log: Log, mut random: Random) {
    for _ in 0..8 {
        let member = random.below(MEMBERS);
        let start = simulation.now();
        let batch = Batch::new().about(About::Members);
        let (action, batch) = match random.below(5) {
            0 | 1 => (Action::Add, batch.put(key(member), "")),
            2 => (Action::Remove, batch.delete(key(member))),
            3 => {
                let Ok(found) = store.get(key(member).as_bytes(), |_| ()).await else { continue };
                let (action, end) = (Action::Saw(found.is_some()), Some(simulation.now()));
                log.lock().unwrap().entry(member).or_default().push(Operation { action, start, end });
                continue;
            }
            _ => {
                let Ok(rows) = scan(&store, Span::prefix("set/"), Direction::Backward, 1).await else {
                    continue;
                };
                for member in 0..MEMBERS {
                    let there = rows.iter().filter(|(found, _)| found == key(member).as_bytes()).count();
                    assert!(there < 2, "a member came twice");
                    let (action, end) = (Action::Saw(there == 1), Some(simulation.now()));
                    log.lock().unwrap().entry(member).or_default().push(Operation { action, start, end });
                }
                continue;
            }
        };
        let number = {
            let mut log = log.lock().unwrap();
            let operations = log.entry(member).or_default();
            operations.push(Operation { action, start, end: None });
            operations.len() - 1
        };
        match store.commit(batch).await {
            Ok(_) => log.lock().unwrap().get_mut(&member).unwrap()[number].end = Some(simulation.now()),
            Err(Error::Unknown(_) | Error::Busy(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn members_come_and_go_in_one_order_whatever_the_clocks_say() {
    for seed in seeds(400) {
        let simulation = Arc::new(Simulation::new(seed, storm()));
        let log = Log::default();
        for number in 0..4 {
            let (client, store) = open(&simulation, None);
            let random = Random::new(seed * 10 + number);
            simulation.spawn(&client, work(simulation.clone(), store, log.clone(), random));
        }
        simulation.run().unwrap();
        simulation.set_faults(Faults::none());
        simulation.settle().unwrap();
        let (client, store) = open(&simulation, None);
        let start = simulation.now();
        let rows = simulation.block_on(&client, async move {
            scan(&store, everything(), Direction::Forward, 10).await.unwrap()
        });
        let rows = rows.unwrap();
        for (member, operations) in log.lock().unwrap().iter_mut() {
            let there = rows.iter().any(|(found, _)| found == key(*member).as_bytes());
            operations.push(Operation { action: Action::Saw(there), start, end: Some(simulation.now()) });
            assert!(
                is_linearizable(There(false), operations),
                "seed {seed}: no order explains what was seen of member {member}: {operations:#?}"
            );
        }
    }
}
