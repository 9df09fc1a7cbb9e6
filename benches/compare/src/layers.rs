//! The layers of `keyloom::layers`, each on and off, in memory, on LMDB and on RocksDB, and the presets on LMDB: where each
//! wins, and what it costs elsewhere.
//!
//! ```text
//! (user, number) → note     some 400 bytes of text
//! number         → user     an index
//! ```

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use keyloom::key::Value;
use keyloom::schema::{Index, Table as Definition};
use keyloom::{Document, Query, Table, Url, UrlStore, Wait, field};

use crate::report::{Figure, Unit, median, progress};
use crate::sides::let_filters_fill;

type Error = Box<dyn std::error::Error>;

/// Settings that are compared, by name.
type Systems = [(&'static str, &'static str)];

/// The layers. The cache is smaller than the table and larger than what is hot.
const LAYERS: &Systems = &[
    ("plain", ""),
    ("filter", "filter=on"),
    ("cache", "cache=16MB"),
    ("lz4", "compression=lz4"),
    ("zstd", "compression=zstd"),
    ("all", "filter=on&cache=16MB&compression=lz4"),
];

/// The presets, each with the durability that it chooses.
const PRESETS: &Systems = &[
    ("none", ""),
    ("written", "durability=written"),
    ("high-write", "preset=high-write"),
    ("high-read", "preset=high-read"),
    ("balanced", "preset=balanced"),
];

/// Where, and what is compared there.
const BASES: &[(&str, &Systems)] = &[
    ("memory", LAYERS),
    ("lmdb", LAYERS),
    #[cfg(feature = "rocksdb")]
    ("rocksdb", LAYERS),
    ("preset", PRESETS),
];

/// How many records a user has.
const EACH: usize = 100;
/// How many users, and numbers, are asked for again and again.
const HOT: usize = 10;

/// A table that is opened in one way.
struct Open {
    name: &'static str,
    notes: Table<UrlStore>,
    rows: usize,
}

/// Numbers that only look random, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % end.max(1)
    }
}

/// A piece of work: how many questions it asked.
type Work = fn(&Open, &mut Random) -> Result<usize, Error>;

/// The works of each base, by their names in figures.
macro_rules! works {
    ($($(#[$built:meta])* $base:literal),*) => {
        [$($(#[$built])* ($base, [
            (concat!($base, " get hot"), hot as Work),
            (concat!($base, " get cold"), cold),
            (concat!($base, " miss"), miss),
            (concat!($base, " prefix hot"), prefix_hot),
            (concat!($base, " prefix cold"), prefix_cold),
            (concat!($base, " index hot"), index_hot),
            (concat!($base, " write"), write),
        ])),*]
    };
}

const WORKS: [(&str, [(&str, Work); 7]); BASES.len()] = works![
    "memory",
    "lmdb",
    #[cfg(feature = "rocksdb")]
    "rocksdb",
    "preset"
];

fn works_of(base: &str) -> &'static [(&'static str, Work)] {
    WORKS.iter().find(|(of, _)| *of == base).map_or(&[], |(_, works)| works)
}

/// Runs every work with every setting, `rounds` times, one setting after the other in each round.
pub(crate) fn measure(rows: usize, rounds: usize, folder: &Path) -> Result<Vec<Figure>, Error> {
    let folder = tempfile::tempdir_in(folder)?;
    let mut figures = Vec::new();
    for (base, systems) in BASES.iter().copied() {
        let open = |(name, settings): &(&'static str, &str)| {
            let url = match base {
                "memory" if settings.is_empty() => "memory:".to_owned(),
                "memory" => format!("memory:?{settings}"),
                "lmdb" => format!("{}?durability=written&{settings}", folder.path().join(name).display()),
                "rocksdb" => {
                    let path = folder.path().join(format!("rocksdb-{name}"));
                    format!("rocksdb:{}?durability=written&{settings}", path.display())
                }
                _ => format!("{}?{settings}", folder.path().join(name).display()),
            };
            open(name, &url, rows)
        };
        let systems = systems.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        for (name, work) in works_of(base) {
            let mut times: Vec<Vec<Duration>> = systems.iter().map(|_| Vec::new()).collect();
            // The first round fills caches and filters and is not counted.
            for round in 0..=rounds {
                progress(name, round, rounds);
                for (system, times) in systems.iter().zip(&mut times) {
                    let (mut random, start) = (Random(88_172_645_463_325_252 + round as u64), Instant::now());
                    let asked = u32::try_from(work(system, &mut random)?)?;
                    let time = start.elapsed() / asked.max(1);
                    times.extend((round > 0).then_some(time));
                }
                if round == 0 {
                    let_filters_fill(rows);
                }
            }
            for (system, times) in systems.iter().zip(times) {
                let value = 1.0 / median(times).as_secs_f64();
                figures.push(Figure::new(name, system.name, Unit::PerSecond, value));
            }
        }
        for system in &systems {
            let stats = system.notes.database().store().stats();
            eprintln!("{base} {}: {stats:?}", system.name);
        }
    }
    Ok(figures)
}

