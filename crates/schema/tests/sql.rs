//! Tables from SQL and back, and what is refused.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]
#![cfg(feature = "sql")]

use std::ops::Bound;

use keyloom_key::Value;
use keyloom_schema::sql::{self, Statement};
use keyloom_schema::{Index, Predicate, State, Table, field, row};
use keyloom_testkit::tables;
use proptest::prelude::*;

/// The table of the columns and options.
fn table(columns: &str, options: &str) -> Table {
    Table::from_sql(&format!("CREATE TABLE t ({columns}) {options}")).unwrap()
}

fn refusal(text: &str) -> String {
    Table::from_sql(text).unwrap_err().to_string()
}

fn condition(text: &str) -> Predicate {
    sql::condition(text).unwrap()
}

fn refused(text: &str) -> String {
    sql::condition(text).unwrap_err().to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn what_is_written_is_read(table in tables::table()) {
        let text = table.to_sql();
        let mut read = Table::from_sql(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        read.number_trees(table.primary().id());
        let mut ready = table.clone();
        for index in table.indexes() {
            ready = ready.with_index_state(index.name(), State::Ready);
        }
        prop_assert_eq!(read, ready, "{}", text);
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = sql::parse(&text);
        let _ = sql::condition(&text);
    }

    #[test]
    fn no_words_make_it_panic(words in proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 0..40)) {
        let text = words.join(" ");
        let _ = sql::parse(&text);
        let _ = sql::parse(&format!("CREATE TABLE t ({text})"));
        let _ = sql::condition(&text);
    }
}

const WORDS: [&str; 60] = [
    "CREATE",
    "TABLE",
    "UNIQUE",
    "INDEX",
    "ON",
    "t",
    "(",
    ")",
    ",",
    ";",
    "a",
    "b",
    "TEXT",
    "BIGINT",
    "UNSIGNED",
    "DECIMAL",
    "TIMESTAMP",
    "ARRAY",
    "<",
    ">",
    "[",
    "]",
    "LIST",
    "TUPLE",
    "NOT",
    "NULL",
    "PRIMARY",
    "KEY",
    "COLLATE",
    "NOCASE",
    "WITH",
    "shards",
    "=",
    "format",
    "'lexkey'",
    "16",
    "-1",
    "1e400",
    "INCLUDE",
    "WHERE",
    "AND",
    "OR",
    "IN",
    "BETWEEN",
    "LIKE",
    "'a%'",
    "ESCAPE",
    "'\\'",
    "IS",
    "TRUE",
    "X'0'",
    "X'00'",
    "DATE",
    "INTERVAL",
    "'1h'",
    "ANY",
    "begins_with",
    "within",
    "NULLS",
    "FIRST",
];

#[test]
fn every_keyword_can_be_a_name() {
    let mut failed: Vec<String> = Vec::new();
    for keyword in sql::sqlparser::keywords::ALL_KEYWORDS {
        for name in [(*keyword).to_owned(), keyword.to_lowercase()] {
            let column = || field(&name);
            let only = Predicate::Or(vec![
                column().eq("x"),
                row([&name, &name]).gt(["x", "y"]),
                Predicate::And(vec![column().is_null(), column().between("a", "b")]),
                column().range(Bound::Excluded("a".into()), Bound::Included("b".into())).negate(),
                column().begins_with("x"),
                column().is_in(["x", "y"]),
            ]);
            let index = Index::on([name.as_str()]).named(&name).covering([name.as_str()]).only(only);
            let table =
                Table::named(&name).nullable(&name, "str").key([name.as_str()]).index(index).build().unwrap();
            if Table::from_sql(&table.to_sql()).as_ref() != Ok(&table) {
                failed.push(name);
            }
        }
    }
    assert_eq!(failed, [""; 0], "quote them");
}

