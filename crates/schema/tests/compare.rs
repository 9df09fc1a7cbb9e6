//! What a program declares against what is stored.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use keyloom_schema::{Format, Index, IndexBuilder, State, Table, TableBuilder, field};
use keyloom_testkit::tables;
use proptest::prelude::*;

fn columns() -> TableBuilder {
    Table::named("orders")
        .column("user_id", "str")
        .column("date", "timestamp")
        .nullable("status", "str")
        .nullable("ends", "timestamp")
}

fn by_status() -> IndexBuilder {
    Index::on(["status", "date desc"]).named("by_status")
}

fn orders() -> Table {
    columns().key(["user_id", "date desc"]).index(by_status()).build().unwrap()
}

/// The two lines of the difference.
fn difference(stored: &Table, declared: &Table) -> (String, String) {
    let text = stored.compare(declared).unwrap_err().to_string();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("table orders is stored otherwise than it is declared:"));
    let stored = lines.next().unwrap().strip_prefix("  stored    ").unwrap().to_owned();
    let declared = lines.next().unwrap().strip_prefix("  declared  ").unwrap().to_owned();
    assert_eq!(lines.next(), None);
    (stored, declared)
}

#[test]
fn numbers_states_and_more_in_the_store_are_no_difference() {
    let mut stored = columns()
        .nullable("note", "str")
        .key(["user_id", "date desc"])
        .index(Index::on(["note"]))
        .index(by_status())
        .build()
        .unwrap()
        .with_index_state("by_status", State::Building);
    stored.number_trees(7);
    assert_eq!(stored.compare(&orders()), Ok(()));
}

#[test]
fn each_difference_shows_both_sides() {
    let keyed = || columns().key(["user_id", "date desc"]);
    let cases = [
        (
            columns().key(["date desc", "user_id"]),
            "primary key (user_id, date desc)",
            "primary key (date desc, user_id)",
        ),
        (
            columns().key(["user_id", "date"]),
            "primary key (user_id, date desc)",
            "primary key (user_id, date)",
        ),
        (
            keyed().shards(16),
            "primary key (user_id, date desc)",
            "primary key (user_id, date desc) shards 16",
        ),
        (keyed().expires_by("ends"), "records do not end", "records end by ends"),
        (
            columns().nullable("note", "str").key(["user_id", "date desc"]),
            "no column note: add it, or leave it undeclared and it is kept all the same",
            "column note str nullable",
        ),
        (
            keyed().index(Index::on(["ends"])),
            "no index orders_by_ends: create it",
            "index orders_by_ends (ends)",
        ),
        (
            keyed().index(by_status().unique().covering(["ends"])),
            "index by_status (status, date desc)",
            "unique index by_status (status, date desc) covering (ends)",
        ),
        (
            keyed().index(by_status().only(field("status").eq("open"))),
            "index by_status (status, date desc)",
            "index by_status (status, date desc) only status = 'open'",
        ),
    ];
    for (declared, stored, said) in cases {
        assert_eq!(difference(&orders(), &declared.build().unwrap()), (stored.to_owned(), said.to_owned()));
    }
}

#[test]
fn types_collations_nulls_and_formats_are_differences() {
    let table = |user: &str, format: Format| {
        Table::named("orders").column("user_id", user).column("n", "u64").key(["user_id", "n"]).format(format)
    };
    let stored = table("str", Format::Native).build().unwrap();
    let declared = table("str:nocase", Format::Native).build().unwrap();
    let expected = ("column user_id str".to_owned(), "column user_id str:nocase".to_owned());
    assert_eq!(difference(&stored, &declared), expected);
    let declared = table("str", Format::LexKey).build().unwrap();
    let expected = ("primary key (user_id, n)".to_owned(), "primary key (user_id, n) lexkey".to_owned());
    assert_eq!(difference(&stored, &declared), expected);
    let declared = Table::named("orders").nullable("user_id", "str").column("n", "u64").key(["user_id", "n"]);
    let expected = ("column user_id str".to_owned(), "column user_id str nullable".to_owned());
    assert_eq!(difference(&stored, &declared.build().unwrap()), expected);
}

#[test]
fn a_column_that_every_record_must_have_must_be_declared() {
    let stored =
        columns().column("amount", "i64").key(["user_id", "date desc"]).index(by_status()).build().unwrap();
    let (stored, declared) = difference(&stored, &orders());
    assert_eq!(stored, "column amount i64");
    assert_eq!(declared, "no column amount: declare it, for every record must have it");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn one_more_index_changes_the_fingerprint_and_a_state_does_not(table in tables::table(), next in 2000_u32..3000) {
        let mut other = table.clone();
        for index in table.indexes() {
            other = other.with_index_state(index.name(), State::Building);
        }
        prop_assert_eq!(other.fingerprint(), table.fingerprint());
        let first = table.primary().parts()[0].name.clone();
        let (mut more, _) = table.with_index(Index::on([first.as_str()]).named("one more")).unwrap();
        more.number_trees(next);
        prop_assert_ne!(more.fingerprint(), table.fingerprint());
        prop_assert_eq!(more.compare(&table), Ok(()));
        prop_assert!(table.compare(&more).is_err());
    }
}
