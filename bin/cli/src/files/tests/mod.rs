mod infer;

use keyloom::key::Value;
use keyloom::schema::Kind;
use serde_json::json;

use super::csv::{Reader, Wrong, write_record};
use super::{exact, values};

/// The records of a text; `None` is a null.
fn read(text: &str) -> Vec<Vec<Option<String>>> {
    let mut reader = Reader::new(text.as_bytes(), b',');
    let mut records = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        let cell = |(text, quoted): (&str, bool)| (quoted || !text.is_empty()).then(|| text.to_owned());
        records.push(record.iter().map(cell).collect());
    }
    records
}

fn cells<const N: usize>(cells: [Option<&str>; N]) -> Vec<Option<String>> {
    cells.iter().map(|cell| cell.map(str::to_owned)).collect()
}

#[test]
fn quotes_tell_an_empty_text_from_none() {
    assert_eq!(
        read("a,,b\na,\"\",b\n"),
        [cells([Some("a"), None, Some("b")]), cells([Some("a"), Some(""), Some("b")])]
    );
}

#[test]
fn lines_end_as_on_any_system_and_the_last_one_need_not() {
    assert_eq!(read("a,b\r\nc,d\r\n"), [cells([Some("a"), Some("b")]), cells([Some("c"), Some("d")])]);
    assert_eq!(read("\u{feff}a,\"b\"\r\nc,"), [cells([Some("a"), Some("b")]), cells([Some("c"), None])]);
    assert_eq!(read("\"a\r\n\nb\",c"), [cells([Some("a\r\n\nb"), Some("c")])]);
    assert_eq!(read("5\" pipe,a\"b"), [cells([Some("5\" pipe"), Some("a\"b")])]);
}

#[test]
fn a_record_knows_the_line_that_it_begins_on() {
    let mut reader = Reader::new("a\n\"b\n\nb\"\n\"c\"x\nd\n\"e\n".as_bytes(), b',');
    let mut line = || match reader.next() {
        Ok(record) => record.map(|record| record.line).ok_or_else(String::new),
        Err(Wrong::Record(line, reason)) => Err(format!("{line}: {reason}")),
        Err(Wrong::Io(error)) => Err(error.to_string()),
    };
    assert_eq!((line(), line()), (Ok(1), Ok(2)));
    let reason = "5: text stands behind a closing quote: a quote within quotes is written twice";
    assert_eq!(line(), Err(reason.to_owned()));
    assert_eq!(line(), Ok(6));
    assert_eq!(line(), Err("7: a quote is opened on line 7 and never closed".to_owned()));
    assert_eq!(line(), Err(String::new()));
}

#[test]
fn bytes_that_are_no_text_are_one_wrong_record() {
    let mut reader = Reader::new(b"a\n\xFF\nb\n".as_slice(), b',');
    assert_eq!(reader.next().unwrap().unwrap().line, 1);
    assert!(matches!(reader.next(), Err(Wrong::Record(2, _))));
    assert_eq!(reader.next().unwrap().unwrap().line, 3);
}

#[test]
fn what_is_written_is_read() {
    let rows = [
        vec![Some("a"), None, Some(""), Some("\""), Some("a\r\n\"b\",")],
        vec![Some("*"), Some("\u{feff}"), Some(" "), Some(";"), None],
    ];
    let mut text = Vec::new();
    for row in &rows {
        write_record(&mut text, row.iter().copied(), b',').unwrap();
    }
    let owned = rows.map(|row| row.into_iter().map(|cell| cell.map(str::to_owned)).collect::<Vec<_>>());
    assert_eq!(read(&String::from_utf8(text).unwrap()), owned);
}

fn text(kind: &str, text: &str) -> Result<String, String> {
    let kind: Kind = kind.parse().unwrap();
    values::from_text(&kind, text).map(|value| values::to_text(&value))
}

#[test]
fn texts_become_values_or_say_why_not() {
    let same = |kind: &str, written: &str| assert_eq!(text(kind, written).as_deref(), Ok(written), "{kind}");
    same("timestamp", "2025-01-17T08:00:00Z");
    same("timestamp", "-377705116800000000000ns");
    same("date", "99999999d");
    same("duration", "PT1H30M");
    same("f64", "-Infinity");
    same("list(i64)", "[1,2]");
    same("bytes", "00ff");
    assert_eq!(text("timestamp", "2025-01-17 08:00:00").unwrap(), "2025-01-17T08:00:00Z");
    assert_eq!(text("timestamp", "2025-01-17T08:00:00.5+01:00").unwrap(), "2025-01-17T07:00:00.5Z");
    assert_eq!(text("timestamp", "1737100800s").unwrap(), "2025-01-17T08:00:00Z");
    assert_eq!(text("duration", "90").unwrap(), "PT0.00000009S");
    assert_eq!(text("bool", "TRUE").unwrap(), "true");
    // A number could count anything.
    assert_eq!(
        text("timestamp", "1737100800").unwrap_err(),
        "`1737100800` is no timestamp: write it like 2025-01-17T08:00:00Z, or 1737100800s since 1970"
    );
    assert_eq!(text("i64", "1.0").unwrap_err(), "`1.0` is no i64");
    assert_eq!(text("date", "2025-02-30").unwrap_err(), "`2025-02-30` is no day: write it like 2025-01-17");
    assert_eq!(text("list(i64)", "1,2").unwrap_err(), "`1,2` is no JSON array");
    assert_eq!(text("bytes", "xyz").unwrap_err(), "`xyz` is not hex, as bytes are written");
    assert_eq!(text("i64", &"9".repeat(100)).unwrap_err(), format!("`{}…` is no i64", "9".repeat(60)));
}

#[test]
fn json_from_elsewhere_is_taken_as_it_is() {
    // Only what says such a value is one.
    for plain in [
        json!({"$date": "yesterday"}),
        json!({"$oid": "507f1f77bcf86cd799439011"}),
        json!({"$uuid": null}),
        json!({"date": "2025-01-01"}),
        json!({"$date": "2025-01-01", "more": 1}),
    ] {
        assert!(matches!(exact::from_json(&plain), Ok(Value::Map(_))), "{plain}");
    }
    assert_eq!(exact::from_json(&json!({"$u64": 7})), Ok(Value::Uint(7)));
    assert_eq!(exact::to_json(&Value::Uint(7)), json!({"$u64": 7}));
    let map = Value::map([("$u64", Value::Int(7))]);
    assert_eq!(exact::to_json(&map), json!({"$map": {"$u64": 7}}));
    assert_eq!(exact::from_json(&exact::to_json(&map)), Ok(map));
}
