//! The same statements through `keyloom sql` and through SQLite: random tables, records and queries give the same rows
//! in the same order.
//!
//! `KEYLOOM_SEEDS=1000 cargo test -p keyloom-cli --test differential` tries so many cases.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use keyloom_testkit::sqlite::{Case, Common, Step};
use rusqlite::Connection;
use serde_json::{Map, Value as Json};

// As the library's answers are held against them.
#[path = "../../../crates/sql/tests/sql/sqlite/answers.rs"]
mod sqlite;
use sqlite::ask_sqlite;

/// Rows of a query.
type Rows = Vec<Vec<Common>>;

/// Runs a script through the command, and returns the lines that it prints.
fn keyloom(file: &Path, script: &str) -> Vec<Map<String, Json>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"))
        .args(["sql", "--allow-scan", "--format", "jsonl"])
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = command.stdin.take().unwrap();
    let text = script.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = command.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.is_empty(), "{script}\n{said}");
    writer.join().unwrap().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

fn ours(value: &Json) -> Common {
    match value {
        Json::Null => Common::Null,
        Json::Bool(value) => Common::Number(f64::from(u8::from(*value))),
        Json::Number(number) => Common::Number(number.to_string().parse().unwrap()),
        Json::String(text) => Common::Text(text.clone()),
        other => panic!("{other}"),
    }
}

/// The rows of each query, which the script ends with a row that says so.
fn answers(lines: &[Map<String, Json>]) -> Vec<Rows> {
    let ends = lines.split_inclusive(|line| line.contains_key("the end"));
    let rows = ends.map(|lines| lines.split_last().unwrap().1);
    rows.map(|rows| rows.iter().map(|row| row.values().map(ours).collect()).collect()).collect()
}

#[test]
fn answers_are_those_of_sqlite() {
    let seeds = std::env::var("KEYLOOM_SEEDS").map_or(40, |seeds| seeds.parse().unwrap());
    let mut rows = 0;
    // Other cases than those that the sessions of crates/sql go through.
    for seed in (0..seeds).map(|seed| 1_000_000 + seed) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("case.klm");
        let Case { ours, theirs, steps } = Case::new(seed);
        let sqlite = Connection::open_in_memory().unwrap();
        sqlite.execute_batch("PRAGMA case_sensitive_like = ON").unwrap();
        sqlite.execute_batch(&theirs).unwrap();
        let (mut script, mut queries) = (format!("{ours}\n"), Vec::new());
        let ask = |query: &str| format!("{query};\nSELECT NULL AS \"the end\";\n");
        for step in steps {
            match step {
                Step::Transaction(statement) => {
                    sqlite.execute_batch(statement).unwrap();
                    script += &format!("{statement};\n");
                }
                // A record that is there already would end the script.
                Step::Write(write) => {
                    if sqlite.execute(&write, []).is_ok() {
                        script += &format!("{write};\n");
                    }
                }
                Step::Query(query) => {
                    script += &ask(&query);
                    let expected = ask_sqlite(&sqlite, &query);
                    queries.push((query, expected));
                }
            }
        }
        let compare = |script: &str, queries: &[(String, Rows)]| {
            let answers = answers(&keyloom(&file, script));
            assert_eq!(answers.len(), queries.len(), "seed {seed}:\n{script}");
            for ((query, expected), answer) in queries.iter().zip(&answers) {
                assert_eq!(answer, expected, "seed {seed}: {query}\n{script}");
            }
            answers.iter().map(Vec::len).sum::<usize>()
        };
        rows += compare(&script, &queries);
        // All of it is in the file, for another process too.
        for (query, expected) in &mut queries {
            *expected = ask_sqlite(&sqlite, query);
        }
        let again: String = queries.iter().map(|(query, _)| ask(query)).collect();
        rows += compare(&again, &queries);
    }
    assert!(rows as u64 > seeds * 160, "only {rows} rows were compared");
}
