//! RowKey, with types and without.

#![no_main]

use keyloom_fuzz::decode_then_encode;
use keyloom_key::rowkey::{self, RowKey, RowKeyBuilder, RowKeyParts};

const TYPES: &[&str] = &["str", "bytes", "i8", "i16", "i24", "i32", "i40", "i48", "i56", "i64", "u8", "u24", "u64", "varint"];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    decode_then_encode(&RowKey::exact(), TYPES, data);
    decode_then_encode(&RowKey::strict(), TYPES, data);
    let _ = (rowkey::last_component(data), rowkey::without_last(data));
    if let Ok(parts) = RowKeyParts::new(data) {
        let mut builder = RowKeyBuilder::new();
        for index in 0..parts.len() {
            builder = builder.add(parts.get(index).expect("there are so many").as_ref());
            let _ = (parts.get_str(index), parts.get_int64(index), parts.get_varint(index));
        }
        assert_eq!(builder.finish(), data);
    }
});
