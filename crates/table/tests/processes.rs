//! Two processes with one file: neither works by a schema that the other has changed, and neither loses a write.
//!
//! The test is process A. The child is process B: it has opened the file before A changes something.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use keyloom_key::Span;
use keyloom_lmdb::{LmdbStore, Options};
use keyloom_schema::{Document, Index, Table as Definition, TableBuilder, field};
use keyloom_store::{Direction, Limits, Read, Wait};
use keyloom_table::{Database, Error, Query, Table, Update};
use keyloom_testkit::child::{self, Process};

fn users() -> TableBuilder {
    Definition::named("users")
        .column("id", "i64")
        .column("city", "str")
        .column("visits", "i64")
        .key(["id"])
        .index(Index::on(["visits"]))
}

fn more() -> TableBuilder {
    Definition::named("more").column("id", "i64").nullable("city", "str").key(["id"])
}

fn user(id: i64, city: &str) -> Document {
    Document::new().with("id", id).with("city", city.to_owned()).with("visits", 0_i64)
}

fn in_paris() -> Query {
    Query::new().filter(field("city").eq("Paris"))
}

fn open_with(path: &Path, options: Options) -> Database<LmdbStore> {
    Database::open(LmdbStore::open_with(path, options).unwrap()).wait().unwrap()
}

fn open(path: &Path, options: Options) -> (Database<LmdbStore>, Table<LmdbStore>) {
    let database = open_with(path, options);
    let users = database.open_table(users()).wait().unwrap();
    (database, users)
}

/// Not a test of its own: process B.
#[test]
fn as_a_child() {
    let Some((task, path)) = child::task() else { return };
    match task.as_str() {
        "write" => {
            let (_, users) = opened(&path);
            users.put(user(2, "Paris")).wait().unwrap();
            users.update([1_i64], Update::new().set("city", "Paris")).wait().unwrap().unwrap();
        }
        "load" => {
            let (database, users) = opened(&path);
            users.load([user(2, "Paris"), user(3, "Paris")], |_| {}).wait().unwrap();
            database.analyze("users").wait().unwrap();
            database.drop_index("users", "users_by_city").wait().unwrap();
            database.create_index("more", Index::on(["city"])).wait().unwrap();
        }
        "drop" => opened(&path).0.drop_table("users").wait().unwrap(),
        "read" => {
            let (_, users) = opened(&path);
            match users.query(&in_paris()).wait() {
                Ok(found) => child::say("found", found.records.len().try_into().unwrap()),
                Err(Error::Plan(_)) => child::say("refused", 0),
                Err(error) => panic!("{error}"),
            }
        }
        "get" => {
            let (_, users) = opened(&path);
            child::say("got", u64::from(users.get([7_i64]).wait().unwrap().is_some()));
            let many = users.get_many(&[vec![7_i64.into()]]).wait().unwrap();
            child::say("got", u64::from(many[0].is_some()));
        }
        "range" => {
            let (_, users) = opened(&path);
            let range = Query::new().filter(field("id").between(1_i64, 9_i64));
            child::say("got", users.query(&range).wait().unwrap().records.len().try_into().unwrap());
        }
        "count" => {
            let (_, users) = opened(&path);
            let range = Query::new().filter(field("id").between(1_i64, 9_i64));
            child::say("got", users.count(&range).wait().unwrap());
        }
        "visit" => {
            let (_, users) = opened(&path);
            child::say("visited", visit(&users, 2));
        }
        "impatient" => {
            let options = Options { busy_timeout: Duration::from_millis(60), ..Options::default() };
            let database = open_with(&path, options);
            let users = database.table("users").wait().unwrap();
            child::say("opened", 0);
            child::wait_to_be_told();
            let started = Instant::now();
            match users.put(user(2, "Rome")).wait() {
                Err(Error::Store(error @ keyloom_store::Error::Busy(_))) => {
                    assert!(error.to_string().contains("another process"), "{error}");
                    assert!(started.elapsed() >= options.busy_timeout, "it did not wait");
                }
                other => panic!("{other:?}"),
            }
            // What it has read is not harmed by that.
            assert!(users.get([1_i64]).wait().unwrap().is_some());
            assert_eq!(users.get([2_i64]).wait().unwrap(), None);
            child::say("busy", 0);
            child::wait_to_be_told();
            users.put(user(2, "Rome")).wait().unwrap();
        }
        other => panic!("{other}"),
    }
}

/// In the child: opens the file, looks at it, and waits for what A does then.
fn opened(path: &Path) -> (Database<LmdbStore>, Table<LmdbStore>) {
    let database = open_with(path, Options::default());
    let users = database.table("users").wait().unwrap();
    assert!(users.get([1_i64]).wait().unwrap().is_some());
    // That nothing is there is an answer by the newest schema: from now on B knows which commit that was of.
    assert!(users.get([-1_i64]).wait().unwrap().is_none());
    child::say("opened", 0);
    child::wait_to_be_told();
    (database, users)
}

/// Counts upwards in a record of both, adds records of its own with steps of two, for a second; returns how many.
fn visit(users: &Table<LmdbStore>, first: i64) -> u64 {
    let started = Instant::now();
    let mut visits = 0;
    while started.elapsed() < Duration::from_secs(1) {
        visits += 1;
        users.update([1_i64], Update::new().add("visits", 1_i64)).wait().unwrap().unwrap();
        users.insert(user(first + 2 * i64::try_from(visits).unwrap(), "Rome")).wait().unwrap();
    }
    visits
}

struct Both {
    folder: tempfile::TempDir,
    database: Database<LmdbStore>,
    users: Table<LmdbStore>,
}

impl Both {
    fn new() -> Self {
        Self::with(Options::default())
    }

