//! Where a page ended, and everything that a cursor must not go on with.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use keyloom_key::{Direction, Nulls};
use keyloom_plan::{
    Access, Cursor, Error, OrderBy, Plan, Position, Query, Stale, Statistics, TreeStatistics, plan,
};
use keyloom_schema::{Index, Table, TableBuilder, field};

fn orders() -> TableBuilder {
    Table::named("orders")
        .column("user_id", "str")
        .column("day", "u32")
        .column("status", "str")
        .key(["user_id", "day"])
        .index(Index::on(["status"]))
}

fn numbered(builder: TableBuilder) -> Table {
    let mut table = builder.build().unwrap();
    table.number_trees(1);
    table
}

fn of_user() -> Query {
    Query::new().filter(field("user_id").eq("U1")).order_by("day").limit(10)
}

fn planned(table: &Table, query: &Query) -> Result<Plan, Error> {
    plan(table, &Statistics::default(), query)
}

fn position() -> Position {
    Position::Key { stretch: 0, key: b"\0\0\0\x01U1\0\x01\0\0\0\0\0\0\0\x07".to_vec() }
}

fn cursor(table: &Table, query: &Query) -> Cursor {
    Cursor::new(table, query, &planned(table, query).unwrap(), &position(), Some(3))
}

fn refused(table: &Table, query: Query, cursor: &Cursor) -> Stale {
    match planned(table, &query.after(cursor.clone())) {
        Err(Error::Cursor(stale)) => stale,
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn the_next_page_is_the_rest_of_the_same_plan() {
    let (table, query) = (numbered(orders()), of_user());
    let cursor: Cursor = cursor(&table, &query).to_string().parse().unwrap();
    let resume = cursor.read(&table, &query).unwrap();
    assert_eq!((resume.tree, resume.skip, resume.backward), (1, None, false));
    assert_eq!((&resume.position, resume.remaining), (&position(), Some(3)));
    let next = planned(&table, &query.after(cursor)).unwrap();
    assert_eq!(next.limit, Some(3));
    let Access::InTurn(stretches) = next.resume(&resume.position).access else { unreachable!() };
    assert_eq!(stretches[0].span.start, b"\0\0\0\x01U1\0\x01\0\0\0\0\0\0\0\x07\0");
    assert_eq!(stretches[0].span.end.as_deref(), Some(&b"\0\0\0\x01U1\0\x02"[..]));
}

#[test]
fn a_changed_cursor_is_damaged() {
    let table = numbered(orders());
    let text = cursor(&table, &of_user()).to_string();
    for at in 0..text.len() {
        let mut changed = text.clone();
        let digit = if &text[at..=at] == "0" { "1" } else { "0" };
        changed.replace_range(at..=at, digit);
        assert_eq!(changed.parse::<Cursor>(), Err(Error::Cursor(Stale::Damaged)), "digit {at}");
        assert_eq!(text[..at].parse::<Cursor>(), Err(Error::Cursor(Stale::Damaged)), "cut at {at}");
    }
    assert!("no cursor".parse::<Cursor>().is_err());
}

#[test]
fn a_cursor_of_another_query_is_refused() {
    let table = numbered(orders());
    let cursor = cursor(&table, &of_user());
    let refused = |query| refused(&table, query, &cursor);
    assert_eq!(refused(Query::new().filter(field("user_id").eq("U2")).order_by("day")), Stale::Query);
    assert_eq!(refused(Query::new().filter(field("user_id").eq("U1")).order_by_desc("day")), Stale::Query);
    let odd = OrderBy { field: "day".into(), direction: Direction::Ascending, nulls: Nulls::Last };
    assert_eq!(refused(Query::new().filter(field("user_id").eq("U1")).ordered(odd)), Stale::Query);
    assert_eq!(refused(of_user().select(["day"])), Stale::Query);
    // How many are asked for is no part of the question.
    assert!(planned(&table, &of_user().limit(99).after(cursor.clone())).is_ok());
}

/// Opening with other shards must not quietly go on elsewhere.
#[test]
fn a_cursor_of_another_table_is_refused() {
    let table = numbered(orders());
    let cursor = cursor(&table, &of_user());
    let refused = |builder| refused(&numbered(builder), of_user(), &cursor);
    assert_eq!(refused(orders().shards(16)), Stale::Table);
    assert_eq!(refused(orders().stripes(16)), Stale::Table);
    assert_eq!(refused(orders().key(["user_id", "day desc"])), Stale::Table);
    assert_eq!(refused(orders().format("lexkey".parse().unwrap())), Stale::Table);
    let mut anew = orders().build().unwrap();
    anew.number_trees(7);
    assert_eq!(self::refused(&anew, of_user(), &cursor), Stale::Index);
    let more_shards = numbered(orders().shards(16));
    let sharded = self::cursor(&more_shards, &of_user());
    assert_eq!(self::refused(&numbered(orders().shards(17)), of_user(), &sharded), Stale::Table);
}

#[test]
fn a_cursor_of_an_index_that_is_gone_is_refused() {
    let table = numbered(orders());
    let open = || Query::new().filter(field("status").eq("open")).limit(5);
    let cursor = cursor(&table, &open());
    assert!(planned(&table, &open().after(cursor.clone())).is_ok());
    assert_eq!(refused(&table.without_index("orders_by_status"), open(), &cursor), Stale::Index);
    let placed = Index::on(["status"]).placement("shards 3".parse().unwrap());
    let elsewhere = orders().build().unwrap().without_index("orders_by_status").with_index(placed).unwrap().0;
    let mut elsewhere = elsewhere.with_index_state("orders_by_status", keyloom_schema::State::Ready);
    elsewhere.number_trees(1);
    assert_eq!(refused(&elsewhere, open(), &cursor), Stale::Table);
    let filling = table.with_index_state("orders_by_status", keyloom_schema::State::Building);
    assert_eq!(refused(&filling, open(), &cursor), Stale::Index);
}

/// The tree is read to its end as it was begun, whatever statistics say on the way.
#[test]
fn statistics_that_move_do_not_break_paging() {
    let table = numbered(orders().index(Index::on(["day"])));
    let query = Query::new().filter(field("status").eq("open").and(field("day").eq(7_u32)));
    let known = |status: u64, day: u64| {
        let tree = |rows| TreeStatistics { rows, distinct: vec![], samples: vec![] };
        Statistics([(2, tree(status)), (3, tree(day))].into())
    };
    let first = plan(&table, &known(10, 1000), &query).unwrap();
    assert_eq!(first.index.as_deref(), Some("orders_by_status"));
    let cursor = Cursor::new(&table, &query, &first, &position(), None);
    let next = plan(&table, &known(1000, 10), &query.after(cursor)).unwrap();
    assert_eq!((next.index, next.access), (first.index, first.access));
}
