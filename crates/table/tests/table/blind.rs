//! Records whose entries follow from their keys are written without a look at what was there, and others never are.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use keyloom_key::{Span, Timestamp, Value};
use keyloom_schema::{Document, Format, Index, IndexBuilder, Table as Definition, TableBuilder, field};
use keyloom_store::{
    Batch, Capability, Direction, Error as StoreError, Limits, MemoryStore, Page, Read, Sequence, Store, Wait,
};
use keyloom_table::{Change, Clock, Database, Error, Query, Table, Update, When};

/// A store, or a snapshot of it, that counts what of its tables is read. The catalog is read by everybody.
#[derive(Debug, Clone, Default)]
struct Counting<R> {
    below: R,
    reads: Arc<AtomicU64>,
}

/// Tree 0.
const CATALOG: [u8; 4] = [0; 4];

impl<R> Counting<R> {
    fn read(&self, key: &[u8]) {
        if !key.starts_with(&CATALOG) {
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<R: Read> Read for Counting<R> {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, StoreError> {
        self.read(key);
        self.below.get(key, look).await
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), StoreError> {
        keys.iter().for_each(|key| self.read(key.as_ref()));
        self.below.get_many(keys, look).await
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, StoreError> {
        self.read(&span.start);
        self.below.scan(span, direction, limits, look).await
    }
}

impl Store for Counting<MemoryStore> {
    type Snapshot = Counting<<MemoryStore as Store>::Snapshot>;

    fn capability(&self) -> Capability {
        self.below.capability()
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, StoreError> {
        self.below.commit(batch).await
    }

    async fn sequence(&self) -> Result<Sequence, StoreError> {
        self.below.sequence().await
    }

    async fn snapshot(&self) -> Result<Self::Snapshot, StoreError> {
        Ok(Counting { below: self.below.snapshot().await?, reads: Arc::clone(&self.reads) })
    }
}

type Counted = Counting<MemoryStore>;

const COLUMNS: [&str; 5] = ["user", "day", "status", "tags", "ends"];

fn visits() -> TableBuilder {
    Definition::named("visits")
        .column("user", "str")
        .column("day", "i64")
        .nullable("status", "str")
        .nullable("tags", "list(i64)")
        .nullable("ends", "timestamp")
        .key(["user", "day"])
}

fn create(table: TableBuilder) -> Table<Counted> {
    let database = Database::open(Counted::default()).wait().unwrap();
    database.create_table(table).wait().unwrap()
}

fn with(index: IndexBuilder) -> Table<Counted> {
    create(visits().index(index.named("i")))
}

fn visit(user: &str, day: i64, status: &str) -> Document {
    Document::new().with("user", user.to_owned()).with("day", day).with("status", status.to_owned())
}

fn key(user: &str, day: i64) -> [Value<'static>; 2] {
    [user.to_owned().into(), day.into()]
}

/// How often something reads the table.
fn reads<T>(table: &Table<Counted>, work: impl FnOnce() -> T) -> u64 {
    let reads = &table.database().store().reads;
    reads.store(0, Ordering::Relaxed);
    let _ = work();
    reads.load(Ordering::Relaxed)
}

/// How many keys the store has beside the catalog.
fn keys(table: &Table<Counted>) -> usize {
    let everything = Span { start: vec![0, 0, 0, 1], end: None };
    let look = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
    let all = Limits { rows: usize::MAX, bytes: usize::MAX, time: std::time::Duration::MAX };
    let page = table.database().store().below.scan(&everything, Direction::Forward, all, look);
    page.wait().unwrap().rows
}

/// Sees that the indexes say what the records do.
fn verify(table: &Table<Counted>) {
    let verified = table.database().verify(table.name()).wait().unwrap();
    assert_eq!(verified.differences, []);
}

/// The days and the statuses that a query finds.
fn found(table: &Table<Counted>, query: &Query) -> Vec<(i64, String)> {
    let found = table.query(query).wait().unwrap();
    let line = |document: &Document| match (document.get("day"), document.get("status")) {
        (Some(Value::Int(day)), Some(Value::Str(status))) => (*day, status.to_string()),
        other => panic!("{other:?}"),
    };
    found.records.iter().map(|record| line(&record.document)).collect()
}

/// Every way to put a record whose caller does not ask what it was, for each of these statuses.
fn put_in_every_way(table: &Table<Counted>, status: &str) {
    let database = table.database();
    let writer = table.writer(COLUMNS).unwrap();
    table.put(visit("U1", 1, status)).wait().unwrap();
    table.apply_all([2, 3].map(|day| Change::put(visit("U1", day, status)))).wait().unwrap();
    database.apply([("visits", Change::put(visit("U1", 4, status)))]).wait().unwrap();
    let rest = [Value::Null, Value::Null];
    let row = [Value::from("U1"), 5_i64.into(), status.to_owned().into()].into_iter().chain(rest);
    writer.put(row).wait().unwrap();
    let mut transaction = database.begin().wait().unwrap();
    transaction.put("visits", visit("U1", 6, status)).wait().unwrap();
    transaction.commit().wait().unwrap();
}

const PUT: i64 = 6;

/// Every way to delete a record whose caller does not ask what it was.
fn delete_in_every_way(table: &Table<Counted>) {
    table.apply(Change::delete(key("U1", 1))).wait().unwrap();
    table.apply_all((2..PUT).map(|day| Change::delete(key("U1", day)))).wait().unwrap();
    table.database().apply([("visits", Change::delete(key("U1", PUT)))]).wait().unwrap();
}

#[test]
fn what_follows_from_keys_is_written_without_a_look() {
    let none = create(visits());
    let one = with(Index::on(["day desc"]));
    let some = create(
        visits()
            .index(Index::on(["day"]).named("covering").covering(["status"]).shards(4))
            .index(Index::on(["day"]).named("partial").only(field("day").ge(3_i64)))
            .index(Index::on(["user desc", "day"]).named("turned")),
    );
    for (table, entries) in [(none, 0), (one, 1), (some, 3)] {
        let records = usize::try_from(PUT).unwrap();
        // Two days are before those of the partial index.
        let all = records * (1 + entries) - if entries == 3 { 2 } else { 0 };
        for status in ["open", "paid"] {
            assert_eq!(reads(&table, || put_in_every_way(&table, status)), 0, "{entries} indexes");
            assert_eq!(keys(&table), all);
            verify(&table);
        }
        let days: Vec<(i64, String)> = (1..=PUT).map(|day| (day, "paid".to_owned())).collect();
        assert_eq!(found(&table, &Query::new().filter(field("user").eq("U1"))), days);
        if entries > 0 {
            // What an index carries is what the record says now.
            let by_day =
                Query::new().filter(field("day").ge(2_i64)).order_by("day").select(["day", "status"]);
            assert_eq!(found(&table, &by_day), days[1..]);
        }
        assert_eq!(reads(&table, || delete_in_every_way(&table)), 0, "{entries} indexes");
        assert_eq!(keys(&table), 0);
        // And once more, when there is nothing.
        delete_in_every_way(&table);
        assert_eq!(keys(&table), 0);
        verify(&table);
    }
}

/// What an index does not know of a record by its key has to be read, or an old entry would stay.
#[test]
fn what_does_not_follow_from_keys_is_looked_at() {
    let open = || Index::on(["day"]).only(field("status").eq("open"));
    for index in [
        Index::on(["status"]),
        Index::on(["day", "status"]),
        open(),
        open().covering(["status"]),
        Index::on(["day"]).only(field("day").ge(3_i64).or(field("status").eq("open"))),
    ] {
        let table = with(index.clone());
        put_in_every_way(&table, "open");
        assert!(reads(&table, || put_in_every_way(&table, "paid")) > 0, "{index:?}");
        verify(&table);
        assert_eq!(table.database().verify("visits").wait().unwrap().records, 6);
        assert!(reads(&table, || delete_in_every_way(&table)) > 0, "{index:?}");
        assert_eq!(keys(&table), 0, "{index:?}");
    }
}

#[test]
fn the_entries_of_a_list_are_looked_at() {
    let table = with(Index::on(["tags"]));
    let tagged = |tags: [i64; 2]| visit("U1", 1, "open").with("tags", Value::list(tags));
    table.put(tagged([1, 2])).wait().unwrap();
    assert!(reads(&table, || table.put(tagged([2, 3])).wait().unwrap()) > 0);
    verify(&table);
    assert_eq!(keys(&table), 3);
    table.apply(Change::delete(key("U1", 1))).wait().unwrap();
    assert_eq!(keys(&table), 0);
}

/// A unique index on columns of the key: two records with other keys meet in it.
#[test]
fn a_record_in_the_way_is_looked_at() {
    let table = with(Index::on(["day"]).unique());
    let writer = table.writer(COLUMNS).unwrap();
    let row = |user: &'static str| [user.into(), 1_i64.into(), Value::Null, Value::Null, Value::Null];
    table.put(visit("U1", 1, "open")).wait().unwrap();
    let refused = |done: Result<(), Error>| assert!(matches!(done, Err(Error::Unique { .. })), "{done:?}");
    refused(table.put(visit("U2", 1, "open")).wait().map(drop));
    refused(writer.put(row("U2")).wait().map(drop));
    refused(table.database().begin().wait().unwrap().put("visits", visit("U2", 1, "open")).wait());
    table.put(visit("U1", 1, "paid")).wait().unwrap();
    verify(&table);
    table.apply(Change::delete(key("U1", 1))).wait().unwrap();
    writer.put(row("U2")).wait().unwrap();
    verify(&table);
    // Of a key that is not there, nothing goes: the entry is that of another.
    table.apply(Change::delete(key("U1", 1))).wait().unwrap();
    verify(&table);
    assert_eq!(keys(&table), 2);
}

#[test]
fn conditions_are_looked_at() {
    let table = with(Index::on(["day"]));
    let refused = |change: Change| {
        let done = table.apply(change).wait();
        assert!(matches!(done, Err(Error::Condition { .. })), "{done:?}");
    };
    let open = || When::Is(field("status").eq("open"));
    refused(Change::put(visit("U1", 1, "paid")).when(open()));
    refused(Change::delete(key("U1", 1)).when(When::Exists));
    table.insert(visit("U1", 1, "open")).wait().unwrap();
    refused(Change::put(visit("U1", 1, "paid")).when(When::Absent));
    refused(Change::delete(key("U1", 1)).when(When::Same(visit("U1", 1, "paid"))));
    assert!(matches!(table.insert(visit("U1", 1, "open")).wait(), Err(Error::Condition { .. })));
    let writer = table.writer(COLUMNS).unwrap();
    let row = [Value::from("U1"), 1_i64.into(), Value::Null, Value::Null, Value::Null];
    assert!(matches!(writer.insert(row).wait(), Err(Error::Condition { .. })));
    table.apply(Change::put(visit("U1", 1, "paid")).when(open())).wait().unwrap();
    refused(Change::delete(key("U1", 1)).when(open()));
    verify(&table);
}

/// Who is told what a record was, is told the truth.
#[test]
fn a_record_that_is_asked_for_is_looked_at() {
    let table = with(Index::on(["day"]));
    let (open, paid) = (visit("U1", 1, "open"), visit("U1", 1, "paid"));
    assert_eq!(table.change(Change::put(open.clone())).wait().unwrap(), (None, Some(open.clone())));
    let changed = table.change(Change::put(paid.clone())).wait().unwrap();
    assert_eq!(changed, (Some(open.clone()), Some(paid.clone())));
    let updated = table.update(key("U1", 1), Update::new().set("status", "open")).wait().unwrap();
    assert_eq!(updated, Some(open.clone()));
    let mut transaction = table.database().begin().wait().unwrap();
    let changed = transaction.apply("visits", Change::put(paid.clone())).wait().unwrap();
    assert_eq!(changed, (Some(open), Some(paid.clone())));
    assert_eq!(transaction.delete("visits", key("U1", 1)).wait().unwrap(), Some(paid.clone()));
    assert_eq!(transaction.delete("visits", key("U1", 1)).wait().unwrap(), None);
    transaction.put("visits", paid.clone()).wait().unwrap();
    transaction.commit().wait().unwrap();
    assert_eq!(table.delete(key("U1", 1)).wait().unwrap(), Some(paid));
    assert_eq!(table.delete(key("U1", 1)).wait().unwrap(), None);
    assert_eq!(keys(&table), 0);
}

/// Spellings that are one key are one record, with one entry, whichever of them is written or deleted.
#[test]
fn another_spelling_is_the_same_record() {
    let words =
        Definition::named("words").column("word", "str:nocase").column("size", "decimal").column("n", "i64");
    let words = words.key(["word", "size"]).shards(4);
    let words = words.index(Index::on(["size desc"]).named("i").covering(["word", "n"]).shards(3));
    let table = create(words);
    let decimal = |text: &str| Value::Decimal(text.parse().unwrap());
    let word = |word: &str, size: &str, n: i64| {
        Document::new().with("word", word.to_owned()).with("size", decimal(size)).with("n", n)
    };
    for (spelled, size, n) in [("Straße", "1.0", 1_i64), ("STRASSE", "1", 2), ("strasse", "1.00", 3)] {
        let record = word(spelled, size, n);
        assert_eq!(reads(&table, || table.put(record.clone()).wait().unwrap()), 0);
        verify(&table);
        assert_eq!(keys(&table), 2, "{spelled}");
        let by_size = Query::new().filter(field("size").eq(decimal("1.000"))).select(["word", "size", "n"]);
        let found = table.query(&by_size).wait().unwrap();
        assert_eq!(format!("{:?}", found.records[0].document), format!("{record:?}"), "of the last spelling");
    }
    let other = [Value::from("sTraSSe"), decimal("1")];
    assert_eq!(reads(&table, || table.apply(Change::delete(other)).wait().unwrap()), 0);
    assert_eq!(keys(&table), 0);
}

/// A record that has ended is written over as any other, and is not there for those who ask.
#[test]
fn records_that_have_ended_are_written_over() {
    let now = Arc::new(AtomicI64::new(0));
    let clock: Clock = {
        let now = Arc::clone(&now);
        Arc::new(move || Timestamp::from_millis(now.load(Ordering::Relaxed)))
    };
    let database = Database::open_with_clock(Counted::default(), clock).wait().unwrap();
    let definition = visits().expires_by("ends").index(Index::on(["day"]).named("i").covering(["status"]));
    let table = database.create_table(definition).wait().unwrap();
    let until = |status: &str, end: i64| visit("U1", 1, status).with("ends", Timestamp::from_millis(end));
    let by_day = Query::new().filter(field("day").eq(1_i64)).select(["day", "status"]);
    table.put(until("open", 10)).wait().unwrap();
    now.store(20, Ordering::Relaxed);
    assert_eq!(found(&table, &by_day), []);
    assert_eq!(reads(&table, || table.put(until("paid", 30)).wait().unwrap()), 0);
    assert_eq!(found(&table, &by_day), [(1, "paid".to_owned())]);
    verify(&table);
    assert_eq!(keys(&table), 2);
    now.store(40, Ordering::Relaxed);
    assert_eq!(table.change(Change::put(until("sent", 50))).wait().unwrap().0, None, "it had ended");
    now.store(60, Ordering::Relaxed);
    assert_eq!(table.delete_expired().wait().unwrap(), 1);
    assert_eq!(keys(&table), 0);
}

/// What is written without a look while an index is being filled is in it, on both sides of where the filling is.
#[test]
fn a_filling_meets_writes_without_a_look() {
    let table = create(visits());
    table.load((0..5_000).map(|day| visit("U1", day, "open")), |_| {}).wait().unwrap();
    let (database, mut batches) = (table.database().clone(), 0);
    let meanwhile = |_| {
        batches += 1;
        let write = || {
            for day in [3, 4_996, 5_000 + batches] {
                table.put(visit("U1", day, "paid")).wait().unwrap();
            }
            // Behind the filling, which does not come by again.
            table.put(visit("U0", 5_000 + batches, "paid")).wait().unwrap();
            table.apply_all([4, 4_997].map(|day| Change::delete(key("U1", day)))).wait().unwrap();
        };
        assert_eq!(reads(&table, write), 0);
    };
    let index = Index::on(["day"]).named("i").covering(["status"]).only(field("day").ge(4_i64));
    database.create_index_with("visits", index, meanwhile).wait().unwrap();
    assert!(batches > 2, "{batches} batches");
    verify(&table);
    let paid = |query: Query| found(&table, &query.select(["day", "status"])).len();
    let new = usize::try_from(batches).unwrap();
    assert_eq!(paid(Query::new().filter(field("day").ge(4_990_i64))), 9 + 2 * new);
    // Two are gone, and four are in no index.
    assert_eq!(keys(&table), 2 * (5_000 + 2 * new - 2) - 4);
}

/// A delete by a key that an index has no room for was refused, because its entry was to be made: it is of no record, and
/// nothing is deleted.
#[test]
fn a_key_that_no_index_can_hold_is_deleted_as_nothing() {
    let table = with(Index::on(["day"]).format(Format::LexKey));
    let put = |user: &str| table.put(visit(user, 1, "open")).wait();
    put("U1").unwrap();
    assert!(matches!(put("a\0b"), Err(Error::Schema(_))));
    assert_eq!(reads(&table, || table.apply(Change::delete(key("a\0b", 1))).wait().unwrap()), 0);
    assert_eq!(keys(&table), 2);
    table.apply(Change::delete(key("U1", 1))).wait().unwrap();
    assert_eq!(keys(&table), 0);
}

/// A put without a look goes by the schema as it is: an index that has come since is kept up.
#[test]
fn an_index_that_another_has_made_is_kept_up() {
    let table = with(Index::on(["day"]));
    let other = Database::open(table.database().store().clone()).wait().unwrap();
    table.put(visit("U1", 1, "open")).wait().unwrap();
    other.create_index("visits", Index::on(["status"]).named("by_status")).wait().unwrap();
    table.put(visit("U1", 1, "paid")).wait().unwrap();
    verify(&table);
    other.drop_index("visits", "by_status").wait().unwrap();
    other.create_index("visits", Index::on(["user desc"]).named("by_user")).wait().unwrap();
    table.apply(Change::delete(key("U1", 1))).wait().unwrap();
    assert_eq!(keys(&table), 0);
}
