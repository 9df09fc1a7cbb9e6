//! Schemas of different ages, and changes of them that are cut off.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use keyloom_key::Value;
use keyloom_schema::{Index, State, Table as Definition};
use keyloom_store::Wait;
use keyloom_table::Error;

use super::{Dice, NOW, database, differences, order, orders, other, table, with_status};

/// Clients that go by what they know as long as they may write a record and change it once, while an index comes and goes
/// and comes. When it serves queries every record has its entry, however old the schema of who wrote it, and no entry is
/// left of what a record was; when it has gone, nothing of it is left.
#[test]
fn schemas_of_different_ages_keep_an_index_right() {
    let lease = Duration::from_millis(40);
    let first = database(lease);
    first.create_table(orders()).wait().unwrap();
    // Their leases end at different times.
    let clients: Vec<_> = (0..4)
        .map(|number| {
            let orders = table(&other(&first));
            thread::sleep(lease / 4);
            orders.put(order(-1 - number, "open")).wait().unwrap();
            orders
        })
        .collect();
    let (stop, written) = (AtomicBool::new(false), AtomicI64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut dice = Dice(7);
            while !stop.load(Ordering::SeqCst) {
                let id = written.fetch_add(1, Ordering::SeqCst);
                for status in ["open", "paid"] {
                    let client = usize::try_from(dice.roll(4)).unwrap();
                    clients[client].put(order(id, status)).wait().unwrap();
                    thread::sleep(Duration::from_micros(100));
                }
            }
        });
        let builder = other(&first);
        let check = |create: bool| {
            match create {
                true => builder.create_index("orders", Index::on(["status"])).wait().unwrap(),
                false => builder.drop_index("orders", "orders_by_status").wait().unwrap(),
            }
            // As long as anybody might still write by an older schema.
            thread::sleep(lease);
            assert_eq!(differences(&builder), [""; 0]);
        };
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            [true, false, true, false].into_iter().for_each(check);
        }));
        stop.store(true, Ordering::SeqCst);
        assert!(checked.is_ok());
    });
    let records = usize::try_from(written.into_inner()).unwrap() + 4;
    assert_eq!(first.store().count(), (2 + records, 0), "more than the catalog and the records");
    first.create_index("orders", Index::on(["status"])).wait().unwrap();
    let paid = table(&first).count(&with_status("paid")).wait().unwrap();
    assert_eq!(usize::try_from(paid).unwrap() + 4, records);
    assert_eq!(differences(&first), [""; 0]);
}

/// A query whose index is dropped while it runs is answered by another plan, or refused, and never answered with a part.
#[test]
fn an_index_that_is_dropped_meanwhile_is_not_taken_for_an_empty_one() {
    let first = database(NOW);
    first.create_table(orders()).wait().unwrap();
    for id in 0..30 {
        table(&first).put(order(id, "open")).wait().unwrap();
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            let (orders, stop) = (table(&other(&first)), &stop);
            scope.spawn(move || {
                let allowed = with_status("open").allow_scan();
                while !stop.load(Ordering::SeqCst) {
                    assert_eq!(orders.query(&allowed).wait().unwrap().records.len(), 30);
                    match orders.count(&allowed).wait() {
                        Ok(count) => assert_eq!(count, 30),
                        Err(error) => assert!(matches!(error, Error::Conflict(_)), "{error}"),
                    }
                }
            });
        }
        for _ in 0..30 {
            first.create_index("orders", Index::on(["status"])).wait().unwrap();
            first.drop_index("orders", "orders_by_status").wait().unwrap();
        }
        stop.store(true, Ordering::SeqCst);
    });
}

/// What was shown cannot be taken back, so a visitor is told that it was perhaps a part.
#[test]
fn an_index_that_goes_while_it_is_shown_is_a_conflict() {
    let first = database(NOW);
    let orders = first.create_table(orders().index(Index::on(["status"]))).wait().unwrap();
    for id in 0..30 {
        orders.put(order(id, "open")).wait().unwrap();
    }
    let second = other(&first);
    let (mut shown, open) = (0, with_status("open"));
    let done = orders.each(&open, |_| {
        if shown == 0 {
            second.drop_index("orders", "orders_by_status").wait()?;
        }
        shown += 1;
        Ok(std::ops::ControlFlow::Continue(()))
    });
    let error = done.wait().unwrap_err();
    assert!(matches!(error, Error::Conflict(_)), "{error}");
    // An index that is only about to go has all.
    second.create_index("orders", Index::on(["status"])).wait().unwrap();
    let (mut shown, open) = (0, with_status("open"));
    let done = orders.each(&open, |_| {
        if shown == 0 {
            second.add_column("orders", "more", "str").wait()?;
        }
        shown += 1;
        Ok(std::ops::ControlFlow::Continue(()))
    });
    assert_eq!(done.wait().unwrap().returned, 30);
}

