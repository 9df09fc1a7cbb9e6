//! What a query may cost: rows, bytes and time; sorting beyond memory; snapshots that are too old.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::time::Duration;

use keyloom_key::Value;
use keyloom_plan::{Access, Budget, Class, Order};
use keyloom_schema::{Document, Index, Table as Definition, field};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::{Database, Error, PageLimits, Query, Table};

fn filled(count: i64) -> (Database<MemoryStore>, Table<MemoryStore>) {
    let database = Database::open(MemoryStore::new()).wait().unwrap();
    let table = Definition::named("events")
        .column("kind", "str")
        .column("id", "i64")
        .column("weight", "i64")
        .key(["kind", "id"])
        .index(Index::on(["kind", "weight"]).covering(["note"]).named("by_weight"))
        .nullable("note", "str");
    let table = database.create_table(table).wait().unwrap();
    let rows = (0..count).map(|id| {
        let note = format!("note {}", id * 7_919 % 1_000);
        let kind = ["a", "b", "c"][usize::try_from(id % 3).unwrap()];
        Document::new().with("kind", kind).with("id", id).with("weight", id * 31 % 101).with("note", note)
    });
    table.load(rows, |_| {}).wait().unwrap();
    (database, table)
}

fn of_kind_a() -> Query {
    Query::new().filter(field("kind").eq("a"))
}

/// The same order whether it is kept in memory, spilled to a file, or only its first rows are wanted.
#[test]
fn a_sort_spills_and_stays_right() {
    let (_, table) = filled(9_000);
    let sorted = of_kind_a().order_by("note").order_by_desc("id");
    let plan = table.explain(&sorted).wait().unwrap();
    assert!(matches!(plan.order, Order::Sort(_)), "{plan}");
    let all = table.query(&sorted).wait().unwrap();
    assert_eq!(all.records.len(), 3_000);
    let notes: Vec<_> =
        all.records.iter().map(|record| record.document.get("note").cloned().unwrap()).collect();
    assert!(notes.is_sorted_by(|a, b| a.compare(b).unwrap().is_le()));
    let small = Budget { sort_memory: 10_000, ..Budget::default() };
    assert_eq!(table.query(&sorted.clone().budget(small)).wait().unwrap().records, all.records);
    let first = table.query(&sorted.clone().limit(7)).wait().unwrap();
    assert_eq!(first.records, all.records[..7]);
    // Over pages, each of which sorts anew and goes on behind the last row.
    let (mut pages, mut asked) = (Vec::new(), sorted.clone());
    loop {
        let page = table.page(&asked, PageLimits::records(700)).wait().unwrap();
        pages.extend(page.records);
        let Some(cursor) = page.cursor else { break };
        asked = sorted.clone().after(cursor);
    }
    assert_eq!(pages, all.records);
}

#[test]
fn a_sort_of_more_than_the_budget_is_an_error_and_never_a_part() {
    let (_, table) = filled(3_000);
    let sorted = of_kind_a().order_by("note").limit(1);
    for budget in [
        Budget { rows: 500, ..Budget::default() },
        Budget { bytes: 5_000, ..Budget::default() },
        Budget { time: Duration::ZERO, ..Budget::default() },
    ] {
        let error = table.query(&sorted.clone().budget(budget)).wait().unwrap_err();
        assert!(matches!(error, Error::Budget { .. }), "{error}");
        assert!(error.to_string().contains("CREATE INDEX"), "{error}");
    }
    let page = PageLimits { rows: 500, ..PageLimits::default() };
    assert!(matches!(table.page(&sorted, page).wait(), Err(Error::Budget { .. })));
}

/// A page ends at whichever limit is met first, and the pages together are the whole.
#[test]
fn pages_end_by_records_rows_bytes_and_time() {
    let (_, table) = filled(3_000);
    let filtered = of_kind_a().filter(field("note").begins_with("note 1"));
    let whole = table.query(&filtered).wait().unwrap();
    let limits = PageLimits::default();
    for limits in [
        PageLimits { records: 3, ..limits },
        PageLimits { rows: 50, ..limits },
        PageLimits { bytes: 2_000, ..limits },
        PageLimits { time: Duration::ZERO, ..limits },
    ] {
        let (mut records, mut pages, mut asked) = (Vec::new(), 0, filtered.clone());
        loop {
            let page = table.page(&asked, limits).wait().unwrap();
            assert!(page.examined.rows <= limits.rows + 1);
            records.extend(page.records);
            pages += 1;
            let Some(cursor) = page.cursor else { break };
            asked = filtered.clone().after(cursor);
        }
        assert_eq!(records, whole.records, "{limits:?}");
        assert!(pages > 5, "{pages} pages with {limits:?}");
    }
}

