//! A million orders and an index on them, in Keyloom and beside it.
//!
//! ```text
//! (user_id, order_date, order_id) → amount, status, note     about 150 bytes
//! (status, order_date)            → the record
//! ```
//!
//! Every system reads the same rows in the same random order, and what they found is compared.

mod keyloom;
mod layout;
mod lmdb;
mod orders;
mod sqlite;
mod sqlite_keys;

use std::path::Path;
use std::time::{Duration, Instant};

use ::keyloom::store::Durability;

use self::keyloom::Keyloom;
use crate::report::{Figure, median, progress};
use lmdb::Lmdb;
use orders::{Ask, Order, Random, Tally};
use sqlite::{Form, Sqlite};
use sqlite_keys::SqliteKeys;

/// Why a run failed.
pub(crate) type Error = Box<dyn std::error::Error>;

/// A system that has the orders, to be read. Each call answers one question after the other.
trait Reads {
    /// The records with the keys of these orders.
    fn get(&self, orders: &[&Order]) -> Result<Tally, Error>;
    /// All orders of each user.
    fn prefix(&self, asks: &[Ask]) -> Result<Tally, Error>;
    /// 20 orders of each user, from the date on or, backward, up to it.
    fn range(&self, asks: &[Ask], backward: bool) -> Result<Tally, Error>;
    /// The 20 newest orders of each status up to the date.
    fn index(&self, asks: &[Ask]) -> Result<Tally, Error>;
    /// Every order, by the primary key.
    fn scan(&self) -> Result<Tally, Error>;
}

/// A system that takes orders, from several threads.
trait Writes: Reads + Sync {
    /// Adds orders, each a commit of its own.
    fn write(&self, orders: &[Order]) -> Result<(), Error>;
    /// Brings to the disk what is promised to be there at the end.
    fn finish(&self) -> Result<(), Error>;
}

const KEYLOOM: &str = "keyloom-lmdb";
const LMDB: &str = "raw-lmdb";
const SQLITE: &str = "sqlite";
const KEYS: &str = "sqlite-keys";
const SORTED: &str = "sqlite-sorted";
const CLUSTERED: &str = "sqlite-clustered";
/// The fewest questions of a work.
const LEAST: usize = 64;

/// Every system with the orders in it.
struct Systems {
    keyloom: Keyloom,
    lmdb: Lmdb,
    sqlite: Sqlite,
    keys: SqliteKeys,
    sorted: Sqlite,
    clustered: Sqlite,
}

/// How much is asked, beside how many orders there are.
struct Scale {
    rows: usize,
    rounds: usize,
    only: Vec<String>,
}

impl Scale {
    fn has(&self, work: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == work)
    }

    /// So many questions, fewer for fewer rows.
    fn count(&self, most: usize) -> usize {
        most.min(self.rows / 2).max(LEAST)
    }
}

/// Runs every work in every system, `rounds` times, one system after the other in each round.
pub(crate) fn measure(
    rows: usize,
    rounds: usize,
    folder: &Path,
    only: &[String],
) -> Result<Vec<Figure>, Error> {
    let scale = Scale { rows, rounds, only: only.to_vec() };
    let folder = tempfile::tempdir_in(folder)?;
    let users = orders::users(rows);
    let orders = orders::orders(rows, users, 0);
    let mut figures = Vec::new();
    let systems = load(&scale, folder.path(), &orders, &mut figures)?;
    same_bytes(&systems)?;
    read(&scale, &systems, &orders, users, &mut figures)?;
    write(&scale, systems, users, &mut figures)?;
    Ok(figures)
}

/// Loads every system anew in each round; those of the last stay.
fn load(scale: &Scale, folder: &Path, orders: &[Order], figures: &mut Vec<Figure>) -> Result<Systems, Error> {
    let mut times: [Vec<Duration>; 5] = Default::default();
    let rounds = if scale.has("load") { scale.rounds } else { 1 };
    let mut round = 1;
    loop {
        progress("load", round, rounds);
        let files = folder.join(format!("load{round}"));
        std::fs::create_dir(&files)?;
        let [of_keyloom, of_lmdb, of_keys, of_sorted, of_clustered] = &mut times;
        let keyloom = timed(of_keyloom, || Keyloom::load(&files, orders))?;
        let table = keyloom.table()?;
        let lmdb = timed(of_lmdb, || Lmdb::load(&files, orders, table.clone()))?;
        let keys = timed(of_keys, || SqliteKeys::load(&files, orders, table))?;
        let sorted = timed(of_sorted, || Sqlite::load(&files, orders, Form::Sorted))?;
        let clustered = timed(of_clustered, || Sqlite::load(&files, orders, Form::Clustered))?;
        sorted.settle()?;
        clustered.settle()?;
        if round == rounds {
            let loaded = [KEYLOOM, LMDB, KEYS, SQLITE, CLUSTERED].into_iter().zip(times);
            figures.extend(loaded.map(|(system, times)| figure("load", system, orders.len(), times)));
            let sqlite = Sqlite::load(&files, orders, Form::Arrival)?;
            sqlite.settle()?;
            let sqlite = sqlite.with_own_settings()?;
            return Ok(Systems { keyloom, lmdb, sqlite, keys, sorted, clustered });
        }
        drop((keyloom, lmdb, keys, sorted, clustered));
        std::fs::remove_dir_all(files)?;
        round += 1;
    }
}

