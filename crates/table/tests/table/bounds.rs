//! What a query reads depends on what it returns, and not on how much there is.
//!
//! Ten million records take minutes to write and gigabytes to keep, so here nobody writes them: the store works out the
//! key and the value at any place from its number, byte for byte what a real table has there, and counts what is asked
//! of it. The planner and the executor are the real ones.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::future::{Future, ready};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_key::{Span, Value};
use keyloom_schema::{Document, Index, Table, TableBuilder, field, row};
use keyloom_store::{
    Batch, Capability, Counter, Direction, Error, Limits, MemoryStore, Page, Read, Sequence, Store, Wait,
};
use keyloom_table::{Database, Query};

/// Records of one user, and of one kind.
const OF_USER: u64 = 100;
const OF_KIND: u64 = 50;

fn events() -> TableBuilder {
    Table::named("events")
        .column("user", "u64")
        .column("number", "u64")
        .column("kind", "u64")
        .key(["user", "number"])
        .index(Index::on(["kind"]))
}

/// A store of so many records, none of which is anywhere.
#[derive(Clone)]
struct Numbers {
    records: u64,
    catalog: Vec<(Vec<u8>, Vec<u8>)>,
    table: Arc<Table>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    seeks: AtomicU64,
    comparisons: AtomicU64,
    rows: AtomicU64,
}

impl Numbers {
    fn new(records: u64) -> Self {
        // The catalog is what creating the table writes.
        let real = Database::open(MemoryStore::new()).wait().unwrap();
        let table = real.create_table(events()).wait().unwrap().definition().unwrap();
        let catalog = all(real.store());
        Self { records, catalog, table, counts: Arc::default() }
    }

    /// The record of this number: users one after the other, kinds all over.
    fn document(&self, number: u64) -> Document {
        let kinds = self.records / OF_KIND;
        Document::new()
            .with("user", number / OF_USER)
            .with("number", number % OF_USER)
            .with("kind", number % kinds)
    }

    fn record_key(&self, number: u64) -> Vec<u8> {
        let mut key = Vec::new();
        self.table.primary().key(&self.table.key_values(&self.document(number)), &mut key).unwrap();
        key
    }

    fn places(&self) -> u64 {
        self.catalog.len() as u64 + 2 * self.records
    }

    /// The key and the value at a place in the order of all keys: the catalog, the records, the entries.
    fn at(&self, place: u64) -> (Vec<u8>, Vec<u8>) {
        if let Some((key, value)) = self.catalog.get(place as usize) {
            return (key.clone(), value.clone());
        }
        let place = place - self.catalog.len() as u64;
        let mut value = Vec::new();
        if place < self.records {
            let mut document = self.document(place);
            document.remove("user");
            document.remove("number");
            document.encode(&*self.table, &mut value).unwrap();
            return (self.record_key(place), value);
        }
        let (kind, turn) = ((place - self.records) / OF_KIND, (place - self.records) % OF_KIND);
        let number = kind + turn * (self.records / OF_KIND);
        let record = self.record_key(number);
        let values: [Value<'_>; 3] = [kind.into(), (number / OF_USER).into(), (number % OF_USER).into()];
        let mut key = Vec::new();
        self.table.indexes()[0].tree().key(&values, &mut key).unwrap();
        value.push(0);
        value.extend((record.len() as u16).to_be_bytes());
        value.extend(record);
        Document::new().encode(&*self.table, &mut value).unwrap();
        (key, value)
    }

    /// The first place whose key is not smaller, found by halves.
    fn seek(&self, key: &[u8]) -> u64 {
        self.counts.seeks.fetch_add(1, Ordering::Relaxed);
        let (mut low, mut high) = (0, self.places());
        while low < high {
            self.counts.comparisons.fetch_add(1, Ordering::Relaxed);
            let middle = low + (high - low) / 2;
            if self.at(middle).0.as_slice() < key { low = middle + 1 } else { high = middle }
        }
        low
    }
}

impl Read for Numbers {
    fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send {
        let place = self.seek(key);
        let found = (place < self.places()).then(|| self.at(place)).filter(|(at, _)| at == key);
        ready(Ok(found.map(|(_, value)| look(&value))))
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        mut look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        for (number, key) in keys.iter().enumerate() {
            if self.get(key.as_ref(), |value| look(number, Some(value))).await?.is_none() {
                look(number, None);
            }
        }
        Ok(())
    }

    fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        let mut counter = Counter::new(limits);
        let mut place = match (direction, &span.end) {
            (Direction::Forward, _) => self.seek(&span.start),
            (Direction::Backward, Some(end)) => self.seek(end),
            (Direction::Backward, None) => self.places(),
        };
        loop {
            let next = match direction {
                Direction::Forward => Some(place).filter(|place| *place < self.places()),
                Direction::Backward => place.checked_sub(1),
            };
            let row = next.map(|next| self.at(next)).filter(|(key, _)| span.contains(key));
            let Some((key, value)) = row else { return ready(Ok(counter.finished())) };
            self.counts.rows.fetch_add(1, Ordering::Relaxed);
            let more = counter.count(&key, &value);
            if look(&key, &value).is_break() || !more {
                return ready(Ok(counter.stopped(span, direction, &key)));
            }
            place = if direction == Direction::Forward { place + 1 } else { place - 1 };
        }
    }
}

