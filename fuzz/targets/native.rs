//! The native format, fields chosen at run time.

#![no_main]

use keyloom_fuzz::decode_then_encode;
use keyloom_key::Native;

const TYPES: &[&str] = &[
    "bool", "i8", "i64:desc", "u64", "f32", "f64:nulls-first", "decimal", "decimal:desc", "decimal(4,2)", "str", "str:desc",
    "str:nocase", "bytes:nulls-last", "bytes:desc:nulls-first", "uuid", "timestamp", "date:desc", "duration", "null:nulls-last",
    "tuple(str,bool:nulls-first)", "tuple(decimal:desc,tuple(u8)):desc",
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| decode_then_encode(&Native, TYPES, data));
