//! The native format, fields known when the code is compiled.

#![no_main]

use std::borrow::Cow;
use std::fmt::Debug;

use keyloom_key::{Date, DecodeKey, Decimal, Desc, EncodeKey, NullsLast, Timestamp, Uuid};

fn check<'a, T: DecodeKey<'a> + EncodeKey + Debug>(key: &'a [u8]) {
    if let Ok(value) = T::decode_key(key) {
        assert_eq!(value.to_key().expect("what was read can be written"), key, "{value:?}");
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::<(Cow<str>, u64, Uuid)>(data);
    check::<(Desc<String>, Option<i32>, NullsLast<Decimal>)>(data);
    check::<((Cow<[u8]>, bool), Desc<(f64, Option<String>)>)>(data);
    check::<(Timestamp, Desc<Date>, Desc<Decimal>, Vec<u8>)>(data);
});
