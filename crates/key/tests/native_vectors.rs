//! The published vectors: every row of `KEY_FORMAT.md`, and what the values built to hurt give.
//!
//! `KEYLOOM_REWRITE=1` writes `vectors/native.json` anew; the rows of the page are written by hand.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use keyloom_key::json::{from_json, to_json, values_from_json, values_to_json};
use keyloom_key::{Fields, KeyFormat, Native};
use keyloom_testkit::hurtful;
use serde_json::{Value as Json, json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The cells of each row of the tables in `KEY_FORMAT.md` whose header is this.
fn table_rows(header: &str) -> Vec<[String; 3]> {
    let page = std::fs::read_to_string(format!("{ROOT}/KEY_FORMAT.md")).unwrap();
    let mut within = false;
    let rows = page.lines().filter(|line| {
        within = line.starts_with('|') && (within || *line == header);
        within && line.starts_with("| `")
    });
    let cell = |cell: &str| cell.trim_matches([' ', '`']).to_owned();
    rows.map(|line| {
        let cells: Vec<String> = line.trim_matches('|').split(" | ").map(cell).collect();
        cells.try_into().unwrap()
    })
    .collect()
}

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text.replace(' ', "")).unwrap()
}

/// Fields, values and bytes of each row of the page.
fn page_rows() -> Vec<(String, Json, Vec<u8>)> {
    let rows = table_rows("| fields | values | bytes |").into_iter();
    rows.map(|[fields, values, hex]| (fields, serde_json::from_str(&values).unwrap(), bytes(&hex))).collect()
}

/// Fields and bytes of each row that a reader refuses, and why.
fn refused_rows() -> Vec<(String, Vec<u8>, String)> {
    let rows = table_rows("| fields | bytes | why |").into_iter();
    rows.map(|[fields, hex, why]| (fields, bytes(&hex), why)).collect()
}

#[test]
fn every_refused_row_of_the_page_is_refused() {
    let rows = refused_rows();
    assert!(rows.len() > 20, "only {} rows found", rows.len());
    for (fields, bytes, why) in rows {
        let fields: Fields = fields.parse().unwrap();
        assert!(Native.decode(&fields, &bytes).is_err(), "{fields} {bytes:02x?}: {why}");
    }
}

#[test]
fn every_row_of_the_page_is_written_and_read_so() {
    let rows = page_rows();
    assert!(rows.len() > 60, "only {} rows found", rows.len());
    for (fields, values, bytes) in rows {
        let fields: Fields = fields.parse().unwrap();
        let parsed = values_from_json(&fields, &values).unwrap();
        let mut key = Vec::new();
        Native.encode(&fields, &parsed, &mut key).unwrap();
        assert_eq!(hex::encode(&key), hex::encode(&bytes), "{fields} {values}");
        assert_eq!(values_to_json(&fields, &Native.decode(&fields, &bytes).unwrap()), values, "{fields}");
    }
}

/// Fields beside those of the page, so that every type is seen in every role.
const MORE: &[&str] = &[
    "bool",
    "i8",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "u64:desc",
    "f32",
    "f64:desc",
    "decimal",
    "decimal:desc",
    "decimal(4,2)",
    "decimal(38,38)",
    "str",
    "str:desc",
    "str:nocase",
    "uuid",
    "str:nocase:nulls-last",
    "bytes",
    "bytes:desc:nulls-first",
    "uuid:desc",
    "timestamp",
    "timestamp(3):desc",
    "timestamp(9)",
    "date",
    "date:desc",
    "duration",
    "tuple(str:nulls-first,bool)",
    "tuple(decimal:desc,tuple(u8:nulls-last)):desc",
];

#[test]
fn the_published_file_is_true() {
    let mut vectors: Vec<Json> = page_rows()
        .into_iter()
        .map(|(fields, values, bytes)| json!({"fields": fields, "values": values, "bytes": hex::encode(bytes)}))
        .collect();
    for fields in MORE {
        let fields: Fields = fields.parse().unwrap();
        for row in hurtful::rows(&fields) {
            let mut key = Vec::new();
            Native.encode(&fields, &row, &mut key).unwrap();
            let values = values_to_json(&fields, &Native.decode(&fields, &key).unwrap());
            vectors.push(json!({"fields": fields.to_string(), "values": values, "bytes": hex::encode(key)}));
        }
    }
    vectors.extend(
        refused_rows().into_iter().map(
            |(fields, bytes, _)| json!({"fields": fields, "bytes": hex::encode(bytes), "refused": true}),
        ),
    );
    let mut lines: Vec<String> = Vec::new();
    for line in vectors.iter().map(Json::to_string) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    let path = format!("{ROOT}/vectors/native.json");
    if std::env::var_os("KEYLOOM_REWRITE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap();
    assert!(published == text, "vectors/native.json is not what the code gives: see this file's head");
}

#[test]
fn parts_say_the_same_as_fields_and_values() {
    for (fields, values, bytes) in page_rows() {
        let fields: Fields = fields.parse().unwrap();
        let values = values_from_json(&fields, &values).unwrap();
        let parts = to_json(&fields, &values);
        let (fields, values) = from_json(&parts).unwrap();
        let mut key = Vec::new();
        Native.encode(&fields, &values, &mut key).unwrap();
        assert_eq!(hex::encode(key), hex::encode(bytes), "{parts}");
    }
}
