//! What `keyloom export` writes, `keyloom import` reads back: any table, any values, through real files of each format.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use keyloom::key::{Value, json};
use keyloom::schema::{Kind, Table as Definition};
use keyloom::{AnyStore, Database, Document, Location, Wait};
use keyloom_testkit::{random, tables};
use proptest::collection::vec;
use proptest::prelude::*;

fn keyloom(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_keyloom")).args(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

fn open(path: &Path) -> Database<AnyStore> {
    path.to_str().unwrap().parse::<Location>().unwrap().open().wait().unwrap()
}

fn all(path: &Path, name: &str) -> (String, Vec<Document>) {
    let table = open(path).table(name).wait().unwrap();
    let mut documents = Vec::new();
    for segment in table.segments(1).unwrap() {
        let look = |row: &keyloom::Row<'_>| {
            documents.push(row.to_document()?);
            Ok(ControlFlow::Continue(()))
        };
        table.scan(&segment, look).wait().unwrap();
    }
    (table.definition().unwrap().to_sql(), documents)
}

/// A value that no column declares: of any type, also within lists and maps.
fn undeclared() -> impl Strategy<Value = Value<'static>> {
    let scalar = prop_oneof![
        4 => random::kind(0).prop_flat_map(|kind| random::value(&kind)),
        1 => Just(Value::Null),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => (0..9_u64).prop_map(Value::from),
        1 => "\\$(u64|map|uuid|date|x)".prop_map(Value::from),
    ];
    let name = prop_oneof![random::text(), "\\$(u64|map|uuid|date|tuple|x)".prop_map(String::from)];
    scalar.prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::List),
            vec((name.clone(), inner.clone()), 0..3).prop_map(Value::map),
            vec(inner, 0..3).prop_map(Value::Tuple),
        ]
    })
}

fn document(table: &Definition) -> impl Strategy<Value = Document> + use<> {
    let columns: Vec<_> = table
        .columns()
        .iter()
        .map(|column| {
            let value = match &column.kind {
                Kind::One(kind) => random::value(kind),
                Kind::Many(kind) => vec(random::value(kind), 0..4).prop_map(Value::List).boxed(),
            };
            let value = if column.nullable {
                prop_oneof![1 => Just(None), 1 => Just(Some(Value::Null)), 4 => value.prop_map(Some)].boxed()
            } else {
                value.prop_map(Some).boxed()
            };
            (Just(column.name.clone()), value)
        })
        .collect();
    let names = prop_oneof![random::text(), Just("*".to_owned())];
    let fields = prop_oneof![1 => Just(Vec::new()), 2 => vec((names, undeclared()), 0..4)];
    let declared: Vec<String> = table.columns().iter().map(|column| column.name.clone()).collect();
    (columns, fields).prop_map(move |(columns, fields)| {
        let columns = columns.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let fields = fields.into_iter().filter(|(name, _)| !declared.contains(name));
        fields.chain(columns).collect()
    })
}

fn table() -> impl Strategy<Value = (Definition, Vec<Document>)> {
    tables::table().prop_flat_map(|table| {
        let bare =
            table.indexes().iter().fold(table.clone(), |table, index| table.without_index(index.name()));
        let documents = vec(document(&bare), 0..12);
        (Just(bare), documents)
    })
}

/// The same without nulls of declared columns, which CSV and Parquet do not tell from fields that are not there.
fn without_nulls(table: &Definition, documents: &[Document]) -> Vec<Document> {
    let without = |document: &Document| {
        let there =
            document.iter().filter(|(name, value)| table.column(name).is_none() || **value != Value::Null);
        there.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    };
    documents.iter().map(without).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("KEYLOOM_ROUND_TRIPS").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24)
    ))]

    #[test]
    fn any_table_comes_back((definition, documents) in table()) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let name = definition.name();
        {
            let database = open(&path("a.klm"));
            database.define(&definition.to_sql()).wait().unwrap();
            let table = database.table(name).wait().unwrap();
            for document in documents {
                // A format may not take a key, and no column takes NaN.
                let _ = table.put(document).wait();
            }
        }
        let (sql, before) = all(&path("a.klm"), name);
        for file in ["t.csv", "t.tsv.gz", "t.jsonl", "t.jsonl.zst", "t.parquet", "t.parquet.gz"] {
            let (file, database) = (path(file), path(&format!("{file}.klm")));
            let exists = !file.to_str().unwrap().contains("parquet");
            if exists {
                open(&database).define(&definition.to_sql()).wait().unwrap();
            }
            let (file, path) = (file.to_str().unwrap(), database.to_str().unwrap());
            keyloom(&["export", folder.path().join("a.klm").to_str().unwrap(), "--table", name, "--", file]);
            keyloom(&["import", path, "--table", name, "--", file]);
            let (definition_after, after) = all(&database, name);
            prop_assert_eq!(&definition_after, &sql, "{}", file);
            if file.contains("jsonl") {
                prop_assert_eq!(&after, &before, "{}", file);
            } else {
                prop_assert_eq!(after, without_nulls(&definition, &before), "{}", file);
            }
            let again = keyloom(&["import", path, "--table", name, "--", file]);
            prop_assert!(!again.contains("new") && !again.contains("replaced"), "{file}: {again}");
        }
    }
}

/// Values that once were, or easily are, not the same afterwards.
#[test]
fn values_that_hurt_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let sql =
        "CREATE TABLE t (id BIGINT, s TEXT, b BYTES, n DOUBLE, d DECIMAL, l LIST(TEXT), PRIMARY KEY (id))";
    let row =
        |id: i64, name: &'static str, value: Value<'static>| Document::new().with("id", id).with(name, value);
    let documents = [
        row(1, "s", "".into()),
        row(2, "s", "\"\"".into()),
        row(3, "s", "a\r\nb\n".into()),
        row(4, "s", ",\t;\u{feff}".into()),
        row(5, "b", Vec::<u8>::new().into()),
        row(6, "n", f64::INFINITY.into()),
        row(7, "n", f64::NEG_INFINITY.into()),
        row(8, "n", 5e-324.into()),
        row(9, "d", "1.500".parse::<keyloom::key::Decimal>().unwrap().into()),
        row(10, "l", Value::List(Vec::new())),
        row(11, "l", Value::list(["", "null", "NULL", "\\N"])),
        row(12, "*", "a field that is called as the column of all others is".into()),
        row(13, "x", Value::map([("$uuid", json::plain_from_json(&"no uuid".into()).unwrap())])),
        row(14, "x", Value::map([("$date", Value::from("2025-01-01"))])),
        row(15, "s", "NULL".into()),
        row(16, "x", 7_u64.into()),
        row(17, "x", Value::Tuple(vec![1_i64.into(), Value::Null])),
        row(18, "$", true.into()),
        row(19, "$map", Value::map([("$", Value::from(1_i64))])),
        row(20, "$u64", 7_i64.into()),
    ];
    {
        let database = open(Path::new(&path("a.klm")));
        database.define(sql).wait().unwrap();
        let table = database.table("t").wait().unwrap();
        for document in &documents {
            table.put(document.clone()).wait().unwrap();
        }
    }
    for file in ["t.csv", "t.jsonl", "t.parquet"] {
        let database = path(&format!("{file}.klm"));
        open(Path::new(&database)).define(sql).wait().unwrap();
        keyloom(&["export", &path("a.klm"), "--table", "t", &path(file)]);
        keyloom(&["import", &database, "--table", "t", &path(file)]);
        assert_eq!(all(Path::new(&database), "t").1, documents, "{file}");
    }
}