/// A catalog is of one moment, though it is read piece by piece.
#[test]
fn a_schema_that_changes_while_it_is_read_is_read_again() {
    let first = database(NOW);
    let named = |name: &str| Definition::named(name).column("id", "i64").key(["id"]);
    for name in ["a", "m1", "m2", "m3", "m4", "m5"] {
        first.create_table(named(name)).wait().unwrap();
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            let (database, stop) = (other(&first), &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::SeqCst) {
                    database.refresh().wait().unwrap();
                    let tables = database.tables();
                    assert!(tables.iter().any(|table| table == "a" || table == "z"), "{tables:?}");
                }
            });
        }
        for _ in 0..40 {
            for (comes, goes) in [("z", "a"), ("a", "z")] {
                first.create_table(named(comes)).wait().unwrap();
                first.drop_table(goes).wait().unwrap();
            }
        }
        stop.store(true, Ordering::SeqCst);
    });
}

/// Runs a future for so many turns, then drops it, as a crash would; whether it came to its end.
fn cut_off(future: impl Future<Output = Result<(), Error>>, turns: usize) -> bool {
    let mut future = pin!(future);
    for _ in 0..turns {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            done.unwrap();
            return true;
        }
        // Whoever waits for time is woken by a thread.
        thread::sleep(Duration::from_micros(20));
    }
    false
}

#[test]
fn schema_changes_that_are_cut_off_anywhere_go_on() {
    let mut turns = 0;
    let mut ended = 0;
    while ended < 2 {
        turns += 1 + turns / 6;
        let first = database(NOW);
        let built = orders().index(Index::on(["email"]).unique()).index(Index::on(["tags"]));
        first.create_table(built).wait().unwrap();
        for id in 0..40 {
            let order =
                order(id, "open").with("email", format!("{id}@b")).with("tags", Value::list([id, 100]));
            table(&first).put(order).wait().unwrap();
        }
        let created = cut_off(first.create_index("orders", Index::on(["status"])), turns);
        let second = other(&first);
        second.fill_indexes(|_| {}).wait().unwrap();
        assert_eq!(differences(&second), [""; 0]);
        // Cut off before its first commit, it has not happened.
        let there = table(&second).definition().unwrap().index("orders_by_status").is_some();
        assert!(there || turns < 5);
        if there {
            let definition = table(&second).definition().unwrap();
            assert_eq!(definition.index("orders_by_status").unwrap().state(), State::Ready);
            assert_eq!(table(&second).count(&with_status("open")).wait().unwrap(), 40);
        }
        let keys = second.store().count();
        assert_eq!(keys.1, 0);
        assert_eq!(keys.0, 2 + 40 * (if there { 5 } else { 4 }), "a record has 4 or 5 keys");

        let dropped = there && cut_off(second.drop_index("orders", "orders_by_status"), turns);
        let third = other(&second);
        third.fill_indexes(|_| {}).wait().unwrap();
        assert_eq!(differences(&third), [""; 0]);
        if table(&third).definition().unwrap().index("orders_by_status").is_some() {
            third.drop_index("orders", "orders_by_status").wait().unwrap();
        }
        assert_eq!(third.store().count(), (2 + 40 * 4, 0), "no entry of a dropped index is left");

        let gone = cut_off(third.drop_table("orders"), turns);
        let fourth = other(&third);
        fourth.fill_indexes(|_| {}).wait().unwrap();
        if fourth.tables().is_empty() {
            assert_eq!(fourth.store().count(), (1, 0), "only the version is left");
        }
        ended = if created && dropped && gone { ended + 1 } else { 0 };
    }
    assert!(turns > 20, "only {turns} turns");
}

#[test]
fn a_unique_index_on_records_that_meet_is_refused_and_leaves_nothing() {
    let database = database(NOW);
    let orders = database.create_table(orders()).wait().unwrap();
    for id in 0..50 {
        orders.put(order(id, if id == 30 { "paid" } else { "open" })).wait().unwrap();
    }
    let error = database.create_index("orders", Index::on(["status"]).unique()).wait().unwrap_err();
    assert!(matches!(error, Error::Unique { .. }), "{error}");
    assert!(orders.definition().unwrap().indexes().is_empty());
    assert_eq!(database.store().count(), (52, 0));
}
