//! Indexes are never stale: made later, damaged, dropped by others, or of records that have ended.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use keyloom_key::{Timestamp, Value};
use keyloom_schema::{Document, Index, State, Table as Definition, TableBuilder, field};
use keyloom_store::{Batch, Direction, Limits, MemoryStore, Read, Store, Wait};
use keyloom_table::{Change, Database, Error, PageLimits, Query, Table, Update, When, Wrong};

fn orders() -> TableBuilder {
    Definition::named("orders")
        .column("user", "str")
        .column("number", "i64")
        .nullable("status", "str")
        .nullable("email", "str")
        .nullable("tags", "list(str)")
        .key(["user", "number"])
}

fn order(user: &str, number: i64, status: &str) -> Document {
    Document::new().with("user", user.to_owned()).with("number", number).with("status", status.to_owned())
}

fn database() -> Database<MemoryStore> {
    Database::open(MemoryStore::new()).wait().unwrap()
}

fn filled(count: i64) -> (Database<MemoryStore>, Table<MemoryStore>) {
    let database = database();
    let orders = database.create_table(orders()).wait().unwrap();
    let statuses = ["open", "paid", "sent"];
    let rows = (0..count).map(|number| {
        order(&format!("U{}", number % 7), number, statuses[usize::try_from(number % 3).unwrap()])
    });
    orders.load(rows, |_| {}).wait().unwrap();
    (database, orders)
}

fn open_orders() -> Query {
    Query::new().filter(field("status").eq("open"))
}

#[test]
fn an_index_made_later_has_every_old_record() {
    let (database, orders) = filled(10_000);
    let refused = orders.query(&open_orders()).wait().unwrap_err().to_string();
    assert!(refused.contains("CREATE INDEX orders_by_status ON orders (status)"), "{refused}");
    let mut told = Vec::new();
    database
        .create_index_with("orders", Index::on(["status"]), |filled| told.push(filled.records))
        .wait()
        .unwrap();
    assert!(told.len() > 2 && told.last() == Some(&10_000), "in bounded batches: {told:?}");
    assert_eq!(orders.query(&open_orders()).wait().unwrap().records.len(), 3_334);
    assert_eq!(database.verify("orders").wait().unwrap().differences, []);
}

/// A filling that is interrupted goes on; until then the index serves nothing and is kept up by writes.
#[test]
fn a_filling_that_was_interrupted_goes_on() {
    let (database, orders) = filled(10_000);
    let mut batches = 0;
    let interrupted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let stop = |_| {
            batches += 1;
            assert!(batches < 3, "interrupted");
        };
        database.create_index_with("orders", Index::on(["status"]), stop).wait()
    }));
    assert!(interrupted.is_err());
    // As after a crash: another process opens what lies in the store.
    let database = Database::open(database.store().clone()).wait().unwrap();
    let orders = database.table(orders.name()).wait().unwrap();
    assert_eq!(orders.definition().unwrap().indexes()[0].state(), State::Building);
    let refused = orders.query(&open_orders()).wait().unwrap_err().to_string();
    assert!(refused.contains("still being filled"), "{refused}");
    orders.put(order("U0", 0, "sent")).wait().unwrap();
    orders.put(order("A", 1, "open")).wait().unwrap();
    orders.delete([Value::from("U6"), 6_i64.into()]).wait().unwrap();
    let mut told = Vec::new();
    database.fill_indexes(|filled| told.push(filled.records)).wait().unwrap();
    assert_eq!(told.last(), Some(&3_999), "it went on where it stopped: {told:?}");
    assert_eq!(orders.query(&open_orders()).wait().unwrap().records.len(), 3_333);
    assert_eq!(database.verify("orders").wait().unwrap().differences, []);
}