#[test]
fn types_by_their_many_names() {
    let cases = [
        ("TEXT VARCHAR STRING STR CHAR", "str"),
        ("BIGINT INTEGER INT i64", "i64"),
        ("SMALLINT i16", "i16"),
        ("TINYINT I8", "i8"),
        ("U32", "u32"),
        ("DOUBLE FLOAT REAL F64", "f64"),
        ("DECIMAL NUMERIC", "decimal"),
        ("DECIMAL(10,2) NUMERIC(10,2)", "decimal(10,2)"),
        ("BOOLEAN BOOL", "bool"),
        ("BYTEA BLOB BYTES", "bytes"),
        ("UUID uuid", "uuid"),
        ("TIMESTAMP TIMESTAMP(6) TIMESTAMPTZ", "timestamp"),
        ("TIMESTAMP(3)", "timestamp(3)"),
        ("DATE", "date"),
        ("DURATION INTERVAL", "duration"),
        ("TEXT[] ARRAY<TEXT> LIST(TEXT)", "list(str)"),
        ("TUPLE(TEXT,BIGINT)", "tuple(str,i64)"),
    ];
    for (names, kind) in cases {
        for name in names.split_whitespace() {
            let table = table(&format!("k INT PRIMARY KEY, c {name}"), "");
            assert_eq!(table.column("c").unwrap().kind.to_string(), kind, "{name}");
        }
    }
    let table = table(
        "k INT PRIMARY KEY, a TEXT COLLATE NOCASE NOT NULL, b TEXT[] COLLATE NOCASE, c BIGINT UNSIGNED, \
         d SMALLINT UNSIGNED, e DOUBLE PRECISION, f TIMESTAMP(9) WITH TIME ZONE, \
         g TUPLE(TEXT COLLATE NOCASE DESC NULLS LAST, TUPLE())",
        "",
    );
    let kinds: Vec<String> = table.columns().iter().map(|column| column.kind.to_string()).collect();
    let expected =
        "i64 str:nocase list(str:nocase) u64 u16 f64 timestamp(9) tuple(str:nocase:desc:nulls-last,tuple())";
    assert_eq!(kinds.join(" "), expected);
}

#[test]
fn keys_are_not_null_unless_they_say_so() {
    let table = table("a INT, b INT NULL, c INT NOT NULL, d INT, PRIMARY KEY (a, b DESC NULLS FIRST)", "");
    let nullable: Vec<bool> = table.columns().iter().map(|column| column.nullable).collect();
    assert_eq!(nullable, [false, true, false, true]);
    assert_eq!(table.primary().fields().to_string(), "i64,i64:desc:nulls-first");
}

#[test]
fn options_and_constraints() {
    let table = table(
        "a TEXT, b TIMESTAMP, c TEXT UNIQUE, CONSTRAINT once UNIQUE (b, c), PRIMARY KEY (a)",
        "WITH (shards = 16, hash = 'xxhash', format = 'composite escape', expires = b)",
    );
    assert_eq!(table.primary().placement().to_string(), "shards 16 xxhash");
    assert_eq!(table.primary().format().to_string(), "composite escape");
    assert_eq!(table.expiry().unwrap().name, "b");
    let names: Vec<&str> = table.indexes().iter().map(|index| index.name()).collect();
    assert_eq!(names, ["t_by_c", "once"]);
    assert!(table.indexes().iter().all(|index| index.is_unique()));
}

#[test]
fn an_index_with_everything() {
    let text =
        "CREATE UNIQUE INDEX i ON t (a, b DESC NULLS FIRST) INCLUDE (c, d) WHERE c > 0 WITH (stripes = 16)";
    let statements =
        sql::parse(&format!("; {text}; CREATE INDEX IF NOT EXISTS j ON t (a); CREATE INDEX ON t (a)"))
            .unwrap();
    let [Statement::CreateIndex { table, index, if_not_exists: false }, second, third] =
        statements.as_slice()
    else {
        panic!("{statements:?}")
    };
    assert_eq!(table, "t");
    assert!(matches!(second, Statement::CreateIndex { if_not_exists: true, .. }));
    let Statement::CreateIndex { index: unnamed, .. } = third else { panic!("{third:?}") };
    let base = self::table("a INT PRIMARY KEY, b INT, c INT, d INT", "");
    let (_, index) = base.with_index((**index).clone()).unwrap();
    assert_eq!(
        base.index_to_sql(&index),
        "CREATE UNIQUE INDEX i ON t (a, b DESC NULLS FIRST) INCLUDE (c, d) WITH (stripes = 16) WHERE c > 0"
    );
    assert_eq!(base.with_index((**unnamed).clone()).unwrap().1.name(), "t_by_a");
}

#[test]
fn other_statements_are_left_to_the_caller() {
    let statements = sql::parse("SELECT a FROM t WHERE a = 1 LIMIT 5; DROP INDEX i").unwrap();
    assert!(matches!(statements.as_slice(), [Statement::Other(_), Statement::Other(_)]));
    assert!(refusal("SELECT 1").contains("begins with CREATE TABLE"));
    assert!(refusal("CREATE TABLE t (a INT PRIMARY KEY); DROP TABLE t").contains("only CREATE INDEX"));
    assert!(refusal("CREATE TABLE t (a INT PRIMARY KEY); CREATE INDEX ON u (a)").contains("an index on u"));
}

