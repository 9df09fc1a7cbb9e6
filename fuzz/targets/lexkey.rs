//! LexKey, and its own helpers that read.

#![no_main]

use keyloom_fuzz::decode_then_encode;
use keyloom_key::lexkey::{self, LexKey};

const TYPES: &[&str] = &[
    "bool", "i8", "i16", "i32", "i64", "i64:nulls-first", "u8", "u64", "f32", "f64", "str", "bytes", "uuid", "timestamp",
    "timestamp(9)", "duration", "end", "null:nulls-first",
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    decode_then_encode(&LexKey::canonical(), TYPES, data);
    decode_then_encode(&LexKey::legacy(), TYPES, data);
    decode_then_encode(&LexKey::canonical().raw(), TYPES, data);
    decode_then_encode(&LexKey::legacy().raw(), TYPES, data);
    let _ = lexkey::decode_primary_key(data);
    if let Ok(text) = std::str::from_utf8(data) {
        for read in [lexkey::from_hex, lexkey::from_json] {
            if let Ok(key) = read(text) {
                assert_eq!(lexkey::from_hex(&lexkey::to_hex(&key)).expect("hex is hex"), key);
                assert_eq!(lexkey::from_json(&lexkey::to_json(&key)).expect("JSON is JSON"), key);
            }
        }
    }
});
