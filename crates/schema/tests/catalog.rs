//! A table in the catalog comes back as it was, and what this version cannot read is said.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use keyloom_key::Value;
use keyloom_schema::document::{Names, Payload};
use keyloom_schema::{Document, Error, Index, Table, field};
use keyloom_testkit::tables;
use proptest::prelude::*;

struct Nameless;

impl Names for Nameless {
    fn id(&self, _: &str) -> Option<u16> {
        None
    }

    fn name(&self, _: u16) -> Option<&str> {
        None
    }
}

fn bytes(table: &Table) -> Vec<u8> {
    let mut bytes = Vec::new();
    table.encode(&mut bytes).unwrap();
    bytes
}

fn stored(table: &Table) -> Document {
    Payload::new(&bytes(table)).unwrap().to_document(&Nameless).unwrap()
}

fn decode(document: &Document) -> Result<Table, Error> {
    let mut bytes = Vec::new();
    document.encode(&Nameless, &mut bytes).unwrap();
    Table::decode(&bytes)
}

fn orders() -> Table {
    Table::named("orders")
        .column("id", "u64")
        .nullable("tags", "list(str:nocase)")
        .key(["id desc"])
        .build()
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_table_comes_back(table in tables::table()) {
        let decoded = Table::decode(&bytes(&table)).unwrap();
        prop_assert_eq!(&decoded, &table);
        prop_assert_eq!(decoded.fingerprint(), table.fingerprint());
        prop_assert_eq!(table.compare(&decoded), Ok(()));
    }

    #[test]
    fn damage_never_panics(table in tables::table(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = bytes(&table);
        *at.get_mut(bytes.as_mut_slice()) = to;
        let _ = Table::decode(&bytes);
    }
}

#[test]
fn a_name_of_a_later_version_is_an_error_that_says_to_upgrade() {
    let mut later = stored(&orders());
    later.set("compression", "zstd");
    let error = decode(&later).unwrap_err().to_string();
    assert!(error.contains("`compression` in a table") && error.contains("upgrade"), "{error}");

    let mut later = stored(&orders());
    let Some(Value::List(columns)) = later.remove("columns") else { panic!("no columns") };
    let columns = columns.into_iter().map(|column| {
        let Value::Map(mut column) = column else { panic!("no column") };
        column.push(("unit".into(), "cents".into()));
        Value::Map(column)
    });
    later.set("columns", Value::list(columns.collect::<Vec<_>>()));
    let error = decode(&later).unwrap_err().to_string();
    assert!(error.contains("`unit` in a column") && error.contains("upgrade"), "{error}");
}

#[test]
fn what_is_missing_or_impossible_is_damage() {
    let mut damaged = stored(&orders());
    damaged.remove("primary");
    assert_eq!(
        decode(&damaged).unwrap_err().to_string(),
        "byte 0: the catalog is damaged: a table has no `primary`"
    );

    let mut damaged = stored(&orders());
    damaged.set("expiry", 9_u16);
    assert_eq!(
        decode(&damaged).unwrap_err().to_string(),
        "byte 0: the catalog is damaged: there is no column 9"
    );
    assert!(Table::decode(&[]).is_err());
}

#[test]
fn a_predicate_too_deep_for_a_document_is_refused() {
    let deep = (0..100).fold(field("id").eq(1_u64), |inner, _| inner.negate());
    let (table, _) = orders().with_index(Index::on(["id"]).only(deep)).unwrap();
    let mut out = vec![7];
    assert!(table.encode(&mut out).unwrap_err().to_string().contains("indexes"));
    assert_eq!(out, [7]);
}
