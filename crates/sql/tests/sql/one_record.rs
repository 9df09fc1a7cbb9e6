//! Statements on a store that commits one record at a time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::thread;
use std::time::Duration;

use keyloom_sql::{Answer, Error, Session};
use keyloom_store::Wait;
use keyloom_table::Database;
use keyloom_testkit::Weak;

fn session(store: &Weak) -> Session<Weak> {
    Session::new(Database::open(store.clone()).wait().unwrap())
}

fn changed(session: &mut Session<Weak>, text: &str) -> u64 {
    match session.run(text).wait().unwrap().as_slice() {
        [Answer::Changed { records }] => *records,
        other => panic!("{other:?}"),
    }
}

fn rows(session: &mut Session<Weak>, text: &str) -> String {
    match session.run(text).wait().unwrap().as_slice() {
        [Answer::Rows { rows, .. }] => format!("{rows:?}"),
        other => panic!("{other:?}"),
    }
}

fn orders(lease: Duration) -> (Weak, Session<Weak>) {
    let store = Weak::new(lease);
    let mut session = session(&store);
    session
        .run("CREATE TABLE orders (id INTEGER, status TEXT, n INTEGER, PRIMARY KEY (id)); CREATE INDEX ON orders (status)")
        .wait()
        .unwrap();
    (store, session)
}

#[test]
fn a_transaction_is_refused_with_what_to_do_instead() {
    let (_, mut session) = orders(Duration::ZERO);
    let error = session.run("BEGIN").wait().unwrap_err();
    assert_eq!(
        error.to_string(),
        "weak has no transactions: run the statements without BEGIN; each changes one record after the other"
    );
    assert!(!session.is_in_transaction());
    assert_eq!(changed(&mut session, "INSERT INTO orders VALUES (1, 'open', 1)"), 1);
}

#[test]
fn a_statement_that_stops_says_how_far_it_came() {
    let (_, mut session) = orders(Duration::ZERO);
    assert_eq!(changed(&mut session, "INSERT INTO orders VALUES (1, 'open', 1), (3, 'open', 1)"), 2);
    let error =
        session.run("INSERT INTO orders VALUES (2, 'a', 1), (3, 'a', 1), (4, 'a', 1)").wait().unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Partly { records: 1, .. }), "{text}");
    assert!(
        text.starts_with("after 1 records, which stay changed: orders: there is a record with id = 3"),
        "{text}"
    );
    // What is met first leaves nothing, and says so by being no part.
    let error = session.run("INSERT INTO orders VALUES (2, 'a', 1), (4, 'a', 1)").wait().unwrap_err();
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM orders WHERE status = 'a'"), "[[Int(1)]]");
    assert_eq!(rows(&mut session, "SELECT MIN(id), MAX(id) FROM orders"), "[[Int(1), Int(3)]]");
    assert_eq!(changed(&mut session, "UPDATE orders SET status = 'b' WHERE status = 'open'"), 2);
    assert_eq!(changed(&mut session, "DELETE FROM orders WHERE status = 'b'"), 2);
}

#[test]
fn racing_statements_lose_nothing() {
    let (store, mut first) = orders(Duration::from_millis(3));
    first.run("INSERT INTO orders VALUES (1, 'open', 0), (2, 'open', 0)").wait().unwrap();
    thread::scope(|scope| {
        for number in 0..4 {
            let mut session = session(&store);
            scope.spawn(move || {
                for round in 0..25 {
                    match (number + round) % 2 {
                        0 => changed(&mut session, "UPDATE orders SET n = n + 1 WHERE status = 'open'"),
                        _ => changed(
                            &mut session,
                            "INSERT INTO orders VALUES (1, '', 0), (2, '', 0) ON CONFLICT DO UPDATE SET n = n + 1",
                        ),
                    };
                }
            });
        }
    });
    assert_eq!(
        rows(&mut first, "SELECT id, n FROM orders WHERE status = 'open'"),
        "[[Int(1), Int(100)], [Int(2), Int(100)]]"
    );
    assert!(first.database().verify("orders").wait().unwrap().differences.is_empty());
}
