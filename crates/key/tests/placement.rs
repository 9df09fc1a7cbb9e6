//! Where keys go: the hashes against other implementations' answers, and the rule for what is hashed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use keyloom_key::placement::{Hash, Shards, Stripes, hashed_bytes};
use keyloom_key::{Date, Decimal, Duration, Field, Fields, KeyFormat, Native, Timestamp, Uuid, Value};

fn hashed(field: &str, value: &Value<'_>) -> Vec<u8> {
    let field: Field = field.parse().unwrap();
    hashed_bytes(&field, value).unwrap_or_else(|refusal| panic!("{refusal:?}")).to_vec()
}

fn refused(field: &str, value: &Value<'_>) -> String {
    let field: Field = field.parse().unwrap();
    hashed_bytes(&field, value).unwrap_err().at(1).to_string()
}

fn order_id() -> Uuid {
    Uuid::from_u128(0x550e_8400_e29b_41d4_a716_4466_5544_0001)
}

/// Field, value, the bytes hashed, and what Python's hashlib, xxhash and mmh3 give for them.
fn vectors() -> Vec<(&'static str, Value<'static>, &'static str, [u64; 3])> {
    let date = Timestamp::from_millis(1_737_100_800_000);
    let decimal: Decimal = "1234.56".parse().unwrap();
    let tuple = vec![Value::from(7_u64), Value::from("a")];
    vec![
        (
            "str",
            "USR_12345".into(),
            "5553525f3132333435",
            [0x9736_4d82_ba57_d210, 0xad4b_c329_1b4b_3bfb, 0x6640_1468_2c19_92dc],
        ),
        ("str", "".into(), "", [0xd41d_8cd9_8f00_b204, 0xef46_db37_51d8_e999, 0]),
        (
            "str",
            "0123456789abcdef".into(),
            "30313233343536373839616263646566",
            [0x4032_af8d_6103_5123, 0x5c5b_90c3_4e37_6d0b, 0x4be0_6d94_cf4a_d1a7],
        ),
        (
            "str",
            "0123456789abcdef0123456789abcdefX".into(),
            "303132333435363738396162636465663031323334353637383961626364656658",
            [0x1689_2622_1ec8_7bb5, 0xce5a_1023_4951_1ece, 0xa2cc_bf4a_105b_6b65],
        ),
        (
            "str:nocase",
            "Straße".into(),
            "73747261737365",
            [0xf684_1811_0b56_9503, 0x7d19_1674_99ad_989c, 0x84ab_eeb7_bfff_feaf],
        ),
        (
            "bytes",
            vec![0x00, 0xFF].into(),
            "00ff",
            [0xd07d_34ef_ac63_2800, 0xe0d9_7d9a_0313_1d7d, 0xdda1_20f2_0851_b040],
        ),
        ("bool", true.into(), "01", [0x55a5_4008_ad1b_a589, 0x8a41_2781_1b21_e730, 0x7ace_5c90_8374_fe16]),
        (
            "i64",
            (-1_i64).into(),
            "7fffffffffffffff",
            [0xbd5f_6598_b2d2_cd7f, 0x043d_e1bb_af34_1994, 0x8112_a0f8_068c_8a66],
        ),
        (
            "u64",
            7_u64.into(),
            "0000000000000007",
            [0xe3e1_3013_b74d_8729, 0xb194_a08f_7370_a5cf, 0xba14_4e26_1a44_5fa8],
        ),
        (
            "f64",
            (-1.5).into(),
            "4007ffffffffffff",
            [0x86cf_0595_a3fe_7d3e, 0xf60b_71f2_e4bc_fe4a, 0x161c_f5e2_52b1_c126],
        ),
        (
            "f32",
            0.5_f32.into(),
            "bfe0000000000000",
            [0x41ba_31e5_8cd1_3d8e, 0x2c12_be0e_93a4_e057, 0x298f_d5d9_bdca_87cc],
        ),
        (
            "decimal",
            decimal.into(),
            "c2194570",
            [0x266f_d5ba_4723_7864, 0x2f7b_6688_c5f7_fc55, 0xc9f1_b5f6_5e68_da36],
        ),
        (
            "uuid",
            order_id().into(),
            "550e8400e29b41d4a716446655440001",
            [0x68ec_1cdd_f21d_0ef1, 0x75bf_8ea6_ac42_b3ba, 0xca78_7028_8016_7b66],
        ),
        (
            "timestamp",
            date.into(),
            "80062be24c1f8000",
            [0x4ee7_1ef2_450f_37f2, 0x2950_f601_53ef_3293, 0x53f5_deee_d491_97ff],
        ),
        (
            "timestamp(3)",
            date.into(),
            "800001947346b000",
            [0x91b4_46f6_3182_2ed6, 0x4774_4b22_4ed0_dc3b, 0x4aec_a3c3_cd4e_1635],
        ),
        (
            "date",
            Date::from_days(19_782).into(),
            "80004d46",
            [0x0dad_b4ce_c047_61a7, 0x59b0_9128_8900_01cd, 0xfcad_702b_a890_f535],
        ),
        (
            "duration",
            Duration::from_nanos(5_000_000_000).into(),
            "800000012a05f200",
            [0x8c00_54fb_ee15_c1b4, 0x5515_0f3c_9c0d_ccd5, 0x8f1a_cd32_964d_1fb8],
        ),
        (
            "tuple(u64,str)",
            tuple.into(),
            "0100000000000000070161000100",
            [0x74ab_f549_42d5_a615, 0x17cd_85c0_7fcf_45b0, 0xd49a_946e_27ae_6454],
        ),
    ]
}

