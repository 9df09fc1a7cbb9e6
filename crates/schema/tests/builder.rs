//! Names of columns within the text of a key.

use keyloom_schema::{Index, Table};

#[test]
fn a_name_may_hold_spaces() {
    let table = Table::named("t")
        .column("order", "str")
        .column("order date", "timestamp")
        .key(["order date desc", " order "])
        .index(Index::on(["order date"]))
        .build()
        .unwrap();
    assert_eq!(table.primary().text(), "(order date desc, order)");
    assert_eq!(table.indexes()[0].name(), "t_by_order date");
}

#[test]
fn a_name_that_would_be_misread_is_refused() {
    for name in ["", " a", "a ", "a desc", "a\tNULLS-LAST"] {
        let error = Table::named("t").column(name, "str").key([name]).build().unwrap_err().to_string();
        assert!(error.contains("is no name of a column"), "{error}");
    }
    assert!(Table::named("t").column("desc", "str").key(["desc desc"]).build().is_ok());
}

#[test]
fn what_stands_behind_a_name_must_be_known() {
    let build = |key: &str| Table::named("t").column("a", "str").key([key]).build().unwrap_err().to_string();
    assert!(build("a down").contains("`down` in `a down`"));
    assert!(build("ab").contains("there is no column `ab`"));
}

#[test]
fn a_wrong_description_of_an_index_is_said_when_it_is_built() {
    let build =
        |index| Table::named("t").column("a", "str").key(["a"]).index(index).build().unwrap_err().to_string();
    assert!(build(Index::on(["a"]).shards(0)).contains("0 shards, where 1 to 65536 are possible"));
    assert!(build(Index::on(["a"]).stripes(257)).contains("257 stripes, where 1 to 256 are possible"));
    assert!(build(Index::on(["a"]).format_named("json")).contains("format `json`"));
}
