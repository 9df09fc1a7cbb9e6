//! How stripes lie best, and what the store costs above RocksDB itself: side by side, several rounds, medians.
//!
//! `cargo run --release -p keyloom-rocksdb --example stripes [ROWS] [ROUNDS]`

#![allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a measurement")]

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use keyloom_key::Span;
use keyloom_rocksdb::{Options, RocksStore, Stripes};
use keyloom_store::{Batch, Blocking, Direction, Durability, Limits};

const TREE: [u8; 4] = 7_u32.to_be_bytes();
const VALUE: [u8; 150] = [b'v'; 150];
const MEASURED: [&str; 6] = ["written/s", "synced/s", "get/s", "scan 20/s", "all rows/s", "reopen ms"];

/// A number that looks random.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// Tree, stripe, one of 10,000 users, number.
fn key(number: u64) -> Vec<u8> {
    let user = mix(number) % 10_000;
    let [stripe, ..] = mix(user).to_be_bytes();
    [TREE.as_slice(), &[stripe], &user.to_be_bytes(), &number.to_be_bytes()].concat()
}

fn rate(count: u64, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    count as f64 / start.elapsed().as_secs_f64()
}

fn options(durability: Durability, stripes: Stripes) -> Options {
    Options { durability, stripes, ..Options::default() }
}

fn ours(path: &Path, stripes: Stripes, rows: u64) -> [f64; 6] {
    let open = |durability| Blocking::new(RocksStore::open_with(path, options(durability, stripes)).unwrap());
    let store = open(Durability::Written);
    store.stripe(&TREE, 256).unwrap();
    let put = |store: &Blocking<RocksStore>, number| {
        store.commit(Batch::new().put(key(number), VALUE)).unwrap();
    };
    // Families are made when they are first used; that is not measured.
    (rows..rows + 2_000).for_each(|number| put(&store, number));
    let written = rate(rows, || (0..rows).for_each(|number| put(&store, number)));
    drop(store);
    let start = Instant::now();
    let store = open(Durability::Synced);
    let reopen = start.elapsed().as_secs_f64() * 1e3;
    let synced = rate(300, || (rows..rows + 300).for_each(|number| put(&store, number)));
    let get = rate(rows / 2, || {
        for number in 0..rows / 2 {
            assert!(store.get(&key(mix(number) % rows), |_| ()).unwrap().is_some());
        }
    });
    let look = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
    let scan = rate(20_000, || {
        for number in 0..20_000 {
            let span = Span::prefix(key(number).get(..13).unwrap());
            store.scan(&span, Direction::Forward, Limits::rows(20), look).unwrap();
        }
    });
    let all = Limits { rows: usize::MAX, bytes: usize::MAX, time: Duration::MAX };
    let whole = rate(rows, || {
        store.scan(&Span::prefix(TREE), Direction::Forward, all, look).unwrap();
    });
    [written, synced, get, scan, whole, reopen]
}

/// RocksDB by itself, with the same options for its files.
fn raw(path: &Path, rows: u64) -> [f64; 6] {
    use rocksdb::{DB, IteratorMode, ReadOptions, WriteBatch, WriteOptions};
    // Made by the store, so that all settings of its files are the same.
    drop(RocksStore::open(path).unwrap());
    let (set, families) = keyloom_rocksdb_options(path);
    let db = DB::open_cf_descriptors(&set, path, families).unwrap();
    let put = |db: &DB, number, write: &WriteOptions| {
        let mut batch = WriteBatch::default();
        batch.put(key(number), VALUE);
        db.write_opt(batch, write).unwrap();
    };
    let mut write = WriteOptions::default();
    (rows..rows + 2_000).for_each(|number| put(&db, number, &write));
    let written = rate(rows, || (0..rows).for_each(|number| put(&db, number, &write)));
    drop(db);
    let start = Instant::now();
    let (set, families) = keyloom_rocksdb_options(path);
    let db = DB::open_cf_descriptors(&set, path, families).unwrap();
    let reopen = start.elapsed().as_secs_f64() * 1e3;
    write.set_sync(true);
    let synced = rate(300, || (rows..rows + 300).for_each(|number| put(&db, number, &write)));
    let get = rate(rows / 2, || {
        for number in 0..rows / 2 {
            assert!(db.get_pinned(key(mix(number) % rows)).unwrap().is_some());
        }
    });
    let from = |prefix: &[u8]| {
        let Span { start, end } = Span::prefix(prefix);
        let mut read = ReadOptions::default();
        read.set_iterate_lower_bound(start);
        read.set_iterate_upper_bound(end.unwrap());
        db.iterator_opt(IteratorMode::Start, read)
    };
    let scan = rate(20_000, || {
        for number in 0..20_000 {
            from(key(number).get(..13).unwrap()).take(20).for_each(|row| drop(row.unwrap()));
        }
    });
    let whole = rate(rows, || from(&TREE).for_each(|row| drop(row.unwrap())));
    [written, synced, get, scan, whole, reopen]
}

/// The settings that the folder says of itself, as RocksDB has them.
fn keyloom_rocksdb_options(path: &Path) -> (rocksdb::Options, Vec<rocksdb::ColumnFamilyDescriptor>) {
    let cache = rocksdb::Cache::new_lru_cache(Options::default().cache);
    rocksdb::Options::load_latest(path, rocksdb::Env::new().unwrap(), false, cache).unwrap()
}

fn main() {
    let mut given = std::env::args().skip(1).map(|given| given.parse::<u64>().unwrap());
    let (rows, rounds) = (given.next().unwrap_or(300_000), given.next().unwrap_or(3));
    let ways = ["RocksDB itself", "one tree", "16 families", "256 families"];
    let mut found = vec![Vec::new(); ways.len()];
    for _ in 0..rounds {
        for (way, found) in found.iter_mut().enumerate() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("test");
            found.push(match way {
                0 => raw(&path, rows),
                1 => ours(&path, Stripes::Prefix, rows),
                2 => ours(&path, Stripes::Families(16), rows),
                _ => ours(&path, Stripes::Families(256), rows),
            });
        }
    }
    println!("{rows} rows, {rounds} rounds, medians");
    println!("{:>16} {}", "", MEASURED.map(|name| format!("{name:>12}")).concat());
    for (way, rounds) in ways.iter().zip(&mut found) {
        let medians = (0..MEASURED.len()).map(|column| {
            let mut values: Vec<f64> = rounds.iter().filter_map(|round| round.get(column).copied()).collect();
            values.sort_by(f64::total_cmp);
            format!("{:>12.0}", values.get(values.len() / 2).copied().unwrap_or_default())
        });
        println!("{way:>16} {}", medians.collect::<String>());
    }
}