impl Store for Numbers {
    type Snapshot = Self;

    fn capability(&self) -> Capability {
        MemoryStore::new().capability()
    }

    fn commit(&self, _: Batch) -> impl Future<Output = Result<Sequence, Error>> + Send {
        ready(Err(Error::Refused("numbers cannot be written".into())))
    }

    fn sequence(&self) -> impl Future<Output = Result<Sequence, Error>> + Send {
        ready(Ok(Sequence(0)))
    }

    fn snapshot(&self) -> impl Future<Output = Result<Self, Error>> + Send {
        ready(Ok(self.clone()))
    }
}

/// Every key of a store and its value.
fn all<S: Store>(store: &S) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    let everything = Span { start: Vec::new(), end: None };
    let limits = Limits { rows: usize::MAX, bytes: usize::MAX, time: std::time::Duration::MAX };
    let look = |key: &[u8], value: &[u8]| {
        rows.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    store.scan(&everything, Direction::Forward, limits, look).wait().unwrap();
    rows
}

/// Questions, each with how many records it finds whatever the size.
fn questions() -> Vec<(&'static str, Query, u64)> {
    let user = || field("user").eq(3_u64);
    let kind = || field("kind").eq(5_u64);
    vec![
        ("point", Query::new().filter(user().and(field("number").eq(7_u64))), 1),
        ("point that is not there", Query::new().filter(user().and(field("number").eq(700_u64))), 0),
        ("prefix", Query::new().filter(user()), OF_USER),
        ("prefix, backward", Query::new().filter(user()).order_by_desc("number").limit(9), 9),
        ("range", Query::new().filter(user().and(field("number").between(10_u64, 19_u64))), 10),
        ("row range", Query::new().filter(row(["user", "number"]).gt([3_u64, 98_u64])).limit(20), 20),
        ("list", Query::new().filter(field("user").is_in([1_u64, 4, 6])), 3 * OF_USER),
        ("index point", Query::new().filter(kind()), OF_KIND),
        ("index point, first", Query::new().filter(kind()).order_by("user").limit(7), 7),
        ("index point, last", Query::new().filter(kind()).order_by_desc("user").limit(7), 7),
        ("index range", Query::new().filter(field("kind").between(5_u64, 7_u64)), 3 * OF_KIND),
        (
            "keys of an index range",
            Query::new().filter(field("kind").lt(2_u64)).select(["user"]),
            2 * OF_KIND,
        ),
        (
            "index list, merged",
            Query::new().filter(field("kind").is_in([3_u64, 9])).order_by("user").limit(8),
            8,
        ),
    ]
}

/// What a question cost: seeks and rows by the store's own count, comparisons, rows as the table reports them.
fn ask(database: &Database<Numbers>, query: &Query, expected: u64) -> (u64, u64, u64) {
    let counts = &database.store().counts;
    let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
    let _before = [take(&counts.seeks), take(&counts.rows), take(&counts.comparisons)];
    let found = database.table("events").wait().unwrap().query(query).wait().unwrap();
    let (seeks, rows, comparisons) = (take(&counts.seeks), take(&counts.rows), take(&counts.comparisons));
    assert_eq!(found.records.len() as u64, expected);
    assert_eq!(found.examined.rows, rows, "the table says what it reads");
    // One more looks whether the schema is still the same.
    assert!(seeks - found.examined.seeks <= 1, "{seeks} seeks, {:?}", found.examined);
    (seeks, rows, comparisons)
}

#[test]
fn numbers_are_what_a_real_table_has() {
    let numbers = Numbers::new(1_000);
    let real = Database::open(MemoryStore::new()).wait().unwrap();
    let table = real.create_table(events()).wait().unwrap();
    for number in 0..1_000 {
        table.put(numbers.document(number)).wait().unwrap();
    }
    assert_eq!(all(&numbers), all(real.store()));
    let verified = Database::open(numbers).wait().unwrap().verify("events").wait().unwrap();
    assert_eq!((verified.records, verified.entries, verified.differences.len()), (1_000, 1_000, 0));
}

#[test]
fn what_is_read_depends_on_what_is_returned() {
    let sizes = [1_000, 100_000, 10_000_000];
    let databases = sizes.map(|records| Database::open(Numbers::new(records)).wait().unwrap());
    for (name, query, expected) in questions() {
        let costs = databases.each_ref().map(|database| ask(database, &query, expected));
        let [(seeks, rows, _), ..] = costs;
        assert!(rows <= expected + seeks, "{name}: {rows} rows for {expected}");
        for (records, (own_seeks, own_rows, comparisons)) in sizes.into_iter().zip(costs) {
            assert_eq!((own_seeks, own_rows), (seeks, rows), "{name} of {records}");
            // Two trees and the catalog, by halves.
            let halves = u64::from((2 * records).ilog2()) + 2;
            assert!(comparisons <= seeks * halves, "{name} of {records}: {comparisons} comparisons");
        }
    }
}

#[test]
fn a_scan_is_refused_at_every_size() {
    for records in [1_000, 10_000_000] {
        let database = Database::open(Numbers::new(records)).wait().unwrap();
        let table = database.table("events").wait().unwrap();
        let refused = table.query(&Query::new().filter(field("number").eq(1_u64))).wait().unwrap_err();
        assert!(refused.to_string().contains("CREATE INDEX"));
    }
}
