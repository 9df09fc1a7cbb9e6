//! Tables on a store that commits one record at a time, has no snapshots, and whose clients may go by an older schema for
//! a lease: what is refused, what races do, and schemas of different ages.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod catalog;
mod schema;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use keyloom_key::{Timestamp, Value};
use keyloom_schema::{Document, Index, Table as Definition, TableBuilder, field};
use keyloom_store::{Error as StoreError, Wait};
use keyloom_table::{
    Change, Database, Error, Existing, Keys, Loader, PageLimits, Query, Table, Update, When, Wrong,
};
use keyloom_testkit::Weak;

const NOW: Duration = Duration::ZERO;

fn orders() -> TableBuilder {
    Definition::named("orders")
        .column("id", "i64")
        .nullable("status", "str")
        .nullable("email", "str")
        .nullable("tags", "list(i64)")
        .nullable("ends", "timestamp")
        .key(["id"])
}

fn order(id: i64, status: &str) -> Document {
    Document::new().with("id", id).with("status", status.to_owned())
}

fn database(lease: Duration) -> Database<Weak> {
    Database::open(Weak::new(lease)).wait().unwrap()
}

/// The same store as another process sees it.
fn other(database: &Database<Weak>) -> Database<Weak> {
    Database::open(database.store().clone()).wait().unwrap()
}

fn table(database: &Database<Weak>) -> Table<Weak> {
    database.table("orders").wait().unwrap()
}

fn with_status(status: &str) -> Query {
    Query::new().filter(field("status").eq(status.to_owned()))
}

fn differences(database: &Database<Weak>) -> Vec<String> {
    let verified = database.verify("orders").wait().unwrap();
    verified.differences.iter().map(ToString::to_string).collect()
}

/// A die that always falls alike.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((self.0 >> 33) % sides).unwrap()
    }
}

#[test]
fn what_would_be_several_commits_is_refused_before_anything_is_written() {
    let database = database(NOW);
    let orders = database.create_table(orders()).wait().unwrap();
    let unsupported = |error: Error| {
        let text = error.to_string();
        assert!(matches!(error, Error::Store(StoreError::Unsupported { .. })), "{text}");
        assert!(text.contains("make one change at a time, with conditions on its record"), "{text}");
    };
    let both = [1, 2].map(|id| Change::put(order(id, "open")));
    unsupported(orders.apply_all(both).wait().unwrap_err());
    unsupported(database.begin().wait().unwrap_err());
    unsupported(database.transact(async |_| Ok(())).wait().unwrap_err());
    assert_eq!(orders.count(&Query::new().allow_scan()).wait().unwrap(), 0);
    orders.apply_all([]).wait().unwrap();
}

#[test]
fn a_record_is_changed_only_if_it_is_as_it_was_read() {
    let database = database(NOW);
    let orders = database.create_table(orders().index(Index::on(["status"]))).wait().unwrap();
    orders.put(order(1, "open")).wait().unwrap();
    let read = orders.get([1_i64]).wait().unwrap().unwrap();
    let change = |status: &str| {
        let update = Update::new().set("status", status.to_owned());
        Change::update([1_i64], update).when(When::Exists).when(When::Same(read.clone()))
    };
    let (before, after) = orders.change(change("paid")).wait().unwrap();
    assert_eq!((before, after.unwrap().get("status")), (Some(read.clone()), Some(&"paid".into())));
    let error = orders.change(change("sent")).wait().unwrap_err();
    assert_eq!(error.to_string(), "orders: the record is not as asked: it has not changed");
    assert_eq!(orders.query(&with_status("paid")).wait().unwrap().records.len(), 1);
}

#[test]
fn a_record_that_has_ended_makes_room_by_a_commit_of_its_own() {
    let database = database(NOW);
    let email = Index::on(["email"]).unique();
    let orders = database.create_table(orders().expires_by("ends").index(email)).wait().unwrap();
    let with = |id: i64| order(id, "open").with("email", "a@b");
    orders.put(with(1).with("ends", Timestamp::from_micros(1))).wait().unwrap();
    orders.put(with(2)).wait().unwrap();
    assert!(matches!(orders.put(with(3)).wait(), Err(Error::Unique { .. })));
    assert_eq!(database.verify("orders").wait().unwrap().records, 1);
    assert_eq!(differences(&database), [""; 0]);
}

