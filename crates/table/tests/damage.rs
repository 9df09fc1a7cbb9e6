//! Files that were cut or changed: an error that says what is wrong, or the right answer.
//!
//! LMDB's pages have no checksum, so a byte that is flipped between values may also kill the process, or bring back the
//! state before the last commit. What `verify` must find is every other wrong answer.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod shop;

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use keyloom_lmdb::LmdbStore;
use keyloom_schema::Tree;
use keyloom_store::{Direction, Durability, Error, Limits, Read, Wait};
use keyloom_table::{Database, Difference, Wrong};
use keyloom_testkit::child;
use shop::Model;

const STEPS: u64 = 60;

/// How many bytes are flipped, one at a time: every third at the beginning of a page, the others anywhere.
const FLIPS: u64 = 400;

/// A file with some steps.
fn write(path: &Path) {
    let shop = shop::open(path, Durability::Synced);
    let mut model = Model::default();
    while model.steps < STEPS {
        shop.apply(model.step()).wait().unwrap();
    }
    model.check(&shop);
}

#[test]
fn a_file_cut_short_is_refused_wherever_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm");
    write(&path);
    let bytes = fs::read(&path).unwrap();
    let page = 4_096;
    let ends = (0..bytes.len()).step_by(page).flat_map(|end| [end + 1, end + page / 2, end + page - 1]);
    // At the end of a page too, except for nothing at all: an empty file is a new one.
    let ends = ends.chain((page..bytes.len()).step_by(page));
    for (number, end) in ends.enumerate() {
        let cut = folder.path().join(format!("cut-{number}.klm"));
        fs::write(&cut, &bytes[..end]).unwrap();
        match LmdbStore::open(&cut) {
            Err(Error::Damaged(reason)) => {
                assert!(reason.contains("cut short") || reason.contains("damaged"), "{reason}")
            }
            other => panic!("cut to {end} of {}: {other:?}", bytes.len()),
        }
        assert_eq!(fs::metadata(&cut).unwrap().len(), u64::try_from(end).unwrap(), "it is left as it is");
    }
}

#[test]
fn a_flipped_byte_in_a_record_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm");
    write(&path);
    let note = b"step 59";
    let mut bytes = fs::read(&path).unwrap();
    let places: Vec<usize> =
        (0..bytes.len() - note.len()).filter(|at| bytes[*at..].starts_with(note)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| bytes[*at + 6] ^= 1);
    fs::write(&path, bytes).unwrap();
    let shop = Database::open(shop::store(&path, Durability::Synced)).wait().unwrap();
    let orders = shop.table("orders").wait().unwrap();
    let broken: Vec<i64> = (0..60).filter(|id| orders.get([*id]).wait().is_err()).collect();
    let [id] = broken.as_slice() else { panic!("{broken:?}") };
    let mut key = Vec::new();
    orders.definition().unwrap().primary().key(&[(*id).into()], &mut key).unwrap();
    let named = format!("the value of key {} is not what was written", key.escape_ascii());
    let error = orders.get([*id]).wait().unwrap_err();
    assert!(error.to_string().contains(&named), "{error}");
    let found = shop.verify("orders").wait().unwrap();
    let [Difference { index: None, wrong: Wrong::Unreadable, fields, key: found, .. }] =
        found.differences.as_slice()
    else {
        panic!("{found:?}")
    };
    assert_eq!((fields.as_str(), found), (format!("id = {id}").as_str(), &key));
}

/// Flips a byte in the value of a key, wherever it lies in the file.
fn flip_value(bytes: &mut [u8], key: &[u8], value: &[u8]) {
    let row = [key, value].concat();
    let places: Vec<usize> =
        (0..bytes.len() - row.len()).filter(|at| bytes[*at..].starts_with(&row)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| bytes[*at + key.len()] ^= 1);
}

