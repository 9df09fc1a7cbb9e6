//! Which indexes have entries whose keys follow from those of their records.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use keyloom_schema::{Format, Index, IndexBuilder, Placement, Table, TableBuilder, field, row};

fn table() -> TableBuilder {
    Table::named("t")
        .column("a", "str")
        .nullable("b", "i64")
        .column("d", "str:nocase")
        .nullable("x", "f64")
        .column("n", "i64")
        .nullable("tags", "list(i64)")
        .nullable("ends", "timestamp")
}

/// Whether an index of a table with this key is of the key, however the table was made.
fn is_of_key(key: TableBuilder, index: IndexBuilder) -> bool {
    let built = key.clone().index(index.clone().named("i")).build().unwrap();
    let mut bytes = Vec::new();
    built.encode(&mut bytes).unwrap();
    let (later, _) = key.build().unwrap().with_index(index.named("i")).unwrap();
    let said = [built, Table::decode(&bytes).unwrap(), later];
    let said = said.map(|table| table.index("i").unwrap().is_of_key());
    assert_eq!(said, [said[0]; 3]);
    said[0]
}

#[test]
fn columns_of_the_key_in_any_order_are() {
    let key = || table().key(["a", "b desc"]);
    let shards: Placement = "shards 4".parse().unwrap();
    for index in [
        Index::on(["b"]),
        Index::on(["a"]),
        Index::on(["b nulls-last", "a desc"]),
        Index::on(["b"]).placement(shards),
        Index::on(["b"]).only(field("a").begins_with("U").or(field("b").is_null())),
        Index::on(["a"]).only(row(["b", "a"]).gt([keyloom_key::Value::from(1_i64), "x".into()])),
        // What an entry carries is written anew with it.
        Index::on(["b"]).covering(["n", "tags", "b"]),
    ] {
        assert!(is_of_key(key(), index.clone()), "{index:?}");
        assert!(is_of_key(key().shards(8).expires_by("ends"), index.clone()), "{index:?}");
    }
}

#[test]
fn what_the_key_does_not_say_is_not() {
    for index in [
        Index::on(["n"]),
        Index::on(["b", "n"]),
        Index::on(["tags"]),
        Index::on(["b", "tags"]),
        Index::on(["b"]).only(field("n").eq(1_i64)),
        Index::on(["b"]).only(field("a").eq("x").and(field("n").eq(1_i64).negate())),
        Index::on(["b"]).only(row(["b", "n"]).gt([1_i64, 2])),
        // A field that no column is declared for.
        Index::on(["b"]).only(field("other").is_null()),
    ] {
        assert!(!is_of_key(table().key(["a", "b desc"]), index.clone()), "{index:?}");
    }
}

#[test]
fn another_record_may_be_in_the_way_of_a_unique_one() {
    assert!(!is_of_key(table().key(["a", "b"]), Index::on(["b"]).unique()));
    assert!(!is_of_key(table().key(["a", "b"]), Index::on(["b", "a"]).unique()));
}

/// A key has one of several spellings, and native keys the same bytes for all.
#[test]
fn spellings_are_one_in_native_keys_only() {
    let words = || table().key(["d", "n"]);
    assert!(is_of_key(words(), Index::on(["n"])));
    assert!(is_of_key(words(), Index::on(["n"]).covering(["d"])));
    assert!(is_of_key(words(), Index::on(["n"]).only(field("n").ge(1_i64))));
    assert!(!is_of_key(words(), Index::on(["n"]).only(field("d").eq("a"))));
    let numbers = || table().column("y", "f64").key(["y", "n"]);
    assert!(is_of_key(numbers(), Index::on(["n"])));
    assert!(!is_of_key(numbers(), Index::on(["n"]).format(Format::LexKey)));
    assert!(!is_of_key(numbers().format(Format::LexKey), Index::on(["n"])));
    // Exact ones are the same in every format.
    assert!(is_of_key(table().key(["a", "n"]).format(Format::LexKey), Index::on(["n"])));
    assert!(is_of_key(table().key(["a", "n"]), Index::on(["n"]).format(Format::LexKey)));
}
