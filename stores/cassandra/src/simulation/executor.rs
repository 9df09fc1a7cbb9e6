//! Tasks, events and time.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::simulation::client::{Client, Clocks};
use crate::simulation::faults::Faults;
use crate::simulation::random::Random;
use crate::simulation::state::Stored;

/// So many steps without an end are taken for going round in circles.
const STEPS: u64 = 500_000;

/// A cluster, its clients and their tasks.
pub struct Simulation {
    core: Arc<Core>,
    tasks: Mutex<BTreeMap<u64, Task>>,
}

/// What tasks and clients share.
pub(crate) struct Core {
    world: Mutex<World>,
    /// Tasks that can go on. Beside the world, because whoever wakes one may hold that.
    ready: Mutex<BTreeSet<u64>>,
    /// Tasks that the executor has not seen yet.
    spawned: Mutex<Vec<Task>>,
}

pub(crate) struct World {
    pub(crate) stored: Stored,
    pub(crate) random: Random,
    pub(crate) faults: Faults,
    pub(crate) clients: Vec<Clocks>,
    /// Conditional writes that were begun and neither done nor shut out, by their partitions.
    pub(crate) doubts: BTreeMap<Partition, BTreeMap<u64, Effect>>,
    pub(crate) counts: BTreeMap<&'static str, u64>,
    events: BTreeMap<(u64, u64), Event>,
    number: u64,
}

/// A partition that is changed by conditional writes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Partition {
    Map([u8; 4]),
    Cell(Vec<u8>),
    Claim(Vec<u8>),
}

pub(crate) type Effect = Box<dyn FnOnce(&mut Stored) + Send>;

enum Event {
    Wake(Waker),
    Happen(Box<dyn FnOnce(&mut World) + Send>),
}

struct Task {
    client: usize,
    /// Whether a run waits for it.
    awaited: bool,
    work: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Always the same, so that whoever waits for it can tell that he does already.
    waker: Option<Waker>,
}

/// What a task returned.
pub struct Handle<T>(Arc<Mutex<Option<T>>>);

impl<T> Handle<T> {
    /// What it returned; `None` if it has not, or has crashed.
    pub fn take(&self) -> Option<T> {
        lock(&self.0).take()
    }
}

impl World {
    /// The next of all numbers: none is given twice.
    pub(crate) fn number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    pub(crate) fn at(&mut self, time: u64, happen: impl FnOnce(&mut World) + Send + 'static) {
        let number = self.number();
        self.events.insert((time, number), Event::Happen(Box::new(happen)));
    }

    fn wake_at(&mut self, time: u64, waker: Waker) {
        let number = self.number();
        self.events.insert((time, number), Event::Wake(waker));
    }
}

impl Core {
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    pub(crate) fn spawn(
        &self,
        client: usize,
        awaited: bool,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        lock(&self.spawned).push(Task { client, awaited, work: Box::pin(work), waker: None });
    }
}

impl Simulation {
    /// A cluster with nothing in it.
    pub fn new(seed: u64, faults: Faults) -> Self {
        let world = World {
            stored: Stored::default(),
            random: Random::new(seed),
            faults,
            clients: Vec::new(),
            doubts: BTreeMap::new(),
            counts: BTreeMap::new(),
            events: BTreeMap::new(),
            number: 0,
        };
        let core = Core {
            world: Mutex::new(world),
            ready: Mutex::new(BTreeSet::new()),
            spawned: Mutex::new(Vec::new()),
        };
        Self { core: Arc::new(core), tasks: Mutex::new(BTreeMap::new()) }
    }

    /// One more client, with clocks of its own.
    pub fn client(&self) -> Client {
        Client::new(self.core.clone())
    }

