//! The laws on every format but the native one, in every mode: what is promised holds, and what is not
//! promised does not.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use keyloom_key::composite::{Composite, Delimiter};
use keyloom_key::keystone::Keystone;
use keyloom_key::lexkey::LexKey;
use keyloom_key::placement::{Hash, Shards};
use keyloom_key::rowkey::RowKey;
use keyloom_key::{Error, Fields, KeyFormat, Promises};
use keyloom_testkit::laws::Row;
use keyloom_testkit::{hurtful, laws};

const ALL: Promises = Promises::ALL;
/// Nothing marks the end of the last text.
const OPEN: Promises = Promises { prefix_free: false, ..ALL };
const UNSORTED: Promises = Promises { order: false, ..ALL };
const UNSORTED_OPEN: Promises = Promises { order: false, ..OPEN };
const NONE: Promises = Promises { order: false, injective: false, prefix_free: false, decodable: false };

/// Shows of each of these lists of fields that the format makes these promises, keeps them, and could make no
/// other.
fn prove(format: &impl KeyFormat, lists: &str, promised: Promises) {
    prove_timid(format, lists, promised, promised, "no promise is missing");
}

/// The same where a format promises less than holds for the values built to hurt, for this reason.
fn prove_timid(format: &impl KeyFormat, lists: &str, promised: Promises, held: Promises, reason: &str) {
    for fields in lists.split(' ').map(|fields| fields.parse().unwrap()) {
        let rows = hurtful::rows(&fields);
        laws::check(format, &fields, &rows).unwrap();
        compare(format, &fields, &rows, promised, held, reason);
    }
}

/// Compares what a format promises, and what holds, with what is expected.
fn compare(
    format: &impl KeyFormat,
    fields: &Fields,
    rows: &[Row],
    promised: Promises,
    held: Promises,
    reason: &str,
) {
    let case = format!("{} ({fields})", format.name());
    assert_eq!(format.promises(fields), Ok(promised), "{case}");
    assert_eq!(laws::holding(format, fields, rows), held, "{case}: {reason}");
    if !promised.decodable {
        assert!(matches!(format.decode(fields, b"\0"), Err(Error::Layout { .. })), "{case}");
    }
    // Laws hold of no rows at all, so a format must not pass by refusing them.
    let accepts = |row: &&Row| format.encode(fields, row, &mut Vec::new()).is_ok();
    let accepted: Vec<&Row> = rows.iter().filter(accepts).collect();
    assert!(!accepted.is_empty(), "{case}");
    for (at, field) in fields.iter().enumerate() {
        let differ = accepted.windows(2).any(|pair| pair[0][at] != pair[1][at]);
        assert_eq!(differ, hurtful::field_values(field).len() > 1, "{case}: field {}", at + 1);
    }
}

#[test]
fn lexkey_keeps_its_promises_in_every_mode() {
    for strict in [LexKey::canonical(), LexKey::legacy()] {
        for format in [strict, strict.raw()] {
            for (lists, promised) in [
                ("null end bool u8 u16 u32 u64 i16 i32 i64 uuid duration", ALL),
                ("timestamp(3) timestamp timestamp(9)", ALL),
                ("bool,bool,bool u8,bool,uuid end,u64", ALL),
                ("str bytes i64,str u16,bool,bytes end,str", OPEN),
                ("u16:nulls-first i64:nulls-first uuid:nulls-first duration:nulls-first", OPEN),
                ("timestamp(3):nulls-first timestamp:nulls-first timestamp(9):nulls-first", OPEN),
            ] {
                prove(&format, lists, promised);
            }
        }
    }
    for format in [LexKey::canonical(), LexKey::canonical().raw()] {
        prove(&format, "i8", ALL);
        prove(&format, "u8:nulls-first", OPEN);
        let reason = "null is 00, and the eight bytes of so narrow a number never start so";
        prove_timid(&format, "i8:nulls-first i16:nulls-first i32:nulls-first", OPEN, ALL, reason);
    }
}

#[test]
fn strict_lexkey_tells_text_from_what_follows_and_sorts_zeros() {
    for format in [LexKey::canonical(), LexKey::legacy()] {
        prove(&format, "f32 f64 f64,f32", ALL);
        prove(&format, "f32,str f32:nulls-first f64:nulls-first", OPEN);
        prove(&format, "str,i64 bytes,bool bytes,uuid str,end str,str,u8 i16,str,i16", ALL);
        prove(&format, "str,str u16,bytes,str", OPEN);
    }
}