/// While a unique index was being filled, deleting a record that was not in it yet took the entry of another that had its
/// values by then, and the index was called whole without it.
#[test]
fn a_record_that_is_not_in_an_index_yet_takes_no_entry_of_another() {
    let (database, orders) = filled(3_000);
    orders.put(order("Z", 1, "open").with("email", "a@b")).wait().unwrap();
    let interrupted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let stop = |_| panic!("interrupted");
        database.create_index_with("orders", Index::on(["email"]).unique(), stop).wait()
    }));
    assert!(interrupted.is_err());
    orders.put(order("A", 1, "open").with("email", "a@b")).wait().unwrap();
    orders.delete([Value::from("Z"), 1_i64.into()]).wait().unwrap();
    database.fill_indexes(|_| {}).wait().unwrap();
    assert_eq!(database.verify("orders").wait().unwrap().differences, []);
    let found = orders.query(&Query::new().filter(field("email").eq("a@b"))).wait().unwrap();
    assert_eq!(found.records.len(), 1);
}

#[test]
fn a_unique_index_on_records_that_meet_is_refused_and_leaves_nothing() {
    let (database, orders) = filled(100);
    let error = database.create_index("orders", Index::on(["status"]).unique()).wait().unwrap_err();
    assert!(matches!(&error, Error::Unique { values, .. } if values.contains("status = ")), "{error}");
    assert!(orders.definition().unwrap().indexes().is_empty());
    database.create_index("orders", Index::on(["number"]).unique()).wait().unwrap();
    assert!(matches!(orders.put(order("X", 5, "open")).wait(), Err(Error::Unique { .. })));
}

#[test]
fn a_unique_index_lets_nulls_be_and_frees_what_is_gone() {
    let database = database();
    let orders = database.create_table(orders().index(Index::on(["email"]).unique())).wait().unwrap();
    let with = |number, email: Option<&str>| {
        let mut order = order("U1", number, "open");
        if let Some(email) = email {
            order.set("email", email.to_owned());
        }
        order
    };
    orders.put(with(1, None)).wait().unwrap();
    orders.put(with(2, None)).wait().unwrap();
    orders.put(with(3, Some("a@b"))).wait().unwrap();
    orders.put(with(3, Some("a@b"))).wait().unwrap();
    let error = orders.put(with(4, Some("a@b"))).wait().unwrap_err().to_string();
    assert_eq!(error, "orders: another record has email = 'a@b' in the unique index orders_by_email");
    assert_eq!(orders.get([Value::from("U1"), 4_i64.into()]).wait().unwrap(), None);
    // Null in a unique index drops no record from an order.
    let all = orders.query(&Query::new().order_by("email").limit(10)).wait().unwrap();
    assert_eq!(all.records.len(), 3);
    orders.delete([Value::from("U1"), 3_i64.into()]).wait().unwrap();
    orders.put(with(4, Some("a@b"))).wait().unwrap();
    assert_eq!(database.verify("orders").wait().unwrap().differences, []);
}

#[test]
fn a_partial_update_keeps_every_index_right() {
    let database = database();
    let table = orders()
        .index(Index::on(["status"]).covering(["email"]))
        .index(Index::on(["tags"]))
        .index(Index::on(["email"]).only(field("status").eq("open")));
    let orders = database.create_table(table).wait().unwrap();
    let tags = Value::List(vec!["red".into(), "blue".into()]);
    orders.put(order("U1", 1, "open").with("email", "a@b").with("tags", tags)).wait().unwrap();
    let key = || [Value::from("U1"), 1_i64.into()];
    orders.update(key(), Update::new().set("email", "c@d")).wait().unwrap().unwrap();
    orders.update(key(), Update::new().set("status", "paid")).wait().unwrap().unwrap();
    orders
        .update(key(), Update::new().set("tags", Value::List(vec!["blue".into(), "green".into()])))
        .wait()
        .unwrap();
    assert_eq!(database.verify("orders").wait().unwrap().differences, []);
    let tagged =
        |tag: &'static str| orders.count(&Query::new().filter(field("tags").eq(tag))).wait().unwrap();
    assert_eq!((tagged("red"), tagged("blue"), tagged("green")), (0, 1, 1));
    assert_eq!(
        orders.update([Value::from("U1"), 9_i64.into()], Update::new().remove("email")).wait().unwrap(),
        None
    );
    let moved = orders.update(key(), Update::new().set("number", 2_i64)).wait().unwrap_err().to_string();
    assert!(moved.contains("number") && moved.contains("primary key"), "{moved}");
}

