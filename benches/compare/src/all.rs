//! A million orders and an index on them, in Keyloom and in everything beside it: one run, interleaved, medians.
//!
//! Every system reads the same rows in the same random order, and what they found is compared; those that keep Keyloom's
//! bytes are checked to have the same ones. What a commit promises is set for all alike, and stands beside the figure.

mod by_hand;
mod device;
mod fjall;
mod go;
mod hash;
mod lmdb;
mod own;
mod peer;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod sqlite;
mod sqlite_keys;

use std::path::Path;
use std::time::{Duration, Instant};

use ::keyloom::MemoryStore;
use keyloom_workload::{Error, Keyloom, Layout, Order, Questions, Shop, Tally, Times, Work, seed};

use crate::report::{Figure, Unit, progress};
use crate::sides::asked;
use device::Device;
use go::Go;
use peer::{Peer, Promise};
use sqlite::{Form, Sqlite};

/// The most orders that systems in memory are given.
const IN_MEMORY: usize = 2_000_000;
/// How long, at the most, a system is waited for that goes on writing behind its commits: some thousands, and millions.
const AFTER_WRITES: Duration = Duration::from_secs(4);
const AFTER_MANY: Duration = Duration::from_secs(60);
/// When it has begun at the latest: a log is taken into its file after a second, in which nothing is written. How often it is
/// looked at then, and what others give the disk meanwhile.
const BEHIND: Duration = Duration::from_millis(1_200);
const PAUSE: Duration = Duration::from_millis(300);
const QUIET: u64 = 1 << 20;
/// How much memory is [used](warm_memory) before a load, for each byte of its rows, and at the most.
const WARM: usize = 16;
const MOST_WARM: usize = 2 << 30;
/// How many orders are made at a time where many are written.
const CHUNK: usize = 100_000;

/// The systems of the suite `tables`: Keyloom on its default store, the same bytes by hand, and SQLite in all its forms.
pub(crate) const TABLES: [&str; 7] = [
    "keyloom-lmdb",
    "raw-lmdb",
    "sqlite",
    "sqlite-without-rowid",
    "sqlite-columns",
    "sqlite-columns-sorted",
    "sqlite-columns-clustered",
];

/// What is run.
pub(crate) struct Scale {
    pub(crate) count: usize,
    pub(crate) rounds: usize,
    /// Works; all if there are none.
    pub(crate) only: Vec<String>,
    /// Systems; all if there are none.
    pub(crate) systems: Vec<String>,
}

impl Scale {
    fn has(&self, work: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == work)
    }

    /// So many questions, fewer for fewer orders.
    fn count(&self, most: usize) -> usize {
        asked(self.count, most)
    }
}

/// How many rounds of reads there are where loads and writes have so many: reads are short, and what disturbs them is not.
pub(crate) fn read_rounds(rounds: usize) -> usize {
    3 * rounds
}

/// How long it took to load a system, and the system.
type Loaded = (Duration, Box<dyn Peer>);

/// What loads a system with orders, in a folder.
type Load = dyn Fn(&Path, &[Order]) -> Result<Loaded, Error>;

/// A system that can be loaded with orders.
struct System {
    name: &'static str,
    load: Box<Load>,
}

impl System {
    /// A system of this program, whose load is timed here; `settle` is not.
    fn new<P: Peer + 'static>(
        name: &'static str,
        load: impl Fn(&Path, &[Order]) -> Result<P, Error> + 'static,
        settle: impl Fn(P) -> Result<P, Error> + 'static,
    ) -> Self {
        let load = move |folder: &Path, orders: &[Order]| {
            let start = Instant::now();
            let peer = load(folder, orders)?;
            let time = start.elapsed();
            Ok::<Loaded, Error>((time, Box::new(settle(peer)?)))
        };
        Self { name, load: Box::new(load) }
    }
}

