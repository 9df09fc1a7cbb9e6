//! A client: its clocks, and what becomes of the statements that it sends.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::cluster::{Applied, Fault};
use crate::simulation::executor::{Core, Effect, Partition, Until, World, lock};
use crate::simulation::state::Stored;

/// What the wall clocks show when the simulation begins, in microseconds.
const BEGIN: i64 = 1_700_000_000_000_000;

/// How long a statement takes each way, in microseconds, if nothing goes wrong.
const WAY: u64 = 2_000;

/// A client, as a process would be: clones are the same one.
#[derive(Clone)]
pub struct Client {
    core: Arc<Core>,
    number: usize,
}

/// A client's own view of time.
pub(crate) struct Clocks {
    pub(crate) crashed: bool,
    /// How many statements it sends before it crashes.
    left: Option<u64>,
    /// Until when it does nothing.
    pub(crate) frozen: u64,
    /// How wrong its wall clock is, in microseconds.
    skew: i64,
    /// How fast its monotonic clock runs, in 10,000.
    rate: u64,
    offset: u64,
}

impl Client {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        let mut world = core.world();
        let drift = world.faults.drift;
        let clocks = Clocks {
            crashed: false,
            left: None,
            frozen: 0,
            skew: skew(&mut world),
            rate: 10_000 - drift + world.random.below(2 * drift + 1),
            offset: world.random.below(1_000_000_000),
        };
        world.clients.push(clocks);
        let number = world.clients.len() - 1;
        drop(world);
        Self { core, number }
    }

    /// The client is gone for good: its tasks end where they are. What it has sent may take effect.
    pub fn crash(&self) {
        self.clocks(|clocks, _| clocks.crashed = true);
    }

    /// The client crashes when it has sent so many more statements: the last of them may take effect or not.
    pub fn crash_after(&self, statements: u64) {
        self.clocks(|clocks, _| clocks.left = Some(statements));
    }

    /// The client does nothing for so long.
    pub fn freeze(&self, time: Duration) {
        self.clocks(|clocks, now| clocks.frozen = clocks.frozen.max(now + micros(time)));
    }

    /// The wall clock shows so many microseconds too much.
    pub fn set_skew(&self, skew: i64) {
        self.clocks(|clocks, _| clocks.skew = skew);
    }

    /// Whether it has crashed.
    pub fn crashed(&self) -> bool {
        self.clocks(|clocks, _| clocks.crashed).unwrap_or(true)
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn monotonic_time(&self) -> Duration {
        let time = self.clocks(|clocks, now| clocks.offset + now * clocks.rate / 10_000);
        Duration::from_micros(time.unwrap_or(0))
    }

    pub(crate) fn wall_time(&self) -> i64 {
        let time = self.clocks(|clocks, now| BEGIN + now.cast_signed() + clocks.skew);
        time.unwrap_or(BEGIN)
    }

    /// The moment when its monotonic clock has gone on so far.
    pub(crate) fn later(&self, time: Duration) -> Until {
        let mut world = self.core.world();
        let rate = world.clients.get(self.number).map_or(10_000, |clocks| clocks.rate);
        let wait = micros(time) * 10_000 / rate + 1 + world.random.below(WAY);
        Until::new(self.core.clone(), world.stored.now + wait)
    }

    fn clocks<T>(&self, look: impl FnOnce(&mut Clocks, u64) -> T) -> Option<T> {
        let mut world = self.core.world();
        let now = world.stored.now;
        world.clients.get_mut(self.number).map(|clocks| look(clocks, now))
    }

    /// A read. At [serial](crate::Consistency::Serial) consistency `settle` is the partition whose doubts end first.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        name: &'static str,
        settle: Option<Partition>,
        look: impl FnOnce(&mut Stored) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        self.send(name, |world, fate| {
            let answer = Arc::new(Mutex::new(None));
            if !fate.unknown {
                let place = answer.clone();
                world.at(fate.effect, move |world| {
                    world.settle(settle.as_ref());
                    *lock(&place) = Some(look(&mut world.stored));
                });
            }
            answer
        })
        .await
    }

    /// A write without a condition.
    pub(crate) async fn write(
        &self,
        name: &'static str,
        effect: impl FnOnce(&mut Stored) + Send + 'static,
    ) -> Result<(), Fault> {
        self.send(name, |world, fate| {
            let answer = Arc::new(Mutex::new(None));
            let place = answer.clone();
            let time = match (fate.unknown, world.random.below(3)) {
                (false, _) | (true, 0) => fate.effect,
                (true, 1) => fate.late,
                (true, _) => return answer,
            };
            world.at(time, move |world| {
                effect(&mut world.stored);
                *lock(&place) = (!fate.unknown).then_some(());
            });
            answer
        })
        .await
    }

    /// A write with a condition.
    pub(crate) async fn change(
        &self,
        name: &'static str,
        partition: Partition,
        effect: impl FnOnce(&mut Stored) -> Applied + Send + 'static,
    ) -> Result<Applied, Fault> {
        self.send(name, |world, fate| {
            let answer = Arc::new(Mutex::new(None));
            let place = answer.clone();
            let end = match (fate.unknown, world.random.below(4)) {
                (true, 0) => return answer,
                // Begun, and left in doubt: it ends when the next one in the partition, or a serial read, settles it.
                (true, 1) => {
                    world.at(fate.effect, move |world| {
                        world.settle(Some(&partition));
                        world.doubt(partition, fate.late, Box::new(move |stored| _ = effect(stored)));
                    });
                    return answer;
                }
                // Not even begun for a while: no read can shut it out.
                (true, 2) => fate.late,
                _ => fate.effect,
            };
            world.at(end, move |world| {
                world.settle(Some(&partition));
                let applied = effect(&mut world.stored);
                *lock(&place) = (!fate.unknown).then_some(applied);
            });
            answer
        })
        .await
    }

    /// Sends a statement and waits for what comes of it.
    async fn send<T>(
        &self,
        name: &'static str,
        prepare: impl FnOnce(&mut World, Fate) -> Arc<Mutex<Option<T>>>,
    ) -> Result<T, Fault> {
        let (answer, fate) = {
            let mut world = self.core.world();
            let fate = world.fate(self.number);
            *world.counts.entry(name).or_default() += 1;
            (prepare(&mut world, fate), fate)
        };
        if fate.crash {
            pending::<()>().await;
        }
        Until::new(self.core.clone(), fate.reply).await;
        let answer = lock(&answer).take();
        answer
            .ok_or_else(|| Fault::Unknown(format!("{name} was not answered in time: it may have been done")))
    }
}

