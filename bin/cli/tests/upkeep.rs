//! Verify, repair, backup, restore and compact on real files, with other processes at work, and killed in the middle.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use keyloom::lmdb::{LmdbStore, LogOptions, Options};
use keyloom::schema::{Index, Table};
use keyloom::store::{Batch, Direction, Durability, Limits, Read, Store};
use keyloom::{Database, Document, Wait};
use keyloom_testkit::child::{self, Process};

const KEYLOOM: &str = env!("CARGO_BIN_EXE_keyloom");

fn open(path: &Path) -> Database<LmdbStore> {
    let database = Database::open(LmdbStore::open(path).unwrap()).wait().unwrap();
    let orders = Table::named("orders")
        .column("id", "i64")
        .column("status", "str")
        .column("note", "str")
        .key(["id"])
        .index(Index::on(["status"]).covering(["note"]));
    database.open_table(orders).wait().unwrap();
    database
}

fn order(id: i64) -> Document {
    let status = ["open", "paid", "sent"][usize::try_from(id % 3).unwrap()];
    Document::new().with("id", id).with("status", status).with("note", format!("note {id}"))
}

/// A database with so many orders.
fn fill(path: &Path, orders: i64) {
    open(path).table("orders").wait().unwrap().load((0..orders).map(order), |_| ()).wait().unwrap();
}

fn keyloom(arguments: &[&str], folder: &Path) -> Output {
    Command::new(KEYLOOM).args(arguments).current_dir(folder).output().unwrap()
}

/// What it prints, if it ends well.
fn prints(arguments: &[&str], folder: &Path) -> String {
    let output = keyloom(arguments, folder);
    let (said, complained) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{arguments:?}: {said}{complained}");
    said
}

/// What it complains about, if it fails.
fn fails(arguments: &[&str], folder: &Path) -> String {
    let output = keyloom(arguments, folder);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

/// Not a test of its own: the other process of those below.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    // What it writes is in its log for longer than any of the tests takes.
    let log =
        (task == "log").then(|| LogOptions { interval: Duration::from_secs(600), ..LogOptions::default() });
    let options = Options { durability: Durability::Written, log, ..Options::default() };
    let _store = log.map(|_| LmdbStore::open_with(&path, options).unwrap());
    let database = open(&path);
    let orders = database.table("orders").wait().unwrap();
    for id in 100_000.. {
        orders.put(order(id)).wait().unwrap();
        child::say("put", u64::try_from(id).unwrap());
    }
}

/// The orders that a child says it has put.
fn put(child: &mut Process) -> impl Iterator<Item = i64> + use<> {
    child.said().filter(|(word, _)| word == "put").map(|(_, id)| i64::try_from(id).unwrap())
}

#[test]
fn what_differs_is_shown_and_mended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm");
    fill(&path, 30);
    {
        let database = open(&path);
        let definition = database.table("orders").wait().unwrap().definition().unwrap();
        let tree = definition.indexes()[0].tree();
        let mut entries = Vec::new();
        let look = |key: &[u8], value: &[u8]| {
            entries.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        database.store().scan(&tree.span(), Direction::Forward, Limits::default(), look).wait().unwrap();
        let mut stale = Vec::new();
        tree.key(&["lost".into(), 999_i64.into()], &mut stale).unwrap();
        let damage = Batch::new()
            .delete(entries[0].0.clone())
            .put(entries[1].0.clone(), [entries[1].1.as_slice(), b"x"].concat())
            .put(stale, entries[2].1.clone());
        database.store().commit(damage).wait().unwrap();
    }
    let complaint = fails(&["verify", "shop.klm"], folder.path());
    assert!(complaint.contains("3 differences: `keyloom repair shop.klm`"), "{complaint}");
    let output = keyloom(&["verify", "shop.klm", "--format", "jsonl"], folder.path());
    let found = String::from_utf8(output.stdout).unwrap();
    let mut wrong: Vec<_> = found
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["fields"].as_str().unwrap().to_owned()
        })
        .collect();
    wrong.sort();
    assert_eq!(wrong, ["status = 'lost', id = 999", "status = 'open', id = 0", "status = 'open', id = 3"]);

    let would = prints(&["repair", "shop.klm"], folder.path());
    for word in ["write the entry", "replace the entry", "delete the entry", "nothing is changed"] {
        assert!(would.contains(word), "{word}: {would}");
    }
    assert_eq!(prints(&["repair", "shop.klm"], folder.path()), would, "a dry run changes nothing");
    let done = prints(&["repair", "shop.klm", "orders", "--apply", "--format", "csv"], folder.path());
    assert_eq!(done.lines().filter(|line| line.ends_with(",done")).count(), 3, "{done}");
    prints(&["verify", "shop.klm"], folder.path());
    assert_eq!(prints(&["repair", "shop.klm", "--apply"], folder.path()), "nothing differs\n");
}

