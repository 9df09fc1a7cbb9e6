//! The laws on the native format: values built to hurt, random tables, and every tuple over small alphabets.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use keyloom_key::{Desc, EncodeKey, Field, Fields, KeyFormat, Native, Nulls, Type, Value, Width};
use keyloom_testkit::{hurtful, laws, random};
use proptest::prelude::*;

const KINDS: &[&str] = &[
    "bool",
    "i8",
    "i16",
    "i64",
    "u8",
    "u64",
    "f32",
    "f64",
    "decimal",
    "decimal(4,2)",
    "decimal(38,0)",
    "str",
    "str:nocase",
    "bytes",
    "uuid",
    "timestamp",
    "timestamp(3)",
    "timestamp(9)",
    "date",
    "duration",
    "tuple(str:nulls-first,bool)",
    "tuple(bytes:desc,tuple(u8:nulls-last))",
];

/// Every direction and place of nulls of a field.
fn variants(kind: &str) -> Vec<Field> {
    let field: Field = kind.parse().unwrap();
    [field.clone(), field.descending()]
        .into_iter()
        .flat_map(|f| [f.clone(), f.clone().nullable(Nulls::First), f.nullable(Nulls::Last)])
        .collect()
}

#[test]
fn every_type_in_every_direction_with_nulls_first_last_and_none() {
    for kind in KINDS {
        for field in variants(kind) {
            let fields: Fields = [field].into_iter().collect();
            laws::check(&Native, &fields, &hurtful::rows(&fields)).unwrap();
        }
    }
}