/// Clients change the same few records in every way, while others read; what is read is always as asked, and in the end
/// every index says what the records say.
#[test]
fn racing_clients_keep_every_index_right() {
    for seed in 0..4 {
        let first = database(NOW);
        let built = orders()
            .expires_by("ends")
            .index(Index::on(["status"]))
            .index(Index::on(["status", "id desc"]).named("covering").covering(["email"]))
            .index(Index::on(["email"]).unique())
            .index(Index::on(["tags"]).unique().only(field("status").eq("open")));
        first.create_table(built).wait().unwrap();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let writers: Vec<_> = (0..4_u64)
                .map(|number| {
                    let orders = table(&other(&first));
                    scope.spawn(move || write_any(&orders, Dice(seed * 100 + number)))
                })
                .collect();
            for _ in 0..2 {
                let (database, stop) = (other(&first), &stop);
                scope.spawn(move || read_any(&database, stop));
            }
            let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
            stop.store(true, Ordering::SeqCst);
            assert!(written.iter().all(Result::is_ok));
        });
        assert_eq!(differences(&first), [""; 0]);
        assert_eq!(first.store().count().1, 0, "entries without a record");
    }
}

fn write_any(orders: &Table<Weak>, mut dice: Dice) {
    let statuses = ["open", "paid", "sent"];
    for _ in 0..300 {
        let id = dice.roll(12);
        let status = statuses[usize::try_from(dice.roll(3)).unwrap()];
        let email = format!("{}@b", dice.roll(6));
        let tags = Value::list((0..dice.roll(3)).map(|_| dice.roll(8)));
        let done = match dice.roll(6) {
            0 => orders.delete([id]).wait().map(drop),
            1 => orders.update([id], Update::new().set("status", status)).wait().map(drop),
            2 => orders.update([id], Update::new().set("email", email)).wait().map(drop),
            3 => orders.delete_expired().wait().map(drop),
            4 => {
                let ended = order(id, status).with("email", email).with("ends", Timestamp::from_micros(1));
                orders.put(ended.with("tags", tags)).wait().map(drop)
            }
            _ => orders.put(order(id, status).with("email", email).with("tags", tags)).wait().map(drop),
        };
        assert!(matches!(done, Ok(()) | Err(Error::Unique { .. })), "{done:?}");
    }
}

fn read_any(database: &Database<Weak>, stop: &AtomicBool) {
    let orders = table(database);
    while !stop.load(Ordering::SeqCst) {
        for status in ["open", "paid"] {
            let covered = with_status(status).select(["status", "email"]).order_by_desc("id");
            for query in [with_status(status), covered] {
                for found in orders.query(&query).wait().unwrap().records {
                    assert_eq!(found.document.get("status"), Some(&status.into()), "{found:?}");
                }
            }
            let mut query = with_status(status);
            loop {
                let page = orders.page(&query, PageLimits::records(2)).wait().unwrap();
                let Some(cursor) = page.cursor else { break };
                query.after = Some(cursor);
            }
        }
        let by_email = Query::new().filter(field("email").eq("3@b"));
        for found in orders.query(&by_email).wait().unwrap().records {
            assert_eq!(found.document.get("email"), Some(&"3@b".into()));
        }
        let tagged = Query::new().filter(field("status").eq("open").and(field("tags").eq(3_i64)));
        for found in orders.query(&tagged).wait().unwrap().records {
            assert!(format!("{:?}", found.document.get("tags")).contains("Int(3)"), "{found:?}");
        }
        assert_eq!(differences(database), [""; 0], "what is being written is no difference");
    }
}

#[test]
fn racing_increments_lose_nothing() {
    let first = database(Duration::from_millis(5));
    first.create_table(orders().index(Index::on(["count"])).nullable("count", "i64")).wait().unwrap();
    table(&first).put(order(1, "open")).wait().unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            let orders = table(&other(&first));
            scope.spawn(move || {
                for _ in 0..50 {
                    orders.update([1_i64], Update::new().add("count", 1_i64)).wait().unwrap();
                }
            });
        }
    });
    let counted = Query::new().filter(field("count").eq(200_i64));
    assert_eq!(table(&first).count(&counted).wait().unwrap(), 1);
    assert_eq!(differences(&first), [""; 0]);
}

#[test]
fn many_records_are_loaded_side_by_side() {
    let database = database(NOW);
    let built = orders().index(Index::on(["status"])).index(Index::on(["email"]).unique());
    let orders = database.create_table(built).wait().unwrap();
    let rows = |ids: std::ops::Range<i64>| {
        ids.map(|id| order(id, "open").with("email", format!("{id}@b"))).collect::<Vec<_>>()
    };
    let mut told = Vec::new();
    let loaded = orders.load(rows(0..10_000), |loaded| told.push(loaded.records)).wait().unwrap();
    assert_eq!((loaded.records, told), (10_000, vec![4_096, 8_192, 10_000]));
    assert_eq!(differences(&database), [""; 0]);
    let error = orders.load(rows(9_999..10_100), |_| {}).wait().unwrap_err();
    assert!(matches!(error, Error::Exists(_)), "{error}");
    let taken = [order(20_000, "open").with("email", "5@b")];
    let error = orders.load(taken, |_| {}).wait().unwrap_err();
    assert!(matches!(error, Error::Unique { .. }), "{error}");

    // What is the same is not written again, and what is another is replaced.
    let mut loader = Loader::new(&orders, 1 << 20).unwrap();
    for row in rows(9_000..9_500).into_iter().map(|row| row.with("status", "paid")).chain(rows(9_500..9_600))
    {
        loader.push(row).unwrap();
    }
    let merged = loader.finish(&orders, Existing::Replace, |_| {}).wait().unwrap();
    assert_eq!((merged.replaced, merged.unchanged, merged.new), (500, 100, 0));
    assert_eq!(orders.count(&with_status("paid")).wait().unwrap(), 500);
    assert_eq!(differences(&database), [""; 0]);
}

