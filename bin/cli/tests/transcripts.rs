//! The command as `tests/cli/*.txt` specify it: a command line, `----`, what it prints, its exit code if not 0. And as the
//! pages for people show it: README.md and docs/*.md.
//!
//! `KEYLOOM_REWRITE=1 cargo test --release -p keyloom-cli` writes what the command prints now into the files.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What a command line prints on both streams, and its exit code if it is not 0.
fn run(line: &str, folder: &Path) -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_keyloom")).parent().unwrap();
    let path = std::env::join_paths(
        [bin.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {line}\n}} 2>&1")])
        .env("PATH", path.unwrap())
        .env_remove("CLICOLOR_FORCE")
        .env("COLUMNS", "100")
        .current_dir(folder)
        .output()
        .unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    match output.status.code() {
        Some(0) => {}
        Some(code) => writeln!(text, "exit {code}").unwrap(),
        None => writeln!(text, "killed: {}", output.status).unwrap(),
    }
    text
}

#[test]
fn every_transcript_is_what_the_command_prints() {
    let session = || |line: &str| run(line, Path::new(ROOT));
    keyloom_testkit::transcripts::check(&format!("{ROOT}/tests/cli"), 5, session);
}

/// The same of stores that not every build has: `tests/stores/<name>`.
#[cfg(any(feature = "redb", feature = "rocksdb"))]
fn is_what_the_command_prints(stores: &str) {
    let session = || |line: &str| run(line, Path::new(ROOT));
    keyloom_testkit::transcripts::check(&format!("{ROOT}/tests/stores/{stores}"), 1, session);
}

#[cfg(feature = "redb")]
#[test]
fn the_transcript_of_redb_is_what_the_command_prints() {
    is_what_the_command_prints("redb");
}

#[cfg(feature = "rocksdb")]
#[test]
fn the_transcript_of_rocksdb_is_what_the_command_prints() {
    is_what_the_command_prints("rocksdb");
}

#[cfg(all(feature = "redb", feature = "rocksdb"))]
#[test]
fn the_transcript_of_all_stores_is_what_the_command_prints() {
    is_what_the_command_prints("all");
}

/// A page as it is when its commands are run, one after the other in one folder, and how many there are.
///
/// In a block of `sh`, what stands behind `$ ` is run, and what it prints is shown below it. In a block without `$ `, the
/// lines that call the command must end well. Blocks of `sh cluster` are run if there is a cluster.
fn replay(page: &str, folder: &Path, cluster: bool) -> (String, u32) {
    let (mut replayed, mut commands) = (String::new(), 0);
    let mut lines = page.lines().peekable();
    let mut in_block = false;
    while let Some(line) = lines.next() {
        writeln!(replayed, "{line}").unwrap();
        match line {
            "```sh" => in_block = true,
            "```sh cluster" => in_block = cluster,
            "```" => in_block = false,
            _ if !in_block => {}
            _ if line.starts_with("$ ") => {
                let mut command = line.trim_start_matches("$ ").to_owned();
                // A statement in quotes may go over several lines.
                while command.matches('"').count() % 2 == 1 {
                    let more = lines.next().unwrap();
                    writeln!(replayed, "{more}").unwrap();
                    command.extend(["\n", more]);
                }
                while lines.next_if(|line| !line.starts_with("$ ") && *line != "```").is_some() {}
                replayed.push_str(&run(&command, folder));
                commands += 1;
            }
            _ => {
                let command = line.replace("cargo run --release -- ", "keyloom ");
                if command.starts_with("keyloom ") {
                    let printed = run(&command, folder);
                    let failed = printed.lines().last().is_some_and(|last| last.starts_with("exit "));
                    assert!(!failed, "{command}: {printed}");
                    commands += 1;
                }
            }
        }
    }
    (replayed, commands)
}

/// Every command line of the pages does what it says there.
#[test]
fn the_pages_are_true() {
    let docs = std::fs::read_dir(format!("{ROOT}/docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|name| name == "md")).collect();
    pages.push(format!("{ROOT}/README.md").into());
    pages.sort();
    let rewrite = std::env::var_os("KEYLOOM_REWRITE").is_some();
    let mut commands = 0;
    for path in pages {
        let folder = folder();
        let page = std::fs::read_to_string(&path).unwrap();
        let (replayed, run) = replay(&page, folder.path(), false);
        commands += run;
        if rewrite {
            std::fs::write(&path, &replayed).unwrap();
            continue;
        }
        same(&replayed, &page, &path);
    }
    assert!(commands >= 8, "only {commands} commands found");
}

/// An empty folder with the examples, where the commands of a page are run.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(format!("{ROOT}/examples"), folder.path().join("examples")).unwrap();
    folder
}

fn same(replayed: &str, page: &str, path: &Path) {
    let different = replayed.lines().zip(page.lines()).find(|(now, shown)| now != shown);
    assert!(different.is_none(), "{}: printed and shown: {different:#?}", path.display());
    assert_eq!(replayed, page, "{}", path.display());
}

/// Every command line of the guide does what it says there, those for a cluster too, on the node that
/// `KEYLOOM_CASSANDRA` names.
#[test]
fn the_guide_to_a_cluster_is_true() {
    let Ok(node) = std::env::var("KEYLOOM_CASSANDRA") else {
        println!("not run: KEYLOOM_CASSANDRA names no node: ./test cluster starts one");
        return;
    };
    let (shown, real) = ("127.0.0.1:9042/shop", format!("{node}/shop_{}", std::process::id()));
    let path = PathBuf::from(format!("{ROOT}/docs/cluster.md"));
    let page = std::fs::read_to_string(&path).unwrap();
    let (replayed, commands) = replay(&page.replace(shown, &real), folder().path(), true);
    let replayed = replayed.replace(&real, shown);
    if std::env::var_os("KEYLOOM_REWRITE").is_some() {
        std::fs::write(&path, replayed).unwrap();
        return;
    }
    same(&replayed, &page, &path);
    assert!(commands >= 7, "only {commands} commands found");
}

/// What the README shows of the demo is what its transcript has, but for the times.
#[test]
fn the_readme_shows_the_demo_as_it_is() {
    let readme = std::fs::read_to_string(format!("{ROOT}/README.md")).unwrap();
    let transcript = std::fs::read_to_string(format!("{ROOT}/tests/cli/demo.txt")).unwrap();
    let block = readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    for line in block.lines() {
        let known = line.split(" in ").next().unwrap();
        let told = if line.ends_with("µs") { known } else { line };
        assert!(transcript.lines().any(|line| line.starts_with(told)), "{line}");
    }
}
