//! The command as `tests/cli/*.txt` specify it: a command line, `----`, what it prints, its exit code if not 0.
//!
//! `KEYLOOM_REWRITE=1 cargo test --release -p keyloom-cli` writes what the command prints now into the files.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What a command line prints on both streams, and its exit code if it is not 0.
fn run(line: &str) -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_keyloom")).parent().unwrap();
    let path = std::env::join_paths(
        [bin.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {line}\n}} 2>&1")])
        .env("PATH", path.unwrap())
        .env_remove("CLICOLOR_FORCE")
        .env("COLUMNS", "100")
        .current_dir(ROOT)
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
    keyloom_testkit::transcripts::check(&format!("{ROOT}/tests/cli"), 5, || run);
}

/// Every command line of the README does what it says there: lines behind `$` show their output.
#[test]
fn the_readme_is_true() {
    let readme = std::fs::read_to_string(format!("{ROOT}/README.md")).unwrap();
    let mut commands = 0;
    for block in readme.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        if let Some((command, shown)) = block.strip_prefix("$ ").and_then(|block| block.split_once('\n')) {
            assert_eq!(run(command), shown, "{command}");
            commands += 1;
            continue;
        }
        for line in block.lines() {
            let command = line.replace("cargo run --release -- ", "keyloom ");
            if command.starts_with("keyloom ") {
                let printed = run(&command);
                assert!(!printed.contains("exit "), "{command}: {printed}");
                commands += 1;
            }
        }
    }
    assert!(commands >= 8, "only {commands} commands found");
}