    /// What goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.core.world().faults = faults;
    }

    /// A number that follows from the seed.
    pub fn below(&self, limit: u64) -> u64 {
        self.core.world().random.below(limit)
    }

    /// The time, which no client's clock shows.
    pub fn now(&self) -> Duration {
        Duration::from_micros(self.core.world().stored.now)
    }

    /// What the cluster holds.
    pub fn look<T>(&self, look: impl FnOnce(&Stored) -> T) -> T {
        look(&self.core.world().stored)
    }

    /// How often each statement was sent, by its name.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.core.world().counts.clone()
    }

    /// A task of a client. It runs when the simulation does.
    pub fn spawn<T: Send + 'static>(
        &self,
        client: &Client,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Handle<T> {
        let result = Arc::new(Mutex::new(None));
        let place = result.clone();
        self.core.spawn(client.number(), true, async move {
            let value = work.await;
            *lock(&place) = Some(value);
        });
        Handle(result)
    }

    /// Runs a task, and all others meanwhile; `None` if its client crashed.
    pub fn block_on<T: Send + 'static>(
        &self,
        client: &Client,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let handle = self.spawn(client, work);
        self.run().ok()?;
        handle.take()
    }

    /// Runs until every task that was [spawned](Self::spawn) here has ended or crashed. What clients spawned themselves
    /// goes on with the next run.
    pub fn run(&self) -> Result<(), String> {
        self.steps(|tasks| !tasks.values().any(|task| task.awaited))
    }

    /// Runs until there is nothing left to do: what clients spawned has ended too, and what comes late has come.
    pub fn settle(&self) -> Result<(), String> {
        self.steps(|_| false)
    }

    fn steps(&self, ended: impl Fn(&BTreeMap<u64, Task>) -> bool) -> Result<(), String> {
        let mut tasks = lock(&self.tasks);
        for _ in 0..STEPS {
            for task in lock(&self.core.spawned).drain(..) {
                let number = self.core.world().number();
                tasks.insert(number, task);
                lock(&self.core.ready).insert(number);
            }
            // Kept until the world's lock is free: futures may look at it when they are dropped.
            let gone: Vec<Task> = {
                let world = self.core.world();
                let crashed = |client: usize| world.clients.get(client).is_none_or(|client| client.crashed);
                tasks.extract_if(.., |_, task| crashed(task.client)).map(|(_, task)| task).collect()
            };
            drop(gone);
            if ended(&tasks) {
                return Ok(());
            }
            if !self.poll(&mut tasks) && !self.advance() {
                return match tasks.values().any(|task| task.awaited) {
                    true => Err("tasks wait for what never happens".to_owned()),
                    false => Ok(()),
                };
            }
        }
        let (now, counts) = (self.now(), self.counts());
        Err(format!(
            "tasks go round in circles: after {now:?} of {} tasks, statements {counts:?}",
            tasks.len()
        ))
    }

    /// Lets one of the tasks that can go on do so; `false` if there is none.
    fn poll(&self, tasks: &mut BTreeMap<u64, Task>) -> bool {
        let number = {
            let mut ready = lock(&self.core.ready);
            let count = u64::try_from(ready.len()).unwrap_or(u64::MAX);
            let chosen = usize::try_from(self.core.world().random.below(count)).unwrap_or(0);
            let Some(number) = ready.iter().nth(chosen).copied() else { return false };
            ready.remove(&number);
            number
        };
        let Some(task) = tasks.get_mut(&number) else { return true };
        let fresh = || Waker::from(Arc::new(Ready { core: self.core.clone(), number }));
        let waker = task.waker.get_or_insert_with(fresh).clone();
        {
            let mut world = self.core.world();
            let now = world.stored.now;
            let until = world.clients.get(task.client).map_or(0, |client| client.frozen);
            if until > now {
                world.wake_at(until, waker);
                return true;
            }
        }
        if task.work.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            tasks.remove(&number);
        }
        true
    }

    /// Goes on to the next event; `false` if there is none.
    fn advance(&self) -> bool {
        let mut world = self.core.world();
        let Some(((time, _), event)) = world.events.pop_first() else { return false };
        world.stored.now = time.max(world.stored.now);
        match event {
            Event::Happen(happen) => happen(&mut world),
            Event::Wake(waker) => {
                drop(world);
                waker.wake();
            }
        }
        true
    }
}

struct Ready {
    core: Arc<Core>,
    number: u64,
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        lock(&self.core.ready).insert(self.number);
    }
}

/// Waits until a moment of the simulation.
pub(crate) struct Until {
    pub(crate) core: Arc<Core>,
    pub(crate) time: u64,
    waker: Option<Waker>,
}

impl Until {
    pub(crate) fn new(core: Arc<Core>, time: u64) -> Self {
        Self { core, time, waker: None }
    }
}

impl Future for Until {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let mut world = this.core.world();
        if world.stored.now >= this.time {
            return Poll::Ready(());
        }
        if !this.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            this.waker = Some(context.waker().clone());
            world.wake_at(this.time, context.waker().clone());
        }
        Poll::Pending
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
