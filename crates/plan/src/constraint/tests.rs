use keyloom_key::Value;
use keyloom_schema::{Predicate, Table, field, row};

use super::*;

fn table() -> Table {
    Table::named("t")
        .column("id", "u64")
        .nullable("a", "i64")
        .column("s", "str:nocase")
        .nullable("x", "f64")
        .nullable("tags", "list(i64)")
        .nullable("pair", "tuple(i64:desc)")
        .key(["id"])
        .build()
        .unwrap()
}

/// The conditions as text; `never` if they contradict one another.
fn simple(filter: Predicate) -> String {
    let table = table();
    let conditions = Conditions::of(&table, filter.bind(&table).unwrap()).unwrap();
    let texts: Vec<String> = conditions.all.iter().map(Predicate::to_string).collect();
    if conditions.never { "never".to_owned() } else { texts.join("; ") }
}

#[test]
fn values_one_by_one_are_asked_the_rest_at_once() {
    let a = || field("a");
    assert_eq!(simple(a().eq(2).or(a().eq(1)).or(a().is_in([2, 3]))), "a IN (1, 2, 3)");
    assert_eq!(simple(a().is_in([1, 2, 3]).and(a().is_in([3, 1, 7]))), "a IN (1, 3)");
    assert_eq!(simple(a().is_in([1, 5, 9]).and(a().gt(1)).and(a().le(5))), "a = 5");
    assert_eq!(simple(a().is_in([1, 5]).and(a().ne(1))), "a = 5");
    assert_eq!(simple(a().eq(1).and(a().eq(2))), "never");
    assert_eq!(simple(a().eq(1).and(a().is_null())), "never");
    assert_eq!(simple(field("s").is_in(["A", "a", "b"]).and(field("s").begins_with("A"))), "s = 'A'");
    assert_eq!(simple(a().is_in([Value::Null, Value::from(1)])), "a = 1");
    assert_eq!(simple(a().eq(Value::Null)), "never");
}

#[test]
fn ranges_meet() {
    let a = || field("a");
    assert_eq!(simple(a().gt(1).and(a().le(9)).and(a().ge(1)).and(a().lt(12))), "a > 1 AND a <= 9");
    assert_eq!(simple(a().ge(3).and(a().le(3))), "a = 3");
    assert_eq!(simple(a().ge(3).and(a().lt(3))), "never");
    assert_eq!(simple(a().gt(5).and(a().lt(3))), "never");
    assert_eq!(simple(a().is_not_null().and(a().lt(3))), "a < 3");
    assert_eq!(simple(a().lt(3).and(a().is_null())), "never");
    assert_eq!(simple(row(["a"]).ge([3_i64]).and(a().lt(7))), "a >= 3 AND a < 7");
    assert_eq!(simple(a().gt(1).and(a().ne(4))), "a > 1; a <> 4");
    assert_eq!(simple(field("x").gt(f64::NAN).and(field("x").gt(1.0))), "never");
}

#[test]
fn what_says_nothing_is_left_out() {
    assert_eq!(simple(Predicate::all()), "");
    assert_eq!(simple(Predicate::none()), "never");
    assert_eq!(simple(field("id").is_not_null()), "");
    assert_eq!(simple(field("id").is_null()), "never");
    assert_eq!(simple(field("a").is_not_null()), "a IS NOT NULL");
    assert_eq!(simple(field("a").eq(1).negate().negate()), "a = 1");
}

/// Each condition on a list may be met by another element, and tuples compare by rules that a filter does not know.
#[test]
fn lists_tuples_and_undeclared_fields_are_left_alone() {
    assert_eq!(simple(field("tags").eq(1).and(field("tags").eq(2))), "tags = 1; tags = 2");
    assert_eq!(simple(field("tags").gt(5).and(field("tags").lt(3))), "tags > 5; tags < 3");
    assert_eq!(simple(field("tags").eq(1).or(field("tags").eq(2))), "tags IN (1, 2)");
    assert_eq!(simple(field("other").gt(5).and(field("other").lt(3))), "other > 5; other < 3");
    let pair = |number: i64| Value::Tuple(vec![number.into()]);
    assert_eq!(simple(field("pair").gt(pair(5)).and(field("pair").lt(pair(3)))), "pair > [5]; pair < [3]");
}