#[test]
fn raw_lexkey_collides() {
    let apart = Promises { injective: true, ..NONE };
    let one_length = Promises { prefix_free: true, ..NONE };
    for format in [LexKey::canonical().raw(), LexKey::legacy().raw()] {
        prove(&format, "str,str bytes,str bytes,u8,str str:nulls-first bytes:nulls-last", NONE);
        prove(&format, "i64:nulls-first,i64:nulls-first", NONE);
        prove(&format, "i64:nulls-last", UNSORTED_OPEN);
        prove(&format, "null,i64 null,null", ALL);
        prove(&format, "null,str", OPEN);
        let reason = "one text among fixed widths could be read from behind, but decode reads from the front";
        prove_timid(&format, "str,i64 bytes,bool i64,str,u8", NONE, apart, reason);
        prove_timid(&format, "str,end", NONE, Promises { prefix_free: true, ..apart }, reason);
        let reason = "one nullable field is known by the length of the key, which decode does not look at";
        prove_timid(&format, "i64:nulls-first,i64", NONE, apart, reason);
        prove_timid(&format, "u64,uuid:nulls-first", NONE, Promises { order: true, ..apart }, reason);
        let reason = "null is the smallest value, and all are one byte";
        prove_timid(&format, "bool:nulls-first bool:nulls-last", NONE, one_length, reason);
        if format == LexKey::legacy().raw() {
            prove_timid(&format, "u8:nulls-first", NONE, one_length, reason);
        }
    }
}

/// The specification has two keys for zero. They are one value, so the span of either misses the other.
#[test]
fn raw_lexkey_has_two_zeros_that_do_not_find_each_other() {
    for format in [LexKey::canonical().raw(), LexKey::legacy().raw()] {
        for (fields, promised) in [
            ("f32", UNSORTED),
            ("f64", UNSORTED),
            ("f32,str", UNSORTED_OPEN),
            ("f64:nulls-first", UNSORTED_OPEN),
        ] {
            let fields: Fields = fields.parse().unwrap();
            let rows = hurtful::rows(&fields);
            compare(&format, &fields, &rows, promised, promised, "no promise is missing");
            let violation = laws::check(&format, &fields, &rows).unwrap_err();
            assert_eq!(violation.law, "ends", "{violation}");
            assert!(violation.story.contains("misses [Float(0.0)"), "{violation}");
        }
    }
}

#[test]
fn rowkey_sorts_all_but_negative_numbers() {
    for (lists, exact, strict) in [
        ("", ALL, ALL),
        ("str bytes str,str bytes,str varint,str", OPEN, OPEN),
        ("varint u8 u16 u24 u32 u40 u48 u56 u64", ALL, ALL),
        ("bytes,u16 str,varint u24,varint str,bytes,varint", ALL, ALL),
        ("i8 i16 i24 i32 i40 i48 i56 i64", UNSORTED, ALL),
        ("str,i64 i56,u8 u56,i48,varint", UNSORTED, ALL),
        ("i40,str", UNSORTED_OPEN, OPEN),
    ] {
        prove(&RowKey::exact(), lists, exact);
        prove(&RowKey::strict(), lists, strict);
    }
}

#[test]
fn keystone_promises_all_but_order() {
    let lists = "str bytes str,str str,bytes bytes,str bytes,bytes:nulls-first str,str:nulls-first";
    prove(&Keystone, lists, UNSORTED);
}

/// Shows it for a composite format as it is, in one shard, and in sixteen, where order is lost.
fn prove_sharded(format: &Composite, lists: &str, promised: Promises) {
    let sharded = |count| format.clone().shards(Shards::new(count, Hash::XxHash).unwrap());
    prove(format, lists, promised);
    prove(&sharded(1), lists, promised);
    prove(&sharded(16), lists, Promises { order: false, ..promised });
}

#[test]
fn composite_sorts_but_for_text_before_ff() {
    prove(&Composite::new(), "", ALL);
    for (lists, promised, promised_before_ff) in [
        ("i8,i16 u64,i64 uuid,u32 timestamp(3),timestamp timestamp(9),decimal(18,2)", ALL, ALL),
        ("str i64,str", OPEN, OPEN),
        ("str,i64 u8,str,uuid", ALL, UNSORTED),
        ("str,str", OPEN, UNSORTED_OPEN),
    ] {
        for rule in [Composite::new(), Composite::new().escape()] {
            for delimiter in [Delimiter::Null, Delimiter::Unit, Delimiter::Double] {
                prove_sharded(&rule.clone().delimiter(delimiter), lists, promised);
            }
            prove_sharded(&rule.delimiter(Delimiter::High), lists, promised_before_ff);
        }
    }
}

#[test]
fn composite_sorts_padded_text_whatever_the_delimiter() {
    for delimiter in [Delimiter::Null, Delimiter::Unit, Delimiter::Double, Delimiter::High] {
        let first = Composite::new().delimiter(delimiter).pad(1, 16);
        prove_sharded(&first, "str str,i64", ALL);
        prove_sharded(&first, "str,str", OPEN);
        prove_sharded(&first.clone().escape(), "str,str", OPEN);
        prove_sharded(&first.pad(2, 33), "str,str", ALL);
    }
}
