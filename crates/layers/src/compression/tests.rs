//! There and back, and whatever else is not taken for a value.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Compression, LEAST, decode, encode};

fn stored(compression: Compression, value: &[u8]) -> Vec<u8> {
    let mut stored = b"before".to_vec();
    encode(compression, value, &mut stored);
    stored.split_off(6)
}

fn values() -> impl Strategy<Value = Vec<u8>> {
    // Random bytes do not shrink; few different ones do.
    prop_oneof![vec(any::<u8>(), 0..300), vec(0..3_u8, 0..3_000)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_value_comes_back(value in values()) {
        for compression in Compression::ALL {
            let stored = stored(compression, &value);
            prop_assert!(stored.len() <= value.len() + 1);
            let mut room = Vec::new();
            prop_assert_eq!(decode(&stored, &mut room), Some(value.as_slice()));
            if value.len() < LEAST {
                prop_assert_eq!(&stored, &self::stored(Compression::None, &value));
            }
        }
    }

    #[test]
    fn damaged_bytes_are_no_value_or_another_one_and_nothing_worse(
        value in values(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        for compression in Compression::ALL {
            let mut stored = stored(compression, &value);
            if stored.is_empty() {
                continue;
            }
            let place = place.index(stored.len());
            // The length stays small: a large one would only take long to refuse.
            stored[place] = if (1..3).contains(&place) { stored[place] } else { byte };
            let _ = decode(&stored, &mut Vec::new());
            stored.truncate(cut.index(stored.len()));
            let _ = decode(&stored, &mut Vec::new());
        }
    }
}

#[test]
fn what_repeats_shrinks() {
    let value = "status: delivered; ".repeat(50);
    for compression in [Compression::Lz4, Compression::Zstd] {
        assert!(stored(compression, value.as_bytes()).len() < 80, "{compression}");
    }
    assert_eq!(stored(Compression::Zstd, b"ab"), [0, b'a', b'b']);
    assert_eq!(stored(Compression::Zstd, b""), b"");
}

#[test]
fn lengths_and_kinds_that_cannot_be_are_refused() {
    let value = vec![7; 1_000];
    for compression in [Compression::Lz4, Compression::Zstd] {
        for length in [0, 999, 1_001, 1 << 20] {
            let mut stored = stored(compression, &value);
            stored[1..5].copy_from_slice(&u32::to_be_bytes(length));
            assert_eq!(decode(&stored, &mut Vec::new()), None, "{compression} {length}");
        }
    }
    assert_eq!(decode(&[3, 0, 0, 0, 1, 7], &mut Vec::new()), None);
    assert_eq!(decode(&[1, 0], &mut Vec::new()), None);
}

#[test]
fn compressions_have_names() {
    for compression in Compression::ALL {
        assert_eq!(compression.to_string().parse(), Ok(compression));
    }
    let unknown = "gzip".parse::<Compression>().map_err(|error| error.to_string());
    assert_eq!(unknown, Err("no compression gzip: it is none, lz4 or zstd".to_owned()));
}