/// What becomes of a statement.
#[derive(Clone, Copy)]
struct Fate {
    /// When it takes effect.
    effect: u64,
    /// When it does if it is late.
    late: u64,
    /// When it is answered.
    reply: u64,
    unknown: bool,
    crash: bool,
}

impl World {
    fn fate(&mut self, client: usize) -> Fate {
        let faults = self.faults.clone();
        let now = self.stored.now;
        let pause = micros(faults.pause);
        let mut crash = self.random.chance(faults.crash);
        let frozen = if self.random.chance(faults.freeze) { now + self.random.below(pause) } else { 0 };
        let jump = self.random.chance(faults.jump).then(|| skew(self));
        if let Some(clocks) = self.clients.get_mut(client) {
            clocks.left = clocks.left.map(|left| left.saturating_sub(1));
            crash |= clocks.left == Some(0);
            clocks.crashed |= crash;
            clocks.frozen = clocks.frozen.max(frozen);
            clocks.skew = jump.unwrap_or(clocks.skew);
        }
        let way = if self.random.chance(faults.slow) { pause } else { WAY };
        let effect = now + 1 + self.random.below(way);
        Fate {
            effect,
            late: effect + self.random.below(2 * pause),
            reply: effect + 1 + self.random.below(WAY),
            unknown: crash || self.random.chance(faults.unknown),
            crash,
        }
    }

    /// Leaves a conditional write in doubt, for so long at most.
    fn doubt(&mut self, partition: Partition, until: u64, effect: Effect) {
        let number = self.number();
        self.doubts.entry(partition.clone()).or_default().insert(number, effect);
        self.at(until, move |world| {
            if world.doubts.get(&partition).is_some_and(|doubts| doubts.contains_key(&number)) {
                world.settle(Some(&partition));
            }
        });
    }

    /// Ends the doubts about a partition: each was done, or never will be.
    fn settle(&mut self, partition: Option<&Partition>) {
        for (_, effect) in partition.and_then(|partition| self.doubts.remove(partition)).unwrap_or_default() {
            if self.random.chance(5_000) {
                effect(&mut self.stored);
            }
        }
    }
}

fn skew(world: &mut World) -> i64 {
    let most = micros(world.faults.skew);
    world.random.below(2 * most + 1).cast_signed() - most.cast_signed()
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
