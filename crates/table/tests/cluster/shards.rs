//! Scans while shards split, and shards that are there before the rows.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use keyloom_key::{Span, Value};
use keyloom_schema::{Document, Index, Table as Definition, field};
use keyloom_store::{Direction, Wait};
use keyloom_table::{Cursor, PageLimits, Query, Table};

use crate::{ALL, database, keys, open, split_into, url};

fn users(url: &str) -> Table<keyloom_cassandra::CassandraStore> {
    let users = Definition::named("users").column("id", "i64").column("team", "i64").key(["id"]);
    database(url).open_table(users.index(Index::on(["team"]))).wait().unwrap()
}

fn user(id: i64) -> Document {
    Document::new().with("id", id).with("team", id % 3)
}

fn ids(table: &Table<keyloom_cassandra::CassandraStore>, query: &Query, records: u64) -> Vec<i64> {
    let (mut ids, mut query) = (Vec::new(), query.clone());
    loop {
        let page = table.page(&query, PageLimits::records(records)).wait().unwrap();
        ids.extend(page.records.iter().map(|record| match record.key.as_slice() {
            [Value::Int(id)] => *id,
            other => panic!("{other:?}"),
        }));
        let Some(cursor) = page.cursor else { return ids };
        // As text, as a program would hand it to its own clients.
        query.after = Some(cursor.to_string().parse::<Cursor>().unwrap());
    }
}

/// Records that were there before a scan began come once and in order, by pages and cursors, forward and backward, by the
/// key and by an index, while others come between them and shards split.
#[test]
fn pages_and_cursors_survive_splits() {
    let Some(url) = url("pages", "split_rows=40") else { return };
    let table = users(&url);
    let even: Vec<i64> = (0..300).map(|number| number * 2).collect();
    table.load(even.iter().map(|id| user(*id)), |_| {}).wait().unwrap();
    let (stop, all) = (AtomicBool::new(false), Query::new().filter(field("id").ge(0_i64)));
    let in_team = Query::new().filter(field("team").eq(0_i64)).order_by_desc("id");
    let store = open(&url);
    let before = store.shards(&ALL).wait().unwrap().len();
    thread::scope(|scope| {
        scope.spawn(|| {
            let table = users(&url);
            for id in (0..300).map(|number| number * 2 + 1) {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                table.put(user(id)).wait().unwrap();
            }
        });
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..6 {
                let mut found = ids(&table, &all, 7);
                assert!(found.is_sorted());
                found.retain(|id| id % 2 == 0);
                assert_eq!(found, even);
                let mut found = ids(&table, &in_team, 5);
                assert!(found.is_sorted_by(|a, b| a > b));
                found.retain(|id| id % 2 == 0);
                let team: Vec<i64> = even.iter().rev().filter(|id| **id % 3 == 0).copied().collect();
                assert_eq!(found, team);
            }
        }));
        stop.store(true, Ordering::SeqCst);
        assert!(checked.is_ok());
    });
    let after = split_into(&store, &ALL, before.max(8) + 1);
    assert!(after > before, "nothing was split meanwhile");
    let forward = keys(&store, &ALL, Direction::Forward, 7);
    let mut backward = keys(&store, &ALL, Direction::Backward, 11);
    backward.reverse();
    assert_eq!(forward, backward);
}

/// Boundaries that are given before the rows are where shards begin, and nothing else changes.
#[test]
fn given_boundaries_are_where_shards_begin() {
    let Some(url) = url("given", "split_rows=1000000") else { return };
    let table = users(&url);
    let primary = table.definition().unwrap().primary().clone();
    let bytes = |id: i64| {
        let mut bytes = Vec::new();
        primary.key(&[id.into()], &mut bytes).unwrap();
        bytes
    };
    let boundaries: Vec<Vec<u8>> = (1..10).map(|number| bytes(number * 100)).collect();
    let store = open(&url);
    store.presplit(&boundaries).wait().unwrap();
    let span = Span { start: bytes(0), end: Some(bytes(1000)) };
    let starts = || -> Vec<Vec<u8>> {
        store.shards(&span).wait().unwrap().into_iter().map(|shard| shard.start).collect()
    };
    assert_eq!(starts(), [vec![bytes(0)], boundaries.clone()].concat());
    table.load((0..1000).step_by(5).map(user), |_| {}).wait().unwrap();
    assert_eq!(ids(&table, &Query::new().filter(field("id").between(95_i64, 910_i64)), 1_000).len(), 164);
    // With rows in it, and again: only what is new is split.
    store.presplit(&[vec![bytes(150)], boundaries.clone()].concat()).wait().unwrap();
    assert_eq!(starts().len(), 11);
    assert_eq!(ids(&table, &Query::new().filter(field("id").ge(0_i64)), 33).len(), 200);
    assert_eq!(database(&url).verify("users").wait().unwrap().differences, []);
}