/// A record with two matching elements comes once, in both directions and over pages.
#[test]
fn a_record_of_a_list_comes_once() {
    let database = database();
    let orders = database.create_table(orders().index(Index::on(["tags"]))).wait().unwrap();
    for number in 0..20_i64 {
        let tags = (0..=number % 4).map(|tag| format!("t{tag}").into()).collect();
        orders.put(order("U1", number, "open").with("tags", Value::List(tags))).wait().unwrap();
    }
    let query = Query::new().filter(field("tags").begins_with("t"));
    assert_eq!(orders.query(&query).wait().unwrap().records.len(), 20);
    let several = Query::new().filter(field("tags").is_in(["t1", "t2", "t3"]));
    assert_eq!(orders.query(&several).wait().unwrap().records.len(), 15);
    let (mut seen, mut page) = (0, several.clone());
    loop {
        let found = orders.page(&page, PageLimits::records(2)).wait().unwrap();
        seen += found.records.len();
        let Some(cursor) = found.cursor else { break };
        page = several.clone().after(cursor);
    }
    assert_eq!(seen, 15);
}

/// More values than spans may be: the range that they lie in is read, and elements that nobody asked for lie there too.
#[test]
fn an_element_that_was_not_asked_for_gives_no_record() {
    let database = database();
    let orders = database.create_table(orders().index(Index::on(["tags"]))).wait().unwrap();
    for number in 0..100_i64 {
        let tags = Value::List(vec![format!("t{number:05}").into(), format!("u{number:05}").into()]);
        orders.put(order("U1", number, "open").with("tags", tags)).wait().unwrap();
    }
    let asked = (0..10_000).filter(|number| number % 2 == 0).map(|number| format!("t{number:05}"));
    let query = Query::new().filter(field("tags").is_in(asked.chain(["u00099".to_owned()])));
    let found = orders.query(&query).wait().unwrap();
    assert_eq!(found.records.len(), 51, "every second, and the last by its other tag");
}

/// Entries that are taken away, added or changed behind the table's back are found, named, and mended.
#[test]
fn damage_is_found_from_both_sides_and_mended() {
    let (database, orders) = filled(300);
    database.create_index("orders", Index::on(["status"]).covering(["email"])).wait().unwrap();
    let tree = orders.definition().unwrap().indexes()[0].tree().clone();
    let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let collect = |key: &[u8], value: &[u8]| {
        entries.push((key.to_vec(), value.to_vec()));
        std::ops::ControlFlow::Continue(())
    };
    database.store().scan(&tree.span(), Direction::Forward, Limits::default(), collect).wait().unwrap();
    let (lost, changed) = (&entries[10], &entries[20]);
    let mut stale = Vec::new();
    tree.key(&["open".into(), "U1".into(), 99_999_i64.into()], &mut stale).unwrap();
    let damage = Batch::new()
        .delete(lost.0.clone())
        .put(changed.0.clone(), [changed.1.as_slice(), b"x"].concat())
        .put(stale.clone(), entries[30].1.clone());
    database.store().commit(damage).wait().unwrap();

    let found = database.verify("orders").wait().unwrap();
    assert_eq!((found.records, found.entries), (300, 300));
    let mut wrong: Vec<_> =
        found.differences.iter().map(|one| (one.key.clone(), one.wrong.clone())).collect();
    wrong.sort_by(|a, b| a.0.cmp(&b.0));
    let mut expected =
        vec![(lost.0.clone(), Wrong::Missing), (changed.0.clone(), Wrong::Other), (stale, Wrong::Stale)];
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(wrong, expected);
    let text = found.differences[0].to_string();
    assert!(text.contains("orders_by_status") && text.contains("status = 'open'"), "{text}");

    assert_eq!(
        database.repair("orders", true).wait().unwrap().differences.len(),
        3,
        "a dry run mends nothing"
    );
    assert_eq!(database.verify("orders").wait().unwrap().differences.len(), 3);
    database.repair("orders", false).wait().unwrap();
    assert_eq!(database.verify("orders").wait().unwrap().differences, []);
}

