//! Whatever the text is, it is run or refused.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use keyloom_sql::{Parameters, Session};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::Database;
use proptest::prelude::*;

const WORDS: &str = "SELECT FROM WHERE INSERT INTO VALUES UPDATE SET DELETE t id a b n ( ) , ; * = < > <> + - / % || . ? :x $1 \
    AND OR NOT NULL IS IN BETWEEN LIKE CASE WHEN THEN ELSE END CAST AS INTEGER TEXT DECIMAL DOUBLE 0 1 -1 2.5 1e300 \
    9223372036854775807 18446744073709551615 99999999999999999999999999999999999999 'a' 'é%' '' X'00' X'0' TRUE FALSE \
    ORDER BY DESC LIMIT OFFSET COUNT MIN MAX abs substr round length coalesce nullif trim replace instr lower EXPLAIN \
    BEGIN COMMIT ROLLBACK CREATE TABLE INDEX ON DROP ALTER ADD COLUMN IF EXISTS CONFLICT DO NOTHING excluded ANALYZE \
    GROUP HAVING UNION JOIN DISTINCT WITH ANY [ ] begins_with within TIMESTAMP INTERVAL OR REPLACE allow_scan on";

fn run(text: &str) {
    let mut session = Session::new(Database::open(MemoryStore::new()).wait().unwrap());
    let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b DECIMAL, n DOUBLE); CREATE INDEX by_a ON t (a);
        INSERT INTO t VALUES (1, 'a', 2.5, 0.1), (2, NULL, NULL, NULL), (-3, 'é', -1e30, 1e300); SET allow_scan = on";
    session.run(table).wait().unwrap();
    let parameters = Parameters::new().with(1_i64).named("x", "a");
    if let Err(error) = session.run_with(text, &parameters).wait() {
        assert!(!error.to_string().is_empty());
    }
}

/// An expression of any shape, most of which make no sense.
fn expression() -> impl Strategy<Value = String> {
    let words: Vec<&str> =
        "id a b n 0 1 -1 2.5 1e300 9223372036854775807 'a' '' NULL TRUE X'00' ? :x".split(' ').collect();
    let leaf = proptest::sample::select(words).prop_map(str::to_owned);
    leaf.prop_recursive(6, 40, 3, |inner| {
        let signs: Vec<&str> = "+ - * / % || = <> < <= > >= AND OR".split(' ').collect();
        let calls: Vec<&str> =
            "abs length lower round substr trim coalesce nullif replace instr ifnull".split(' ').collect();
        prop_oneof![
            (inner.clone(), proptest::sample::select(signs), inner.clone())
                .prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
            (proptest::sample::select(calls), proptest::collection::vec(inner.clone(), 1..4))
                .prop_map(|(name, arguments)| format!("{name}({})", arguments.join(", "))),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("CASE {a} WHEN {b} THEN {c} END")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} BETWEEN {b} AND {c})")),
            (inner.clone(), proptest::sample::select(vec!["INTEGER", "TEXT", "DOUBLE", "DECIMAL"]))
                .prop_map(|(a, kind)| format!("CAST({a} AS {kind})")),
            inner.prop_map(|a| format!("(-{a})")),
        ]
    })
}

proptest! {
    #[test]
    fn any_words(words in proptest::collection::vec(proptest::sample::select(WORDS.split_whitespace().collect::<Vec<_>>()), 0..25)) {
        run(&words.join(" "));
        run(&format!("SELECT {} FROM t", words.join(" ")));
    }

    #[test]
    fn any_letters(text in ".{0,40}") {
        run(&text);
        run(&format!("SELECT * FROM t WHERE {text}"));
    }

    #[test]
    fn any_expression(a in expression(), b in expression()) {
        run(&format!("SELECT {a}, MAX({b}) FROM t"));
        run(&format!("SELECT {a} FROM t WHERE {b} ORDER BY 1"));
        run(&format!("UPDATE t SET b = {a}, n = {b} WHERE id > 0"));
        run(&format!("INSERT INTO t VALUES ({a}, {b}, 1, 1) ON CONFLICT DO UPDATE SET a = {b} WHERE {a}"));
    }
}

/// What nests or goes on as far as the reader lets it is worked out on the stack that a thread has.
#[test]
fn deep_and_long_expressions() {
    // Without optimization, the parser takes several times the stack for each level of brackets.
    let stack = if cfg!(debug_assertions) { 8 << 20 } else { 2 << 20 };
    std::thread::Builder::new().stack_size(stack).spawn(deep_and_long).unwrap().join().unwrap();
}

fn deep_and_long() {
    let mut session = Session::new(Database::open(MemoryStore::new()).wait().unwrap());
    let deep = session.run(&format!("SELECT 1{}", " IS NULL".repeat(400))).wait().unwrap_err().to_string();
    assert_eq!(deep, "an expression nests deeper than 100: take it apart");
    for sign in ["+", "||", "=", "AND", "OR"] {
        for count in [10, 400, 499, 501, 5_000] {
            run(&format!("SELECT {}", vec!["1"; count].join(sign)));
            run(&format!("SELECT id FROM t WHERE {}", vec!["TRUE"; count].join(&format!(" {sign} "))));
        }
    }
    for depth in [5, 20, 45, 60, 400, 1_000] {
        run(&format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth)));
        run(&format!("SELECT {}1{}", "abs(".repeat(depth), ")".repeat(depth)));
        run(&format!("SELECT {}1{}", "CASE ".repeat(depth), " WHEN 1 THEN 1 END".repeat(depth)));
        run(&format!("SELECT {}1", "- ".repeat(depth)));
        run(&format!("SELECT {}TRUE", "NOT ".repeat(depth)));
        run(&format!("SELECT {}1{}", "(".repeat(depth), " BETWEEN 1 AND 2)".repeat(depth)));
        run(&format!("SELECT 1{}", " BETWEEN 1 AND 2".repeat(depth)));
        run(&format!("SELECT 1{}", " IS NULL".repeat(depth)));
        run(&format!("SELECT id FROM t WHERE id{}", " IN (1)".repeat(depth)));
        run(&format!("CREATE VIEW v AS SELECT 1{}", "+1".repeat(depth)));
        run(&format!("SELECT id FROM t ORDER BY id{}", "+1".repeat(depth)));
        run(&format!("SET allow_scan = 1{}", "+1".repeat(depth)));
        run(&format!("UPDATE t SET b = 1{0} WHERE 1{0} = 2{0}", "+1".repeat(depth / 3)));
    }
}
