//! Rows as they lie in the store: a field by its column's number is the field by its name, wherever the record keeps it.

use std::ops::ControlFlow;

use keyloom_key::Value;
use keyloom_schema::{Document, Index, Table as Definition, field};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::{Database, Query, Row};

#[test]
fn a_field_by_number_is_the_field_by_name() {
    let database = Database::open(MemoryStore::new()).wait().unwrap();
    let table = Definition::named("orders")
        .column("user", "str")
        .column("weight", "f64")
        .nullable("status", "str")
        .nullable("note", "str")
        .key(["user", "weight"])
        .index(Index::on(["status"]).covering(["note"]));
    let orders = database.create_table(table).wait().unwrap();
    let order = Document::new().with("user", "U1").with("weight", -0.0).with("status", "open");
    orders.put(order.clone().with("later", "written before it was declared")).wait().unwrap();
    orders.put(order.with("user", "U2").with("note", "n")).wait().unwrap();
    database.add_column("orders", "later", "str").wait().unwrap();

    let table = orders.definition().unwrap();
    let (mut rows, mut fields) = (0, 0);
    let mut compare = |row: &Row<'_>| {
        rows += 1;
        for column in table.columns() {
            let (by_name, by_number) = (row.get(&column.name)?, row.get_by_id(column.id)?);
            assert_eq!(format!("{by_number:?}"), format!("{by_name:?}"), "{}", column.name);
            fields += usize::from(by_number != Value::Null);
        }
        assert_eq!(row.get_by_id(0)?, Value::Null);
        assert_eq!(row.get_by_id(99)?, Value::Null);
        Ok(ControlFlow::Continue(()))
    };
    orders.each(&Query::new().allow_scan(), &mut compare).wait().unwrap();
    let covered = Query::new().filter(field("status").eq("open")).select(["status", "note"]);
    assert!(!orders.explain(&covered).wait().unwrap().fetch);
    orders.each(&covered, &mut compare).wait().unwrap();
    // Of a weight the index's key has not every bit, and of what came later nothing.
    assert_eq!((rows, fields), (4, 4 + 4 + 2 + 3));
}
