//! Whether a change is made without a look, by what a table is like and by who asks.

use keyloom_schema::{Document, Index, State, Table as Definition, field};

use super::{Before, follows_keys, is_blind};
use crate::apply::Commits;
use crate::change::{Change, Update, When};

fn visits(index: Option<keyloom_schema::IndexBuilder>) -> Definition {
    let table = Definition::named("visits").column("user", "str").column("day", "i64").column("n", "i64");
    let table = table.key(["user", "day"]);
    let table = match index {
        None => table,
        Some(index) => table.index(index.named("i")),
    };
    table.build().unwrap()
}

fn changes() -> [Change; 5] {
    let visit = Document::new().with("user", "U1").with("day", 1_i64).with("n", 1_i64);
    let key = || [keyloom_key::Value::from("U1"), 1_i64.into()];
    [
        Change::put(visit.clone()),
        Change::delete(key()),
        Change::update(key(), Update::new().set("n", 2_i64)),
        Change::put(visit).when(When::Is(field("n").eq(1_i64))),
        Change::delete(key()).when(When::Exists),
    ]
}

#[test]
fn only_what_nothing_depends_on_is_not_looked_at() {
    let blind = |table: &Definition, commits: Commits, before: Before| {
        changes().map(|change| is_blind(table, &change, commits, before))
    };
    let (none, by_key) = (visits(None), visits(Some(Index::on(["day"]))));
    let by_number = visits(Some(Index::on(["n"])));
    for (table, commits, before, put, delete) in [
        (&none, Commits::All, Before::Untold, true, true),
        (&none, Commits::All, Before::Told, true, false),
        (&none, Commits::Record, Before::Untold, true, false),
        (&by_key, Commits::All, Before::Untold, true, true),
        (&by_key, Commits::All, Before::Told, false, false),
        (&by_key, Commits::Record, Before::Untold, false, false),
        (&by_number, Commits::All, Before::Untold, false, false),
    ] {
        let expected = [put, delete, false, false, false];
        assert_eq!(blind(table, commits, before), expected, "{table:?} {commits:?} {before:?}");
    }
}

#[test]
fn an_index_that_comes_or_goes_has_entries_that_must_go() {
    let table = visits(Some(Index::on(["day"])));
    for (state, follows) in [
        (State::Ready, true),
        (State::Building, true),
        (State::Stopping, true),
        (State::Starting, false),
        (State::Ending, false),
    ] {
        let table = table.with_index_state("i", state);
        assert_eq!(follows_keys(&table, Commits::All), follows, "{state:?}");
    }
}
