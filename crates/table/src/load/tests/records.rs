//! A table with a descending key, a unique index and one of several values, and what is loaded into it.

use keyloom_key::Value;
use keyloom_schema::{Document, Index, Table as Definition};
use keyloom_store::{MemoryStore, Wait};

use super::{Database, Table};

pub(super) fn table() -> Table<MemoryStore> {
    let definition = Definition::named("t")
        .column("a", "str")
        .column("b", "i64")
        .nullable("u", "i64")
        .column("tags", "list(str)")
        .key(["a", "b desc"])
        .index(Index::on(["u"]).unique())
        .index(Index::on(["tags", "b"]).covering(["u"]));
    Database::open(MemoryStore::new()).wait().unwrap().create_table(definition).wait().unwrap()
}

/// Records in no order of their keys.
pub(super) fn record(number: i64) -> Document {
    let tags = Value::list([format!("t{}", number % 7), format!("t{}", number % 3)]);
    let record = Document::new().with("a", format!("a{}", number * 7_919 % 101)).with("b", number);
    // Nulls are never in one another's way.
    let unique = if number % 5 == 0 { Value::Null } else { number.into() };
    record.with("u", unique).with("tags", tags).with("note", number * 2)
}
