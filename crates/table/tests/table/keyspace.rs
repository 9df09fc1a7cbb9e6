//! The picture of a small database in `VALUE_FORMAT.md` is what lies in a store, byte by byte.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::fmt::Write;
use std::ops::ControlFlow;

use keyloom_key::{Span, Value};
use keyloom_schema::{Document, Index, Table as Definition};
use keyloom_store::{Direction, Limits, MemoryStore, Read, Wait};
use keyloom_table::Database;

const PAGE: &str = include_str!("../../../../VALUE_FORMAT.md");

#[test]
fn the_page_shows_what_lies_in_a_store() {
    let database = Database::open(MemoryStore::new()).wait().unwrap();
    let users = Definition::named("u")
        .column("id", "i64")
        .nullable("mail", "str")
        .nullable("tags", "list(str)")
        .key(["id"])
        .shards(16)
        .index(Index::on(["mail"]).unique())
        .index(Index::on(["tags"]).covering(["mail"]));
    let users = database.create_table(users).wait().unwrap();
    let tags = Value::List(vec!["b".into(), "a".into()]);
    users
        .put(Document::new().with("id", 1_i64).with("mail", "m").with("tags", tags).with("age", 36_i64))
        .wait()
        .unwrap();
    users.put(Document::new().with("id", 2_i64)).wait().unwrap();
    let index = database.open_index("i", "i64", "str").wait().unwrap();
    index.add(7_i64, "x").wait().unwrap();
    database.analyze("u").wait().unwrap();

    let mut shown = String::new();
    let everything = Span { start: Vec::new(), end: None };
    let look = |key: &[u8], value: &[u8]| {
        // A table's own bytes are a document, which the page explains above.
        let value = if key.starts_with(b"\0\0\0\0t") { "a document".to_owned() } else { hex(value) };
        writeln!(shown, "    {:<44} {value}", hex(key)).unwrap();
        ControlFlow::Continue(())
    };
    database.store().scan(&everything, Direction::Forward, Limits::default(), look).wait().unwrap();
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let page: Vec<&str> = PAGE.lines().map(str::trim_end).collect();
    let at = page.windows(shown.len()).position(|lines| lines == shown);
    assert!(at.is_some(), "the page should show:\n\n{}\n", shown.join("\n"));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}
