//! What SQLite answers, in the words that both are compared in.

use keyloom_testkit::sqlite::Common;
use rusqlite::Connection;
use rusqlite::types::Value;

/// The rows of a query.
pub(super) fn ask_sqlite(sqlite: &Connection, query: &str) -> Vec<Vec<Common>> {
    let mut statement = sqlite.prepare(query).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|at| row.get(at).map(common)).collect());
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

fn common(value: Value) -> Common {
    match value {
        Value::Null => Common::Null,
        Value::Integer(value) => Common::Number(value as f64),
        Value::Real(value) => Common::Number(value),
        Value::Text(text) => Common::Text(text),
        Value::Blob(_) => panic!("no blobs were asked for"),
    }
}