/// The walk goes on behind what cannot be read: all of it is listed, and entries are written anew from their records.
#[test]
fn every_damaged_value_is_listed_and_entries_are_mended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm");
    write(&path);
    let mut bytes = fs::read(&path).unwrap();
    let shop = Database::open(shop::store(&path, Durability::Synced)).wait().unwrap();
    let orders = shop.table("orders").wait().unwrap().definition().unwrap();
    let rows = |tree: &Tree| {
        let mut rows = Vec::new();
        let look = |key: &[u8], value: &[u8]| {
            rows.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        shop.store().scan(&tree.span(), Direction::Forward, Limits::default(), look).wait().unwrap();
        rows
    };
    let (records, index) = (rows(orders.primary()), &orders.indexes()[2]);
    let entries = rows(index.tree());
    let (first, last) = (&records[0], &records[records.len() - 1]);
    // An entry of a record that is whole.
    let is_of =
        |entry: &&(Vec<u8>, Vec<u8>), record: &[u8]| entry.1.windows(record.len()).any(|part| part == record);
    let entry = entries.iter().find(|entry| !is_of(entry, &first.0) && !is_of(entry, &last.0)).unwrap();
    drop(shop);
    for (key, value) in [first, last, entry] {
        flip_value(&mut bytes, key, value);
    }
    fs::write(&path, bytes).unwrap();

    let shop = Database::open(shop::store(&path, Durability::Synced)).wait().unwrap();
    let found = shop.verify("orders").wait().unwrap();
    assert_eq!(found.records, u64::try_from(records.len()).unwrap());
    let mut wrong: Vec<_> = found.differences.iter().map(|one| (&one.key, one.can_be_mended())).collect();
    wrong.sort();
    let mut expected = vec![(&first.0, false), (&last.0, false), (&entry.0, true)];
    expected.sort();
    assert_eq!(wrong, expected);
    assert!(found.differences.iter().all(|one| one.wrong == Wrong::Unreadable), "{found:?}");
    shop.repair("orders", false).wait().unwrap();
    let left = shop.verify("orders").wait().unwrap().differences;
    assert!(left.len() == 2 && left.iter().all(|one| one.index.is_none()), "{left:?}");
    assert_eq!(shop.store().get(&entry.0, <[u8]>::to_vec).wait().unwrap().as_ref(), Some(&entry.1));
}

/// Where the byte of a round is, and what it becomes.
fn flip(bytes: &mut [u8], round: u64) {
    let mut mixed = (round + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^= mixed >> 32;
    let places = u64::try_from(bytes.len()).unwrap();
    let mut at = usize::try_from(mixed % places).unwrap();
    if round.is_multiple_of(3) {
        // The beginning of a page: its header and the places of its rows.
        at = at / 4_096 * 4_096 + at % 192;
    }
    bytes[at] ^= if round.is_multiple_of(2) { 1 << (mixed >> 40 & 7) } else { 0xFF };
}

/// How a file with a flipped byte answers.
fn answer(path: &Path, model: &Model) -> &'static str {
    let Ok(store) = LmdbStore::open(path) else { return "refused" };
    let Ok(shop) = Database::open(store).wait() else { return "refused" };
    let (difference, verified) = (model.difference(&shop), shop::verify(&shop));
    let clean = matches!(&verified, Ok(found) if found.is_empty());
    match difference {
        Ok(None) if clean => "right",
        Ok(None) => "right_and_verify_tells",
        Err(_) => "error",
        Ok(Some(_)) if !clean => "wrong_and_verify_tells",
        Ok(Some(difference)) => {
            let steps = shop::steps(&shop).unwrap_or(STEPS);
            if steps < STEPS && Model::of(steps).difference(&shop).is_ok_and(|found| found.is_none()) {
                return "before_the_last_commit";
            }
            println!("{difference}");
            "wrong"
        }
    }
}

/// Not a test of its own: a process that opens damaged files, and may die of it.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    let bytes = fs::read(&path).unwrap();
    let model = Model::of(STEPS);
    // A loop among pages would never end.
    let (alive, watched) = channel();
    std::thread::spawn(move || {
        while watched.recv_timeout(Duration::from_secs(60)) != Err(RecvTimeoutError::Timeout) {}
        std::process::abort();
    });
    for round in task.parse().unwrap()..FLIPS {
        let mut damaged = bytes.clone();
        flip(&mut damaged, round);
        let folder = path.with_added_extension(round.to_string());
        fs::create_dir(&folder).unwrap();
        let file = folder.join("shop.klm");
        fs::write(&file, damaged).unwrap();
        child::say(answer(&file, &model), round);
        fs::remove_dir_all(&folder).unwrap();
        alive.send(()).unwrap();
    }
    std::process::exit(0);
}

#[test]
fn a_flipped_byte_anywhere_is_an_error_or_harmless_or_found_by_verify() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm");
    write(&path);
    let mut answers: BTreeMap<String, u64> = BTreeMap::new();
    let mut next = 0;
    while next < FLIPS {
        let mut process = child::start(&next.to_string(), &path);
        for (answer, round) in process.said() {
            assert_ne!(answer, "wrong", "round {round}: nothing tells that the answer is wrong");
            if round == next {
                *answers.entry(answer).or_default() += 1;
                next += 1;
            }
        }
        let ended = process.ends();
        if !ended.success() {
            // A panic would be ours; only the engine may die, by a signal.
            let Some(signal) = ended.signal() else { panic!("round {next}: {ended}") };
            *answers.entry(format!("killed by signal {signal}")).or_default() += 1;
            next += 1;
        }
    }
    println!("{} bytes: {answers:?}", fs::metadata(&path).unwrap().len());
    assert!(answers["right"] > 0 && answers["error"] > 0, "{answers:?}");
}
