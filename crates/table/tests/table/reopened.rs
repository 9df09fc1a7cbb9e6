//! A file is opened again by a program that declares its table otherwise: refused, with both sides shown, and unharmed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::path::Path;

use keyloom_lmdb::LmdbStore;
use keyloom_schema::{Document, Format, Index, Table as Definition, TableBuilder, field};
use keyloom_store::Wait;
use keyloom_table::{Database, Error, Query};

fn open(path: &Path) -> Database<LmdbStore> {
    Database::open(LmdbStore::open(path).unwrap()).wait().unwrap()
}

fn columns(user: &str, number: &str) -> TableBuilder {
    Definition::named("orders").column("user", user).column("number", number).nullable("status", "str")
}

fn orders() -> TableBuilder {
    columns("str", "u64")
        .key(["user", "number desc"])
        .shards(8)
        .index(Index::on(["status"]).named("by_status"))
}

/// What is declared otherwise, and the two lines that say so.
fn others() -> Vec<(TableBuilder, &'static str, &'static str)> {
    let keyed = || columns("str", "u64").key(["user", "number desc"]);
    let index = |index| keyed().shards(8).index(index);
    let key = "primary key (user, number desc) shards 8";
    let by_status = "index by_status (status)";
    vec![
        (keyed().shards(16), key, "primary key (user, number desc) shards 16"),
        (keyed(), key, "primary key (user, number desc)"),
        (keyed().stripes(8), key, "primary key (user, number desc) stripes 8"),
        (
            keyed().placement("shards 8 xxhash".parse().unwrap()),
            key,
            "primary key (user, number desc) shards 8 xxhash",
        ),
        (
            columns("str", "u64").key(["number desc", "user"]).shards(8),
            key,
            "primary key (number desc, user) shards 8",
        ),
        (columns("str", "u64").key(["user", "number"]).shards(8), key, "primary key (user, number) shards 8"),
        (
            columns("str", "u64").key(["user", "number"]).shards(8).format(Format::LexKey),
            key,
            "primary key (user, number) lexkey shards 8",
        ),
        (
            columns("str", "i64").key(["user", "number desc"]).shards(8),
            "column number u64",
            "column number i64",
        ),
        (
            columns("str:nocase", "u64").key(["user", "number desc"]).shards(8),
            "column user str",
            "column user str:nocase",
        ),
        (index(Index::on(["status desc"]).named("by_status")), by_status, "index by_status (status desc)"),
        (
            index(Index::on(["status"]).named("by_status").unique()),
            by_status,
            "unique index by_status (status)",
        ),
        (
            index(Index::on(["status"]).named("by_status").placement("shards 4".parse().unwrap())),
            by_status,
            "index by_status (status) shards 4",
        ),
    ]
}

#[test]
fn a_table_that_is_declared_otherwise_is_refused_with_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orders.klm");
    let order = Document::new().with("user", "Ada").with("number", 1_u64).with("status", "open");
    open(&path).open_table(orders()).wait().unwrap().put(order.clone()).wait().unwrap();
    for (declared, stored, said) in others() {
        let database = open(&path);
        let error = database.open_table(declared).wait().unwrap_err();
        assert!(matches!(error, Error::Schema(keyloom_schema::Error::Differs { .. })), "{error}");
        let text = error.to_string();
        let expected = format!(
            "table orders is stored otherwise than it is declared:\n  stored    {stored}\n  declared  {said}"
        );
        assert_eq!(text, expected);
    }
    let database = open(&path);
    let opened = database.open_table(orders()).wait().unwrap();
    let found = opened.query(&Query::new().filter(field("status").eq("open"))).wait().unwrap();
    assert_eq!(found.records[0].document, order);
    assert_eq!(database.verify("orders").wait().unwrap().differences, []);
}

#[test]
fn a_plain_index_of_other_types_is_refused_with_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.klm");
    open(&path).open_index("words", "str", "i64").wait().unwrap().add("one", 1_i64).wait().unwrap();
    for (key, value) in [("str:nocase", "i64"), ("str:desc", "i64"), ("str", "u64")] {
        let error = open(&path).open_index("words", key, value).wait().unwrap_err().to_string();
        assert!(error.contains("str,i64") && error.contains(&format!("{key},{value}")), "{error}");
    }
    let words = open(&path).open_index("words", "str", "i64").wait().unwrap();
    assert_eq!(words.values("one").wait().unwrap(), [1_i64.into()]);
}