    /// What A does goes into the file, where B reads it at once.
    fn straight() -> Self {
        Self::with(Options { log: None, ..Options::default() })
    }

    fn with(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (database, users) = open(&folder.path().join("users.klm"), options);
        users.put(user(1, "Paris")).wait().unwrap();
        Self { folder, database, users }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("users.klm")
    }

    fn is_clean(&self) {
        assert_eq!(self.database.verify("users").wait().unwrap().differences, []);
    }

    /// Starts B, changes something, and lets B go on; what B says then comes back.
    fn change(&self, task: &str, change: impl FnOnce(&Self)) -> Vec<(String, u64)> {
        let mut b = child::start(task, &self.path());
        let mut said = b.said();
        assert_eq!(said.next().unwrap().0, "opened");
        change(self);
        b.tell();
        let said = said.collect();
        assert!(b.succeeds(), "{task}");
        said
    }
}

#[test]
fn who_has_an_old_schema_writes_into_a_new_index() {
    let both = Both::new();
    both.users.put(user(3, "Paris")).wait().unwrap();
    both.change("write", |both| {
        both.users.update([1_i64], Update::new().set("city", "Rome")).wait().unwrap();
        both.database.create_index("users", Index::on(["city"])).wait().unwrap();
    });
    assert_eq!(both.users.query(&in_paris()).wait().unwrap().records.len(), 3);
    both.is_clean();
}

/// Loading and changing the schema begin with the schema as it is, and leave nothing behind of what they drop.
#[test]
fn who_has_an_old_schema_loads_and_drops_by_the_new_one() {
    let both = Both::new();
    both.change("load", |both| {
        both.database.create_table(more()).wait().unwrap();
        both.database.create_index("users", Index::on(["city"])).wait().unwrap();
    });
    both.is_clean();
    assert_eq!(both.users.count(&Query::new().allow_scan()).wait().unwrap(), 3);
    let refused = both.users.query(&in_paris()).wait().unwrap_err();
    assert!(matches!(refused, Error::Plan(_)), "{refused}");
    both.change("drop", |both| {
        both.database.create_index("users", Index::on(["city"])).wait().unwrap();
    });
    both.database.refresh().wait().unwrap();
    assert_eq!(both.database.tables(), ["more"]);
    let mut left = Vec::new();
    let records = Span { start: vec![0, 0, 0, 1], end: None };
    let look = |key: &[u8], _: &[u8]| {
        left.push(key.to_vec());
        ControlFlow::Continue(())
    };
    both.database.store().scan(&records, Direction::Forward, Limits::default(), look).wait().unwrap();
    assert_eq!(left, Vec::<Vec<u8>>::new(), "of tables that are gone");
}

#[test]
fn who_has_an_old_schema_does_not_find_nothing_in_an_index_that_is_gone() {
    let both = Both::straight();
    both.database.create_index("users", Index::on(["city"])).wait().unwrap();
    let drop = |both: &Both| both.database.drop_index("users", "users_by_city").wait().unwrap();
    assert_eq!(both.change("read", drop), [("refused".to_owned(), 0)]);
    // Another index has come in its place.
    both.database.create_index("users", Index::on(["city"])).wait().unwrap();
    let replace = |both: &Both| {
        drop(both);
        both.database.create_index("users", Index::on(["city", "visits"])).wait().unwrap();
    };
    assert_eq!(both.change("read", replace), [("found".to_owned(), 1)]);
}

/// A table that was dropped and created again lies elsewhere: who does not know looks where nothing is.
#[test]
fn who_has_an_old_schema_does_not_find_nothing_in_a_table_that_is_gone() {
    for task in ["get", "range", "count"] {
        let both = Both::straight();
        let said = both.change(task, |both| {
            both.database.drop_table("users").wait().unwrap();
            let users = both.database.create_table(users()).wait().unwrap();
            users.put(user(7, "Oslo")).wait().unwrap();
        });
        assert!(!said.is_empty() && said.iter().all(|(_, found)| *found == 1), "{task}: {said:?}");
    }
}

#[test]
fn two_that_write_at_once_lose_nothing() {
    let both = Both::new();
    let mut b = child::start("visit", &both.path());
    let mut said = b.said();
    assert_eq!(said.next().unwrap().0, "opened");
    b.tell();
    let mine = visit(&both.users, 1);
    let theirs = said.next().unwrap().1;
    assert!(b.succeeds());
    assert!(mine > 0 && theirs > 0);
    let visits = i64::try_from(mine + theirs).unwrap();
    let record = both.users.get([1_i64]).wait().unwrap().unwrap();
    assert_eq!(record.get("visits"), Some(&visits.into()), "{mine} and {theirs}");
    let all = Query::new().filter(field("visits").eq(0_i64));
    assert_eq!(both.users.count(&all).wait().unwrap(), mine + theirs);
    both.is_clean();
}

#[test]
fn who_waits_too_long_is_told_so() {
    let Both { folder, database, users } = Both::new();
    drop((database, users));
    let path = folder.path().join("users.klm");
    let mut b: Process = child::start("impatient", &path);
    let mut said = b.said();
    assert_eq!(said.next().unwrap().0, "opened");
    // Keeps what a process keeps that writes.
    let writer = File::options().append(true).open(path.with_added_extension("writer")).unwrap();
    writer.lock().unwrap();
    b.tell();
    assert_eq!(said.next().map(|(word, _)| word).as_deref(), Some("busy"));
    drop(writer);
    b.tell();
    assert!(b.succeeds());
    let (database, users) = open(&path, Options::default());
    assert!(users.get([2_i64]).wait().unwrap().is_some());
    assert_eq!(database.verify("users").wait().unwrap().differences, []);
}
