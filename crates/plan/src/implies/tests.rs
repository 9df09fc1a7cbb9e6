use keyloom_schema::{Predicate, Table, field, row};

use super::*;

fn follows(given: Predicate, wanted: Predicate) -> bool {
    let table = Table::named("t")
        .column("id", "u64")
        .nullable("a", "i64")
        .nullable("b", "i64")
        .nullable("s", "str:nocase")
        .nullable("tags", "list(i64)")
        .key(["id"])
        .build()
        .unwrap();
    let of = |predicate: Predicate| Conditions::of(&table, predicate.bind(&table).unwrap()).unwrap();
    all_imply(&table, &of(given), &of(wanted)).unwrap()
}

#[test]
fn a_condition_follows_from_one_that_leaves_less() {
    let (a, s) = (|| field("a"), || field("s"));
    assert!(follows(a().eq(1), a().eq(1)));
    assert!(follows(a().is_in([1, 2]), a().is_in([1, 2, 3])));
    assert!(!follows(a().is_in([1, 4]), a().is_in([1, 2, 3])));
    assert!(follows(a().is_in([1, 2]), a().between(1, 2)));
    assert!(!follows(a().is_in([1, 3]), a().between(1, 2)));
    assert!(follows(a().between(1, 2), a().ge(1)));
    assert!(follows(a().gt(1), a().ge(1)));
    assert!(!follows(a().ge(1), a().gt(1)));
    assert!(!follows(a().ge(1), a().between(1, 2)));
    assert!(follows(a().gt(1).and(a().lt(5)), a().gt(0).and(a().lt(6))));
    assert!(follows(s().begins_with("AB"), s().begins_with("a")));
    assert!(!follows(s().begins_with("a"), s().begins_with("ab")));
    assert!(follows(a().eq(1).and(field("b").eq(2)), field("b").lt(3)));
    assert!(!follows(a().eq(1), field("b").eq(1)));
    assert!(!follows(Predicate::all(), a().eq(1)));
    assert!(follows(a().eq(1), Predicate::all()));
}

#[test]
fn a_comparison_needs_a_value() {
    let there = || field("a").is_not_null();
    assert!(follows(field("a").lt(7), there()));
    assert!(follows(field("a").ne(7).and(field("a").lt(9)), there()));
    assert!(follows(row(["a", "b"]).gt([1_i64, 2]), there()));
    // A row is decided by the first field that differs; the next may be null.
    assert!(!follows(row(["a", "b"]).gt([1_i64, 2]), field("b").is_not_null()));
    assert!(!follows(field("a").is_null(), there()));
    assert!(follows(field("other").eq(1), field("other").is_not_null()));
}

#[test]
fn an_or_needs_all_its_arms_and_gives_any() {
    let either = || field("a").eq(1).or(field("b").eq(2));
    assert!(follows(field("b").eq(2), either()));
    assert!(!follows(field("b").eq(3), either()));
    assert!(follows(either(), field("a").le(5).or(field("b").gt(0))));
    assert!(!follows(either(), field("a").le(5)));
}

/// One element that is like that does not say that no other is otherwise.
#[test]
fn of_a_list_only_what_holds_of_an_element_follows() {
    let tags = || field("tags");
    assert!(follows(tags().eq(1), tags().lt(3)));
    assert!(follows(tags().eq(1), tags().is_not_null()));
    assert!(!follows(tags().eq(1), tags().ne(2)));
}