#[test]
fn refusals_say_where_and_what_to_do() {
    let cases = [
        (
            "CREATE TABLE t (a INT PRIMARY KEY) WITH (shard = 4)",
            "line 1, column 42: expected an option; the options are shards, hash, stripes, format, expires, found shard",
        ),
        ("CREATE TABLE t (a INT PRIMARY KEY) WITH (hash = 'md5')", "a hash without shards"),
        ("CREATE TABLE t (a INT PRIMARY KEY) WITH (shards = 4, stripes = 4)", "choose one"),
        ("CREATE TABLE t (a INT PRIMARY KEY) WITH (shards = 0)", "1 to 65536"),
        ("CREATE TABLE t (a INT PRIMARY KEY) WITH (format = 'jsonb')", "the formats are native"),
        ("CREATE TABLE t (\n  a INT PRIMARY KEY,\n  b JSON\n)", "line 3, column 5: expected a type"),
        ("CREATE TABLE t (a VARCHAR(20) PRIMARY KEY)", "write TEXT"),
        ("CREATE TABLE t (a DECIMAL(99) PRIMARY KEY)", "1 to 38 digits"),
        ("CREATE TABLE t (a TEXT[][] PRIMARY KEY)", "list of lists"),
        ("CREATE TABLE t (a INT COLLATE NOCASE PRIMARY KEY)", "only text has a collation"),
        ("CREATE TABLE t (a INT PRIMARY KEY, b INT DEFAULT 5)", "DEFAULT is not supported"),
        ("CREATE TABLE t (a INT PRIMARY KEY, b INT, PRIMARY KEY (b))", "a second primary key"),
        ("CREATE TABLE t (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES b (a))", "FOREIGN is not supported"),
        ("CREATE TABLE t (a INT)", "it has no primary key"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b))", "there is no column `b`"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (lower(a)))", "no expressions"),
        (
            "CREATE TABLE t (a INT PRIMARY KEY) ENGINE = x",
            "line 1, column 36: expected the end of the statement",
        ),
        ("CREATE TABLE t (a INT PRIMARY KEY", "expected `,` or `)`"),
        ("CREATE TABLE t (a 'x)", "line 1, column 19: Unterminated string literal"),
        ("SELECT FROM WHERE", "line 1, column"),
    ];
    for (text, said) in cases {
        let error = refusal(text);
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn conditions() {
    let cases = [
        ("a = 1", field("a").eq(1_i64)),
        ("1 = a", field("a").eq(1_i64)),
        ("1 <> a", field("a").ne(1_i64)),
        ("1 < a", field("a").gt(1_i64)),
        ("1 <= a", field("a").ge(1_i64)),
        ("1 > a", field("a").lt(1_i64)),
        ("1 >= a", field("a").le(1_i64)),
        (
            "a <> 'x' AND (b >= 1.50 OR NOT c <= -2)",
            Predicate::And(vec![
                field("a").ne("x"),
                Predicate::Or(vec![
                    field("b").ge(Value::Decimal("1.5".parse().unwrap())),
                    field("c").le(-2_i64).negate(),
                ]),
            ]),
        ),
        (
            "a BETWEEN 1 AND 2 AND b NOT BETWEEN 3 AND 4",
            Predicate::And(vec![field("a").between(1_i64, 2_i64), field("b").between(3_i64, 4_i64).negate()]),
        ),
        ("a IN (1, NULL)", field("a").is_in([Value::Int(1), Value::Null])),
        ("a IN ()", field("a").is_in(Vec::<Value<'static>>::new())),
        ("a NOT IN (1, 2)", field("a").is_in([1_i64, 2]).negate()),
        ("a IS NULL OR b IS NOT NULL", field("a").is_null().or(field("b").is_not_null())),
        ("a LIKE 'abc%'", field("a").begins_with("abc")),
        ("a LIKE '50!%!!%' ESCAPE '!'", field("a").begins_with("50%!")),
        ("a NOT LIKE 'abc'", field("a").eq("abc").negate()),
        ("begins_with(a, X'00ff')", field("a").begins_with(vec![0_u8, 0xFF])),
        ("(a, b) > (1, 'x')", row(["a", "b"]).gt([Value::Int(1), "x".into()])),
        ("(1, 2) >= (a, b)", row(["a", "b"]).le([1_i64, 2])),
        ("(a, b) = (1, 2)", field("a").eq(1_i64).and(field("b").eq(2_i64))),
        (
            "(a, b) IN ((1, 2), (3, 4))",
            field("a").eq(1_i64).and(field("b").eq(2_i64)).or(field("a").eq(3_i64).and(field("b").eq(4_i64))),
        ),
        ("'x' = ANY(tags)", field("tags").eq("x")),
        ("5 < ANY(sizes)", field("sizes").gt(5_i64)),
        ("a = ANY([1, 2])", field("a").is_in([1_i64, 2])),
        ("active AND NOT gone", field("active").eq(true).and(field("gone").eq(true).negate())),
        ("TRUE", Predicate::all()),
        ("FALSE", Predicate::none()),
        ("a = 18446744073709551615", field("a").eq(u64::MAX)),
        ("a = -9223372036854775808", field("a").eq(i64::MIN)),
        ("a = 1e300", field("a").eq(1e300)),
        (
            "a > TIMESTAMP '2025-01-17T08:00:00Z'",
            field("a").gt(keyloom_key::Timestamp::from_millis(1_737_100_800_000)),
        ),
        ("a = DATE '1970-01-02'", field("a").eq(keyloom_key::Date::from_days(1))),
        (
            "a = UUID '550e8400-e29b-41d4-a716-446655440001'",
            field("a").eq("550e8400-e29b-41d4-a716-446655440001".parse::<keyloom_key::Uuid>().unwrap()),
        ),
        ("a = INTERVAL '1h'", field("a").eq(keyloom_key::Duration::from_nanos(3_600_000_000_000))),
        ("\"select\" = 'it''s'", field("select").eq("it's")),
    ];
    for (text, expected) in cases {
        assert_eq!(condition(text), expected, "{text}");
        assert_eq!(condition(&format!("{expected:#}")), expected, "{expected:#}");
    }
}

#[test]
fn conditions_that_are_refused() {
    let cases = [
        ("a LIKE '%x'", "only LIKE 'start%'"),
        ("a LIKE 'x_'", "only LIKE 'start%'"),
        ("a LIKE 'x!' ESCAPE '!'", "stands before %, _ or itself"),
        ("a ILIKE 'x%'", "COLLATE NOCASE"),
        ("lower(a) = 'x'", "no expressions"),
        ("a = b", "`b` is no value"),
        ("a + 1 = 2", "no expressions"),
        ("t.a = 1", "write a"),
        ("a IN (SELECT b FROM t)", "ask the inner query first"),
        ("a = X'0'", "is no bytes"),
        ("a = DATE '2025-13-01'", "not a day"),
        ("a = ?", "none was given"),
        ("(a, b) > (1)", "no"),
        ("(a, b) > (1, 2, 3)", "2 fields are compared with 3 values"),
        ("a = INTERVAL '1' DAY", "INTERVAL '1h30m'"),
        ("a IS TRUE", "write = TRUE"),
        ("1 <> ANY(tags)", "write value = ANY(list)"),
        ("a = 1 b", "the end of the condition"),
        ("", "found: EOF"),
    ];
    for (text, said) in cases {
        let error = refused(text);
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn what_nests_too_deep_is_refused_and_never_overflows() {
    let deep = [
        format!("{}a = 1{}", "(".repeat(10_000), ")".repeat(10_000)),
        "NOT ".repeat(10_000) + "a",
        "a = 1 AND ".repeat(10_000) + "a = 1",
        "a".to_owned() + &" IS NULL".repeat(10_000),
        "a".to_owned() + &" :: INT".repeat(10_000),
        "a = ".to_owned() + &"-".repeat(10_000) + "1",
        "a = ".to_owned() + &"[".repeat(10_000) + &"]".repeat(10_000),
        "a".to_owned() + &"[1]".repeat(10_000),
        "a".to_owned() + &" - 1".repeat(10_000),
    ];
    for text in deep {
        assert!(sql::condition(&text).is_err());
    }
    let kinds =
        format!("CREATE TABLE t (a {}TEXT{} PRIMARY KEY)", "TUPLE(".repeat(10_000), ")".repeat(10_000));
    assert!(refusal(&kinds).contains("too deep"));
    // What a person writes is well within.
    condition(&("a = 1 AND ".repeat(240) + "a = 1"));
    condition(&format!("{}a = 1{}", "(".repeat(20), ")".repeat(20)));
    let many: String = (0..2_000).map(|number| format!("c{number} BIGINT NOT NULL, ")).collect();
    assert_eq!(table(&format!("{many} PRIMARY KEY (c0)"), "").columns().len(), 2_000);
    condition(&format!("a IN ({} 1)", "-1, ".repeat(10_000)));
}