#[test]
fn every_type_is_hashed_as_others_would() {
    for (field, value, bytes, answers) in vectors() {
        let hashed = hashed(field, &value);
        assert_eq!(hex::encode(&hashed), bytes, "{field}");
        for (hash, answer) in Hash::ALL.into_iter().zip(answers) {
            assert_eq!(hash.of(&hashed), answer, "{hash} of {field} {bytes}");
        }
    }
}

#[test]
fn what_is_not_text_is_hashed_as_the_native_format_writes_it() {
    let numbers = [
        ("bool", Value::from(false)),
        ("i8", i8::MIN.into()),
        ("i32", i32::MAX.into()),
        ("i56", 1_i64.into()),
        ("u16", u16::MAX.into()),
        ("u64", u64::MAX.into()),
        ("f64", f64::NEG_INFINITY.into()),
        ("f64", (-0.0).into()),
        ("f32", (-0.25).into()),
        ("decimal", "-99999999999999999999999999999999999999".parse::<Decimal>().unwrap().into()),
        ("decimal(5,2)", Decimal::ZERO.into()),
        ("timestamp(9)", Timestamp::from_micros(-1).into()),
        ("date", Date::from_days(-1).into()),
        ("duration", Duration::from_nanos(i64::MIN).into()),
        ("tuple(str:nocase,u8:desc)", vec![Value::from("AB"), Value::from(1_u8)].into()),
    ];
    let known = vectors().into_iter().map(|(field, value, ..)| (field, value));
    for (field, value) in known.chain(numbers) {
        if matches!(value, Value::Str(_) | Value::Bytes(_)) {
            continue;
        }
        let mut native = Vec::new();
        let fields: Fields = field.parse().unwrap();
        Native.encode(&fields, std::slice::from_ref(&value), &mut native).unwrap();
        assert_eq!(hashed(field, &value), native, "{field}");
        // Neither the direction nor nulls move a value elsewhere.
        assert_eq!(hashed(&format!("{field}:desc:nulls-last"), &value), native, "{field}");
    }
    assert_eq!(hashed("varint", &7_u64.into()), hashed("u8", &7_u64.into()));
}

#[test]
fn null_has_no_bytes() {
    assert_eq!(hashed("str:nulls-first", &Value::Null), Vec::<u8>::new());
    assert_eq!(hashed("u64:nulls-last", &Value::Null), Vec::<u8>::new());
    assert_eq!(hashed("null:nulls-first", &Value::Null), Vec::<u8>::new());
    assert_eq!(hashed("end", &Value::Null), Vec::<u8>::new());
}

#[test]
fn what_a_field_cannot_hold_is_refused() {
    assert_eq!(refused("str", &Value::Null), "field 1: null, but the field is not nullable");
    assert_eq!(refused("i8", &128_i64.into()), "field 1: 128 does not fit i8");
    assert_eq!(refused("u8", &256_u64.into()), "field 1: 256 does not fit u8");
    assert_eq!(refused("u8", &1_i64.into()), "field 1: a value of type i64 in a field of type u8");
    assert_eq!(refused("f32", &0.1_f64.into()), "field 1: 0.1 is no f32: declare f64");
    assert!(refused("f64", &f64::NAN.into()).contains("NaN"));
    let long: Decimal = "0.001".parse().unwrap();
    assert_eq!(refused("decimal(5,2)", &long.into()), "field 1: 0.001 does not fit decimal(5,2)");
    assert!(refused("timestamp(3)", &Timestamp::from_nanos(1).into()).contains("finer"));
    let tuple = vec![Value::from("a")];
    let reason = "field 1: element 1: a value of type str in a field of type u8";
    assert_eq!(refused("tuple(u8)", &tuple.into()), reason);
}

