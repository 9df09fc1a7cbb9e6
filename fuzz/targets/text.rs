//! Texts that people write: fields, decimals, times, keys as JSON.

#![no_main]

use keyloom_key::json::{from_json, to_json};
use keyloom_key::{Date, Decimal, Duration, Fields, KeyFormat, Native, Timestamp};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(fields) = text.parse::<Fields>() {
        assert_eq!(fields.to_string().parse::<Fields>().expect("its own text"), fields);
    }
    if let Ok(decimal) = text.parse::<Decimal>() {
        assert_eq!(decimal.to_string().parse::<Decimal>().expect("its own text"), decimal);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        assert!(time.to_rfc3339().is_none() || time.to_string().parse::<Timestamp>().expect("its own text") == time);
    }
    if let Ok(date) = text.parse::<Date>() {
        assert_eq!(date.to_string().parse::<Date>().expect("its own text"), date);
    }
    let _ = text.parse::<Duration>();
    let Ok(json) = serde_json::from_str(text) else { return };
    let Ok((fields, values)) = from_json(&json) else { return };
    let mut key = Vec::new();
    if Native.promises(&fields).is_ok() && Native.encode(&fields, &values, &mut key).is_ok() {
        let read = Native.decode(&fields, &key).expect("what was written can be read");
        let (fields, values) = from_json(&to_json(&fields, &read)).expect("its own JSON");
        let mut again = Vec::new();
        Native.encode(&fields, &values, &mut again).expect("the same key");
        assert_eq!(again, key);
    }
});
