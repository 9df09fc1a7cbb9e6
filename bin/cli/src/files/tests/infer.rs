use std::io::Cursor;

use crate::files::infer::{self, Columns};
use crate::files::records::Records;

fn shown(columns: Columns) -> String {
    let column = |(name, kind): (String, Option<keyloom::schema::Kind>)| match kind {
        Some(kind) => format!("{name} {kind}"),
        None => format!("{name} -"),
    };
    columns.into_iter().map(column).collect::<Vec<_>>().join(", ")
}

fn csv(text: &str) -> String {
    let text = Box::new(Cursor::new(text.to_owned().into_bytes()));
    let mut records = Records::csv(text, b',', None).unwrap();
    records.sample(100, usize::MAX).unwrap();
    shown(infer::columns(&records, ""))
}

fn jsonl(text: &str) -> String {
    let mut records = Records::jsonl(Box::new(Cursor::new(text.to_owned().into_bytes())));
    records.sample(100, usize::MAX).unwrap();
    shown(infer::columns(&records, ""))
}

#[test]
fn a_column_is_what_all_its_values_are() {
    assert_eq!(csv("a,b,c\n1,true,x\n-2,FALSE,\n,,"), "a i64, b bool, c str");
    assert_eq!(csv("a\n1\n1.50"), "a decimal");
    assert_eq!(csv("a\n1\n18446744073709551615"), "a decimal");
    assert_eq!(csv("a\n18446744073709551615"), "a u64");
    assert_eq!(csv("a\n1.5\n1e300"), "a f64");
    assert_eq!(csv("a\n1\nx"), "a str");
    assert_eq!(
        csv("a,b\n2025-01-17,2025-01-17T08:00:00Z\n2025-01-18,2025-01-17 08:00:00.123"),
        "a date, b timestamp"
    );
    assert_eq!(csv("a,b\n2025-01-17T08:00:00Z,\n2025-01-17T08:00:00.1234567Z,"), "a timestamp(9), b str");
    assert_eq!(csv("a\n550e8400-e29b-41d4-a716-446655440001\n"), "a uuid");
}

#[test]
fn what_would_not_come_back_the_same_is_text() {
    for text in
        ["007", "+1", "1.", ".5", "1,000", "1_000", "0x1F", "inf", "NaN", "2025-1-7", "1e999", " 1", "t", "-"]
    {
        assert_eq!(csv(&format!("a\n\"{text}\"\n")), "a str", "{text}");
    }
    // More digits than a number keeps.
    assert_eq!(csv(&format!("a\n{}\n", "1".repeat(50))), "a str");
    // A day is no instant.
    assert_eq!(csv("a\n2025-01-17\n2025-01-17T08:00:00Z"), "a str");
}

#[test]
fn a_text_of_json_is_never_a_number() {
    let text = r#"{"a":"1","b":1,"c":"2025-01-17","d":[1,2.5],"e":{},"f":true,"g":1,"h":null,"i":[],"j":["a",1]}
{"g":"1","a":"x","c":"2025-01-17","k":"later","d":null}"#;
    assert_eq!(
        jsonl(text),
        "a str, b i64, c date, d list(decimal), e -, f bool, g -, h -, i list(str), j -, k str"
    );
}
