//! The planner as `tests/plans/*.txt` specify it: a table or a query, `----`, what is said to it.
//!
//! `KEYLOOM_REWRITE=1 cargo test -p keyloom-plan --test transcripts` writes what the planner says now into the files.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]
#![allow(clippy::indexing_slicing, unreachable_pub, reason = "modules of a test")]

mod language;

use std::fmt::Write;

use language::{Asked, Session};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/plans");

/// Runs the commands of a transcript and returns it with what is said to them.
fn replay(transcript: &str) -> String {
    let mut session = Session::default();
    let mut replayed = String::new();
    for block in transcript.split("\n\n\n") {
        let command = block.split("\n----").next().unwrap().trim_matches('\n');
        let lines: Vec<&str> = command.lines().filter(|line| !line.starts_with('#')).collect();
        let said = match session.run(&lines.join("\n")) {
            Asked::Said(text) => text,
            Asked::Plan(plan) => plan.map_or_else(|error| error.to_string(), |plan| plan.explain()),
        };
        writeln!(replayed, "{command}\n----\n{}\n\n", said.trim_end_matches('\n')).unwrap();
    }
    format!("{}\n", replayed.trim_end_matches('\n'))
}

#[test]
fn every_transcript_is_what_the_planner_says() {
    let mut files: Vec<_> = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5, "only {} transcripts found", files.len());
    for file in files {
        let transcript = std::fs::read_to_string(&file).unwrap();
        let replayed = replay(&transcript);
        if std::env::var_os("KEYLOOM_REWRITE").is_some() {
            std::fs::write(&file, &replayed).unwrap();
            continue;
        }
        let different = replayed.lines().zip(transcript.lines()).find(|(now, before)| now != before);
        assert!(replayed == transcript, "{}: now and before: {different:#?}", file.display());
    }
}
