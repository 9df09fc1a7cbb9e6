//! The same statements through SQLite: random tables, records and queries give the same rows in the same order.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::time::Duration;

use keyloom_cassandra::CassandraStore;
use keyloom_key::Value;
use keyloom_sql::{Answer, Session};
use keyloom_store::{MemoryStore, Store, Wait};
use keyloom_table::Database;
use keyloom_testkit::Weak;
use keyloom_testkit::sqlite::{Case, Common, Step};
use rusqlite::Connection;

mod answers;
use answers::ask_sqlite;

fn ours(value: &Value<'_>) -> Common {
    match value {
        Value::Null => Common::Null,
        Value::Bool(value) => Common::Number(f64::from(u8::from(*value))),
        Value::Int(value) => Common::Number(*value as f64),
        Value::Float(value) => Common::Number(*value),
        Value::Decimal(value) => Common::Number(value.to_string().parse().unwrap()),
        Value::Str(text) => Common::Text(text.to_string()),
        other => panic!("{other:?}"),
    }
}

fn ask_us<S: Store>(session: &mut Session<S>, query: &str) -> Vec<Vec<Common>> {
    let answers = session.run(query).wait();
    let Ok([Answer::Rows { rows, .. }]) = answers.as_deref() else { panic!("{query}: {answers:?}") };
    rows.iter().map(|row| row.iter().map(ours).collect()).collect()
}

#[test]
fn answers_are_those_of_sqlite() {
    compare(seeds().unwrap_or(100), |_| MemoryStore::new());
}

/// Where a statement changes one record after the other, it is what SQLite calls OR FAIL: what it did before an error
/// stays.
#[test]
fn one_record_at_a_time_the_answers_are_those_of_sqlite() {
    compare(seeds().unwrap_or(100), |_| Weak::new(Duration::ZERO));
}

#[test]
fn on_a_cluster_the_answers_are_those_of_sqlite() {
    let Ok(node) = std::env::var("KEYLOOM_CASSANDRA") else {
        println!("not run: KEYLOOM_CASSANDRA names no node: ./test cluster starts one");
        return;
    };
    compare(seeds().unwrap_or(4), |seed| {
        let keyspace = format!("sql_{}_{seed}", std::process::id());
        // Shards are split while it runs.
        let url = format!("cassandra://{node}/{keyspace}?replication=1&lease=1s&timeout=3s&split_rows=10");
        CassandraStore::open(&url.parse().unwrap()).wait().unwrap()
    });
}

fn seeds() -> Option<u64> {
    std::env::var("KEYLOOM_SEEDS").ok().map(|seeds| seeds.parse().unwrap())
}

fn compare<S: Store>(seeds: u64, open: impl Fn(u64) -> S) {
    let mut rows = 0;
    for seed in 0..seeds {
        let Case { ours, theirs, steps } = Case::new(seed);
        let sqlite = Connection::open_in_memory().unwrap();
        sqlite.execute_batch("PRAGMA case_sensitive_like = ON").unwrap();
        let store = open(seed);
        let whole = store.capability().atomic_batch;
        let mut session = Session::new(Database::open(store).wait().unwrap());
        sqlite.execute_batch(&theirs).unwrap_or_else(|error| panic!("{theirs}: {error}"));
        session.run(&ours).wait().unwrap_or_else(|error| panic!("{ours}: {error}"));
        session.set_allow_scan(true);
        let mut history = vec![ours];
        for step in steps {
            match step {
                Step::Transaction(_) if !whole => {}
                Step::Transaction(statement) => {
                    sqlite.execute_batch(statement).unwrap();
                    session.run(statement).wait().unwrap();
                    history.push(statement.to_owned());
                }
                Step::Write(write) => {
                    let theirs = match !whole && !write.contains("ON CONFLICT") {
                        true => write.replacen("INSERT INTO", "INSERT OR FAIL INTO", 1),
                        false => write.clone(),
                    };
                    let their = sqlite.execute(&theirs, []).map(|count| count as u64);
                    let our = match session.run(&write).wait() {
                        Ok(answers) => match answers.as_slice() {
                            [Answer::Changed { records }] => Ok(*records),
                            other => panic!("{other:?}"),
                        },
                        Err(error) => Err(error),
                    };
                    match (&our, &their) {
                        (Ok(a), Ok(b)) => assert_eq!(a, b, "seed {seed}: {write}\n{}", history.join("\n")),
                        (Err(keyloom_sql::Error::Exists { .. }), Err(_)) => {}
                        (Err(keyloom_sql::Error::Partly { source, .. }), Err(_)) if !whole => {
                            assert!(matches!(**source, keyloom_sql::Error::Exists { .. }), "{source}");
                        }
                        _ => panic!("seed {seed}: {write}: {our:?}, {their:?}\n{}", history.join("\n")),
                    }
                    history.push(write);
                }
                Step::Query(query) => {
                    let (our, their) = (ask_us(&mut session, &query), ask_sqlite(&sqlite, &query));
                    assert_eq!(our, their, "seed {seed}: {query}\n{}", history.join(";\n"));
                    rows += our.len();
                }
            }
        }
    }
    assert!(rows as u64 > seeds * 80, "only {rows} rows were compared");
}
