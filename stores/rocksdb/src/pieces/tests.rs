use keyloom_key::Span;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Pieces, Striped};

fn pieces() -> Pieces {
    let mut pieces = Pieces::default();
    assert!(pieces.add(b"b", Striped::new(16, 4)));
    assert!(pieces.add(b"c", Striped::new(256, 256)));
    assert!(pieces.add(b"\xFF", Striped::new(3, 256)));
    assert!(!pieces.add(b"ba", Striped::new(16, 4)) && !pieces.add(b"", Striped::new(16, 4)));
    pieces
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    let byte =
        prop_oneof![3 => prop_oneof![Just(b'a'), Just(b'b'), Just(b'c'), Just(0xFF)], 2 => any::<u8>()];
    vec(byte, 0..4)
}

proptest! {
    /// Parts follow one another without a gap, and a key lies in the part of its family.
    #[test]
    fn parts_are_the_span(start in key(), end in proptest::option::of(key()), keys in vec(key(), 20)) {
        let (pieces, span) = (pieces(), Span { start, end });
        let parts = pieces.parts(&span);
        if span.is_empty() {
            prop_assert!(parts.is_empty());
        } else {
            prop_assert_eq!(&parts[0].1.start, &span.start);
            prop_assert_eq!(&parts[parts.len() - 1].1.end, &span.end);
        }
        for pair in parts.windows(2) {
            prop_assert_eq!(pair[0].1.end.as_ref(), Some(&pair[1].1.start));
        }
        for key in keys {
            let of: Vec<_> = parts.iter().filter(|(_, part)| part.contains(&key)).collect();
            prop_assert_eq!(of.len(), usize::from(span.contains(&key)));
            if let Some((family, _)) = of.first() {
                prop_assert_eq!(*family, pieces.family(&key));
            }
        }
    }
}

#[test]
fn a_stripe_is_one_part_of_one_family() {
    let pieces = pieces();
    assert_eq!(pieces.parts(&Span::prefix(*b"b\x05U1")), [(Some(1), Span::prefix(*b"b\x05U1"))]);
    assert_eq!(pieces.parts(&Span::prefix(*b"c\x9A")), [(Some(0x9A), Span::prefix(*b"c\x9A"))]);
    assert_eq!(pieces.parts(&Span::prefix(*b"a")), [(None, Span::prefix(*b"a"))]);
    assert_eq!(pieces.parts(&Span::prefix(*b"b")).len(), 4);
    assert_eq!(pieces.parts(&Span::prefix(*b"c")).len(), 256);
    assert_eq!(pieces.parts(&Span::prefix(*b"\xFF")).len(), 3);
}

#[test]
fn what_is_written_is_read() {
    let striped = Striped::new(256, 16);
    assert_eq!(Striped::parse(&striped.to_bytes()), Some(striped));
    for bytes in [[0, 0, 0, 1], [0, 4, 0, 5], [1, 1, 0, 1], [0, 4, 0, 0]] {
        assert_eq!(Striped::parse(&bytes), None);
    }
}