/// What was in the log of a process that did not let go was missing in the answer, and nobody was told.
#[test]
#[cfg(unix)]
fn who_may_be_behind_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm");
    fill(&path, 1);
    let mut writer = child::start("log", &path);
    let signal = |name: &str, id: u32| {
        assert!(Command::new("kill").args([name, &id.to_string()]).status().unwrap().success());
    };
    let mut said = put(&mut writer);
    assert_eq!(said.next(), Some(100_000));
    signal("-STOP", writer.id());
    let count = ["sql", "shop.klm", "SELECT COUNT(*) AS n FROM orders WHERE id >= 100000", "--format", "csv"];
    let output = keyloom(&count, folder.path());
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    assert!(
        told.starts_with("warning: another process may have commits in its log that are not seen here yet")
    );
    assert_eq!(told.lines().count(), 1, "{told}");
    signal("-CONT", writer.id());
    let output = keyloom(&count, folder.path());
    assert_ne!(String::from_utf8(output.stdout).unwrap(), "n\n0\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_backup_is_one_state_while_another_process_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm");
    fill(&path, 1_000);
    let mut writer = child::start("write", &path);
    let mut ids = put(&mut writer);
    for round in 0..8 {
        let said = ids.next().unwrap();
        let backup = format!("backup-{round}.klm");
        prints(&["backup", "shop.klm", &backup], folder.path());
        prints(&["verify", &backup], folder.path());
        let copy = open(&folder.path().join(&backup));
        let orders = copy.table("orders").wait().unwrap();
        let newest = (said..).find(|id| orders.get([*id]).wait().unwrap().is_none()).unwrap();
        assert!(newest > said, "{said} was put before the backup began");
        assert!(
            (100_000..said).all(|id| orders.get([id]).wait().unwrap().is_some()),
            "what came before is there"
        );
    }
}

#[test]
fn a_database_that_is_open_is_neither_compacted_nor_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm");
    fill(&path, 1_000);
    prints(&["backup", "shop.klm", "backup.klm"], folder.path());
    let mut writer = child::start("write", &path);
    let mut ids = put(&mut writer);
    ids.next().unwrap();
    for arguments in [&["compact", "shop.klm"][..], &["restore", "backup.klm", "shop.klm", "--force"]] {
        let complaint = fails(arguments, folder.path());
        assert!(complaint.contains("busy") && complaint.contains("is open elsewhere"), "{complaint}");
    }
    let said = ids.next().unwrap();
    drop(writer);
    // Nothing that the writer was told to be committed is lost.
    let last = ids.last().unwrap_or(said);
    assert!(prints(&["compact", "shop.klm"], folder.path()).contains("bytes before"));
    prints(&["verify", "shop.klm"], folder.path());
    assert!(open(&path).table("orders").wait().unwrap().get([last]).wait().unwrap().is_some());
    prints(&["restore", "backup.klm", "shop.klm", "--force"], folder.path());
    assert!(open(&path).table("orders").wait().unwrap().get([last]).wait().unwrap().is_none());
}

#[test]
fn killed_in_the_middle_all_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm");
    fill(&path, 3_000);
    prints(&["backup", "shop.klm", "backup.klm"], folder.path());
    let commands = [
        &["compact", "shop.klm"][..],
        &["backup", "shop.klm", "backup.klm", "--force"],
        &["restore", "backup.klm", "shop.klm", "--force"],
    ];
    let mut killed = 0;
    for round in 0..24_u64 {
        for arguments in commands {
            let mut command = Command::new(KEYLOOM);
            command.args(arguments).current_dir(folder.path()).stdout(Stdio::null());
            let mut process = command.spawn().unwrap();
            std::thread::sleep(Duration::from_micros(round * 1_500));
            process.kill().unwrap();
            killed += u32::from(process.wait().unwrap().code().is_none());
            for file in ["shop.klm", "backup.klm"] {
                let database =
                    Database::open(LmdbStore::open(folder.path().join(file)).unwrap()).wait().unwrap();
                let orders = database.table("orders").wait().unwrap();
                let all = (0..3_000).step_by(97).all(|id| orders.get([id]).wait().unwrap().is_some());
                assert!(all, "{arguments:?}: {file}");
            }
        }
    }
    assert!(killed > 10, "only {killed} were killed before they ended");
    for arguments in commands {
        prints(arguments, folder.path());
    }
    for file in ["shop.klm", "backup.klm"] {
        prints(&["verify", file], folder.path());
    }
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().contains(".part")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// On a terminal it shows how far it has come, and colours; the same words come out of a pipe without.
#[test]
#[cfg(target_os = "linux")]
fn the_demo_on_a_terminal_shows_progress_and_colour() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("script")
        .args(["-qec", &format!("{KEYLOOM} demo --force"), "/dev/null"])
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("loading") && shown.contains("/100,000"), "no progress: {shown}");
    assert!(shown.contains("\u{1b}[36mWHERE city = 'Lisbon'"), "no colour: {shown}");
    let piped = prints(&["demo"], folder.path());
    assert!(!piped.contains('\u{1b}') && piped.contains("WHERE city = 'Lisbon'"), "{piped}");
}
