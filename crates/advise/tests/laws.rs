//! The laws of advice: whatever the table, its rows and the queries, what is advised serves them and nothing of it is
//! too much.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::panic,
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "tests"
)]

// The same tables and questions that the planner is held against.
#[path = "../../plan/tests/laws/ask.rs"]
mod ask;
#[path = "../../plan/tests/laws/world.rs"]
mod world;

use keyloom_advise::{Advice, Measured, advise, measure};
use keyloom_key::Value;
use keyloom_plan::{Error, Query, Statistics, plan};
use keyloom_schema::{Document, State, Table};
use keyloom_store::{MemoryStore, Wait};
use keyloom_table::Database;
use proptest::prelude::*;

type Values = std::collections::BTreeMap<String, Value<'static>>;

/// The table in a database, with those of the rows that it takes.
fn filled(table: &Table, rows: Vec<Values>) -> Database<MemoryStore> {
    let database = Database::open(MemoryStore::new()).wait().unwrap();
    database.define(&table.to_sql()).wait().unwrap();
    let records = database.table(table.name()).wait().unwrap();
    for row in rows {
        let mut document = Document::new();
        for (name, value) in row.into_iter().filter(|(_, value)| *value != Value::Null) {
            document.set(name, value);
        }
        // Some have a key that a format cannot hold, or what is unique twice.
        let _ = records.put(document).wait();
    }
    database
}

fn measured(database: &Database<MemoryStore>) -> Measured {
    let table = database.table("t").wait().unwrap();
    measure(&table, |_| ()).wait().unwrap()
}

/// The table with what is advised.
fn with(table: &Table, advice: &Advice, except: Option<usize>) -> Table {
    let mut table = table.clone();
    for (number, proposal) in advice.create.iter().enumerate() {
        if Some(number) != except {
            let columns = proposal.index.tree().text();
            let columns = columns.trim_matches(['(', ')']).split(", ");
            let index = keyloom_schema::Index::on(columns).named(proposal.index.name());
            let (next, index) = table.with_index(index).unwrap();
            table = next.with_index_state(index.name(), State::Ready);
        }
    }
    table
}

/// How bad an answer is: refused, or by its class.
fn badness(table: &Table, statistics: &Statistics, query: &Query) -> (u8, bool, Option<String>) {
    match plan(table, statistics, query) {
        Ok(plan) => (plan.class as u8, plan.order != keyloom_plan::Order::Free, None),
        Err(Error::Refused(refusal)) => (9, false, refusal.index),
        Err(error) => panic!("{error}"),
    }
}

fn asked() -> impl Strategy<Value = (Table, Vec<Query>)> {
    world::tables().prop_flat_map(|(table, _)| {
        let queries = proptest::collection::vec(ask::queries(&table), 1..6);
        (Just(table), queries)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn advice_serves_every_query_and_nothing_of_it_is_too_much(
        (table, queries) in asked(), rows in world::rows(), analyzed: bool,
    ) {
        let database = filled(&table, rows);
        if analyzed {
            database.analyze("t").wait().unwrap();
        }
        let table = database.table("t").wait().unwrap().definition().unwrap();
        let statistics = database.statistics();
        // A question that cannot be asked has no advice.
        let queries: Vec<Query> = queries
            .into_iter()
            .filter(|query| matches!(plan(&table, &statistics, query), Ok(_) | Err(Error::Refused(_))))
            .collect();
        let advice = advise(&table, &measured(&database), &statistics, &queries).unwrap();
        let after = with(&table, &advice, None);
        for (query, (_, served)) in queries.iter().zip(&advice.queries) {
            let (bad, _, index) = badness(&after, &statistics, query);
            prop_assert_eq!(bad == 9, served.is_refused());
            // What is refused still, no index would serve.
            prop_assert!(bad < 9 || index.is_none(), "{:?} would need {:?}", query, index);
            // Nobody is served worse than by the index that the refusal names.
            if let (9, _, Some(own)) = badness(&table, &statistics, query) {
                let mut alone = Table::from_sql(&format!("{}{own};", table.to_sql())).unwrap();
                alone.number_trees(1);
                let best = badness(&alone, &statistics, query).0;
                prop_assert!(bad <= best, "{:?}: {} and not {} by {}: {:?}", query, bad, best, own, advice);
            }
        }
        for (number, proposal) in advice.create.iter().enumerate() {
            let without = with(&table, &advice, Some(number));
            let missed = queries.iter().any(|query| {
                let (one, two) = (badness(&without, &statistics, query), badness(&after, &statistics, query));
                (one.0, one.1) > (two.0, two.1)
            });
            prop_assert!(missed, "nobody misses {}", proposal.sql);
            prop_assert!(!proposal.serves.is_empty(), "nobody uses {}", proposal.sql);
            prop_assert!(!proposal.reasons.is_empty());
        }
        let mut left = after.clone();
        for redundant in &advice.redundant {
            prop_assert!(!table.index(&redundant.index).unwrap().is_unique());
            left = left.without_index(&redundant.index);
        }
        for query in &queries {
            let (one, two) = (badness(&left, &statistics, query), badness(&after, &statistics, query));
            prop_assert!((one.0, one.1) <= (two.0, two.1), "{:?} misses a redundant index", query);
        }
    }

    #[test]
    fn the_statements_make_what_is_advised((table, queries) in asked(), rows in world::rows()) {
        let database = filled(&table, rows);
        let table = database.table("t").wait().unwrap();
        let definition = table.definition().unwrap();
        let none = Statistics::default();
        let queries: Vec<Query> = queries
            .into_iter()
            .filter(|query| matches!(plan(&definition, &none, query), Ok(_) | Err(Error::Refused(_))))
            .collect();
        let advice = advise(&definition, &measured(&database), &none, &queries).unwrap();
        for proposal in &advice.create {
            if database.define(&proposal.sql).wait().is_err() {
                // A value of a record does not go into the format of its primary key.
                return Ok(());
            }
        }
        let made = measured(&database);
        for proposal in &advice.create {
            let tree = made.trees.iter().find(|tree| tree.name == proposal.index.name()).unwrap();
            // All records are in the sample, so that nothing is a guess.
            prop_assert_eq!(tree.statistics.rows, proposal.entries);
            prop_assert_eq!(tree.key_bytes + tree.value_bytes, proposal.bytes);
        }
        let now = table.definition().unwrap();
        for (query, (_, served)) in queries.iter().zip(&advice.queries) {
            prop_assert_eq!(badness(&now, &none, query).0 == 9, served.is_refused());
        }
    }
}
