//! Processes whose schemas are of different ages.

use keyloom_key::Value;
use keyloom_schema::{Document, Index, State, Table as Definition, TableBuilder, field};
use keyloom_store::Wait;
use keyloom_table::Query;
use keyloom_testkit::child;

use crate::{database, url};

fn orders() -> TableBuilder {
    Definition::named("orders").column("id", "i64").column("status", "str").key(["id"])
}

fn order(id: i64, status: &str) -> Document {
    Document::new().with("id", id).with("status", status.to_owned())
}

fn with_status(status: &'static str) -> Query {
    Query::new().filter(field("status").eq(status))
}

/// The other process writes a record and changes it, all the time, until it is told to stop.
pub fn child(task: &str, url: &str) {
    assert_eq!(task, "write");
    let orders = database(url).table("orders").wait().unwrap();
    orders.put(order(0, "paid")).wait().unwrap();
    child::say("opened", 0);
    let told = std::thread::spawn(child::wait_to_be_told);
    let mut written = 1;
    while !told.is_finished() {
        for status in ["open", "paid"] {
            orders.put(order(written, status)).wait().unwrap();
        }
        written += 1;
    }
    child::say("written", written.try_into().unwrap());
}

/// One process makes an index while another, which has opened the table before, writes all the time. When the index
/// serves queries no record is without its entry, and none has an entry of what it was; and so when it goes and comes.
#[test]
fn an_index_that_comes_while_an_older_process_writes_misses_nothing() {
    let Some(url) = url("schema", "split_rows=200") else { return };
    let builder = database(&url);
    let table = builder.create_table(orders()).wait().unwrap();
    let mut writer = child::start("write", url.as_ref());
    let mut said = writer.said();
    assert_eq!(said.next().unwrap().0, "opened");
    let mut before = 0;
    for round in 0..2 {
        builder.create_index("orders", Index::on(["status"])).wait().unwrap();
        let state = table.definition().unwrap().index("orders_by_status").unwrap().state();
        assert_eq!(state, State::Ready);
        // The newest record may be open or about to come; every older one is paid.
        let all = Query::new().order_by_desc("id").limit(1);
        let newest = table.query(&all).wait().unwrap().records.swap_remove(0).key;
        let [Value::Int(newest)] = newest.as_slice() else { panic!("{newest:?}") };
        let found = table.query(&with_status("paid")).wait().unwrap().records;
        let mut ids: Vec<Vec<Value<'_>>> = found.into_iter().map(|record| record.key).collect();
        ids.truncate(usize::try_from(*newest).unwrap());
        assert_eq!(ids, (0..*newest).map(|id| vec![Value::Int(id)]).collect::<Vec<_>>());
        assert!(*newest > before, "the other process has stopped at {newest}");
        before = *newest;
        if round == 0 {
            builder.drop_index("orders", "orders_by_status").wait().unwrap();
        }
    }
    writer.tell();
    let written = said.next().unwrap().1;
    assert!(writer.succeeds());
    let verified = builder.verify("orders").wait().unwrap();
    assert_eq!(verified.differences, []);
    assert_eq!((verified.records, verified.entries), (written, written));
}
