//! An import that is killed, wherever it is, goes on where it stopped and ends as one that was not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const ROWS: u64 = 20_000;

/// Keys in no order, some of them twice, text that must be quoted.
fn file(path: &Path) {
    let mut text = "id,group,note\n".to_owned();
    for number in 0..ROWS {
        let id = number.wrapping_mul(7_919) % (ROWS - 99);
        writeln!(text, "{id},G{},\"note {number},\nwith a line of its own\"", number % 7).unwrap();
    }
    std::fs::write(path, text).unwrap();
}

fn import(database: &Path, file: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
    // So little memory that there are some seventy runs, and batches of a few hundred records.
    command.args(["import", "--table", "notes", "--key", "group,id", "--memory", "64K"]);
    command.arg(database).arg(file);
    command
}

fn export(database: &Path) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
    succeeds(command.args(["export", "--table", "notes", "--format", "csv"]).arg(database).arg("-")).stdout
}

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The folders that imports have left beside a database.
fn left(folder: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".import-")).collect()
}

#[test]
fn a_killed_import_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    file(&path("notes.csv"));
    let started = Instant::now();
    let whole = succeeds(&mut import(&path("whole.klm"), &path("notes.csv")));
    let took = started.elapsed();
    assert!(
        said(&whole).ends_with("notes: 19901 new, 99 with the key of a later one, left out\n"),
        "{}",
        said(&whole)
    );
    let (mut read, mut written, mut kills) = (0, 0, 0);
    for round in 0..4_u32 {
        let database = path(&format!("{round}.klm"));
        let last = loop {
            let mut child = import(&database, &path("notes.csv")).stderr(Stdio::piped()).spawn().unwrap();
            // A third of the way, at other places each time, so that each goes on but none gets far.
            std::thread::sleep(took.mul_f64(0.15 + 0.09 * f64::from((round * 5 + kills) % 4)));
            if child.try_wait().unwrap().is_some() || kills > 60 {
                break child.wait_with_output().unwrap();
            }
            child.kill().unwrap();
            let said = said(&child.wait_with_output().unwrap());
            read += u32::from(said.contains("going on behind"));
            kills += 1;
        };
        assert!(last.status.success(), "{}", said(&last));
        written += u32::from(said(&last).contains("written before"));
        assert!(export(&database) == export(&path("whole.klm")), "round {round}: not the same records");
        assert_eq!(left(folder.path()), Vec::<String>::new());
    }
    assert!(kills >= 4, "only {kills} imports were killed");
    assert!(read > 0, "none of {kills} went on reading");
    println!("{kills} killed, {read} went on reading, {written} of the last ones went on writing");
    let again = succeeds(&mut import(&path("0.klm"), &path("notes.csv")));
    assert_eq!(said(&again), "notes: 19901 unchanged, 99 with the key of a later one, left out\n");
}

/// Killed while it removed what it did not need any more, an import left some of its files, and the next one took them
/// for all: of two records with the same key the first one came back.
#[test]
fn files_that_are_half_removed_are_not_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    file(&path("notes.csv"));
    succeeds(&mut import(&path("whole.klm"), &path("notes.csv")));
    let mut caught = 0;
    for round in 0..6 {
        let database = path(&format!("{round}.klm"));
        let mut child = import(&database, &path("notes.csv")).stderr(Stdio::null()).spawn().unwrap();
        let mut most = 0;
        while child.try_wait().unwrap().is_none() {
            let files = left(folder.path()).first().and_then(|name| std::fs::read_dir(path(name)).ok());
            let files = files.map_or(0, Iterator::count);
            most = most.max(files);
            if most > 30 && files < most {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        caught += left(folder.path()).len();
        succeeds(&mut import(&database, &path("notes.csv")));
        assert!(export(&database) == export(&path("whole.klm")), "round {round}: not the same records");
        assert_eq!(left(folder.path()), Vec::<String>::new());
    }
    assert!(caught > 0, "none was killed while it removed its files");
}

/// What is left of an import says nothing about a database that is another by now.
#[test]
fn a_database_that_was_deleted_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    file(&path("notes.csv"));
    let mut child = import(&path("a.klm"), &path("notes.csv")).stderr(Stdio::null()).spawn().unwrap();
    // As soon as records are being written.
    while !left(folder.path()).iter().any(|name| path(name).join("complete").exists()) {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_micros(500));
    }
    std::thread::sleep(Duration::from_millis(5));
    child.kill().unwrap();
    child.wait().unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap().path();
        if entry.is_file() && entry.file_name().unwrap().to_str().unwrap().starts_with("a.klm") {
            std::fs::remove_file(entry).unwrap();
        }
    }
    assert_eq!(left(folder.path()).len(), 1);
    let output = succeeds(&mut import(&path("a.klm"), &path("notes.csv")));
    assert!(said(&output).contains("going on behind 20000 records"), "{}", said(&output));
    assert!(said(&output).contains("19901 new"), "{}", said(&output));
}
