//! Doubts about the order of keys, and no false alarm.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use keyloom_schema::{Index, IndexBuilder, Table, TableBuilder, field};

const NONE: [&str; 0] = [];

fn table() -> TableBuilder {
    Table::named("orders")
        .column("user_id", "str")
        .column("order_date", "timestamp")
        .column("order_id", "uuid")
        .column("number", "i64")
        .column("active", "bool")
        .column("grade", "u8")
        .column("weight", "f64")
        .column("status", "str")
        .column("tags", "list(str)")
}

fn warnings(table: TableBuilder) -> Vec<String> {
    table.build().unwrap().warnings().iter().map(ToString::to_string).collect()
}

fn of_index(index: IndexBuilder) -> Vec<String> {
    warnings(table().key(["user_id", "order_date", "order_id"]).index(index.named("x")))
}

#[test]
fn the_order_key_of_the_specification_is_fine() {
    assert_eq!(warnings(table().key(["user_id", "order_date", "order_id"])), NONE);
    assert_eq!(warnings(table().key(["user_id", "order_date desc", "number"]).shards(16)), NONE);
    assert_eq!(warnings(table().key(["user_id"])), NONE);
}

#[test]
fn few_values_come_behind_many() {
    let warned = warnings(table().key(["active", "user_id"]));
    assert_eq!(warned, ["primary: active has at most 2 values and narrows little: put it behind user_id"]);
    let warned = of_index(Index::on(["grade", "status"]));
    assert_eq!(warned, ["x: grade has at most 256 values and narrows little: put it behind status"]);
    // Equality before range is right, however few the values are.
    assert_eq!(of_index(Index::on(["active", "order_date"])), NONE);
    assert_eq!(of_index(Index::on(["active"])), NONE);
    assert_eq!(of_index(Index::on(["status", "active"])), NONE);
}

#[test]
fn equality_comes_before_range() {
    let reason = "a read that is bounded by a range of order_date cannot be bounded by status, which stands behind \
                  it: put order_date last, or make a second index";
    assert_eq!(warnings(table().key(["user_id", "order_date", "status"])), [format!("primary: {reason}")]);
    assert_eq!(of_index(Index::on(["number", "order_date", "status"])), [format!("x: {reason}")]);
    let reason = "a read that is bounded by a range of weight cannot be bounded by number, which stands behind it: \
                  put weight last, or make a second index";
    // The number is not of the primary key, so it is no tie-breaker, unless it is unique with the rest.
    assert_eq!(of_index(Index::on(["weight", "number"])), [format!("x: {reason}")]);
    assert_eq!(of_index(Index::on(["weight", "number"]).unique()), NONE);
    assert_eq!(of_index(Index::on(["status", "order_date", "order_id"])), NONE);
}

#[test]
fn time_first_is_a_hot_spot_unless_it_is_spread() {
    let reason = "new records all go to one end, because order_date comes first: put a column before it, or spread \
                  the keys over shards";
    assert_eq!(warnings(table().key(["order_date", "order_id"])), [format!("primary: {reason}")]);
    assert_eq!(warnings(table().key(["order_date", "order_id"]).shards(16)), NONE);
    assert_eq!(of_index(Index::on(["order_date"])), [format!("x: {reason}")]);
}

#[test]
fn an_index_that_begins_another_is_redundant() {
    let both = |a: IndexBuilder, b: IndexBuilder| {
        warnings(table().key(["user_id"]).index(a.named("a")).index(b.named("b")))
    };
    let (short, long) = (|| Index::on(["status"]), || Index::on(["status", "number"]));
    assert_eq!(both(short(), long()), ["a: b begins with the same columns: drop this one"]);
    assert_eq!(both(long(), short()), ["b: a begins with the same columns: drop this one"]);
    assert_eq!(both(short(), short()), ["b: a begins with the same columns: drop this one"]);
    assert_eq!(
        of_index(Index::on(["user_id"])),
        ["x: the primary key begins with the same columns: drop the index"]
    );
    // Each of these does what the other does not.
    let open = || field("status").eq("open");
    let different = [
        (short().unique(), long()),
        (Index::on(["status desc"]), long()),
        (short().only(open()), long()),
        (short(), long().only(open())),
        (short().covering(["weight"]), long()),
        (short(), Index::on(["status", "tags"])),
        (short().placement("shards 4".parse().unwrap()), long()),
    ];
    for (a, b) in different {
        assert_eq!(both(a, b), NONE);
    }
    assert_eq!(both(short().covering(["number", "weight"]), long().covering(["weight"])).len(), 1);
}