#[test]
fn every_pair_of_types_side_by_side() {
    for first in KINDS {
        for second in KINDS {
            for (a, b) in variants(first).into_iter().zip(variants(second).into_iter().rev()) {
                let fields: Fields = [a, b].into_iter().collect();
                laws::check(&Native, &fields, &hurtful::rows(&fields)).unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn random_tables((fields, rows) in random::table(24)) {
        laws::check(&Native, &fields, &rows)?;
    }

    #[test]
    fn beginnings_hold_what_begins_so(
        start in random::text(), rest in random::text(), other in random::text(), desc: bool, nullable: bool, nocase: bool
    ) {
        use keyloom_key::casefold::fold;
        let mut field: Field = if nocase { "str:nocase" } else { "str" }.parse()?;
        if desc { field = field.descending(); }
        if nullable { field = field.nullable(Nulls::First); }
        let fields: Fields = [Field::from(Type::Bool), field, Field::from(Type::Bool)].into_iter().collect();
        let span = Native.begins_with(&fields, &[true.into()], &start.as_str().into())?;
        for text in [format!("{start}{rest}"), other.clone(), start.clone(), start.chars().skip(1).collect()] {
            let folded = |text: &str| if nocase { fold(text).collect() } else { text.to_owned() };
            let within = folded(&text).starts_with(&folded(&start));
            let mut key = Vec::new();
            Native.encode(&fields, &[true.into(), text.clone().into(), false.into()], &mut key)?;
            prop_assert_eq!(span.contains(&key), within, "{:?} begins with {:?}", text, &start);
        }
    }

    #[test]
    fn no_bytes_make_the_decoder_panic_and_what_it_reads_it_writes(fields in random::fields(), bytes in random::bytes()) {
        if let Ok(values) = Native.decode(&fields, &bytes) {
            let mut again = Vec::new();
            Native.encode(&fields, &values, &mut again)?;
            prop_assert_eq!(again, bytes);
        }
    }

    #[test]
    fn damaged_keys_are_refused_or_are_other_keys((fields, rows) in random::table(3), at: prop::sample::Index, byte: u8) {
        let mut key = Vec::new();
        Native.encode(&fields, &rows[0], &mut key)?;
        prop_assume!(!key.is_empty());
        let at = at.index(key.len());
        key[at] = byte;
        if let Ok(values) = Native.decode(&fields, &key) {
            let mut again = Vec::new();
            Native.encode(&fields, &values, &mut again)?;
            prop_assert_eq!(again, key);
        }
    }

    #[test]
    fn field_texts_round_trip(fields in random::fields()) {
        prop_assert_eq!(fields.to_string().parse::<Fields>()?, fields);
    }
}

/// Every string over {00, 01, 02, 61, FE, FF} of up to three bytes, in order.
fn small_strings() -> Vec<Vec<u8>> {
    const ALPHABET: [u8; 6] = [0x00, 0x01, 0x02, 0x61, 0xFE, 0xFF];
    let mut all = vec![Vec::new()];
    let mut longest = all.clone();
    for _ in 0..3 {
        longest = longest
            .iter()
            .flat_map(|s: &Vec<u8>| ALPHABET.map(|byte| s.iter().copied().chain([byte]).collect::<Vec<u8>>()))
            .collect();
        all.extend(longest.iter().cloned());
    }
    all.sort();
    all
}

/// Walks keys that must come in strictly rising order, none a prefix of the next. By transitivity that is
/// order, injectivity and prefix-freedom of every pair.
#[derive(Default)]
struct Rising {
    last: Vec<u8>,
    count: usize,
}

impl Rising {
    fn next(&mut self, key: &[u8]) {
        if self.count > 0 {
            assert!(*self.last < *key, "{:02x?} then {key:02x?}", self.last);
            assert!(!key.starts_with(&self.last), "{:02x?} is a prefix of {key:02x?}", self.last);
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        self.count += 1;
    }
}

/// The strings in the order of the direction.
fn directed(strings: &[Vec<u8>], desc: bool) -> Vec<&[u8]> {
    let mut list: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
    if desc {
        list.reverse();
    }
    list
}

#[test]
fn all_pairs_of_one_and_two_strings_in_every_direction() {
    let strings = small_strings();
    assert_eq!(strings.len(), 259);
    for directions in 0..4 {
        let (a_desc, b_desc) = (directions & 1 != 0, directions & 2 != 0);
        let mut rising = Rising::default();
        let mut single = Rising::default();
        for a in directed(&strings, a_desc) {
            single.next(&encode3(&[(a, a_desc)]));
            for b in directed(&strings, b_desc) {
                rising.next(&encode3(&[(a, a_desc), (b, b_desc)]));
            }
        }
        assert_eq!((single.count, rising.count), (259, 259 * 259));
    }
}

/// One key of byte strings, each in its direction, by the dynamic format.
fn encode3(parts: &[(&[u8], bool)]) -> Vec<u8> {
    let fields: Fields = parts
        .iter()
        .map(|(_, desc)| if *desc { Field::from(Type::Bytes).descending() } else { Type::Bytes.into() })
        .collect();
    let values: Vec<Value<'_>> = parts.iter().map(|(bytes, _)| Value::from(*bytes)).collect();
    let mut key = Vec::new();
    Native.encode(&fields, &values, &mut key).unwrap();
    key
}

/// Every triple: 17 million keys for each of the eight directions, by the typed codec.
#[test]
fn all_pairs_of_three_strings_in_every_direction() {
    let strings = small_strings();
    macro_rules! walk {
        ($($a:expr, $b:expr, $c:expr, [$da:literal $db:literal $dc:literal];)*) => {$({
            let mut rising = Rising::default();
            let mut key = Vec::new();
            for a in directed(&strings, $da) {
                for b in directed(&strings, $db) {
                    for c in directed(&strings, $dc) {
                        key.clear();
                        ($a(a), $b(b), $c(c)).encode_key(&mut key).unwrap();
                        rising.next(&key);
                    }
                }
            }
            assert_eq!(rising.count, 259 * 259 * 259);
        })*};
    }
    fn asc(bytes: &[u8]) -> &[u8] {
        bytes
    }
    walk! {
        asc, asc, asc, [false false false];
        Desc, asc, asc, [true false false];
        asc, Desc, asc, [false true false];
        Desc, Desc, asc, [true true false];
        asc, asc, Desc, [false false true];
        Desc, asc, Desc, [true false true];
        asc, Desc, Desc, [false true true];
        Desc, Desc, Desc, [true true true];
    }
}

#[test]
fn all_16_bit_integers() {
    let kinds = [Type::Int(Width::W16), Type::Uint(Width::W16)];
    for kind in kinds {
        for desc in [false, true] {
            let field = if desc { Field::from(kind.clone()).descending() } else { kind.clone().into() };
            let fields: Fields = [field].into_iter().collect();
            let mut values: Vec<Value<'_>> = match kind {
                Type::Int(_) => (i16::MIN..=i16::MAX).map(Value::from).collect(),
                _ => (u16::MIN..=u16::MAX).map(Value::from).collect(),
            };
            if desc {
                values.reverse();
            }
            let mut rising = Rising::default();
            for value in values {
                let mut key = Vec::new();
                Native.encode(&fields, std::slice::from_ref(&value), &mut key).unwrap();
                assert_eq!(Native.decode(&fields, &key).unwrap(), [value]);
                rising.next(&key);
            }
            assert_eq!(rising.count, 65_536);
        }
    }
}
