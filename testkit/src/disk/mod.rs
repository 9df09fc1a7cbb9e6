//! A disk that keeps a record and fails when told, for a [child] process whose store is a file or a folder. See `disk.c`.
//!
//! It is put before a C library that is loaded, which glibc is: Linux with glibc only.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

pub mod commits;
pub mod faults;
mod power;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

pub use power::{Image, images, images_of_some};

use crate::child;

const FAULT: &str = "KEYLOOM_DISK_FAULT";

/// Does a task in a child whose disk this is, and says how the child ended.
pub fn run(task: &str, path: &Path) -> ExitStatus {
    let library = path.with_added_extension("disk.so");
    let source = path.with_added_extension("disk.c");
    fs::write(&source, include_str!("disk.c")).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status();
    assert!(compiled.unwrap().success());
    let mut command = child::command(task, path);
    command
        .env("LD_PRELOAD", &library)
        .env("KEYLOOM_DISK_FILE", path)
        .env("KEYLOOM_DISK_LOG", log(path))
        .env(FAULT, path.with_added_extension("fault"));
    // The output is that of a test, to be seen when it fails.
    let output = command.output().unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    print!("{}", String::from_utf8_lossy(&output.stderr));
    output.status
}

/// Where files of such disks are best: in memory, if the system has a place there, since nothing of them has to last.
pub fn place() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

/// Where the record of a file's writes is.
fn log(path: &Path) -> PathBuf {
    path.with_added_extension("log")
}

/// In the child: the marks of its file. A number that is written here is recorded among the writes of the file, as
/// that of commits which are promised to last.
pub fn marks(path: &Path) -> fs::File {
    fs::File::create(path.with_added_extension("marks")).unwrap()
}

/// In the child: from now on this fails.
pub fn fail(what: &str) {
    let path = PathBuf::from(std::env::var_os(FAULT).unwrap());
    // Never seen half written.
    let new = path.with_added_extension("new");
    fs::write(&new, what).unwrap();
    fs::rename(new, path).unwrap();
}

/// In the child: from now on nothing fails.
pub fn heal() {
    fs::remove_file(std::env::var_os(FAULT).unwrap()).unwrap();
}