/// A table for each place: a line for each work, with the operations a second of each setting and how many times those of
/// the first they are.
pub(crate) fn table(figures: &[Figure]) -> String {
    let mut table = String::new();
    for (base, systems) in BASES.iter().copied() {
        let _ = write!(table, "| {:<18} |", "a second");
        table.extend(systems.iter().map(|(name, _)| format!(" {name:>18} |")));
        table += "\n|--------------------|";
        systems.iter().for_each(|_| table += "-------------------:|");
        table += "\n";
        for (work, _) in works_of(base) {
            let of_work: Vec<&Figure> = figures.iter().filter(|figure| figure.work == *work).collect();
            let Some(plain) = of_work.first().map(|figure| figure.value) else { continue };
            let _ = write!(table, "| {work:<18} |");
            for Figure { value, .. } in of_work {
                let _ = write!(table, " {value:>9.0} ({:>4.2} ×) |", value / plain);
            }
            table += "\n";
        }
        table += "\n";
    }
    table
}

fn open(name: &'static str, url: &str, rows: usize) -> Result<Open, Error> {
    let definition = Definition::named("notes")
        .column("user", "str")
        .column("number", "i64")
        .column("note", "str")
        .key(["user", "number"])
        .index(Index::on(["number"]));
    let database = url.parse::<Url>()?.open().wait()?;
    let notes = database.open_table(definition).wait()?;
    notes.load((0..rows).map(document), |_| ()).wait()?;
    database.store().fill().wait();
    Ok(Open { name, notes, rows })
}

fn key(row: usize) -> (String, i64) {
    (format!("U{:06}", row / EACH), i64::try_from(row % EACH).unwrap_or_default())
}

fn document(row: usize) -> Document {
    const WORDS: [&str; 16] = [
        "order",
        "delivered",
        "customer",
        "parcel",
        "address",
        "returned",
        "invoice",
        "street",
        "paid",
        "late",
        "called",
        "again",
        "refund",
        "agreed",
        "stock",
        "waiting",
    ];
    let mut random = Random(row as u64 * 2_654_435_769 + 1);
    let words = (0..60).filter_map(|_| WORDS.get(random.below(WORDS.len())).copied());
    let (user, number) = key(row);
    Document::new()
        .with("user", user)
        .with("number", number)
        .with("note", words.collect::<Vec<_>>().join(" "))
}

/// Asks for so many keys; returns how many there were.
fn get(open: &Open, count: usize, mut key: impl FnMut() -> (String, i64)) -> Result<usize, Error> {
    let mut found = 0;
    for _ in 0..count {
        let (user, number) = key();
        let look = |row: &keyloom::Row<'_>| Ok(matches!(row.get("note")?, Value::Str(_)));
        let key = [Value::from(user.as_str()), number.into()];
        found += usize::from(open.notes.get_with(key, look).wait()?.unwrap_or_default());
    }
    Ok(found)
}

fn all_or_none(found: usize, count: usize, wanted: usize) -> Result<usize, Error> {
    if found == wanted { Ok(count) } else { Err(format!("{found} found, and {wanted} should be").into()) }
}

/// The same thousand records again and again.
fn hot(open: &Open, random: &mut Random) -> Result<usize, Error> {
    let few = open.rows.min(1_000);
    let found = get(open, 20_000, || key(random.below(few) * (open.rows / few)))?;
    all_or_none(found, 20_000, 20_000)
}

/// Any record.
fn cold(open: &Open, random: &mut Random) -> Result<usize, Error> {
    let found = get(open, 20_000, || key(random.below(open.rows)))?;
    all_or_none(found, 20_000, 20_000)
}

/// Records that are not there, among those that are.
fn miss(open: &Open, random: &mut Random) -> Result<usize, Error> {
    let found = get(open, 20_000, || {
        let (user, number) = key(random.below(open.rows));
        (user, number + 1_000_000 + i64::try_from(random.below(1_000_000)).unwrap_or_default())
    })?;
    all_or_none(found, 20_000, 0)
}

/// Runs a query that finds so many records.
fn query(open: &Open, query: &Query, wanted: usize) -> Result<(), Error> {
    let mut rows = 0;
    let visit = |row: &keyloom::Row<'_>| {
        rows += usize::from(matches!(row.get("note")?, Value::Str(_)));
        Ok(std::ops::ControlFlow::Continue(()))
    };
    open.notes.each(query, visit).wait()?;
    all_or_none(rows, 1, wanted).map(|_| ())
}

/// All records of a user.
fn prefix(open: &Open, users: usize, mut user: impl FnMut(usize) -> usize) -> Result<usize, Error> {
    for _ in 0..500 {
        let (user, _) = key(user(users) * EACH);
        query(open, &Query::new().filter(field("user").eq(user)), EACH)?;
    }
    Ok(500)
}

/// All records of a user, of the same few again and again.
fn prefix_hot(open: &Open, random: &mut Random) -> Result<usize, Error> {
    prefix(open, HOT, |users| random.below(users))
}

/// All records of any user.
fn prefix_cold(open: &Open, random: &mut Random) -> Result<usize, Error> {
    prefix(open, open.rows / EACH, |users| random.below(users))
}

/// The first records that have a number, fetched through the index; the same few numbers again and again.
fn index_hot(open: &Open, random: &mut Random) -> Result<usize, Error> {
    let wanted = EACH.min(open.rows / EACH);
    for _ in 0..500 {
        let number = i64::try_from(random.below(HOT))?;
        query(open, &Query::new().filter(field("number").eq(number)).limit(wanted as u64), wanted)?;
    }
    Ok(500)
}

/// Writes a record anew.
fn write(open: &Open, random: &mut Random) -> Result<usize, Error> {
    for _ in 0..5_000 {
        let row = random.below(open.rows);
        open.notes.put(document(row)).wait()?;
    }
    Ok(5_000)
}
