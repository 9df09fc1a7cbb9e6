//! SQL as `tests/sql/*.txt` specify it: statements, `----`, what they answer. A file is one database; a block whose
//! first line is `-- other` runs in another session of it.
//!
//! `KEYLOOM_REWRITE=1 cargo test -p keyloom-sql` writes what is answered now into the files.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::fmt::Write;

use keyloom_key::Value;
use keyloom_sql::{Answer, Parameters, Session};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::Database;

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sql");

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Float(value) => format!("{value:?}"),
        Value::Decimal(value) => value.to_string(),
        Value::Str(value) => value.to_string(),
        Value::Bytes(value) => format!("X'{}'", value.iter().map(|b| format!("{b:02X}")).collect::<String>()),
        Value::Uuid(value) => value.to_string(),
        Value::Timestamp(value) => value.to_string(),
        Value::Date(value) => value.to_string(),
        Value::Duration(value) => value.to_string(),
        Value::List(values) => format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

fn printed(answer: &Answer) -> String {
    match answer {
        Answer::Rows { columns, rows, examined } => {
            let mut text = format!("{}\n", columns.join(" | "));
            for row in rows {
                writeln!(text, "{}", row.iter().map(shown).collect::<Vec<_>>().join(" | ")).unwrap();
            }
            writeln!(text, "({} rows, {} examined)", rows.len(), examined.rows).unwrap();
            text
        }
        Answer::Changed { records } => format!("{records} changed\n"),
        Answer::Done(text) => format!("{text}\n"),
        Answer::Explained(plans) => plans.iter().map(ToString::to_string).collect(),
        other => format!("{other:?}\n"),
    }
}

fn run(session: &mut Session<MemoryStore>, text: &str) -> String {
    let statements = match keyloom_sql::parse(text) {
        Ok(statements) => statements,
        Err(error) => return format!("error: {error}\n"),
    };
    // `-- with v, w` gives values to `?`.
    let values = text.lines().find_map(|line| line.strip_prefix("-- with ")).unwrap_or_default();
    let values = values.split(", ").filter(|value| !value.is_empty());
    let parameters = values.fold(Parameters::new(), |parameters, value| match value.parse::<i64>() {
        Ok(number) => parameters.with(number).named(format!("p{value}"), number),
        Err(_) => parameters.with(value.to_owned()).named(value, value.to_owned()),
    });
    let mut text = String::new();
    for statement in &statements {
        match session.execute(statement, &parameters).wait() {
            Ok(answer) => text.push_str(&printed(&answer)),
            Err(error) => {
                writeln!(text, "error: {error}").unwrap();
                break;
            }
        }
    }
    text
}

#[test]
fn every_transcript_is_what_is_answered() {
    keyloom_testkit::transcripts::check(FILES, 6, || {
        let database = Database::open(MemoryStore::new()).wait().unwrap();
        let mut sessions = [Session::new(database.clone()), Session::new(database)];
        move |said: &str| run(&mut sessions[usize::from(said.starts_with("-- other"))], said)
    });
}
