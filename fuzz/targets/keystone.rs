//! KeystoneDB's keys.

#![no_main]

use keyloom_fuzz::decode_then_encode;
use keyloom_key::keystone::{Key, Keystone};

const TYPES: &[&str] = &["str", "bytes", "bytes:nulls-first"];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    decode_then_encode(&Keystone, TYPES, data);
    if let Ok(key) = Key::decode(data) {
        let mut again = Vec::new();
        key.encode(&mut again).expect("what was read can be written");
        assert_eq!(again, data);
    }
});
