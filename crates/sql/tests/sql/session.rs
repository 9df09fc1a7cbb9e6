//! What a session promises beyond single answers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::ops::ControlFlow;

use keyloom_key::Value;
use keyloom_schema::Document;
use keyloom_sql::{Answer, Before, Error, Parameters, Rows, Session, Statement, parse, parse_part};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::Database;

fn session() -> Session<MemoryStore> {
    Session::new(Database::open(MemoryStore::new()).wait().unwrap())
}

fn rows(session: &mut Session<MemoryStore>, text: &str) -> Vec<Vec<Value<'static>>> {
    match session.run(text).wait().unwrap().pop() {
        Some(Answer::Rows { rows, .. }) => rows,
        other => panic!("{other:?}"),
    }
}

/// A table `t` of so many records, `n` and `half` their number.
fn filled(records: usize) -> Session<MemoryStore> {
    let mut session = session();
    session
        .run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER); CREATE INDEX by_n ON t (n)")
        .wait()
        .unwrap();
    let values: Vec<String> = (0..records).map(|id| format!("({id}, {id})")).collect();
    session.run(&format!("INSERT INTO t VALUES {}", values.join(", "))).wait().unwrap();
    session
}

#[test]
fn the_futures_can_go_to_another_thread() {
    fn check(_: impl Send) {}
    let mut session = session();
    let statement = parse("SELECT 1").unwrap().remove(0);
    check(session.run("SELECT 1"));
    check(session.execute(&statement, &Parameters::new()));
    check(session.stream(&statement, &Parameters::new(), &mut |_: &[Value<'_>]| ControlFlow::Continue(())));
}

#[test]
fn rows_are_streamed_and_stop_where_they_are_told() {
    #[derive(Default)]
    struct Sum {
        columns: Vec<String>,
        rows: usize,
    }
    impl Rows for Sum {
        fn columns(&mut self, names: &[String]) {
            assert_eq!(self.rows, 0);
            self.columns = names.to_vec();
        }

        fn row(&mut self, _: &[Value<'_>]) -> ControlFlow<()> {
            self.rows += 1;
            if self.rows == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let mut session = filled(2_000);
    let mut sum = Sum::default();
    let statement = parse("SELECT id, n AS number FROM t WHERE id >= 100 AND id < 2000").unwrap().remove(0);
    let answer = session.stream(&statement, &Parameters::new(), &mut sum).wait().unwrap();
    assert_eq!((sum.columns.as_slice(), sum.rows), (["id".to_owned(), "number".to_owned()].as_slice(), 10));
    let Answer::Rows { rows, examined, .. } = answer else { panic!("{answer:?}") };
    assert_eq!((rows.len(), examined.rows), (0, 10));
    let mut all = 0;
    let mut count = |_: &[Value<'_>]| {
        all += 1;
        ControlFlow::Continue(())
    };
    session.stream(&statement, &Parameters::new(), &mut count).wait().unwrap();
    assert_eq!(all, 1_900);
}

/// A record that an UPDATE moves ahead in the index that it is found by would be met again, and again: 2,500 records
/// are three batches.
#[test]
fn many_records_change_once_each() {
    let mut session = filled(2_500);
    let changed = session.run("UPDATE t SET n = n + 1000 WHERE n BETWEEN 0 AND 5000").wait().unwrap();
    assert_eq!(changed, [Answer::Changed { records: 2_500 }]);
    let ends = rows(&mut session, "SELECT MIN(n), MAX(n) FROM t");
    assert_eq!(ends, [[Value::Int(1_000), Value::Int(3_499)]]);
    let changed = session.run("DELETE FROM t WHERE n BETWEEN 1001 AND 5000").wait().unwrap();
    assert_eq!(changed, [Answer::Changed { records: 2_499 }]);
    session.run("SET allow_scan = on").wait().unwrap();
    assert_eq!(rows(&mut session, "SELECT id FROM t"), [[Value::Int(0)]]);
    assert_eq!(session.database().verify("t").wait().unwrap().differences.len(), 0);
}

#[test]
fn a_large_change_that_fails_says_how_far_it_came() {
    let mut session = filled(2_500);
    session.run("UPDATE t SET n = 0 WHERE id = 1700; CREATE UNIQUE INDEX ON t (id, n)").wait().unwrap();
    // What is stored in n has to be an integer.
    let error =
        session.run("UPDATE t SET n = 7 / (n * 2) + 0.5 WHERE id BETWEEN 1 AND 2499").wait().unwrap_err();
    assert!(matches!(error, Error::Text(_)), "{error}");
    let update = "UPDATE t SET n = CASE WHEN id < 1500 THEN 1 ELSE 0.5 END WHERE id BETWEEN 0 AND 2499";
    let error = session.run(update).wait().unwrap_err();
    assert!(error.to_string().starts_with("after 1000 records, which stay changed: field n: 0.5"), "{error}");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t WHERE n = 1"), [[Value::Int(1_000)]]);
    // Within a transaction it is all or nothing.
    session.run("BEGIN").wait().unwrap();
    session.run(update).wait().unwrap_err();
    session.run("ROLLBACK").wait().unwrap();
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t WHERE n = 1"), [[Value::Int(1_000)]]);
}

#[test]
fn a_transaction_takes_any_number_of_records() {
    let mut session = filled(2_500);
    session.run("BEGIN; UPDATE t SET n = n + 1000 WHERE n BETWEEN 0 AND 5000").wait().unwrap();
    assert_eq!(rows(&mut session, "SELECT MIN(n), MAX(n) FROM t"), [[Value::Int(1_000), Value::Int(3_499)]]);
    session.run("COMMIT").wait().unwrap();
    assert_eq!(rows(&mut session, "SELECT MIN(n), MAX(n) FROM t"), [[Value::Int(1_000), Value::Int(3_499)]]);
}

/// Records were once given out of order where an index led to some that the transaction had written and to others that
/// it had not: those of the transaction came first.
#[test]
fn own_writes_stand_in_the_order_of_the_index() {
    let mut session = filled(6);
    session.run("BEGIN; UPDATE t SET n = n WHERE id IN (3, 5)").wait().unwrap();
    let found = rows(&mut session, "SELECT id, n FROM t WHERE n BETWEEN 0 AND 9 ORDER BY n LIMIT 4");
    assert_eq!(found, (0..4).map(|n| vec![Value::Int(n), Value::Int(n)]).collect::<Vec<_>>());
}

#[test]
fn an_error_says_the_line_of_its_statement() {
    let mut session = session();
    let text =
        "CREATE TABLE t (id INTEGER PRIMARY KEY);\n\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (1)";
    let error = session.run(text).wait().unwrap_err();
    assert!(matches!(error, Error::Statement { line: 4, .. }), "{error:?}");
    assert!(error.to_string().starts_with("line 4: t: there is a record with id = 1 already"), "{error}");
    // What stood before has run.
    assert_eq!(rows(&mut session, "SELECT id FROM t WHERE id = 1").len(), 1);
    // Nothing runs if something cannot be read.
    session.run("DELETE FROM t WHERE id = 1; SELEC 1").wait().unwrap_err();
    assert_eq!(rows(&mut session, "SELECT id FROM t WHERE id = 1").len(), 1);
}

#[test]
fn parameters_are_values_of_any_kind() {
    let mut session = session();
    session.run("CREATE TABLE t (id TIMESTAMP PRIMARY KEY, tags TEXT[], b BLOB)").wait().unwrap();
    // No text stands for an instant so far away.
    let far = keyloom_key::Timestamp::from_micros(i64::MAX - 807);
    let parameters = Parameters::new()
        .with(far)
        .with(Value::list(["x", "y"]))
        .named("b", vec![1_u8, 2])
        .named("injected", "'); DROP TABLE t; --");
    session.run_with("INSERT INTO t VALUES (?, ?, :b)", &parameters).wait().unwrap();
    let found = session.run_with("SELECT b, $injected FROM t WHERE id = $1 AND 'y' = ANY(tags)", &parameters);
    let found = found.wait().unwrap();
    let [Answer::Rows { rows, .. }] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(rows, &[vec![Value::from(vec![1_u8, 2]), Value::from("'); DROP TABLE t; --")]]);
}

#[test]
fn a_column_that_is_added_finds_the_field_of_that_name() {
    let mut session = session();
    session.run("CREATE TABLE t (id INTEGER PRIMARY KEY)").wait().unwrap();
    let table = session.database().table("t").wait().unwrap();
    table.put(Document::new().with("id", 1_i64).with("note", "kept")).wait().unwrap();
    table.put(Document::new().with("id", 2_i64)).wait().unwrap();
    session.run("SELECT note FROM t WHERE id = 1").wait().unwrap_err();
    session.run("ALTER TABLE t ADD COLUMN note TEXT; CREATE INDEX ON t (note)").wait().unwrap();
    assert_eq!(rows(&mut session, "SELECT id FROM t WHERE note = 'kept'"), [[Value::Int(1)]]);
    assert_eq!(rows(&mut session, "SELECT note FROM t WHERE id = 1"), [[Value::from("kept")]]);
    session.run("UPDATE t SET note = note || '!' WHERE id IN (1, 2)").wait().unwrap();
    let found = rows(&mut session, "SELECT note FROM t WHERE id IN (1, 2)");
    assert_eq!(found, [[Value::from("kept!")], [Value::Null]]);
    assert_eq!(session.database().verify("t").wait().unwrap().differences.len(), 0);
}

/// Two databases on one store are two processes: neither is told what the other does to the schema.
#[test]
fn a_column_that_another_process_adds_is_found() {
    let store = MemoryStore::new();
    let mut first = Session::new(Database::open(store.clone()).wait().unwrap());
    first.run("CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)").wait().unwrap();
    let mut second = Session::new(Database::open(store).wait().unwrap());
    for (column, statement) in [
        ("a", "SELECT a FROM t WHERE id = 1"),
        ("b", "UPDATE t SET b = 1 WHERE id = 1"),
        ("c", "INSERT INTO t (id, c) VALUES (2, 1)"),
        ("d", "SELECT id FROM t WHERE id = 1 AND d = 2"),
    ] {
        second.run(statement).wait().unwrap_err();
        first.run(&format!("ALTER TABLE t ADD COLUMN {column} INTEGER")).wait().unwrap();
        second.run(statement).wait().unwrap();
    }
}

#[test]
fn changes_that_others_overtake_are_made_again() {
    let mut first = session();
    first
        .run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO t VALUES (1, 0)")
        .wait()
        .unwrap();
    let database = first.database().clone();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = Session::new(database.clone());
                for _ in 0..50 {
                    session.run("UPDATE t SET n = n + 1 WHERE id = 1").wait().unwrap();
                }
            });
        }
    });
    assert_eq!(rows(&mut first, "SELECT n FROM t WHERE id = 1"), [[Value::Int(200)]]);
}

/// What several large changes want at once is done by one of them: each asks again, in its commit, what WHERE says.
#[test]
fn a_large_change_asks_again_before_it_writes() {
    let mut session = filled(2_500);
    let database = session.database().clone();
    let changed: u64 = std::thread::scope(|scope| {
        let change = || {
            let mut session = Session::new(database.clone());
            let update = "UPDATE t SET n = n + 10000 WHERE n BETWEEN 0 AND 5000";
            match session.run(update).wait().unwrap().pop() {
                Some(Answer::Changed { records }) => records,
                other => panic!("{other:?}"),
            }
        };
        let threads = [(); 4].map(|()| scope.spawn(change));
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(changed, 2_500);
    assert_eq!(
        rows(&mut session, "SELECT MIN(n), MAX(n) FROM t"),
        [[Value::Int(10_000), Value::Int(12_499)]]
    );
}

#[test]
fn a_text_can_be_read_in_parts() {
    let mut before = Before::default();
    let first = parse_part("SELECT ?;\n\nSELECT\n ?;\n", &mut before).unwrap();
    assert_eq!(first.iter().map(Statement::line).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(before, Before { lines: 4, placeholders: 2 });
    let second = parse_part("\nSELECT ?;", &mut before).unwrap();
    assert_eq!(second[0].line(), 6);
    let parameters = Parameters::new().with(1_i64).with(2_i64).with(3_i64);
    let answer = session().execute(&second[0], &parameters).wait().unwrap();
    assert!(matches!(answer, Answer::Rows { rows, .. } if rows == [[3_i64.into()]]));
    // Both what cannot be parsed and what is no word says its place in the whole.
    for text in ["SELECT 1;\nSELEC 2", "SELECT 1;\n'"] {
        let mut before = Before { lines: 10, placeholders: 0 };
        let error = parse_part(text, &mut before).unwrap_err().to_string();
        assert!(error.starts_with("line 12, column 1: "), "{error}");
    }
}

#[test]
fn a_statement_is_explained_without_being_run() {
    let mut session = filled(10);
    let parameters = Parameters::new();
    for (text, plans) in [
        ("DELETE FROM t WHERE n = 3", 1),
        ("SELECT MIN(n), MAX(n) FROM t", 2),
        ("SELECT 1", 0),
        ("INSERT INTO t VALUES (3, 3)", 0),
        ("DROP TABLE t", 0),
    ] {
        let statement = parse(text).unwrap().remove(0);
        assert_eq!(session.explain(&statement, &parameters).wait().unwrap().len(), plans, "{text}");
    }
    assert_eq!(rows(&mut session, "SELECT id FROM t WHERE n = 3").len(), 1);
    let scan = parse("SELECT id FROM t").unwrap().remove(0);
    assert!(matches!(session.explain(&scan, &parameters).wait(), Err(Error::Refused(_))));
    session.set_allow_scan(true);
    assert_eq!(session.explain(&scan, &parameters).wait().unwrap().len(), 1);
}

#[test]
fn a_statement_knows_its_line_and_its_text() {
    let text =
        "-- first\nSELECT 'a;\nb' ;\n\n-- about the next\n  SELECT\n  n FROM ü WHERE n = 'ß'; SELECT 2";
    let statements = parse(text).unwrap();
    let told: Vec<(u64, &str)> = statements.iter().map(|one| (one.line(), one.text())).collect();
    assert_eq!(told, [(2, "SELECT 'a;\nb'"), (6, "SELECT\n  n FROM ü WHERE n = 'ß'"), (7, "SELECT 2")]);
}

#[test]
fn what_a_statement_asks_is_told_without_running_it() {
    let session = filled(3);
    let asked = |text: &str| {
        let statement = parse(text).unwrap().remove(0);
        session.queries(&statement, &Parameters::new()).wait().map(|all| {
            all.into_iter().map(|(table, query)| format!("{table}: {}", query.filter)).collect::<Vec<_>>()
        })
    };
    assert_eq!(asked("SELECT id FROM t WHERE n = 1").unwrap(), ["t: n = 1"]);
    assert_eq!(asked("EXPLAIN DELETE FROM t WHERE n < 2").unwrap(), ["t: n < 2"]);
    assert_eq!(asked("SELECT MIN(n), MAX(id) FROM t").unwrap().len(), 2);
    assert_eq!(asked("SELECT COUNT(*), MAX(id) FROM t").unwrap().len(), 1);
    assert!(asked("INSERT INTO t VALUES (9, 9)").unwrap().is_empty());
    assert!(asked("SELECT 1").unwrap().is_empty());
    assert!(asked("DROP TABLE t").unwrap().is_empty());
    // Nothing ran.
    assert_eq!(asked("SELECT id FROM t WHERE n = 1").unwrap().len(), 1);
}

#[test]
fn a_plan_is_told_with_explain_before_it_or_without() {
    let session = filled(3);
    let plans = |text: &str| {
        let statement = parse(text).unwrap().remove(0);
        session.explain(&statement, &Parameters::new()).wait()
    };
    assert_eq!(
        plans("SELECT id FROM t WHERE n = 1").unwrap(),
        plans("EXPLAIN SELECT id FROM t WHERE n = 1").unwrap()
    );
    assert_eq!(plans("UPDATE t SET n = 2 WHERE id = 1").unwrap()[0].index, None);
    assert!(matches!(plans("SELECT id FROM t"), Err(Error::Refused(_))));
}
