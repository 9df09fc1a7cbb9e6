//! Composite keys: each delimiter, text padded, escaped and as it is, sharded and not.

#![no_main]

use keyloom_fuzz::decode_then_encode;
use keyloom_key::composite::{Composite, Delimiter};
use keyloom_key::placement::{Hash, Shards};

const TYPES: &[&str] = &["str", "i64", "i16", "u32", "timestamp", "uuid", "decimal(10,2)", "decimal(38,0)"];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let delimiters = [Delimiter::Null, Delimiter::Unit, Delimiter::High, Delimiter::Double];
    let mut composite = Composite::default().delimiter(delimiters[usize::from(choice & 3)]);
    if choice & 4 != 0 {
        composite = composite.escape();
    }
    if choice & 8 != 0 {
        composite = composite.pad(1, 4);
    }
    if choice & 16 != 0 {
        composite = composite.shards(Shards::new(2, Hash::XxHash).expect("two are some"));
    }
    decode_then_encode(&composite, TYPES, data);
});
