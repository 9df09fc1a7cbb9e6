//! Disks that fail under any store: the caller is told, nothing that was acknowledged is lost, nothing is there by half.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::path::Path;
use std::process::Command;

use keyloom_store::{Batch, Blocking, Durability, Error, Store};

use crate::child;

/// A batch that the file must grow for.
pub fn large(mark: &str) -> Batch {
    (0..200)
        .fold(Batch::new().put("mark", mark), |batch, number| batch.put(format!("{mark}/{number}"), [7; 500]))
}

/// A value as text.
pub fn value<S: Store>(store: &Blocking<S>, key: &str) -> Option<String> {
    store.get(key.as_bytes(), |value| String::from_utf8_lossy(value).into_owned()).unwrap()
}

/// Whether a [large] batch is there, which must be whole.
fn has<S: Store>(store: &Blocking<S>, mark: &str) -> bool {
    let rows = (0..200).filter(|number| value(store, &format!("{mark}/{number}")).is_some()).count();
    assert!([0, 200].contains(&rows), "{rows} rows of {mark}");
    rows > 0
}

/// What a child is asked to do: a promise and the [fault](super::fail) that it meets, or to fill its disk.
pub fn as_a_child<S: Store>(open: impl Fn(&Path, Durability) -> S) {
    let Some((task, path)) = child::task() else { return };
    match task.split_once('+').unwrap_or((task.as_str(), "")) {
        ("synced", fault) => told(&path, fault, |path| open(path, Durability::Synced)),
        ("written", fault) => told(&path, fault, |path| open(path, Durability::Written)),
        ("filled", _) => filled(&path, |path| open(path, Durability::Synced)),
        (other, _) => panic!("{other}"),
    }
}

/// Sees that children succeed at these tasks, each on a disk that fails.
pub fn succeed(tasks: &[&str]) {
    for task in tasks {
        let folder = tempfile::tempdir().unwrap();
        assert!(super::run(task, &folder.path().join("test")).success(), "{task}");
    }
}

/// Sees that a child succeeds that fills its disk.
pub fn fills() {
    let folder = tempfile::tempdir().unwrap();
    succeeds_under(SMALL_DISK, "filled", &folder.path().join("test"));
}

/// In a child whose disk this is: it fails, and heals. Commits are told; what was there can be read, and when the store is
/// opened anew all is there that was acknowledged and nothing by half, and it goes on.
fn told<S: Store>(path: &Path, fault: &str, open: impl Fn(&Path) -> S) {
    let store = Blocking::new(open(path));
    store.commit(large("before")).unwrap();
    super::fail(fault);
    for _ in 0..3 {
        let error = store.commit(large("during")).map_err(|error| is_told(fault, &error));
        assert!(error.is_err(), "{fault}: a commit succeeded");
        assert!(has(&store, "before"));
    }
    super::heal();
    let then = store.commit(large("then")).map_err(|error| is_told(fault, &error)).is_ok();
    drop(store);
    let store = Blocking::new(open(path));
    assert!(has(&store, "before"));
    assert!(has(&store, "then") || !then, "what was acknowledged is not there");
    let last = ["then", "during", "before"].into_iter().find(|mark| has(&store, mark));
    assert_eq!(value(&store, "mark").as_deref(), last);
    store.commit(large("after")).unwrap();
    assert_eq!(value(&store, "mark").as_deref(), Some("after"));
}

fn is_told(fault: &str, error: &Error) {
    assert!(matches!(error, Error::Full(_) | Error::Failed(_) | Error::Unknown(_)), "{fault}: {error}");
}

/// Sees that a child succeeds at a task under a limit that a shell sets.
pub fn succeeds_under(limit: &str, task: &str, path: &Path) {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!(r#"{limit}; exec "$0" "$@""#)]).arg(std::env::current_exe().unwrap());
    let output = child::through(shell, task, path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A limit of a file's size, which stands for that of the disk; the signal that goes with it is ignored.
pub const SMALL_DISK: &str = r#"trap "" XFSZ; ulimit -S -f 4096"#;

/// In a child: there is room again.
pub fn grow_disk() {
    let limit = ["--fsize=unlimited:".to_owned(), format!("--pid={}", std::process::id())];
    assert!(Command::new("prlimit").args(limit).status().unwrap().success());
}

/// In a child with a [small disk](SMALL_DISK): it is filled, and there is room again when the store is opened anew.
fn filled<S: Store>(path: &Path, open: impl Fn(&Path) -> S) {
    let store = Blocking::new(open(path));
    let mut written = 0;
    let error = loop {
        match store.commit(large(&written.to_string())) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    is_told("a full disk", &error);
    assert!(written > 3, "{written}");
    let all_there = |store: &Blocking<S>| (0..written).all(|mark| has(store, &mark.to_string()));
    assert!(all_there(&store), "what is there can be read");
    drop(store);
    grow_disk();
    let store = Blocking::new(open(path));
    assert!(all_there(&store), "what was acknowledged is not there");
    has(&store, &written.to_string());
    store.commit(large("after")).unwrap();
    assert_eq!(value(&store, "mark").as_deref(), Some("after"));
}