/// A database that was opened before an index came cannot write without it, and one that was opened before an index went
/// does not find nothing.
#[test]
fn an_old_schema_neither_writes_past_an_index_nor_reads_one_that_is_gone() {
    let store = MemoryStore::new();
    let first = Database::open(store.clone()).wait().unwrap();
    let orders = first.create_table(orders()).wait().unwrap();
    orders.put(order("U1", 1, "open")).wait().unwrap();
    let second = Database::open(store).wait().unwrap();
    let old = second.table("orders").wait().unwrap();
    first.create_index("orders", Index::on(["status"])).wait().unwrap();
    old.put(order("U1", 2, "open")).wait().unwrap();
    assert_eq!(orders.query(&open_orders()).wait().unwrap().records.len(), 2);
    assert_eq!(first.verify("orders").wait().unwrap().differences, []);

    // One that only reads learns of the change by nothing but its own look.
    let reader = Database::open(first.store().clone()).wait().unwrap();
    let reader = reader.table("orders").wait().unwrap();
    assert_eq!(reader.query(&open_orders()).wait().unwrap().records.len(), 2);
    let mut late = second.begin().wait().unwrap();
    late.put("orders", order("U1", 3, "open")).wait().unwrap();
    first.drop_index("orders", "orders_by_status").wait().unwrap();
    assert!(matches!(late.commit().wait(), Err(Error::Conflict(_))));
    let refused = reader.query(&open_orders()).wait().unwrap_err().to_string();
    assert!(refused.starts_with("refused"), "{refused}");
    let third = Database::open(first.store().clone()).wait().unwrap();
    third.create_index("orders", Index::on(["status", "number"])).wait().unwrap();
    assert_eq!(old.query(&open_orders()).wait().unwrap().records.len(), 2);
}

#[test]
fn a_record_that_has_ended_is_invisible_everywhere_and_makes_room() {
    let time = Arc::new(AtomicI64::new(0));
    let clock = Arc::clone(&time);
    let clock = Arc::new(move || Timestamp::from_micros(clock.load(Ordering::SeqCst)));
    let database = Database::open_with_clock(MemoryStore::new(), clock).wait().unwrap();
    let sessions = Definition::named("sessions")
        .column("id", "i64")
        .column("user", "str")
        .nullable("ends", "timestamp")
        .key(["id"])
        .index(Index::on(["user"]).unique())
        .index(Index::on(["ends"]).covering(["user"]))
        .expires_by("ends");
    let sessions = database.create_table(sessions).wait().unwrap();
    let session = |id: i64, user: &str, ends: i64| {
        let ends = Timestamp::from_micros(ends);
        Document::new().with("id", id).with("user", user.to_owned()).with("ends", ends)
    };
    sessions.put(session(1, "Ada", 10)).wait().unwrap();
    sessions.put(session(2, "Grace", 30)).wait().unwrap();
    time.store(10, Ordering::SeqCst);
    let by_user = |user: &'static str| Query::new().filter(field("user").eq(user));
    assert_eq!(sessions.get([1_i64]).wait().unwrap(), None);
    assert_eq!(sessions.count(&by_user("Ada")).wait().unwrap(), 0);
    let covered = Query::new().order_by("ends").select(["user"]).limit(10);
    assert_eq!(sessions.query(&covered).wait().unwrap().records.len(), 1);
    assert_eq!(sessions.update([1_i64], Update::new().set("user", "Eve")).wait().unwrap(), None);
    // The unique name is free again, and the key too.
    sessions.put(session(3, "Ada", 50)).wait().unwrap();
    assert_eq!(database.verify("sessions").wait().unwrap().differences, []);
    time.store(30, Ordering::SeqCst);
    sessions.apply(Change::put(session(2, "Grace", 60)).when(When::Absent)).wait().unwrap();
    assert_eq!(database.verify("sessions").wait().unwrap().differences, []);
    time.store(55, Ordering::SeqCst);
    assert_eq!(sessions.delete_expired().wait().unwrap(), 1);
    let left = database.verify("sessions").wait().unwrap();
    assert_eq!((left.records, left.entries, left.differences), (1, 2, vec![]));
}

