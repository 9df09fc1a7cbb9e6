//! Lists and maps, which only documents have.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use keyloom_key::composite::Composite;
use keyloom_key::keystone::Keystone;
use keyloom_key::lexkey::LexKey;
use keyloom_key::rowkey::RowKey;
use keyloom_key::{Fields, KeyFormat, Native, Value};

fn refuses(format: &impl KeyFormat) {
    for (fields, value) in [("str", Value::list(["a"])), ("str", Value::map([("a", 1_i64)]))] {
        let fields: Fields = fields.parse().unwrap();
        let mut key = b"kept".to_vec();
        let said = format.encode(&fields, std::slice::from_ref(&value), &mut key).unwrap_err().to_string();
        let expected =
            format!("field 1: a {} in a field of type str: keys hold no lists or maps", value.kind());
        assert!(said.starts_with(&expected), "{}: {said}", format.name());
        assert_eq!(key, b"kept");
    }
}

#[test]
fn no_key_format_takes_a_list_or_a_map() {
    refuses(&Native);
    refuses(&LexKey::canonical());
    refuses(&LexKey::legacy());
    refuses(&RowKey::exact());
    refuses(&RowKey::strict());
    refuses(&Composite::new().escape());
    refuses(&Keystone);
    let fields: Fields = "tuple(str)".parse().unwrap();
    assert!(Native.encode(&fields, &[Value::list(["a"])], &mut Vec::new()).is_err(), "a list is no tuple");
}

#[test]
fn a_map_is_sorted_and_the_last_of_a_name_stays() {
    let map = Value::map([("b", 1_i64), ("a", 2), ("b", 3)]);
    assert_eq!(map, Value::Map(vec![("a".into(), 2_i64.into()), ("b".into(), 3_i64.into())]));
    assert_eq!(map.clone().into_owned(), map);
}

#[cfg(feature = "json")]
mod json {
    use keyloom_key::json::{plain_from_json, plain_to_json};
    use keyloom_key::{Date, Decimal, Value};
    use proptest::prelude::*;
    use serde_json::Value as Json;

    fn read(text: &str) -> Value<'static> {
        plain_from_json(&serde_json::from_str(text).unwrap()).unwrap()
    }

    fn decimal(text: &str) -> Value<'static> {
        Value::Decimal(text.parse::<Decimal>().unwrap())
    }

    #[test]
    fn numbers_keep_every_digit() {
        for (text, value) in [
            ("7", Value::Int(7)),
            ("-9223372036854775808", Value::Int(i64::MIN)),
            ("9223372036854775808", Value::Uint(1 << 63)),
            ("18446744073709551616", decimal("18446744073709551616")),
            ("-9223372036854775809", decimal("-9223372036854775809")),
            ("7.0", Value::Float(7.0)),
            ("0.1", Value::Float(0.1)),
            ("-12.50", Value::Float(-12.5)),
            ("1e300", Value::Float(1e300)),
            ("1E+2", Value::Float(100.0)),
            ("0.00e5", Value::Float(0.0)),
            ("5e-324", Value::Float(5e-324)),
            ("0.12345678901234567890", decimal("0.1234567890123456789")),
            ("9007199254740993.0", decimal("9007199254740993")),
        ] {
            assert_eq!(read(text), value, "{text}");
        }
        for text in
            ["1e400", "1e-400", "0.123456789012345678901234567890123456789", "1.0000000000000000001e200"]
        {
            let refused = plain_from_json(&serde_json::from_str(text).unwrap()).unwrap_err().to_string();
            assert!(refused.ends_with("write it as a string to keep all of it"), "{refused}");
        }
    }

    #[test]
    fn arrays_are_lists_and_objects_are_maps() {
        let value = read(r#"{"b": [1, {"timestamp": "x"}], "a": null}"#);
        let inner = Value::list([Value::Int(1), Value::map([("timestamp", "x")])]);
        assert_eq!(value, Value::map([("a", Value::Null), ("b", inner)]));
        assert_eq!(plain_to_json(&value).to_string(), r#"{"a":null,"b":[1,{"timestamp":"x"}]}"#);
    }

    #[test]
    fn what_json_has_no_type_for_is_written_as_text_or_number() {
        let values = [
            decimal("0.12345678901234567890"),
            Value::from(vec![0_u8, 255]),
            Date::from_days(0).into(),
            Value::Float(f64::INFINITY),
            Value::Tuple(vec![1_i64.into()]),
        ];
        let json = plain_to_json(&Value::list(values)).to_string();
        assert_eq!(json, r#"[0.1234567890123456789,"00ff","1970-01-01","Infinity",[1]]"#);
    }

    fn json() -> impl Strategy<Value = Json> {
        let number = prop_oneof![
            any::<i64>().prop_map(|number| number.to_string()),
            any::<u64>().prop_map(|number| number.to_string()),
            any::<f64>().prop_map(|number| format!("{number:?}")),
            "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,10})?",
        ];
        let simple = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            number.prop_map(|text| serde_json::from_str(&text).unwrap_or(Json::Null)),
            any::<String>().prop_map(Json::from),
        ];
        simple.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::vec(("[a-c]{0,2}", inner), 0..4)
                    .prop_map(|entries| Json::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_read_from_json_is_read_again_from_its_json(json in json()) {
            let value = plain_from_json(&json).unwrap();
            let again = plain_from_json(&plain_to_json(&value)).unwrap();
            prop_assert_eq!(again.compare(&value).is_some(), value.compare(&value).is_some());
            prop_assert_eq!(plain_to_json(&again), plain_to_json(&value));
        }
    }
}