#[test]
fn the_shard_of_the_specifications_example() {
    let shards = Shards::new(256, Hash::Md5).unwrap();
    assert_eq!(shards.shard_of(b"USR_12345"), 16);
    assert_eq!(shards.prefix(b"USR_12345"), [0x00, 0x10]);
    assert_eq!((shards.count(), shards.hash()), (256, Hash::Md5));
}

#[test]
fn the_shard_is_the_whole_hash_modulo_the_count() {
    for (hash, answer) in Hash::ALL.into_iter().zip(vectors()[0].3) {
        for count in [1, 2, 3, 1_000, 65_535, 65_536] {
            let shards = Shards::new(count, hash).unwrap();
            assert_eq!(u64::from(shards.shard_of(b"USR_12345")), answer % u64::from(count));
            assert_eq!(shards.prefix(b"USR_12345"), shards.shard_of(b"USR_12345").to_be_bytes());
        }
    }
}

#[test]
fn counts_that_no_prefix_can_number_are_refused() {
    assert_eq!(Shards::new(0, Hash::Md5), None);
    assert_eq!(Shards::new(65_537, Hash::Md5), None);
    assert_eq!(Stripes::new(0), None);
    assert_eq!(Stripes::new(257), None);
    assert_eq!(Stripes::new(256), Some(Stripes::default()));
}

#[test]
fn stripes_as_keystonedb_computes_them() {
    let stripes = Stripes::default();
    // KeystoneDB's text says 147, 89 and 201; its code gives these.
    assert_eq!([b"user#1", b"user#2", b"user#3"].map(|pk| stripes.stripe_of(pk)), [154, 32, 182]);
    let few = Stripes::new(10).unwrap();
    assert_eq!(few.count(), 10);
    assert_eq!(u32::from(few.stripe_of(b"123456789")), 0xCBF4_3926 % 10);
    assert_eq!(Stripes::new(1).unwrap().stripe_of(b"user#1"), 0);
}

#[test]
fn keys_spread_evenly() {
    let spread = |places: usize, place: &dyn Fn(&[u8]) -> usize| {
        let mut counts = vec![0_usize; places];
        (0..10_000).for_each(|i| counts[place(format!("user#{i}").as_bytes())] += 1);
        let mean = 10_000 / places;
        for (place, count) in counts.into_iter().enumerate() {
            assert!((mean * 3 / 4..=mean * 5 / 4).contains(&count), "place {place} has {count}, mean {mean}");
        }
    };
    spread(256, &|key| Stripes::default().stripe_of(key).into());
    spread(16, &|key| Stripes::new(16).unwrap().stripe_of(key).into());
    for hash in Hash::ALL {
        spread(16, &|key| Shards::new(16, hash).unwrap().shard_of(key).into());
    }
}

#[test]
fn two_bytes_number_every_shard() {
    let shards = Shards::new(Shards::MAX, Hash::XxHash).unwrap();
    let used: BTreeSet<u16> = (0..1_000_000_u32).map(|i| shards.shard_of(&i.to_be_bytes())).collect();
    assert_eq!((used.first(), used.last()), (Some(&0), Some(&u16::MAX)));
}

#[test]
fn a_hash_has_a_name() {
    for hash in Hash::ALL {
        assert_eq!(hash.to_string().parse(), Ok(hash));
    }
    assert_eq!(Hash::ALL.map(|hash| hash.to_string()), ["md5", "xxhash", "murmur3"]);
    let error = "sha1".parse::<Hash>().unwrap_err();
    assert_eq!(error.to_string(), "hash `sha1`: the hashes are md5, xxhash and murmur3");
}

#[test]
fn only_folded_text_and_tuples_allocate() {
    for (field, value, ..) in vectors() {
        let field: Field = field.parse().unwrap();
        let allocates = matches!(field.to_string().as_str(), "str:nocase" | "tuple(u64,str)");
        let counted = allocation_counter::measure(|| {
            let bytes = hashed_bytes(&field, &value).unwrap();
            Hash::ALL.iter().for_each(|hash| assert_eq!(hash.of(&bytes), hash.of(&bytes)));
        });
        assert_eq!(counted.count_total > 0, allocates, "{field}");
    }
}