/// Every system of this build and this machine.
fn systems(scale: &Scale, folder: &Path, layout: &Layout) -> Result<Vec<System>, Error> {
    let by_hand = || layout.clone();
    let sqlite = |name, form| {
        System::new(
            name,
            move |folder, orders| Sqlite::load(folder, orders, form),
            move |sqlite| {
                sqlite.settle()?;
                if form == Form::Arrival { sqlite.with_own_settings() } else { Ok(sqlite) }
            },
        )
    };
    let mut all = vec![System::new("keyloom-lmdb", own::on_lmdb, Ok)];
    if scale.count <= IN_MEMORY {
        all.push(System::new("keyloom-memory", |_, orders| own::in_memory(orders), Ok));
        let layout = by_hand();
        all.push(System::new("hashmap", move |_, orders| hash::load(orders, layout.clone()), Ok));
    }
    all.push(System::new("keyloom-redb", own::on_redb, Ok));
    #[cfg(feature = "rocksdb")]
    all.push(System::new("keyloom-rocksdb", own::on_rocksdb, Ok));
    let layout = by_hand();
    all.push(System::new("raw-lmdb", move |folder, orders| lmdb::load(folder, orders, layout.clone()), Ok));
    let layout = by_hand();
    all.push(System::new("redb", move |folder, orders| redb::load(folder, orders, layout.clone()), Ok));
    let layout = by_hand();
    all.push(System::new("fjall", move |folder, orders| fjall::load(folder, orders, layout.clone()), Ok));
    #[cfg(feature = "rocksdb")]
    {
        let layout = by_hand();
        let load = move |folder: &Path, orders: &[Order]| rocksdb::load(folder, orders, layout.clone());
        all.push(System::new("raw-rocksdb", load, Ok));
    }
    for (name, form) in
        [("sqlite", sqlite_keys::Form::Plain), ("sqlite-without-rowid", sqlite_keys::Form::Clustered)]
    {
        let layout = by_hand();
        let load =
            move |folder: &Path, orders: &[Order]| sqlite_keys::load(folder, orders, layout.clone(), form);
        all.push(System::new(name, load, Ok));
    }
    all.push(sqlite("sqlite-columns", Form::Arrival));
    all.push(sqlite("sqlite-columns-sorted", Form::Sorted));
    all.push(sqlite("sqlite-columns-clustered", Form::Clustered));
    let wanted = |name: &str| scale.systems.is_empty() || scale.systems.iter().any(|system| system == name);
    let in_go: Vec<&'static str> = go::SYSTEMS.into_iter().filter(|name| wanted(name)).collect();
    if !in_go.is_empty() {
        match Go::build(folder)? {
            None => println!("badger and pebble are left out: there is no `go`"),
            Some(go) => all.extend(in_go.into_iter().map(|name| {
                let (go, layout) = (go.clone(), by_hand());
                let load = move |folder: &Path, orders: &[Order]| go.load(name, folder, orders, &layout);
                System { name, load: Box::new(load) }
            })),
        }
    }
    all.retain(|system| wanted(system.name));
    match scale.systems.iter().find(|name| !all.iter().any(|system| system.name == *name)) {
        Some(name) => Err(format!("there is no system {name} in this build, or not at this size").into()),
        None => Ok(all),
    }
}

/// Runs every work in every system, `rounds` times and reads more often, one system after the other in each round.
pub(crate) fn measure(scale: &Scale, folder: &Path) -> Result<Vec<Figure>, Error> {
    let mut figures = Vec::new();
    if scale.has("memory10k") {
        memory10k(read_rounds(scale.rounds), &mut figures)?;
    }
    if scale.only.iter().any(|work| work != "memory10k") || scale.only.is_empty() {
        let folder = tempfile::tempdir_in(folder)?;
        let layout = Layout::of(Keyloom::open(MemoryStore::new())?.table()?)?;
        let systems = systems(scale, folder.path(), &layout)?;
        let shop = Shop::of(scale.count);
        let mut run = Run { scale, device: Device::of(folder.path()), shop, figures: &mut figures };
        let mut peers = run.load(&systems, folder.path(), &layout)?;
        run.same_bytes(&mut peers)?;
        run.read(&mut peers)?;
        run.write(&mut peers)?;
        run.sustained(&mut peers)?;
    }
    Ok(figures)
}

/// 10,000 orders in memory, as the composite-key specification measured its own implementation.
fn memory10k(rounds: usize, figures: &mut Vec<Figure>) -> Result<(), Error> {
    let measured = seed::measure(rounds, |round| progress("memory10k", round, rounds))?;
    for (work, second, bytes) in [
        (seed::Work::Write, "memory10k_write", "memory10k_write_bytes"),
        (seed::Work::Lookup, "memory10k_lookup", "memory10k_lookup_bytes"),
        (seed::Work::Prefix, "memory10k_prefix100", "memory10k_prefix100_bytes"),
    ] {
        let own = |system| if system == "keyloom" { "keyloom-memory" } else { system };
        let of_work = || measured.iter().filter(|figure| figure.work == work);
        let (published, published_bytes) = work.published();
        figures.extend(
            of_work().map(|one| Figure::new(second, own(one.system), Unit::PerSecond, one.per_second)),
        );
        figures.push(Figure::new(second, "seed-published", Unit::PerSecond, published));
        let counted = of_work().filter_map(|one| Some((own(one.system), one.bytes?)));
        figures.extend(counted.map(|(system, value)| Figure::new(bytes, system, Unit::Bytes, value)));
        figures.push(Figure::new(bytes, "seed-published", Unit::Bytes, published_bytes));
    }
    Ok(())
}

/// A system by its name.
type Named = (&'static str, Box<dyn Peer>);

/// A run on its way.
struct Run<'a> {
    scale: &'a Scale,
    device: Option<Device>,
    shop: Shop,
    figures: &'a mut Vec<Figure>,
}

