//! Statistics for programs.

use keyloom::advise::{Measured, Partitions, TreeMeasure};
use keyloom::key::{Value, json};
use serde_json::{Value as Json, json};

use super::Counted;
use super::text::spread;

/// The columns of [`rows`].
pub(super) const COLUMNS: [&str; 8] =
    ["table", "tree", "key", "keys", "key_bytes", "value_bytes", "places", "distinct"];

/// A row for each tree.
pub(super) fn rows(tables: &[Counted]) -> Vec<Vec<Value<'static>>> {
    let of_table = |counted: &Counted| {
        let name = counted.table.name().to_owned();
        let row = move |tree: &TreeMeasure| {
            vec![
                name.clone().into(),
                tree.name.clone().into(),
                tree.key.clone().into(),
                tree.statistics.rows.into(),
                tree.key_bytes.into(),
                tree.value_bytes.into(),
                u64::try_from(tree.places.len()).unwrap_or(u64::MAX).into(),
                Value::List(tree.statistics.distinct.iter().map(|count| (*count).into()).collect()),
            ]
        };
        counted.measured.trees.iter().map(row).collect::<Vec<_>>()
    };
    tables.iter().flat_map(of_table).collect()
}

/// All tables with everything that was found.
pub(super) fn of(tables: &[Counted]) -> Json {
    tables.iter().map(one).collect()
}

fn one(counted: &Counted) -> Json {
    let Counted { table, measured } = counted;
    let Measured { trees, columns, partitions, .. } = measured;
    let columns = table.columns().iter().zip(columns).map(|(column, counted)| {
        json!({
            "name": column.name,
            "type": column.kind.to_string(),
            "distinct": counted.distinct,
            "exact": counted.exact,
            "nulls": counted.nulls,
        })
    });
    json!({
        "table": table.name(),
        "rows": measured.rows(),
        "bytes": measured.bytes(),
        "trees": trees.iter().map(tree).collect::<Vec<_>>(),
        "columns": columns.collect::<Vec<_>>(),
        "placement": spread(table, measured).map(|(what, _)| what),
        "partitions": partitions.as_ref().map(in_partitions),
    })
}

fn tree(tree: &TreeMeasure) -> Json {
    let places = tree.places.iter().map(|place| json!({ "rows": place.rows, "bytes": place.bytes }));
    json!({
        "name": tree.name,
        "key": tree.key,
        "id": tree.id,
        "keys": tree.statistics.rows,
        "key_bytes": tree.key_bytes,
        "value_bytes": tree.value_bytes,
        "distinct": tree.statistics.distinct,
        "places": places.collect::<Vec<_>>(),
    })
}

fn in_partitions(partitions: &Partitions) -> Json {
    let Partitions { field, count, largest, sizes, newest, .. } = partitions;
    let largest = largest
        .iter()
        .map(|one| json!({ "value": json::plain_to_json(&one.value), "rows": one.rows, "bytes": one.bytes }));
    let sizes = sizes.iter().enumerate().filter(|(_, count)| **count > 0);
    let sizes =
        sizes.map(|(power, count)| json!({ "rows_from": 1_u64 << power.min(63), "partitions": count }));
    let newest = newest.as_ref().map(|newest| {
        let partitions = newest.partitions.iter();
        let partitions =
            partitions.map(|(value, rows)| json!({ "value": json::plain_to_json(value), "rows": rows }));
        json!({ "by": newest.by, "rows": newest.rows, "partitions": partitions.collect::<Vec<_>>() })
    });
    json!({
        "field": field,
        "count": count,
        "largest": largest.collect::<Vec<_>>(),
        "sizes": sizes.collect::<Vec<_>>(),
        "newest": newest,
    })
}