#[test]
fn what_was_read_and_returned_is_counted() {
    let (_, table) = filled(3_000);
    let found = table.query(&of_kind_a().filter(field("weight").lt(10_i64))).wait().unwrap();
    let examined = found.examined;
    assert_eq!(examined.returned, u64::try_from(found.records.len()).unwrap());
    assert_eq!(examined.rows, examined.returned);
    assert!(examined.returned_bytes > 0 && examined.bytes > examined.returned_bytes);
    let covered = of_kind_a().filter(field("weight").lt(10_i64)).select(["note", "weight"]);
    let covered = table.query(&covered).wait().unwrap();
    assert_eq!(covered.records.len(), found.records.len());
    assert!(covered.examined.bytes < examined.bytes, "an index that covers reads no record");
}

/// A first column with few values is skipped over: a seek for each, and then only what is asked.
#[test]
fn a_skip_scan_seeks_from_value_to_value() {
    let (database, table) = filled(3_000);
    let query = Query::new().filter(field("weight").eq(50_i64)).select(["id", "kind", "weight"]);
    assert!(table.query(&query).wait().is_err(), "without statistics nobody knows that there are few");
    database.analyze("events").wait().unwrap();
    let plan = table.explain(&query).wait().unwrap();
    assert!(matches!(plan.access, Access::Skip { .. }), "{plan}");
    assert!(plan.class < Class::Scan);
    let found = table.query(&query).wait().unwrap();
    let scanned = table.query(&Query { allow_scan: true, ..query.clone() }).wait().unwrap();
    let mut expected: Vec<i64> = (0..3_000).filter(|id| id * 31 % 101 == 50).collect();
    let mut ids: Vec<i64> = found
        .records
        .iter()
        .map(|record| if let Some(Value::Int(id)) = record.document.get("id") { *id } else { -1 })
        .collect();
    ids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ids, expected);
    assert_eq!(scanned.records, found.records);
    assert!(found.examined.rows <= found.examined.returned + 4, "{:?}", found.examined);
    // Backward, and over pages.
    let (mut records, mut asked) = (Vec::new(), query.clone());
    loop {
        let page = table.page(&asked, PageLimits::records(4)).wait().unwrap();
        records.extend(page.records);
        let Some(cursor) = page.cursor else { break };
        asked = query.clone().after(cursor);
    }
    assert_eq!(records, found.records);
}

/// A transaction that is held too long is told so by name, and not by wrong answers.
#[test]
fn a_snapshot_that_is_too_old_says_so() {
    let store = MemoryStore::with_snapshot_age(Duration::ZERO);
    let database = Database::open(store).wait().unwrap();
    let table = database.create_table(Definition::named("t").column("id", "i64").key(["id"])).wait().unwrap();
    table.put(Document::new().with("id", 1_i64)).wait().unwrap();
    let error = database.begin().wait().map(drop).unwrap_err();
    assert!(matches!(error, Error::Store(keyloom_store::Error::Expired(_))), "{error}");
    assert!(table.get([1_i64]).wait().unwrap().is_some());
}

/// Statistics knew one value to skip to, and now there are thousands: a page ends between them, a query fails.
#[test]
fn a_skip_scan_with_wrong_statistics_keeps_to_its_budget() {
    let database = Database::open(MemoryStore::new()).wait().unwrap();
    let table = Definition::named("t").column("c", "i64").column("id", "i64").key(["c", "id"]);
    let table = database.create_table(table).wait().unwrap();
    table.put(Document::new().with("c", 0_i64).with("id", 7_i64)).wait().unwrap();
    database.analyze("t").wait().unwrap();
    table
        .load((1..5_000_i64).map(|c| Document::new().with("c", c).with("id", c % 10)), |_| {})
        .wait()
        .unwrap();
    let query = Query::new().filter(field("id").eq(7_i64));
    assert!(matches!(table.explain(&query).wait().unwrap().access, Access::Skip { .. }));
    let small = Budget { rows: 10, ..Budget::default() };
    assert!(matches!(table.query(&query.clone().budget(small)).wait(), Err(Error::Budget { .. })));
    let (mut found, mut asked) = (0, query.clone());
    loop {
        let page = table.page(&asked, PageLimits { rows: 10, ..PageLimits::default() }).wait().unwrap();
        assert!(page.examined.rows <= 13, "{:?}", page.examined);
        found += page.records.len();
        let Some(cursor) = page.cursor else { break };
        asked = query.clone().after(cursor);
    }
    assert_eq!(found, 501);
}
