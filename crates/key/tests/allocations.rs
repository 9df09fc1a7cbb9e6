//! Encoding allocates nothing once there is room, in every format and for every value built to hurt.
//!
//! Keys of Rust's own types are measured in `typed.rs`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use keyloom_key::composite::{Composite, CompositeSchema};
use keyloom_key::keystone::Keystone;
use keyloom_key::lexkey::LexKey;
use keyloom_key::placement::{Hash, Shards};
use keyloom_key::rowkey::RowKey;
use keyloom_key::{Fields, KeyFormat, Native, Value};
use keyloom_testkit::hurtful;

fn no_allocation(format: &impl KeyFormat, fields: &str) {
    let fields: Fields = fields.parse().unwrap();
    let mut accepted = 0;
    for row in hurtful::rows(&fields) {
        let mut out = Vec::new();
        if format.encode(&fields, &row, &mut out).is_err() {
            continue;
        }
        accepted += 1;
        out.clear();
        let counted = allocation_counter::measure(|| format.encode(&fields, &row, &mut out).unwrap());
        assert_eq!(counted.count_total, 0, "{} ({fields}) {row:?}", format.name());
    }
    assert!(accepted > 100, "{} ({fields}) accepts {accepted}", format.name());
}

#[test]
fn encoding_allocates_nothing() {
    no_allocation(&Native, "str,u64,uuid:desc");
    no_allocation(&Native, "str:nocase:desc,decimal:nulls-last");
    no_allocation(&Native, "tuple(bytes,f64):desc,bytes");
    for format in [LexKey::canonical(), LexKey::legacy()] {
        no_allocation(&format, "str,u64,uuid");
        no_allocation(&format, "f64,f32,timestamp,bytes");
        no_allocation(&format.raw(), "f64,f32,timestamp,bytes");
    }
    for format in [RowKey::exact(), RowKey::strict()] {
        no_allocation(&format, "str,u24,varint");
        no_allocation(&format, "i64,bytes");
    }
    let composite = Composite::new().escape().shards(Shards::new(256, Hash::Md5).unwrap());
    no_allocation(&composite, "str,i64,u8");
    no_allocation(&composite, "timestamp,uuid,decimal(18,2)");
    no_allocation(&Composite::new().pad(1, 32), "str,str");
    no_allocation(&composite.scale(1, 2), "decimal,str");
    no_allocation(&Keystone, "str,bytes:nulls-first");
}

#[test]
fn encoding_fields_that_collide_in_raw_lexkey_allocates_nothing() {
    for format in [LexKey::canonical().raw(), LexKey::legacy().raw()] {
        no_allocation(&format, "str,u64,uuid");
        no_allocation(&format, "str,str:nulls-first");
    }
}

#[test]
fn the_size_of_a_lexkey_allocates_nothing() {
    let fields: Fields = "str,u64,f64".parse().unwrap();
    let values = [Value::from("USR_12345"), 7_u64.into(), 1.5.into()];
    let counted = allocation_counter::measure(|| {
        assert_eq!(LexKey::canonical().encode_size(&fields, &values), Ok(27));
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn the_key_of_a_schema_allocates_nothing() {
    let fields: Fields = "str,i64".parse().unwrap();
    let named = ["user", "order"].into_iter().zip(fields.iter().cloned());
    let schema = CompositeSchema::new(Composite::new().pad(1, 32), named).unwrap();
    let values = [("user", Value::from("USR_12345")), ("order", 7_i64.into())];
    let mut out = Vec::with_capacity(64);
    let counted = allocation_counter::measure(|| schema.create_key(&values, &mut out).unwrap());
    assert_eq!((counted.count_total, out.len()), (0, 41));
}