#[test]
fn a_load_that_is_cut_off_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let database = database(NOW);
    let orders = database.create_table(orders().index(Index::on(["status"]))).wait().unwrap();
    let loader = || Loader::new(&orders, 16 << 10).unwrap().resumable(folder.path().join("load"), 7).unwrap();
    let mut first = loader();
    for id in 0..10_000 {
        first.push(order(id, "open")).unwrap();
    }
    let mut told = 0;
    let interrupted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let stop = |_| {
            told += 1;
            assert!(told < 5, "cut off");
        };
        first.finish(&orders, Existing::Refuse, stop).wait()
    }));
    assert!(interrupted.is_err());
    let second = loader();
    assert!(second.is_complete());
    let merged = second.finish(&orders, Existing::Refuse, |_| {}).wait().unwrap();
    assert!(merged.resumed > 0 && merged.records() == 10_000, "{merged:?}");
    assert_eq!(orders.count(&with_status("open")).wait().unwrap(), 10_000);
    assert_eq!(differences(&database), [""; 0]);
}

#[test]
fn what_an_index_says_otherwise_is_found_and_mended() {
    let database = database(NOW);
    let built = orders().index(Index::on(["status"])).index(Index::on(["email"]).unique());
    let orders = database.create_table(built).wait().unwrap();
    for id in 0..20 {
        orders.put(order(id, "open").with("email", format!("{id}@b"))).wait().unwrap();
    }
    let entries = |status: &str| {
        let plan = orders.explain(&with_status(status)).wait().unwrap();
        let keyloom_plan::Access::InTurn(stretches) = &plan.access else { panic!("{plan}") };
        stretches[0].span.start.clone()
    };
    // An entry is lost, one says something else, and one stands where its record is not.
    let (open, record) =
        (entries("open"), |id: u8| [&[0, 0, 0, 1, 0x80, 0, 0, 0, 0, 0, 0], &[id][..]].concat());
    let entry = |start: &[u8], id: u8| [start, &record(id)[4..]].concat();
    let value = |id: u8| [&[0, 0, 12][..], &record(id), &[1, 0]].concat();
    let store = database.store();
    store.lose(&entry(&open, 3));
    store.invent(&entry(&open, 4), &[value(4), vec![9]].concat(), &record(4));
    store.invent(&entry(&entries("paid"), 5), &value(5), &record(5));
    let verified = database.repair("orders", false).wait().unwrap();
    let wrong: Vec<_> = verified.differences.iter().map(|difference| difference.wrong.clone()).collect();
    assert_eq!(wrong, [Wrong::Missing, Wrong::Other, Wrong::Stale]);
    assert_eq!(differences(&database), [""; 0]);
    assert_eq!(orders.count(&with_status("open")).wait().unwrap(), 20);
    assert_eq!(orders.count(&with_status("paid")).wait().unwrap(), 0);
}

#[test]
fn members_of_a_plain_index_come_and_go() {
    let first = database(Duration::from_millis(2));
    let ages = first.open_index("ages", "i64", "str").wait().unwrap();
    ages.add_all([(36_i64.into(), "Ada".into()), (85_i64.into(), "Grace".into())]).wait().unwrap();
    thread::scope(|scope| {
        for number in 0..4 {
            let database = other(&first);
            scope.spawn(move || {
                let ages = database.open_index("ages", "i64", "str").wait().unwrap();
                for value in 0..50 {
                    ages.add(36_i64, format!("{number} {value:02}")).wait().unwrap();
                    if value % 2 == 0 {
                        ages.remove(36_i64, format!("{number} {value:02}")).wait().unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(ages.values(36_i64).wait().unwrap().len(), 101);
    let keys = ages.keys(&Keys::all().backward()).wait().unwrap();
    assert_eq!(keys.iter().map(|(_, values)| values.len()).collect::<Vec<_>>(), [1, 101]);
}

#[test]
fn the_futures_can_go_to_another_thread() {
    fn check(_: impl Send) {}
    let database = database(NOW);
    let orders = database.create_table(orders()).wait().unwrap();
    check(database.create_index("orders", Index::on(["status"])));
    check(database.drop_table("orders"));
    check(database.fill_indexes(|_| {}));
    check(database.verify("orders"));
    check(database.repair("orders", true));
    check(database.analyze("orders"));
    check(orders.put(order(1, "open")));
    check(orders.query(&with_status("open")));
    check(orders.delete_expired());
}
