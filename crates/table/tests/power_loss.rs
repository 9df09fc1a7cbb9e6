//! The power fails under tables: from the record of a process's writes come files as it could leave them. Each must
//! open, have every commit that was promised, and have records and indexes that agree.

// The disk is put before a C library that is loaded, which glibc is.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod shop;

use std::io::Write as _;
use std::time::Duration;

use keyloom_lmdb::{LmdbStore, Options};
use keyloom_store::{Durability, Store, Wait};
use keyloom_testkit::{child, disk};
use shop::Model;

const STEPS: u64 = 120;

/// How many steps are promised at once if they are not synced; of those that are written, some groups have gone into the
/// file by themselves by then.
fn flushed(task: &str) -> u64 {
    match task {
        "synced" => 1,
        "written" => 24,
        _ => 8,
    }
}

/// How many images there are of each moment.
const SEEDS: u64 = 3;

/// Not a test of its own: the process whose writes are recorded.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    let mut marks = disk::marks(&path);
    let durability = match task.as_str() {
        "synced" => Durability::Synced,
        _ => Durability::Buffered { entries: 30, interval: Duration::from_millis(2) },
    };
    let log = Options::default().log.filter(|_| task != "in_memory");
    let options = Options { durability, log, ..Options::default() };
    let shop = shop::open_in(match task.as_str() {
        "written" => shop::written(&path),
        _ => LmdbStore::open_with(&path, options).unwrap(),
    });
    shop.store().flush().wait().unwrap();
    marks.write_all(b"0").unwrap();
    let mut model = Model::default();
    while model.steps < STEPS {
        let changes = model.step();
        shop.apply(changes).wait().unwrap();
        if !model.steps.is_multiple_of(flushed(&task)) {
            continue;
        }
        if task != "synced" {
            shop.store().flush().wait().unwrap();
        }
        marks.write_all(model.steps.to_string().as_bytes()).unwrap();
    }
}

fn survives(task: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm");
    assert!(disk::run(task, &path).success());
    let states: Vec<Model> = (0..=STEPS).map(Model::of).collect();
    let mut last = 0;
    let images = disk::images(&path, SEEDS, |image| {
        let file = folder.path().join("image.klm");
        image.write(&file);
        println!("{task}, {}", image.at);
        let shop = shop::open(&file, Durability::Synced);
        let found = usize::try_from(shop::steps(&shop).unwrap()).unwrap();
        last = image.promised;
        assert!(found >= last, "{last} steps were promised, {found} are there");
        states[found].check(&shop);
        if image.seed == 0 {
            // It goes on as if nothing had happened.
            let mut model = states[found].clone();
            shop.apply(model.step()).wait().unwrap();
            model.check(&shop);
        }
    });
    assert_eq!(last, usize::try_from(STEPS).unwrap());
    println!("{task}: {images} images");
    assert!(images > 100, "only {images} images of {task}: is the disk recorded?");
}

#[test]
fn synced_tables_survive_a_power_failure() {
    survives("synced");
}

#[test]
fn flushed_tables_survive_a_power_failure() {
    survives("buffered");
}

#[test]
fn flushed_tables_without_a_log_survive_a_power_failure() {
    survives("in_memory");
}

/// What is `written` does not survive the machine until it is flushed; a power failure leaves the first commits, whole ones.
#[test]
fn written_tables_survive_a_power_failure_when_they_are_flushed() {
    survives("written");
}