/// Checks that LMDB by hand has the bytes that Keyloom has.
fn same_bytes(systems: &Systems) -> Result<(), Error> {
    let mut theirs = Vec::new();
    systems.lmdb.bytes(|key, value| theirs.push((key.to_vec(), value.to_vec())))?;
    let (mut theirs, mut different) = (theirs.into_iter(), None);
    systems.keyloom.bytes(|key, value| {
        let other = theirs.next();
        if other.as_ref().is_none_or(|(other, held)| other != key || held != value) {
            different.get_or_insert_with(|| {
                format!("{} → {}: {other:?}", key.escape_ascii(), value.escape_ascii())
            });
        }
    })?;
    match different.or_else(|| theirs.next().map(|more| format!("more: {more:?}"))) {
        None => Ok(()),
        Some(found) => Err(format!("raw-lmdb has other bytes than keyloom-lmdb: {found}").into()),
    }
}

fn read(
    scale: &Scale,
    systems: &Systems,
    orders: &[Order],
    users: u64,
    figures: &mut Vec<Figure>,
) -> Result<(), Error> {
    let Systems { keyloom, lmdb, sqlite, keys, sorted, clustered } = systems;
    let all: [(&'static str, &dyn Reads); 6] = [
        (KEYLOOM, keyloom),
        (LMDB, lmdb),
        (SQLITE, sqlite),
        (KEYS, keys),
        (SORTED, sorted),
        (CLUSTERED, clustered),
    ];
    let mut random = Random::new(1);
    let picked = (0..scale.count(200_000)).filter_map(|_| orders.get(random.index(orders.len())));
    let picked: Vec<&Order> = picked.collect();
    let absent = orders::orders(scale.count(200_000), users, 2);
    let absent: Vec<&Order> = absent.iter().collect();
    let whole = orders::of_users(scale.count(10_000), users, 3);
    let from = orders::of_users(scale.count(40_000), users, 4);
    let newest = orders::of_statuses(scale.count(10_000), 5);

    let mut run = |work, count, ask: &dyn Fn(&dyn Reads) -> Result<Tally, Error>| {
        if scale.has(work) {
            figures.extend(interleave(work, count, scale.rounds, &all, ask)?);
        }
        Ok::<_, Error>(())
    };
    run("get", picked.len(), &|system| system.get(&picked))?;
    run("miss", absent.len(), &|system| system.get(&absent))?;
    run("prefix100", whole.len(), &|system| system.prefix(&whole))?;
    run("range20", from.len(), &|system| system.range(&from, false))?;
    run("range20_rev", from.len(), &|system| system.range(&from, true))?;
    run("index20", newest.len(), &|system| system.index(&newest))?;
    run("full_scan", orders.len(), &|system| system.scan())
}

/// The median of each system's rounds; every round asks all systems, and what they find must be the same.
fn interleave(
    work: &'static str,
    count: usize,
    rounds: usize,
    systems: &[(&'static str, &dyn Reads)],
    ask: &dyn Fn(&dyn Reads) -> Result<Tally, Error>,
) -> Result<Vec<Figure>, Error> {
    let mut times: Vec<Vec<Duration>> = systems.iter().map(|_| Vec::new()).collect();
    for round in 1..=rounds {
        progress(work, round, rounds);
        let mut found: Option<Tally> = None;
        for ((system, reads), times) in systems.iter().zip(&mut times) {
            let tally = timed(times, || ask(*reads))?;
            if tally != *found.get_or_insert(tally) {
                return Err(format!("{work}: {system} found {tally:?}, and {KEYLOOM} {found:?}").into());
            }
        }
    }
    let named = systems.iter().zip(times);
    Ok(named.map(|((system, _), times)| figure(work, system, count, times)).collect())
}

fn write(scale: &Scale, systems: Systems, users: u64, figures: &mut Vec<Figure>) -> Result<(), Error> {
    let Systems { keyloom, lmdb, sorted: sqlite, .. } = systems;
    let mut keyloom = keyloom;
    let one: Write = |system, orders| system.write(orders);
    if scale.has("single_write") {
        println!(
            "single_write: keyloom-lmdb and sqlite-normal survive the process, and lose their last on a power failure;"
        );
        println!(
            "              keyloom-buffered loses 1,000 writes or 5 ms with the process; sqlite-off is never synced"
        );
        for (system, durability) in
            [(KEYLOOM, Durability::Written), ("keyloom-buffered", Durability::buffered())]
        {
            keyloom = keyloom.reopen(durability)?;
            let others = [
                ("sqlite-off", &sqlite as &dyn Writes, Some("OFF")),
                ("sqlite-normal", &sqlite, Some("NORMAL")),
            ];
            let mine: (&'static str, &dyn Writes, Option<&str>) = (system, &keyloom, None);
            let all: Vec<_> =
                std::iter::once(mine).chain(others.into_iter().filter(|_| system == KEYLOOM)).collect();
            figures.extend(commit("single_write", scale, 20_000, users, &sqlite, &all, one)?);
        }
        keyloom = keyloom.reopen(Durability::Synced)?;
    }
    println!("synced: every commit survives the machine in all systems (sqlite: synchronous=FULL)");
    let synced: [(&'static str, usize, Write); 2] =
        [("synced16", 3_200, clients::<16>), ("synced64", 12_800, clients::<64>)];
    for (work, count, write) in synced.into_iter().filter(|(work, ..)| scale.has(work)) {
        let all: [(&'static str, &dyn Writes, Option<&str>); 3] =
            [(KEYLOOM, &keyloom, None), (LMDB, &lmdb, None), (SQLITE, &sqlite, Some("FULL"))];
        figures.extend(commit(work, scale, count, users, &sqlite, &all, write)?);
    }
    Ok(())
}

/// How orders are written to a system.
type Write = fn(&dyn Writes, &[Order]) -> Result<(), Error>;

/// Writes from as many threads as there are clients.
fn clients<const COUNT: usize>(system: &dyn Writes, orders: &[Order]) -> Result<(), Error> {
    let share = orders.len().div_ceil(COUNT).max(1);
    std::thread::scope(|scope| {
        let clients: Vec<_> = orders
            .chunks(share)
            .map(|orders| scope.spawn(move || system.write(orders).map_err(|error| error.to_string())))
            .collect();
        for client in clients {
            client.join().map_err(|_| "a client has panicked")??;
        }
        Ok(())
    })
}

/// New orders in every system, which are read back when the clock has stopped.
fn commit(
    work: &'static str,
    scale: &Scale,
    count: usize,
    users: u64,
    sqlite: &Sqlite,
    systems: &[(&'static str, &dyn Writes, Option<&str>)],
    write: Write,
) -> Result<Vec<Figure>, Error> {
    let mut times: Vec<Vec<Duration>> = systems.iter().map(|_| Vec::new()).collect();
    let count = scale.count(count);
    // Others for each system and each work: two of the systems may be one file.
    let names = work.bytes().chain(systems.iter().flat_map(|(system, ..)| system.bytes()));
    let mut seed = names.fold(0_u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    for round in 1..=scale.rounds {
        progress(work, round, scale.rounds);
        for ((system, writes, level), times) in systems.iter().zip(&mut times) {
            seed = seed.wrapping_add(1);
            let orders = orders::orders(count, users, seed);
            level.map_or(Ok(()), |level| sqlite.synchronous(level))?;
            timed(times, || {
                write(*writes, &orders)?;
                writes.finish()
            })?;
            let written = writes.get(&orders.iter().collect::<Vec<_>>())?;
            if written != Tally::of(&orders) {
                return Err(format!("{work}: {system} has not what it was given").into());
            }
        }
    }
    let named = systems.iter().zip(times);
    Ok(named.map(|((system, ..), times)| figure(work, system, count, times)).collect())
}

fn timed<T>(times: &mut Vec<Duration>, run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let start = Instant::now();
    let result = run()?;
    times.push(start.elapsed());
    Ok(result)
}

#[allow(clippy::cast_precision_loss, reason = "a figure is rounded anyway")]
fn figure(work: &'static str, system: &'static str, count: usize, times: Vec<Duration>) -> Figure {
    Figure { work, system, value: count as f64 / median(times).as_secs_f64() }
}