impl Run<'_> {
    /// Loads every system anew in each round, which begins with another each time; those of the last stay.
    fn load(&mut self, systems: &[System], folder: &Path, layout: &Layout) -> Result<Vec<Named>, Error> {
        let orders: Vec<Order> = self.shop.orders(self.scale.count, 0).collect();
        let mut bytes = 0;
        layout.each_sorted(&orders, |key, value| {
            bytes += key.len() + value.len();
            Ok::<_, Error>(())
        })?;
        let rounds = if self.scale.has("load") { self.scale.rounds } else { 0 };
        let mut times: Vec<Times> = systems.iter().map(|_| Times::default()).collect();
        let mut last = Vec::new();
        // The first round counts for nobody: what a program does for the first time takes longer.
        for round in 0..=rounds {
            progress("load", round, rounds);
            last.clear();
            if round > 0 {
                std::fs::remove_dir_all(folder.join(format!("load{}", round - 1)))?;
            }
            let files = folder.join(format!("load{round}"));
            std::fs::create_dir(&files)?;
            let mut turns: Vec<_> = systems.iter().zip(&mut times).enumerate().collect();
            turns.rotate_left(round * systems.len() / (rounds + 1));
            for (place, (system, times)) in turns {
                warm_memory(bytes.saturating_mul(WARM).min(MOST_WARM));
                let before = self.written()?;
                let (time, peer) = (system.load)(&files, &orders)?;
                if round > 0 {
                    times.push(time);
                }
                last.push((place, (system.name, peer)));
                // What it does behind the load is not to be in the way of the next.
                self.wait_for_disk(before, AFTER_MANY)?;
                if round > 0 && round == rounds && !is_in_memory(system.name) {
                    self.bytes("bytes_per_loaded_byte", system.name, None, before, bytes)?;
                }
            }
        }
        last.sort_unstable_by_key(|(place, _)| *place);
        let mut last: Vec<Named> = last.into_iter().map(|(_, named)| named).collect();
        for (_, peer) in &mut last {
            peer.settle(&orders)?;
        }
        if self.scale.has("load") {
            for (system, times) in systems.iter().zip(&times) {
                self.per_second("load", system.name, None, orders.len(), times);
            }
        }
        Ok(last)
    }

    /// Checks that those who keep Keyloom's bytes have them.
    fn same_bytes(&self, peers: &mut [Named]) -> Result<(), Error> {
        let mut first = None;
        for (name, peer) in peers {
            if let Some(fingerprint) = peer.fingerprint()?
                && fingerprint != *first.get_or_insert(fingerprint)
            {
                return Err(format!("{name} has other bytes than the system before it").into());
            }
        }
        Ok(())
    }

    fn read(&mut self, peers: &mut [Named]) -> Result<(), Error> {
        let (scale, rounds) = (self.scale, read_rounds(self.scale.rounds));
        let questions = Questions::new(&self.shop, scale.count, |most| scale.count(most));
        for work in Work::ALL.into_iter().filter(|work| scale.has(work.name())) {
            let mut times: Vec<Times> = peers.iter().map(|_| Times::default()).collect();
            for round in 1..=rounds {
                progress(work.name(), round, rounds);
                let mut found: Option<Tally> = None;
                let mut turns: Vec<_> = peers.iter_mut().zip(&mut times).collect();
                // Each round begins with another: whoever comes behind a system that goes on in the background would always
                // be the same.
                let first = (round - 1) * turns.len() / rounds;
                turns.rotate_left(first);
                for ((name, peer), times) in turns {
                    let Some((time, tally)) = peer.read(work, &questions)? else { continue };
                    times.push(time);
                    if tally != *found.get_or_insert(tally) {
                        return Err(format!("{}: {name} found {tally:?}, not {found:?}", work.name()).into());
                    }
                }
            }
            for ((name, _), times) in peers.iter().zip(&times) {
                self.per_second(work.name(), name, None, questions.count(work), times);
            }
        }
        Ok(())
    }

    fn write(&mut self, peers: &mut [Named]) -> Result<(), Error> {
        for (work, promise, count, clients) in [
            ("single_write", Promise::Written, 20_000, 1),
            ("single_write", Promise::Less, 20_000, 1),
            ("synced16", Promise::Synced, 3_200, 16),
            ("synced64", Promise::Synced, 12_800, 64),
        ] {
            if !self.scale.has(work) {
                continue;
            }
            let count = self.scale.count(count);
            let mut writers: Vec<(&'static str, &mut dyn Peer, Times)> = Vec::new();
            for (_, peer) in peers.iter_mut() {
                if let Some(name) = peer.promise(promise)? {
                    writers.push((name, &mut **peer, Times::default()));
                }
            }
            // The first round counts for nobody: whoever was opened anew for the promise has nothing in its cache or map.
            for round in 0..=self.scale.rounds {
                progress(work, round, self.scale.rounds);
                let mut turns: Vec<_> = writers.iter_mut().collect();
                let first = round * turns.len() / (self.scale.rounds + 1);
                turns.rotate_left(first);
                for (name, peer, times) in turns {
                    let before = self.written()?;
                    let seed = seed_of(&[work, name, promise.name()], round);
                    let orders: Vec<Order> = self.shop.orders(count, seed).collect();
                    let time = peer.write(clients, &orders)?;
                    if round > 0 {
                        times.push(time);
                    }
                    if peer.check(&orders)? != Tally::of(&orders) {
                        return Err(format!("{work}: {name} has not what it was given").into());
                    }
                    // What it does behind the commits is not to be in the way of the next.
                    self.wait_for_disk(before, AFTER_WRITES)?;
                }
            }
            for (name, _, times) in &writers {
                self.per_second(work, name, Some(promise.name()), count, times);
            }
        }
        Ok(())
    }

    /// Many random writes, one by one: how fast in the long run, and what of it reaches the disk, also behind the commits.
    fn sustained(&mut self, peers: &mut [Named]) -> Result<(), Error> {
        if !self.scale.has("sustained_write") {
            return Ok(());
        }
        let count = (2 * self.scale.count).min(2_000_000);
        for (at, (_, peer)) in peers.iter_mut().enumerate() {
            let Some(name) = peer.promise(Promise::Written)? else { continue };
            progress("sustained_write", at + 1, usize::MAX);
            let (before, mut time) = (self.written()?, Duration::ZERO);
            let seed = seed_of(&["sustained_write", name], 1);
            for start in (0..count).step_by(CHUNK) {
                let numbers = start..count.min(start + CHUNK);
                let order = |number| self.shop.order(u64::try_from(number).unwrap_or(0), seed);
                time += peer.write(1, &numbers.map(order).collect::<Vec<_>>())?;
            }
            peer.rest()?;
            self.wait_for_disk(before, AFTER_MANY)?;
            let mut times = Times::default();
            times.push(time);
            let promise = Some(Promise::Written.name());
            self.per_second("sustained_write", name, promise, count, &times);
            self.bytes("bytes_per_write", name, promise, before, count)?;
        }
        progress("sustained_write", 1, 1);
        Ok(())
    }

    fn per_second(
        &mut self,
        work: &'static str,
        system: &'static str,
        promise: Option<&'static str>,
        count: usize,
        times: &Times,
    ) {
        if !times.is_empty() {
            let figure = Figure::new(work, system, Unit::PerSecond, times.per_second(count));
            self.figures.push(Figure { promise, ..figure });
        }
    }

    /// What the disk was given since `before`, for each of `count`.
    #[allow(clippy::cast_precision_loss, reason = "a figure is rounded anyway")]
    fn bytes(
        &mut self,
        work: &'static str,
        system: &'static str,
        promise: Option<&'static str>,
        before: Option<u64>,
        count: usize,
    ) -> Result<(), Error> {
        if let (Some(before), Some(after)) = (before, self.written()?) {
            let value = after.saturating_sub(before) as f64 / count.max(1) as f64;
            self.figures.push(Figure { promise, ..Figure::new(work, system, Unit::Bytes, value) });
        }
        Ok(())
    }

    /// Waits until nothing comes to the disk any more, if something came since it had been given `before`.
    fn wait_for_disk(&self, before: Option<u64>, most: Duration) -> Result<(), Error> {
        let start = Instant::now();
        let (mut before, mut pause) = (before, BEHIND);
        while start.elapsed() < most {
            let after = self.written()?;
            if after.zip(before).is_none_or(|(after, before)| after.saturating_sub(before) < QUIET) {
                break;
            }
            before = after;
            std::thread::sleep(pause);
            pause = PAUSE;
        }
        Ok(())
    }

    fn written(&self) -> Result<Option<u64>, Error> {
        self.device.as_ref().map(Device::written).transpose()
    }
}

fn is_in_memory(system: &str) -> bool {
    matches!(system, "keyloom-memory" | "hashmap")
}

/// Takes so much memory, and gives it back.
///
/// The host of a virtual machine may have taken away what nobody has used for a while, and brings it back far more slowly than
/// it is used: whom that hit would be chance.
fn warm_memory(bytes: usize) {
    drop(std::hint::black_box(vec![1_u8; bytes]));
}

/// Another seed for each work, system and round: what is written is never there already.
fn seed_of(names: &[&str], round: usize) -> u64 {
    let bytes = names.iter().flat_map(|name| name.bytes());
    let seed = bytes.fold(1_u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    (seed << 16).wrapping_add(u64::try_from(round).unwrap_or(0))
}

#[cfg(test)]
mod tests;
