//! Advice for programs.

use keyloom::advise::{Proposal, Served};
use keyloom::key::Value;
use keyloom::plan::Class;
use serde_json::{Value as Json, json};

use super::Advised;

/// The columns of [`rows`].
pub(super) const COLUMNS: [&str; 8] =
    ["table", "action", "index", "sql", "queries", "entries", "bytes", "reasons"];

/// A row for each index that is to be created or can be dropped.
pub(super) fn rows(tables: &[Advised]) -> Vec<Vec<Value<'static>>> {
    let mut rows = Vec::new();
    for Advised { counted, advice, new, .. } in tables {
        let table = || Value::from(counted.table.name().to_owned());
        let list = |texts: &[String]| Value::List(texts.iter().map(|text| text.clone().into()).collect());
        if let Some(why) = new {
            let (sql, why) = (counted.table.to_sql().into(), list(std::slice::from_ref(why)));
            let (none, null) = (Value::List(Vec::new()), || Value::Null);
            rows.push(vec![table(), "create".into(), "primary".into(), sql, none, null(), null(), why]);
        }
        for proposal in &advice.create {
            rows.push(vec![
                table(),
                "create".into(),
                proposal.index.name().to_owned().into(),
                proposal.sql.clone().into(),
                Value::List(numbers(proposal).into_iter().map(Value::from).collect()),
                proposal.entries.into(),
                proposal.bytes.into(),
                list(&proposal.reasons),
            ]);
        }
        for redundant in &advice.redundant {
            rows.push(vec![
                table(),
                "drop".into(),
                redundant.index.clone().into(),
                redundant.sql.clone().into(),
                Value::List(Vec::new()),
                Value::Null,
                redundant.bytes.into(),
                list(std::slice::from_ref(&redundant.reason)),
            ]);
        }
    }
    rows
}

/// The queries that an index serves, counted from 1.
fn numbers(proposal: &Proposal) -> Vec<u64> {
    proposal.serves.iter().map(|number| u64::try_from(number + 1).unwrap_or(u64::MAX)).collect()
}

/// All tables with everything that is advised.
pub(super) fn of(tables: &[Advised]) -> Json {
    tables.iter().map(one).collect()
}

fn one(advised: &Advised) -> Json {
    let Advised { counted, asked, advice, new } = advised;
    let create = advice.create.iter().map(|proposal| {
        json!({
            "index": proposal.index.name(),
            "sql": proposal.sql,
            "queries": numbers(proposal),
            "reasons": proposal.reasons,
            "entries": proposal.entries,
            "bytes": proposal.bytes,
        })
    });
    let drop = advice.redundant.iter().map(|redundant| {
        json!({
            "index": redundant.index,
            "sql": redundant.sql,
            "reason": redundant.reason,
            "bytes": redundant.bytes,
        })
    });
    let queries = asked.iter().zip(&advice.queries).map(|(asked, (before, after))| {
        json!({ "line": asked.line, "statement": asked.text, "now": served(before), "then": served(after) })
    });
    let columns = counted.measured.columns.iter().map(|column| {
        json!({ "name": column.name, "distinct": column.distinct, "exact": column.exact, "nulls": column.nulls })
    });
    json!({
        "table": counted.table.name(),
        "rows": counted.measured.rows(),
        "bytes": counted.measured.bytes(),
        "columns": columns.collect::<Vec<_>>(),
        "create_table": new.as_ref().map(|_| counted.table.to_sql()),
        "create": create.collect::<Vec<_>>(),
        "drop": drop.collect::<Vec<_>>(),
        "queries": queries.collect::<Vec<_>>(),
    })
}

fn served(served: &Served) -> Json {
    match served {
        Served::By { tree, class, sorted, fetch, rows, .. } => {
            let class = match class {
                Class::Constant => "constant",
                Class::Output => "output",
                Class::Partition => "partition",
                Class::Scan => "scan",
            };
            json!({ "tree": tree, "class": class, "sorted": sorted, "fetch": fetch, "rows": rows })
        }
        Served::Refused { hint } => json!({ "refused": true, "hint": hint }),
        _ => Json::Null,
    }
}
