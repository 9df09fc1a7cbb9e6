//! Every row of `VALUE_FORMAT.md` is written and read so, or refused.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::collections::BTreeMap;

use keyloom_key::json::{plain_from_json, values_from_json};
use keyloom_key::{Fields, Value};
use keyloom_schema::document::{FieldRef, Names, Payload, encode};
use keyloom_schema::{Document, Error};
use serde_json::Value as Json;

/// The cells of each row of the tables in the page whose header is this.
fn table_rows(header: &str) -> Vec<[String; 3]> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../VALUE_FORMAT.md");
    let page = std::fs::read_to_string(page).unwrap();
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

/// A value of a type as `KEY_FORMAT.md` writes both, or a list or a map as plain JSON.
fn value(kind: &str, json: &str) -> Value<'static> {
    let json: Json = serde_json::from_str(json).unwrap();
    if let "list" | "map" = kind {
        return plain_from_json(&json).unwrap();
    }
    let fields: Fields = kind.parse().unwrap();
    values_from_json(&fields, &Json::Array(vec![json])).unwrap().remove(0)
}

/// The fields that a row declares: `1 user, 3 total`.
struct Declared(BTreeMap<u16, String>);

impl Declared {
    fn new(text: &str) -> Self {
        let fields = text.split(',').filter_map(|field| field.trim().split_once(' '));
        Self(fields.map(|(id, name)| (id.parse().unwrap(), name.to_owned())).collect())
    }
}

impl Names for Declared {
    fn id(&self, name: &str) -> Option<u16> {
        self.0.iter().find(|(_, other)| *other == name).map(|(id, _)| *id)
    }

    fn name(&self, id: u16) -> Option<&str> {
        self.0.get(&id).map(String::as_str)
    }
}

fn read_all(bytes: &[u8]) -> Result<Vec<(FieldRef<'_>, Value<'_>)>, Error> {
    Payload::new(bytes)?.iter().collect()
}

/// A record of one field, with the id 0, that has these bytes of a value.
fn record(value: &[u8]) -> Vec<u8> {
    let mut record = vec![0x01, 0x01, 0x00, 0x00, u8::try_from(value.len()).unwrap()];
    record.extend(value);
    record
}

#[test]
fn every_value_of_the_page_is_written_and_read_so() {
    let rows = table_rows("| type | value | bytes |");
    assert!(rows.len() > 40, "only {} rows found", rows.len());
    for [kind, json, hex] in rows {
        let (value, expected) = (value(&kind, &json), record(&bytes(&hex)));
        let mut written = Vec::new();
        encode(&Declared::new(""), [(FieldRef::Id(0), &value)], &mut written).unwrap();
        assert_eq!(hex::encode(&written), hex::encode(&expected), "{kind} {json}");
        let read = Payload::new(&expected).unwrap().get(0).unwrap().unwrap();
        assert_eq!(format!("{read:?}"), format!("{value:?}"), "{kind} {json}");
    }
}

#[test]
fn every_record_of_the_page_is_written_and_read_so() {
    let rows = table_rows("| declared | document | bytes |");
    assert!(rows.len() > 5, "only {} rows found", rows.len());
    for [declared, json, hex] in rows {
        let (names, document) = (Declared::new(&declared), json.parse::<Document>().unwrap());
        let mut written = Vec::new();
        document.encode(&names, &mut written).unwrap();
        assert_eq!(hex::encode_upper(&written), hex.replace(' ', ""), "{json}");
        assert_eq!(Payload::new(&written).unwrap().to_document(&names).unwrap(), document);
    }
}

#[test]
fn every_refused_row_of_the_page_is_refused() {
    let rows = table_rows("| what | bytes | why |");
    assert!(rows.len() > 40, "only {} rows found", rows.len());
    assert!(read_all(&[]).is_err());
    for [what, hex, why] in rows {
        let bytes = match what.as_str() {
            "record" => bytes(&hex),
            "value" => record(&bytes(&hex)),
            other => panic!("{other}"),
        };
        assert!(read_all(&bytes).is_err(), "{what} {hex}: {why}");
    }
}