#[test]
fn a_cursor_goes_on_with_its_own_query_only() {
    let (database, orders) = filled(100);
    database.create_index("orders", Index::on(["status"])).wait().unwrap();
    let page = orders.page(&open_orders(), PageLimits::records(5)).wait().unwrap();
    let cursor = page.cursor.unwrap();
    let other = Query::new().filter(field("status").eq("paid")).after(cursor.clone());
    assert!(orders.query(&other).wait().unwrap_err().to_string().contains("another query"));
    // More statistics, another index, more rows: the page goes on.
    database.create_index("orders", Index::on(["status", "number desc"])).wait().unwrap();
    database.analyze("orders").wait().unwrap();
    orders.put(order("A", 1, "open")).wait().unwrap();
    let rest = orders.query(&open_orders().after(cursor.clone())).wait().unwrap();
    assert_eq!(rest.records.len(), 34 - 5);
    database.drop_index("orders", "orders_by_status").wait().unwrap();
    let gone = orders.query(&open_orders().after(cursor)).wait().unwrap_err().to_string();
    assert!(gone.contains("not there any more"), "{gone}");
}

#[test]
fn a_partition_over_its_budget_is_an_error_that_names_the_index() {
    let (_, orders) = filled(5_000);
    let query = Query::new().filter(field("user").eq("U1").and(field("status").eq("open")));
    assert_eq!(orders.query(&query).wait().unwrap().records.len(), 238);
    let budget = keyloom_plan::Budget { rows: 100, ..Default::default() };
    let error = orders.query(&query.clone().budget(budget)).wait().unwrap_err().to_string();
    assert!(error.contains("100 rows") && error.contains("(user, status)"), "{error}");
    // Who pages gets a cursor instead, and in the end everything.
    let (mut seen, mut pages, mut asked) = (0, 0, query.clone());
    loop {
        let limits = PageLimits { rows: 100, ..PageLimits::default() };
        let found = orders.page(&asked, limits).wait().unwrap();
        assert!(found.examined.rows <= 101);
        (seen, pages) = (seen + found.records.len(), pages + 1);
        let Some(cursor) = found.cursor else { break };
        asked = query.clone().after(cursor);
    }
    assert_eq!((seen, pages > 5), (238, true));
}

/// A drop that was interrupted leaves keys of a tree that nobody knows: what finishes the rest clears them too.
#[test]
fn what_a_drop_has_left_is_cleared() {
    let (database, orders) = filled(100);
    database.create_index("orders", Index::on(["status"])).wait().unwrap();
    let tree = orders.definition().unwrap().indexes()[0].tree().clone();
    database.drop_index("orders", "orders_by_status").wait().unwrap();
    let mut left = Vec::new();
    tree.key(&["open".into(), "U1".into(), 1_i64.into()], &mut left).unwrap();
    database.store().commit(Batch::new().put(left.clone(), "left by a crash")).wait().unwrap();
    database.open_index("plain", "i64", "i64").wait().unwrap().add(1_i64, 2_i64).wait().unwrap();
    database.fill_indexes(|_| {}).wait().unwrap();
    assert_eq!(database.store().get(&left, <[u8]>::len).wait().unwrap(), None);
    assert_eq!(orders.count(&Query::new().limit(1_000)).wait().unwrap(), 100);
    let plain = database.open_index("plain", "i64", "i64").wait().unwrap();
    assert_eq!(plain.values(1_i64).wait().unwrap(), [2_i64.into()]);
}
